#include "meshwright/workload/presets.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/embedded.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::workload {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "meta-llama/Llama-3.1-405B-Instruct" -> "llama3.1405b": case, separators, owner and tuning suffix don't matter, but
/// the point in 1.3b does.
std::string folded(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool decimal =
        name[i] == '.' && i > 0 && i + 1 < name.size() && is_digit(name[i - 1]) && is_digit(name[i + 1]);
    if (decimal || std::isalnum(static_cast<unsigned char>(name[i]))) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    }
  }
  for (const std::string_view suffix : {"instruct", "base", "chat", "hf"}) {
    if (out.size() > suffix.size() + 3 && out.ends_with(suffix)) out.resize(out.size() - suffix.size());
  }
  return out;
}

std::vector<Transformer> read_presets() {
  std::vector<Transformer> models;
  for (const EmbeddedFile& file : embedded_workloads()) {
    const Reader reader = Reader::text(file.content, std::string(file.name));
    for (const Reader& model : reader.at("models").items()) models.push_back(read_model(model));
  }
  return models;
}

// Python writes Infinity and NaN, which JSON lacks; no size is ever one, so null stands for them.
std::string without_python_floats(std::string text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (text.compare(i, word.size(), word) == 0) text.replace(i, word.size(), "null");
      }
    }
  }
  return text;
}

Transformer read_model_file(const std::string& path) {
  const Reader reader = read_document(without_python_floats(read_file(path)), path);
  if (!reader.is_object()) reader.fail("expected an object: a Hugging Face config.json or a model file");
  if (reader.has("layers") && reader.has("hidden")) return read_model(reader);
  const std::filesystem::path file = path;
  const bool folder_names_it = file.filename() == "config.json" && file.has_parent_path();
  const std::string name = folder_names_it ? file.parent_path().filename().string() : file.stem().string();
  return import_huggingface(reader, printable(name, 200));
}

}  // namespace

const std::vector<Transformer>& model_presets() {
  static const std::vector<Transformer> models = read_presets();
  return models;
}

const Transformer* find_preset(std::string_view name) {
  const std::string wanted = folded(name);
  for (const Transformer& model : model_presets()) {
    if (folded(model.name) == wanted) return &model;
  }
  for (const Transformer& model : model_presets()) {
    const auto same = [&](const std::string& alias) { return folded(alias) == wanted; };
    if (std::any_of(model.aliases.begin(), model.aliases.end(), same)) return &model;
  }
  return nullptr;
}

Transformer load_model(std::string_view name_or_path, const std::string& where) {
  const std::string name(name_or_path);
  if (names_document(name) && name != stdin_path) return read_model_file(name);
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) return read_model_file(name + "/config.json");
  if (const Transformer* model = find_preset(name)) return *model;
  if (std::filesystem::is_regular_file(name, ignored)) return read_model_file(name);
  std::vector<std::string> names;
  for (const Transformer& model : model_presets()) names.push_back(model.name);
  throw UnknownName(where, "unknown model '" + name + "'" + suggestion(name, names));
}

}  // namespace meshwright::workload
