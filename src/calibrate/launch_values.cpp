#include "calibrate/launch_values.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int deepest = 64;
constexpr std::size_t most_bytes = 4 << 20;  // of a file, of its values, and of what its variables stand for

[[noreturn]] void refuse_size(const std::string& where, std::string_view what) {
  throw Error(where, fmt::format("{} of more than {} bytes, expected a launch configuration", what, most_bytes));
}

/// Gathers values. Aliases of YAML and long paths can make much of little.
class Gathered {
 public:
  explicit Gathered(const std::string& file) : file_(file) {}
  void add(std::string path, std::string value) {
    weigh(path.size() + value.size());
    values_.emplace_back(std::move(path), std::move(value));
  }
  /// Counts a node, which may hold no value.
  void weigh(std::size_t bytes) {
    bytes_ += bytes + 1;
    if (bytes_ > most_bytes) refuse_size(file_, "found values");
  }
  LaunchValues take() { return std::move(values_); }
  const std::string& file() const { return file_; }

 private:
  const std::string& file_;
  std::size_t bytes_ = 0;
  LaunchValues values_;
};

std::string joined(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

std::string with_underscores(std::string key) {
  std::ranges::replace(key, '-', '_');
  return key;
}

void flatten(const nlohmann::json& value, const std::string& path, Gathered& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) flatten(member, joined(path, with_underscores(key)), out);
  } else {
    out.add(path, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void flatten(const YAML::Node& node, const std::string& path, Gathered& out, int depth) {
  if (depth > deepest) throw Error(out.file(), fmt::format("found nesting deeper than {} at '{}'", deepest, path));
  out.weigh(0);
  if (node.IsMap()) {
    for (const auto& member : node)
      flatten(member.second, joined(path, with_underscores(member.first.Scalar())), out, depth + 1);
  } else if (node.IsSequence()) {
    std::string list;
    for (const auto& item : node) list += (list.empty() ? "" : ", ") + (item.IsScalar() ? item.Scalar() : "...");
    out.add(path, "[" + list + "]");
  } else {
    out.add(path, node.IsNull() ? "null" : node.Scalar());
  }
}

void flatten(const toml::table& table, const std::string& path, Gathered& out) {
  for (const auto& [key, node] : table) {
    const std::string at = joined(path, with_underscores(std::string(key.str())));
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, at, out);
    } else if (const auto text = node.value<std::string>()) {
      out.add(at, *text);
    } else {
      std::ostringstream shown;
      node.visit([&](const auto& value) { shown << value; });
      out.add(at, shown.str());
    }
  }
}

LaunchValues read_json(const std::string& text, const std::string& name) {
  Gathered out(name);
  const Reader checked = Reader::text(text, name);  // its depth and its errors
  flatten(nlohmann::json::parse(checked.dump()), "", out);
  return out.take();
}

LaunchValues read_yaml(const std::string& text, const std::string& name) {
  Gathered out(name);
  try {
    flatten(YAML::Load(text), "", out, 0);
  } catch (const YAML::Exception& e) {
    throw Error(fmt::format("{}:{}", name, e.mark.line + 1), "no YAML: " + e.msg);
  }
  return out.take();
}

LaunchValues read_toml(const std::string& text, const std::string& name) {
  Gathered out(name);
  try {
    flatten(toml::parse(text), "", out);
  } catch (const toml::parse_error& e) {
    throw Error(fmt::format("{}:{}", name, e.source().begin.line), "no TOML: " + std::string(e.description()));
  }
  return out.take();
}

/// Words of a script with their lines; quotes are taken off, parentheses stand for themselves.
struct Word {
  std::string text;
  int line = 0;
};

