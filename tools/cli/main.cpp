// The meshwright program: parses the command line, runs one command, turns errors into one line and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "command.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/version.hpp"

namespace meshwright::cli {
namespace {

constexpr int exit_negative = 1, exit_bad_input = 2;

void define(CLI::App& root, Globals& globals) {
  root.description("Meshwright plans the parallel layout and the cluster for training a large model.");
  root.require_subcommand(1);
  root.set_version_flag("--version", std::string("meshwright ") + version);
  root.add_option("--hardware", globals.hardware, "Folder of *.json overlays of the hardware database")
      ->check(overlay_folder())
      ->type_name("DIR");
  root.fallthrough(false);
  for (const Command& row : commands()) {
    CLI::App* command = root.add_subcommand(std::string(row.name), std::string(row.summary));
    row.add(*command, globals);
    command->footer("Examples:\n" + std::string(row.examples) + "\n");
  }
}

int run(int argc, char** argv) {
  CLI::App root("", "meshwright");
  Globals globals;
  define(root, globals);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "meshwright: {}\n", one_line(explain_parse_error(root, error)));
    return exit_bad_input;
  }
  return 0;
}

}  // namespace
}  // namespace meshwright::cli

int main(int argc, char** argv) {
  using namespace meshwright;
  using namespace meshwright::everything;
  try {
    return cli::run(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "meshwright: {}\n", cli::one_line(error.what()));
    return cli::exit_bad_input;
  } catch (const cli::Negative& negative) {
    if (!negative.text.empty()) fmt::print(stderr, "meshwright: {}\n", cli::one_line(negative.text));
    return cli::exit_negative;
  } catch (const std::exception& error) {
    fmt::print(stderr, "meshwright: internal error: {} (please report it with the command line)\n", error.what());
    return 70;
  }
}
