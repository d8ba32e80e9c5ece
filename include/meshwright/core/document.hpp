#pragma once
// Files that people write: JSON or YAML, from a path or from stdin, with counts as people say them.
#include <filesystem>
#include <string>
#include <string_view>

#include "meshwright/core/reader.hpp"

namespace meshwright {

/// The path that stands for stdin.
inline constexpr std::string_view stdin_path = "-";

/// True for what is a path of a document rather than a name of the catalogue: it ends in .json, .yaml or .yml (or in
/// one of them and .gz), or is "-".
bool names_document(std::string_view text);
/// The same for files in a folder: stdin is none.
bool is_document_file(const std::filesystem::path& path);
/// What messages call a path: "stdin" for "-".
std::string shown_path(const std::filesystem::path& path);

/// A YAML 1.2 document as JSON text (core schema: true, 12, 0.5, null; anything else is a text). Anchors are copied
/// where they are used. Throws Error("name:LINE", ...) for what YAML or JSON cannot hold: several documents, keys that
/// are no texts, tags.
std::string yaml_to_json(std::string_view yaml, const std::string& name);
/// `content` of a file of that name: YAML where the name ends so, JSON where it ends so, else what it looks like.
Reader read_document(std::string_view content, const std::string& name);

/// A count as people say it: 4096, "4096", "4k" (4,096) or "1M" (1,048,576): lengths, batches and GPUs are counted in
/// powers of two. Throws Error(where, ...) unless it is a whole number from `least` to `most`.
int parse_size(std::string_view text, const std::string& where, int least, int most);
/// The same of a member: a number or a text.
int read_size(const Reader& member, int least, int most);

}  // namespace meshwright
