#pragma once
// The commands and options that the parser knows, as plain values: completion and the manual are made from them.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace meshwright::cli {

struct OptionFacts {
  std::vector<std::string> names{};  ///< "--ranks", "-n"; a positional's own name without dashes
  std::string value{};               ///< what it takes: "FILE"; "" for a switch
  std::string doc{};
  bool positional = false, required = false;
};
struct CommandFacts {
  std::string path{};  ///< "topo show"; "" for the program
  std::string doc{}, footer{};
  std::vector<OptionFacts> options{};
  std::vector<std::pair<std::string, std::string>> commands{};  ///< names and what they do
};

/// The program first, then every command, each followed by its own.
std::vector<CommandFacts> command_tree(const CLI::App& any);
/// Values of an option that completion can offer: presets, clusters, stacks; none where it can't.
std::vector<std::string> values_of(const std::string& option);

}  // namespace meshwright::cli
