#pragma once
// Inputs that are nearly right: seeds with a few changes, by a seeded generator, so that a run can be repeated.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace meshwright::fuzz {

/// The files of a folder in the order of their names.
std::vector<std::string> read_seeds(const std::filesystem::path& folder);

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, std::uint64_t seed);
  /// The next input: a seed with one to eight changes.
  std::string next();

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(generator_() % bound); }
  void change(std::string& text);
  void replace_number(std::string& text);
  void replace_word(std::string& text);

  std::vector<std::string> seeds_, words_;
  std::mt19937_64 generator_;
};

}  // namespace meshwright::fuzz
