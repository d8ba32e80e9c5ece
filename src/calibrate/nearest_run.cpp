#include "meshwright/calibrate/nearest_run.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/record_stacks.hpp"
#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/band.hpp"

namespace meshwright::calibrate {
namespace {

// Another device or kind of model changes more than a stack, a stack more than a format: in doublings of a size.
constexpr double other_device = 3, other_kind = 3, other_stack = 2, other_format = 1;

/// What is compared of a run: sizes and degrees by their ratio, the rest by whether it is the same.
struct Shape {
  std::string device, stack, format;
  bool experts = false;
  std::array<double, 7> sizes{};  ///< as size_names
};
constexpr std::array<std::string_view, 7> size_names = {"GPUs", "parameters", "tokens a sequence", "tp", "pp",
                                                        "cp",   "ep"};
constexpr std::array<const char*, 7> size_keys = {"gpus", "parameters", "seq_len", "tp", "pp", "cp", "ep"};

Shape shape_of(const Job& job, const Layout& l) {
  const double ep = job.model.is_moe() ? l.ep : 1;
  return {job.cluster.accelerator.name,
          job.framework.name,
          std::string(job.precision.name),
          job.model.is_moe(),
          {static_cast<double>(job.accelerators), parameter_counts(job.model).total, static_cast<double>(job.seq_len),
           static_cast<double>(l.tp), static_cast<double>(l.pp), static_cast<double>(l.cp), ep}};
}

std::optional<Shape> shape_of(const Reader& record) {
  const Reader model = record.at("model"), cluster = record.at("cluster"), layout = record.at("layout");
  if (!cluster.has("count") || !layout.has("tp") || !layout.has("pp") || !model.has("params_total_b"))
    return std::nullopt;
  const double ep = layout.number_or("ep", 1);
  std::string stack = layout.string_or("framework", "other");
  const std::string profile =
      profile_of(stack, layout.string_or("framework_version", ""), record.at("source").string_or("date", ""));
  return Shape{cluster.at("accelerator").string(),
               profile,
               layout.string_or("precision", "bf16"),
               model.number_or("experts", 0) > 0,
               {cluster.at("count").number(), 1e9 * model.at("params_total_b").number(), record.at("seq_len").number(),
                layout.at("tp").number(), layout.at("pp").number(), layout.number_or("cp", 1), ep}};
}

/// As run_shape_json() writes it.
Shape shape_of_own(const Reader& run) {
  run.allow_only({"id", "device", "stack", "format", "experts", "sizes"});
  Shape shape{run.at("device").string(), run.at("stack").string(), run.at("format").string(),
              run.at("experts").boolean()};
  const Reader sizes = run.at("sizes");
  for (std::size_t i = 0; i < size_keys.size(); ++i) {
    const Reader size = sizes.at(size_keys[i]);
    shape.sizes[i] = size.number();
    if (!(shape.sizes[i] >= 1)) size.fail("expected a number of at least 1");
  }
  return shape;
}

/// The name of the stack's profile, whatever its source calls it.
std::string stack_name(const std::string& said) {
  const auto& known = frameworks();
  const Framework* stack = find_named(known, said);
  return stack != nullptr ? stack->name : said;
}

double distance(const Shape& a, const Shape& b) {
  double sum = (a.device != b.device) * other_device + (a.experts != b.experts) * other_kind +
               (a.stack != b.stack) * other_stack + (a.format != b.format) * other_format;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) sum += std::abs(std::log2(a.sizes[i] / b.sizes[i]));
  return sum;
}

std::string in_words(const std::string& id, const Shape& mine, const Shape& run);

/// Keeps the run that is nearest.
class Nearest {
 public:
  explicit Nearest(Shape mine) : mine_(std::move(mine)) {}
  void add(const std::string& id, const Shape& run) {
    const double far = distance(mine_, run);
    if (nearest_ && far >= nearest_->distance) return;
    nearest_ = NearestRun{id, far, in_words(id, mine_, run)};
  }
  const std::optional<NearestRun>& found() const { return nearest_; }

 private:
  Shape mine_;
  std::optional<NearestRun> nearest_;
};

std::string size_text(std::size_t i, double value) {
  return size_names[i] == "parameters" ? format_count(value) : fmt::format("{:.0f}", value);
}

std::string in_words(const std::string& id, const Shape& mine, const Shape& run) {
  std::string text = id + ": " + (mine.device == run.device ? "the same device" : run.device) +
                     (mine.stack == run.stack ? " and stack" : " on " + run.stack);
  if (mine.format != run.format) text += ", " + run.format;
  if (mine.experts != run.experts) text += run.experts ? ", experts" : ", no experts";
  for (std::size_t i = 0; i < mine.sizes.size(); ++i) {
    if (std::abs(std::log2(mine.sizes[i] / run.sizes[i])) < 0.1) continue;
    text +=
        fmt::format("; {} {} here, {} there", size_names[i], size_text(i, mine.sizes[i]), size_text(i, run.sizes[i]));
  }
  return text;
}

}  // namespace

std::optional<NearestRun> nearest_run(const Job& job, const Layout& layout) {
  Nearest nearest(shape_of(job, layout));
  for (const Reader& record : published_runs()) {
    std::optional<Shape> shape = shape_of(record);
    if (!shape) continue;
    shape->stack = stack_name(shape->stack);
    nearest.add(record.at("id").string(), *shape);
  }
  return nearest.found();
}

std::optional<NearestRun> nearest_own_run(const Job& job, const Layout& layout) {
  const std::optional<Reader> own = own_runs_of(job);
  if (!own || !own->has("measured")) return std::nullopt;
  Nearest nearest(shape_of(job, layout));
  for (const Reader& run : own->at("measured").items()) nearest.add(run.at("id").string(), shape_of_own(run));
  return nearest.found();
}

std::string run_shape_json(const std::string& id, const Job& job, const Layout& layout) {
  const Shape shape = shape_of(job, layout);
  nlohmann::ordered_json out = {{"id", id},
                                {"device", shape.device},
                                {"stack", shape.stack},
                                {"format", shape.format},
                                {"experts", shape.experts}};
  for (std::size_t i = 0; i < size_keys.size(); ++i) out["sizes"][size_keys[i]] = shape.sizes[i];
  return out.dump();
}

}  // namespace meshwright::calibrate
