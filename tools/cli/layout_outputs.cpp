#include "layout_outputs.hpp"

#include "command.hpp"

namespace meshwright::cli {

void add_layout_outputs(CLI::App& command, LayoutOutputs& outputs) {
  const auto add = [&](const char* option, std::string& value, const char* what, const char* type) {
    return command.add_option(option, value, what)->type_name(type);
  };
  add("--flags", outputs.flags, "Print launcher flags: megatron, torchtitan, ...", "DIALECT")->check(some_text());
  add("--launch", outputs.launch, "Also a launch file of the stack (or of --flags), with its prediction", "FILE")
      ->check(output_file());
  add("--html", outputs.html, "Also a page to mail or print: no scripts, nothing from elsewhere", "FILE")
      ->check(output_file());
}

}  // namespace meshwright::cli
