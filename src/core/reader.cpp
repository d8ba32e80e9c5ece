#include "meshwright/core/reader.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/units_detail.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright {

using json = nlohmann::ordered_json;

struct Reader::Impl {
  std::shared_ptr<const json> document;  // keeps `value` alive
  const json* value;
  std::string name, pointer;
};

namespace {

// What a document may be: far beyond any that is meant, and small enough that none takes long or much memory.
constexpr std::size_t deepest = 64;
constexpr std::size_t most_values = 1 << 20, most_keys = 10'000, most_items = 100'000, most_lines = 200'000;
constexpr std::size_t longest_key = 1000, longest_text = 1 << 20, longest_shown = 57;

/// A document may name its JSON Schema, for editors.
constexpr std::string_view schema_key = "$schema";

std::string shown(const json& value) { return printable(value.dump(), longest_shown); }

// nlohmann's sentence names line and column after a "[json.exception...]" tag; the tag is of no use to a person.
std::string without_tag(std::string message) {
  if (const auto end = message.find("] "); end != std::string::npos) message.erase(0, end + 2);
  return message;
}

/// Looks at a document before it is held. Refuses what is too deep or too large, and a key that stands twice in one
/// object: one of the two values would be lost unseen. A pass of its own, because nlohmann's callback of a parse looks
/// through a list again at the end of each of its objects.
class Guard {
 public:
  explicit Guard(const std::string& name) : name_(name) {}
  bool null() { return count(); }
  bool boolean(bool) { return count(); }
  bool number_integer(json::number_integer_t) { return count(); }
  bool number_unsigned(json::number_unsigned_t) { return count(); }
  bool number_float(json::number_float_t, const std::string&) { return count(); }
  bool string(const std::string&) { return count(); }
  bool binary(const json::binary_t&) { return count(); }
  bool start_object(std::size_t) { return open(); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(); }
  bool end_array() { return close(); }
  bool key(const std::string& text) {
    add(text);
    return count();
  }
  /// The parse that follows says it.
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  bool count() {
    if (++values_ > most_values) refuse(fmt::format("more than {} values, expected at most that", most_values));
    return true;
  }
  bool open() {
    if (open_.size() >= deepest) refuse(fmt::format("lists or objects inside each other more than {} deep", deepest));
    open_.emplace_back();
    return count();
  }
  bool close() {
    open_.pop_back();
    return count();
  }
  void add(const std::string& text) {
    std::set<std::string>& keys = open_.back();
    if (text.size() > longest_key) refuse(fmt::format("the key '{}' has {} bytes", shown(text), text.size()));
    if (has_controls(text)) refuse(fmt::format("the key '{}' holds control characters", text));
    if (!keys.insert(text).second) refuse(fmt::format("the key '{}' stands twice in one object", text));
    if (keys.size() > most_keys) refuse(fmt::format("an object of more than {} keys", most_keys));
  }
  [[noreturn]] void refuse(const std::string& what) const { throw Error(name_, what); }

  const std::string& name_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> open_;
};

std::shared_ptr<const json> parsed(std::string_view text, const std::string& name) {
  if (text.empty()) throw Error(name, "the file is empty, expected JSON or YAML");
  try {
    Guard guard(name);
    json::sax_parse(text, &guard);
    return std::make_shared<const json>(json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw Error(name, "not valid JSON: " + without_tag(e.what()));
  }
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return out;
}

}  // namespace

Reader Reader::text(std::string_view content, std::string name) {
  auto document = parsed(content, name);
  const json* root = document.get();
  return Reader(std::make_shared<const Impl>(Impl{std::move(document), root, std::move(name), ""}));
}

Reader Reader::file(const std::filesystem::path& path) { return read_document(read_file(path), shown_path(path)); }

std::vector<Reader> Reader::lines(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  std::vector<Reader> readers;
  std::size_t number = 0;
  for (std::size_t start = 0; start < content.size();) {
    std::size_t end = content.find('\n', start);
    if (end == std::string::npos) end = content.size();
    const std::string_view line = std::string_view(content).substr(start, end - start);
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      readers.push_back(text(line, path.string() + ":" + std::to_string(number)));
      if (readers.size() > most_lines) throw Error(path.string(), fmt::format("more than {} records", most_lines));
    }
    start = end + 1;
  }
  return readers;
}

std::string Reader::where() const { return impl_->pointer.empty() ? impl_->name : impl_->name + ":" + impl_->pointer; }

void Reader::fail(const std::string& message) const { throw Error(where(), message); }

bool Reader::is_null() const { return impl_->value->is_null(); }
bool Reader::is_object() const { return impl_->value->is_object(); }
bool Reader::is_array() const { return impl_->value->is_array(); }
bool Reader::is_string() const { return impl_->value->is_string(); }
bool Reader::is_number() const { return impl_->value->is_number(); }
bool Reader::is_boolean() const { return impl_->value->is_boolean(); }

