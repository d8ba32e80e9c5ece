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

#include "calibrate/launch_format.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int deepest = 64;
constexpr std::size_t a_node = 64;           // bytes that a value or a node without one counts beside its text
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
    values_.push_back({std::move(path), std::move(value)});
  }
  /// Counts a node, which may hold no value.
  void weigh(std::size_t bytes) {
    bytes_ += bytes + a_node;
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

void check_depth(int depth, const std::string& path, const Gathered& out) {
  if (depth > deepest) throw Error(out.file(), fmt::format("found nesting deeper than {} at '{}'", deepest, path));
}

/// "[a, [b, c]]".
std::string list_text(const YAML::Node& list, const std::string& path, Gathered& out, int depth) {
  check_depth(depth, path, out);
  std::string text;
  for (const auto& item : list) {
    std::string shown = item.IsSequence() ? list_text(item, path, out, depth + 1)
                        : item.IsScalar() ? item.Scalar()
                                          : "...";
    out.weigh(shown.size());
    text += (text.empty() ? "" : ", ") + std::move(shown);
  }
  return "[" + text + "]";
}

void flatten(const YAML::Node& node, const std::string& path, Gathered& out, int depth) {
  check_depth(depth, path, out);
  out.weigh(0);
  if (node.IsMap()) {
    for (const auto& member : node)
      flatten(member.second, joined(path, with_underscores(member.first.Scalar())), out, depth + 1);
  } else if (node.IsSequence()) {
    out.add(path, list_text(node, path, out, depth));
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
  bool ends_command = false;  ///< no word, but ';', '|', '&', '>' or a closing parenthesis
};

constexpr std::string_view batch_options = "#SBATCH";  ///< a comment to the shell, options to Slurm

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

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
      quoted(c);
    } else if (c == '\'' || c == '"') {
      quote_ = c, open_ = true;
    } else if (c == '\\') {
      if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') put(text_[at_ + 1]);
      if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++line_;
      ++at_;
    } else if (c == '#' && !open_ && text_.substr(at_).starts_with(batch_options)) {
      end_command();
      for (const char d : batch_options) put(d);
      at_ += batch_options.size() - 1;
    } else if (c == '#' && !open_) {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '$') {
      variable();
    } else if (is_blank(c)) {
      end_word();
      line_ += c == '\n' ? 1 : 0;
    } else if (c == ';' || c == '|' || c == '&' || c == '>') {
      if (c == '>' && std::ranges::all_of(word_, [](char d) { return d >= '0' && d <= '9'; }))
        word_.clear(), open_ = false;  // 2>: a descriptor
      end_command();
    } else if (c == '(' || c == ')') {
      const bool assigns = c == '(' && word_.ends_with('=');
      if (assigns) word_.clear(), open_ = false;  // NAME=( ... ): the words inside count
      c == ')' ? end_command() : end_word();
    } else {
      put(c);
    }
  }

  void quoted(char c) {
    line_ += c == '\n' ? 1 : 0;
    if (c == quote_) {
      quote_ = '\0';
    } else if (c == '$' && quote_ == '"') {
      variable();
    } else if (c == '\\' && quote_ == '"' && at_ + 1 < text_.size() &&
               std::string_view("\n\"\\$`").find(text_[at_ + 1]) != std::string_view::npos) {
      ++at_;
      text_[at_] == '\n' ? void(++line_) : put(text_[at_]);
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
    while (to < text_.size() && in_name(text_[to])) ++to;
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
    if (known != variables_.end()) {
      unfold(known->second);
    } else if (rest.starts_with(":-")) {
      unfold(rest.substr(2));
    } else {
      word_ += unset + variable_name + unset;
      open_ = true;
    }
  }

  /// A value in place of its variable: one word in quotes and in assignments, else the words that blanks make of it.
  void unfold(const std::string& value) {
    unfolded_ += value.size();
    if (unfolded_ > most_bytes) refuse_size(fmt::format("{}:{}", name_, line_), "found variables that stand for texts");
    if (quote_ != '\0' || name_length() > 0) {
      word_ += value;
      open_ = true;
      return;
    }
    for (const char c : value) is_blank(c) ? end_word() : put(c);
  }

  /// How long NAME is where the word so far is NAME=... or NAME+=..., else 0.
  std::size_t name_length() const {
    std::size_t length = 0;
    while (length < word_.size() && in_name(word_[length])) ++length;
    const std::string_view rest = std::string_view(word_).substr(length);
    return rest.starts_with('=') || rest.starts_with("+=") ? length : 0;
  }

  void end_word() {
    if (!open_) return;
    if (const std::size_t length = name_length(); length > 0) {
      std::string& value = variables_[word_.substr(0, length)];
      const bool joins = word_[length] == '+';
      value = (joins ? value : "") + word_.substr(length + (joins ? 2 : 1));
    }
    words_.push_back({std::move(word_), line_});
    word_.clear();
    open_ = false;
  }

  void end_command() {
    end_word();
    words_.push_back({"", line_, true});
  }

 public:
  static constexpr char unset = '\x01';  ///< around the name of a variable that nothing has set

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

/// A value of an option that may take several, as "--recompute-modules core_attn layernorm" does: no number, no path.
bool is_choice(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
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
  std::vector<Word> words = Words(text, name).read();
  const auto add = [&](const Word& word, std::string key, std::string value) {
    while (key.starts_with("+")) key.erase(0, 1);
    LaunchValue made{with_underscores(std::move(key)), std::move(value), word.line};
    if (const std::size_t at = made.value.find(Words::unset); at != std::string::npos) {
      made.unset = made.value.substr(at + 1, made.value.find(Words::unset, at + 1) - at - 1);
      if (made.unset.empty()) made.unset = "(...)";
    }
    out.push_back(std::move(made));
  };
  bool slurm = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    slurm = !words[i].ends_command && (slurm || word == "srun" || word == "sbatch" || word == batch_options);
    if (slurm && (word == "-N" || word == "-n") && i + 1 < words.size() && !words[i + 1].ends_command) {
      add(words[i], word == "-N" ? "nodes" : "ntasks", words[i + 1].text);
      ++i;
    } else if (is_option(word)) {
      const std::size_t end = word.find_first_of("= ");  // "--key value" in quotes: an array that is joined later
      if (end != std::string::npos) {
        add(words[i], word.substr(2, end - 2), word.substr(end + 1));
      } else if (i + 1 < words.size() && !words[i + 1].ends_command && !is_option(words[i + 1].text)) {
        const Word& option = words[i];
        std::string value = words[++i].text;
        for (bool more = is_choice(value); more && i + 1 < words.size(); ++i) {
          const Word& next = words[i + 1];
          if (next.ends_command || next.line != option.line || !is_choice(next.text)) break;
          value += " " + next.text;
        }
        add(option, word.substr(2), std::move(value));
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
  const std::string text = read_file(path), name = path.string();
  if (text.size() > most_bytes) refuse_size(name, "found a file");
  switch (launch_format(text, path.extension().string())) {
    case LaunchFormat::json:
      return read_json(text, name);
    case LaunchFormat::yaml:
      return read_yaml(text, name);
    case LaunchFormat::toml:
      return read_toml(text, name);
    case LaunchFormat::script:
      break;
  }
  return read_command_line(text, name);
}

}  // namespace meshwright::calibrate
