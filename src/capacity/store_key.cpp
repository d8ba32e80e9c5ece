// What a store's results depend on.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "meshwright/capacity/whatif.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/version.hpp"

namespace meshwright::capacity {
namespace {

namespace fs = std::filesystem;

/// FNV-1a, 64 bits: the same on every machine.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(256);  // "ab" + "c" is not "a" + "bc"
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  void mix(unsigned value) { state_ = (state_ ^ value) * 1099511628211ULL; }
  std::uint64_t state_ = 14695981039346656037ULL;
};

void add_file(Digest& digest, const fs::path& file) {
  digest.add(file.filename().string());
  digest.add(read_file(file));
}

/// The *.json files of a folder, or the file itself.
void add_path(Digest& digest, const fs::path& path) {
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return add_file(digest, path);
  if (!fs::is_directory(path, failed)) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) add_file(digest, file);
}

/// Models, clusters and overlays may be files: a text below such a member stands for the content of the file it names.
void add_named_files(Digest& digest, const nlohmann::ordered_json& value, bool names_files = false) {
  constexpr std::string_view members[] = {"model", "cluster", "overlay"};
  if (value.is_object()) {
    for (const auto& [key, item] : value.items())
      add_named_files(digest, item, names_files || std::ranges::find(members, key) != std::end(members));
  } else if (value.is_array()) {
    for (const auto& item : value) add_named_files(digest, item, names_files);
  } else if (value.is_string() && names_files) {
    add_path(digest, value.get<std::string>());
  }
}

std::string shipped() {
  static const std::string digest = [] {
    Digest all;
    for (const auto files : {embedded_hardware(), embedded_platforms(), embedded_fitted(), embedded_overlays(),
                             embedded_workloads(), embedded_frameworks(), embedded_recipes(), embedded_capacity()}) {
      for (const EmbeddedFile& file : files) all.add(file.name), all.add(file.content);
    }
    return all.text();
  }();
  return digest;
}

}  // namespace

std::string store_key(const Scenario& scenario, const hardware::Catalog& catalog) {
  Digest files;
  for (const fs::path& folder : catalog.data()->folders) add_path(files, folder);
  add_named_files(files, nlohmann::ordered_json::parse(scenario.text));
  return fmt::format("meshwright {}\ndata {}\nfiles {}\n{}", version, shipped(), files.text(), scenario.text);
}

}  // namespace meshwright::capacity