class Words {
 public:
  Words(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Word> read() {
    for (; at_ < text_.size(); ++at_) step(text_[at_]);
    end_word();
    return std::move(words_);
  }

 private:
  void step(char c) {
    if (quote_ != '\0') {
      if (c == quote_) {
        quote_ = '\0';
      } else if (c == '$' && quote_ == '"') {
        variable();
      } else {
        put(c);
      }
    } else if (c == '\'' || c == '"') {
      quote_ = c, open_ = true;
    } else if (c == '\\') {
      if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') put(text_[at_ + 1]);
      if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++line_;
      ++at_;
    } else if (c == '#' && !open_) {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '$') {
      variable();
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';') {
      end_word();
      line_ += c == '\n' ? 1 : 0;
    } else if (c == '(' || c == ')') {
      const bool assigns = c == '(' && word_.ends_with('=');
      if (assigns) word_.clear(), open_ = false;  // NAME=( ... ): the words inside count
      end_word();
    } else {
      put(c);
    }
  }

  void put(char c) {
    word_ += c;
    open_ = true;
  }

  /// $NAME, ${NAME}, ${NAME:-default}, ${NAME[@]}.
  void variable() {
    std::size_t from = at_ + 1;
    const bool braces = from < text_.size() && text_[from] == '{';
    if (braces) ++from;
    std::size_t to = from;
    while (to < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[to])) != 0 || text_[to] == '_')) ++to;
    const std::string variable_name(text_.substr(from, to - from));
    std::string rest;
    if (braces) {
      const std::size_t close = std::min(text_.find('}', to), text_.size());
      rest = std::string(text_.substr(to, close - to));
      to = std::min(close + 1, text_.size());
    }
    at_ = to - 1;
    if (rest.starts_with("[") || variable_name == "@") return;  // an array, whose words have been read
    const auto known = variables_.find(variable_name);
    open_ = true;
    if (known != variables_.end()) {
      unfolded_ += known->second.size();
      if (unfolded_ > most_bytes)
        refuse_size(fmt::format("{}:{}", name_, line_), "found variables that stand for texts");
      word_ += known->second;
    } else if (rest.starts_with(":-")) {
      word_ += rest.substr(2);
    } else {
      word_ += unset + variable_name;
    }
  }

  void end_word() {
    if (!open_) return;
    const std::size_t equals = word_.find('=');
    const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (equals != std::string::npos && equals > 0 &&
        std::all_of(word_.begin(), word_.begin() + static_cast<long>(equals), is_name))
      variables_[word_.substr(0, equals)] = word_.substr(equals + 1);
    words_.push_back({std::move(word_), line_});
    word_.clear();
    open_ = false;
  }

 public:
  static constexpr char unset = '\x01';  ///< before the name of a variable that nothing has set

 private:
  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0, unfolded_ = 0;
  int line_ = 1;
  char quote_ = '\0';
  bool open_ = false;
  std::string word_;
  std::vector<Word> words_;
  std::map<std::string, std::string> variables_;
};

bool is_option(const std::string& word) {
  return word.starts_with("--") && word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

/// "key=value" or "key:value" without dashes, as Hydra, OmegaConf and torchtitan take them.
std::optional<std::size_t> assignment(const std::string& word) {
  const std::size_t at = word.find_first_of("=:");
  if (at == std::string::npos || at == 0 || at + 1 == word.size()) return std::nullopt;
  const auto in_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '+' || c == '/';
  };
  return std::all_of(word.begin(), word.begin() + static_cast<long>(at), in_key) ? std::optional(at) : std::nullopt;
}

}  // namespace

LaunchValues read_command_line(std::string_view text, const std::string& name) {
  LaunchValues out;
  const std::vector<Word> words = Words(text, name).read();
  const auto add = [&](const Word& word, std::string key, std::string value) {
    if (const std::size_t at = value.find(Words::unset); at != std::string::npos) {
      throw Error(
          fmt::format("{}:{}", name, word.line),
          fmt::format("found ${} as {}, which nothing here sets; expected its value", value.substr(at + 1), key));
    }
    while (key.starts_with("+")) key.erase(0, 1);
    out.emplace_back(with_underscores(std::move(key)), std::move(value));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (is_option(word)) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        add(words[i], word.substr(2, equals - 2), word.substr(equals + 1));
      } else if (i + 1 < words.size() && !is_option(words[i + 1].text)) {
        add(words[i], word.substr(2), words[i + 1].text);
        ++i;
      } else {
        add(words[i], word.substr(2), "True");
      }
    } else if (const auto at = assignment(word)) {
      // A variable of the script counts where it is used.
      if (word.find('.') < *at || std::islower(static_cast<unsigned char>(word[0])) != 0)
        add(words[i], word.substr(0, *at), word.substr(*at + 1));
    }
  }
  return out;
}

LaunchValues read_launch_values(const std::filesystem::path& path) {
  const std::string text = read_file(path), extension = path.extension().string(), name = path.string();
  if (text.size() > most_bytes) refuse_size(name, "found a file");
  if (extension == ".json") return read_json(text, name);
  if (extension == ".yaml" || extension == ".yml") return read_yaml(text, name);
  if (extension == ".toml") return read_toml(text, name);
  return read_command_line(text, name);
}

}  // namespace meshwright::calibrate
