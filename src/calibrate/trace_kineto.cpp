// PyTorch profiler traces: events are read one by one and only kernels stay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <unordered_map>

#include "calibrate/trace_kernels.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/files.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::json;

constexpr std::size_t buffer_size = 1 << 20;
constexpr std::size_t longest_text = 16 << 20;  ///< no quote for that long is no trace
constexpr int deepest = 64;
constexpr std::size_t most_kernel_names = 1 << 16;

/// The file, decompressed as it is read. Fails where a text never ends.
class TraceStream : public std::streambuf {
 public:
  explicit TraceStream(const std::filesystem::path& path)
      : path_(path.string()), buffer_(buffer_size), file_(path, most_stream_bytes) {}

 protected:
  int_type underflow() override {
    const std::size_t got = file_.read(buffer_.data(), buffer_size);
    if (got == 0) return traits_type::eof();
    const std::string_view text(buffer_.data(), got);
    const std::size_t last = text.rfind('"');
    unquoted_ = last == std::string_view::npos ? unquoted_ + text.size() : text.size() - last;
    if (unquoted_ > longest_text) throw Error(path_, "not a trace: a text of more than 16 MB in it");
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  std::string path_;
  std::vector<char> buffer_;
  InputFile file_;
  std::size_t unquoted_ = 0;
};

/// One event as far as it matters.
struct Event {
  std::string phase, category, name, stream, thread, collective, description, format;
  double start = 0, duration = -1, in_elements = 0, out_elements = 0;
  int group_size = 0;
};

/// A count of ranks, whatever number stands there.
int whole(double value) { return static_cast<int>(std::clamp(value, 0.0, 1e9)); }

double element_bytes(std::string_view format) {
  for (const std::string_view one : {"Float8", "Byte", "Char", "Bool"}) {
    if (format.find(one) != std::string_view::npos) return 1;
  }
  for (const std::string_view two : {"BFloat16", "Half", "Short"}) {
    if (format.find(two) != std::string_view::npos) return 2;
  }
  return format == "Double" || format == "Long" ? 8 : 4;
}

/// nlohmann's SAX events: where we are is the depth and the keys of the objects around.
class TraceHandler : public nlohmann::json_sax<Json> {
 public:
  explicit TraceHandler(RankTrace& trace) : trace_(trace), builder_(trace) {}

  bool start_object(std::size_t) override { return open('{'); }
  bool start_array(std::size_t) override { return open('['); }
  bool end_object() override {
    if (in_event() && depth_ == event_depth()) finish_event();
    return close();
  }
  bool end_array() override { return close(); }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool string(string_t& text) override {
    take(text, 0, false);
    return true;
  }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    broken_ = true;
    return false;
  }

  bool broken() const { return broken_; }
  bool too_deep() const { return too_deep_; }
  void finish() {
    if (!gpu_steps_.empty()) trace_.annotated_steps = std::move(gpu_steps_);
    builder_.finish();
  }

