// YAML as JSON text: the one reader of documents then checks both alike (depth, sizes, keys that stand twice).
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <vector>

#include "core/json_text.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright {
namespace {

using nlohmann::json;

std::string quoted(const std::string& text) { return json_text(json(text)); }

bool among(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// A plain scalar by YAML 1.2's core schema. "yes", "4:1" and "007" are texts: older readers differ on them.
std::string plain_scalar(const std::string& text) {
  if (among(text, {"", "~", "null", "Null", "NULL"})) return "null";
  if (among(text, {"true", "True", "TRUE"})) return "true";
  if (among(text, {"false", "False", "FALSE"})) return "false";
  if (json::accept(text)) {
    const json value = json::parse(text);
    if (value.is_number()) return text;
  }
  const char* from = text.data() + (text.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(from, text.data() + text.size(), value);
  const bool number = error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
  const bool shortened = text.starts_with('+') || text.starts_with('.') || text.ends_with('.');
  return number && shortened ? json(value).dump() : quoted(text);
}

/// Writes JSON as YAML's events come in.
class Writer : public YAML::EventHandler {
 public:
  /// Aliases may not make it much larger than what was written (`written` bytes).
  Writer(const std::string& name, std::size_t written) : name_(name), most_((1 << 20) + 16 * written) {}
  std::string take() { return std::move(out_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { value(mark, anchor, "null"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool plain = tag == "?" || tag.empty(), is_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!plain && !is_text) refuse_tag(mark, tag);
    const bool is_key = !open_.empty() && open_.back().map && open_.back().count % 2 == 0;
    value(mark, anchor, plain && !is_key ? plain_scalar(text) : quoted(text));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) refuse(mark, "an alias inside its own anchor");
    value(mark, 0, known->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, false);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, true);
  }
  void OnSequenceEnd() override { end(']'); }
  void OnMapEnd() override { end('}'); }

 private:
  struct Open {
    bool map;
    std::size_t count, begin;  ///< events so far (of a map keys and values alike), and where it begins in the text
    YAML::anchor_t anchor;
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    throw Error(fmt::format("{}:{}", name_, mark.line + 1), what);
  }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    refuse(mark, fmt::format("found the tag '{}', expected a value without one", printable(tag)));
  }

  void separate(const YAML::Mark& mark, bool is_text) {
    if (open_.empty()) return;
    Open& in = open_.back();
    const bool key = in.map && in.count % 2 == 0;
    if (key && !is_text) refuse(mark, "found a list or an object as a key, expected a text");
    if (in.count > 0) out_ += in.map && !key ? ':' : ',';
    ++in.count;
  }
  void value(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    separate(mark, text.starts_with('"'));
    out_ += text;
    if (out_.size() > most_) refuse(mark, "aliases make it too large");
    if (anchor != 0) anchors_[anchor] = text;
  }
  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool map) {
    if (!among(tag, {"", "?", "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})) refuse_tag(mark, tag);
    separate(mark, false);
    open_.push_back({map, 0, out_.size(), anchor});
    out_ += map ? '{' : '[';
  }
  void end(char bracket) {
    const Open closed = open_.back();
    open_.pop_back();
    out_ += bracket;
    if (closed.anchor != 0) anchors_[closed.anchor] = out_.substr(closed.begin);
  }

  const std::string& name_;
  std::size_t most_;
  std::string out_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::string> anchors_;
};

/// A view as a stream, without a copy.
struct ViewBuffer : std::streambuf {
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // never written to: there is no put area
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

std::string yaml_to_json(std::string_view yaml, const std::string& name) {
  ViewBuffer buffer(yaml);
  std::istream stream(&buffer);
  Writer writer(name, yaml.size());
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(writer)) throw Error(name, "the file is empty, expected YAML or JSON");
    std::string text = writer.take();
    Writer rest(name, yaml.size());
    if (parser.HandleNextDocument(rest)) throw Error(name, "found several YAML documents, expected one");
    return text;
  } catch (const YAML::Exception& e) {
    throw Error(fmt::format("{}:{}", name, e.mark.line + 1), "not valid YAML: " + printable(e.msg));
  }
}

}  // namespace meshwright