bool Reader::has(std::string_view key) const { return find(key).has_value(); }

std::optional<Reader> Reader::find(std::string_view key) const {
  if (!is_object()) fail("found " + shown(*impl_->value) + ", expected an object");
  const auto member = impl_->value->find(key);
  if (member == impl_->value->end() || member->is_null()) return std::nullopt;
  return Reader(
      std::make_shared<const Impl>(Impl{impl_->document, &*member, impl_->name, impl_->pointer + "/" + escaped(key)}));
}

Reader Reader::at(std::string_view key) const {
  if (auto member = find(key)) return *member;
  if (impl_->value->contains(key)) fail(fmt::format("'{}' is null, expected a value", key));
  const std::vector<std::string> present = keys();
  const std::string near = nearest(key, present);
  fail(fmt::format("'{}' is missing{}", key, near.empty() ? "" : fmt::format(" (found '{}')", near)));
}

std::vector<std::string> Reader::keys() const {
  if (!is_object()) fail("found " + shown(*impl_->value) + ", expected an object");
  std::vector<std::string> out;
  for (const auto& [key, value] : impl_->value->items()) out.push_back(key);
  return out;
}

std::vector<Reader> Reader::items() const {
  if (!is_array()) fail("found " + shown(*impl_->value) + ", expected a list");
  if (impl_->value->size() > most_items)
    fail(fmt::format("a list of {} entries, expected at most {}", impl_->value->size(), most_items));
  std::vector<Reader> out;
  std::size_t index = 0;
  for (const json& element : *impl_->value) {
    out.push_back(Reader(std::make_shared<const Impl>(
        Impl{impl_->document, &element, impl_->name, impl_->pointer + "/" + std::to_string(index++)})));
  }
  return out;
}

void Reader::allow_only(std::span<const std::string_view> known) const {
  const std::vector<std::string> valid(known.begin(), known.end());
  for (const std::string& key : keys()) {
    if (impl_->pointer.empty() && key == schema_key) continue;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(fmt::format("unknown key '{}'{}", key, suggestion(key, valid)));
    }
  }
}

std::string Reader::string() const {
  if (!is_string()) fail("found " + shown(*impl_->value) + ", expected a string");
  const auto& text = impl_->value->get_ref<const std::string&>();
  if (text.size() > longest_text)
    fail(fmt::format("a text of {} bytes, expected at most {}", text.size(), longest_text));
  if (has_controls(text)) fail("found " + shown(*impl_->value) + ", expected a text without control characters");
  return text;
}

double Reader::number() const {
  if (!is_number()) fail("found " + shown(*impl_->value) + ", expected a number");
  const double value = impl_->value->get<double>();
  if (!std::isfinite(value)) fail("found " + shown(*impl_->value) + ", expected a finite number");
  return value;
}

bool Reader::boolean() const {
  if (!is_boolean()) fail("found " + shown(*impl_->value) + ", expected true or false");
  return impl_->value->get<bool>();
}

long long Reader::integer64(long long least, long long most) const {
  const double value = is_number() ? impl_->value->get<double>() : std::nan("");
  const bool whole = std::isfinite(value) && value == std::floor(value) && value >= static_cast<double>(least) &&
                     value <= static_cast<double>(most);
  if (!whole) {
    fail(fmt::format("found {}, expected a whole number from {} to {}", shown(*impl_->value), least, most));
  }
  return static_cast<long long>(value);
}

int Reader::integer(int least, int most) const { return static_cast<int>(integer64(least, most)); }

std::size_t Reader::one_of(std::span<const std::string> names) const {
  const std::string found = string();
  const auto match = std::find(names.begin(), names.end(), found);
  if (match == names.end()) throw UnknownName(where(), fmt::format("found '{}'{}", found, suggestion(found, names)));
  return static_cast<std::size_t>(match - names.begin());
}

std::string Reader::string_or(std::string_view key, std::string fallback) const {
  const auto member = find(key);
  return member ? member->string() : std::move(fallback);
}
double Reader::number_or(std::string_view key, double fallback) const {
  const auto member = find(key);
  return member ? member->number() : fallback;
}
int Reader::integer_or(std::string_view key, int fallback, int least, int most) const {
  const auto member = find(key);
  return member ? member->integer(least, most) : fallback;
}
bool Reader::boolean_or(std::string_view key, bool fallback) const {
  const auto member = find(key);
  return member ? member->boolean() : fallback;
}

std::string Reader::dump() const { return impl_->value->dump(); }

void Reader::refuse_bare_quantity(Dimension dimension) const {
  fail("found " + shown(*impl_->value) + ", expected " + expected_quantity(dimension) + " as a string");
}

}  // namespace meshwright