 private:
  bool open(char) {
    if (depth_ == 1) section_ = key_;
    if (depth_ == 0 && key_.empty()) bare_ = true;  // cleared by the first key of a root object
    if (++depth_ > deepest) {
      too_deep_ = true;
      return false;
    }
    if (in_event() && depth_ == event_depth()) event_ = {};
    key_.clear();
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  /// Events are objects in the root's "traceEvents", or in a root that is itself the list.
  bool in_event() const { return section_ == "traceEvents" || root_is_list(); }
  bool root_is_list() const { return bare_ && section_.empty(); }
  int event_depth() const { return section_ == "traceEvents" ? 3 : 2; }

  bool number(double value) {
    take({}, value, true);
    return true;
  }

  void take(const std::string& text, double value, bool is_number) {
    if (in_event() && depth_ == event_depth()) {
      take_event(text, value, is_number);
    } else if (in_event() && depth_ == event_depth() + 1) {
      take_argument(text, value, is_number);
    } else if (section_ == "distributedInfo" && depth_ == 2 && is_number) {
      if (key_ == "rank") trace_.rank = whole(value);
    } else if (section_ == "deviceProperties" && key_ == "name" && trace_.device.empty()) {
      trace_.device = text;
    }
  }

  void take_event(const std::string& text, double value, bool is_number) {
    if (key_ == "ph") event_.phase = text;
    if (key_ == "cat") event_.category = text;
    if (key_ == "name") event_.name = text;
    if (key_ == "ts") event_.start = value * 1e-6;
    if (key_ == "dur") event_.duration = value * 1e-6;
    if (key_ == "tid") event_.thread = is_number ? fmt::format("{}", value) : text;
  }
  void take_argument(const std::string& text, double value, bool is_number) {
    if (key_ == "stream") event_.stream = is_number ? fmt::format("{}", value) : text;
    if (key_ == "Collective name") event_.collective = text;
    if (key_ == "Process Group Description") event_.description = text;
    if (key_ == "dtype") event_.format = text;
    if (key_ == "Group size") event_.group_size = whole(value);
    if (key_ == "In msg nelems") event_.in_elements = value;
    if (key_ == "Out msg nelems") event_.out_elements = value;
  }

  void finish_event() {
    const Event& e = event_;
    constexpr double latest = 1e12, longest = 1e9;  // seconds: since 1970, and of anything that a trace shows
    if (e.phase != "X" || !(e.duration >= 0 && e.duration <= longest && std::abs(e.start) <= latest)) return;
    if (e.name.starts_with("ProfilerStep#")) {
      auto& steps = e.category == "gpu_user_annotation" ? gpu_steps_ : trace_.annotated_steps;
      if (steps.size() < 4096) steps.emplace_back(e.start, e.start + e.duration);
      return;
    }
    const bool copies = e.category == "gpu_memcpy" || e.category == "gpu_memset";
    if (e.category != "kernel" && !copies) return;
    TraceKernel kernel{.start = e.start, .end = e.start + e.duration};
    const KernelMeaning means = copies ? KernelMeaning{KernelKind::copy, {}} : meaning_of(e);
    kernel.kind = means.kind, kernel.collective = means.collective;
    kernel.bytes = static_cast<float>(std::max(e.in_elements, e.out_elements) * element_bytes(e.format));
    builder_.add(kernel, e.stream.empty() ? e.thread : e.stream, e.description, e.group_size);
  }

  /// Names repeat by the million; each is looked up once.
  KernelMeaning meaning_of(const Event& e) {
    if (!e.collective.empty()) return kernel_meaning(e.name, e.collective);
    const auto known = meanings_.find(e.name);
    if (known != meanings_.end()) return known->second;
    const KernelMeaning means = kernel_meaning(e.name, "");
    if (meanings_.size() < most_kernel_names) meanings_[e.name] = means;
    return means;
  }

  RankTrace& trace_;
  TraceBuilder builder_;
  Event event_;
  std::string key_, section_;
  std::vector<std::pair<double, double>> gpu_steps_;
  std::unordered_map<std::string, KernelMeaning> meanings_;
  int depth_ = 0;
  bool bare_ = false, broken_ = false, too_deep_ = false;
};

}  // namespace

std::vector<RankTrace> read_kineto(const std::filesystem::path& path) {
  RankTrace trace;
  trace.path = path.string();
  TraceStream buffer(path);
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);
  TraceHandler handler(trace);
  Json::sax_parse(in, &handler);
  handler.finish();
  if (handler.too_deep()) throw Error(path.string(), fmt::format("not a trace: nested deeper than {}", deepest));
  if (handler.broken()) {
    if (trace.kernels.empty()) throw Error(path.string(), "not valid JSON, and no kernel before the fault");
    trace.notes.emplace_back("the file breaks off or is no valid JSON from some place on: what stands before counts");
  }
  return {std::move(trace)};
}

}  // namespace meshwright::calibrate
