#pragma once
// What a layout is written as besides the answer: launcher flags, a launch file, a page. The same for every command.
#include <CLI/CLI.hpp>
#include <string>

namespace meshwright::cli {

struct LayoutOutputs {
  std::string flags;         ///< a dialect; "" = none, or the stack's own for the launch file
  std::string launch, html;  ///< files to write; "" = none
};
/// --flags, --launch and --html.
void add_layout_outputs(CLI::App& command, LayoutOutputs& outputs);

}  // namespace meshwright::cli
