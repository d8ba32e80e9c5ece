// The layering of docs/architecture.md, enforced: a folder includes only folders on lower lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "source_dir.hpp"

namespace {
namespace fs = std::filesystem;

const fs::path root = meshwright::source_dir();

// Folders on one line don't include each other; `cost` and `topology` both see `hardware`.
const std::map<std::string, int> layer = {{"core", 0},      {"hardware", 1},    {"workload", 1}, {"cost", 2},
                                          {"topology", 2},  {"collectives", 3}, {"parallel", 4}, {"search", 5},
                                          {"calibrate", 5}, {"capacity", 6}};

struct Include {
  fs::path file;
  int line;
  std::string target;
};

std::vector<Include> includes_below(const fs::path& folder) {
  static const std::regex pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::vector<Include> found;
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    std::ifstream in(entry.path());
    std::string text;
    for (int number = 1; std::getline(in, text); ++number) {
      std::smatch match;
      if (std::regex_search(text, match, pattern)) found.push_back({entry.path(), number, match[1]});
    }
  }
  return found;
}

// "core" of "meshwright/core/error.hpp" or of the private "core/embedded.hpp"; "" for anything else.
std::string folder_of(std::string target) {
  if (target.starts_with("meshwright/")) target.erase(0, 11);
  const std::string folder = target.substr(0, target.find('/'));
  return layer.contains(folder) ? folder : "";
}

TEST(Layering, AFolderIncludesOnlyLowerFolders) {
  int checked = 0;
  for (const auto& [folder, level] : layer) {
    for (const fs::path& base : {root / "include/meshwright" / folder, root / "src" / folder}) {
      for (const Include& include : includes_below(base)) {
        const std::string target = folder_of(include.target);
        if (target.empty() || target == folder) continue;
        ++checked;
        EXPECT_LT(layer.at(target), level) << include.file << ":" << include.line << " includes " << include.target;
      }
    }
  }
  EXPECT_GT(checked, 50) << "the scan found too few includes to mean anything";
}

TEST(Layering, HeavyLibrariesStayOutOfPublicHeaders) {
  for (const Include& include : includes_below(root / "include")) {
    for (const char* heavy : {"nlohmann/", "Eigen/", "boost/", "fmt/", "CLI/", "pugixml", "pybind11/"}) {
      EXPECT_FALSE(include.target.starts_with(heavy)) << include.file << ":" << include.line;
    }
  }
}

TEST(Layering, LibrariesStayWhereTheArchitecturePutsThem) {
  for (const Include& include : includes_below(root / "src")) {
    const std::string folder = fs::relative(include.file, root / "src").begin()->string();
    for (const auto& [library, home] : {std::pair{"Eigen/", "calibrate"},
                                        {"boost/graph", "topology"},
                                        {"boost/math", "capacity"},
                                        {"CLI/", "tools/cli"}}) {
      EXPECT_TRUE(!include.target.starts_with(library) || folder == home) << include.file << " includes " << library;
    }
  }
}

TEST(Layering, TheLibraryNeitherPrintsNorExits) {
  static const std::regex forbidden("std::(cout|cerr|clog|exit|abort|terminate)\\b|\\bprintf\\(|fmt::print\\(");
  for (const auto& entry : fs::recursive_directory_iterator(root / "src")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream in(entry.path());
    std::string text;
    for (int number = 1; std::getline(in, text); ++number) {
      EXPECT_FALSE(std::regex_search(text, forbidden)) << entry.path() << ":" << number << ": " << text;
    }
  }
}

}  // namespace
