// The meshwright program: parses the command line, runs one command, turns errors into one line and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <new>
#include <system_error>

#include "command.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/version.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace meshwright::cli {
namespace {

// 70 and 74 are EX_SOFTWARE and EX_IOERR of sysexits.h.
constexpr int exit_negative = 1, exit_bad_input = 2, exit_internal = 70, exit_output = 74;

/// The options of the program may stand behind a command, too; and a flag takes no value ("--json=x").
void fall_through(CLI::App& command) {
  command.fallthrough();
  for (CLI::Option* option : command.get_options()) {
    if (option->get_expected_max() == 0) option->disable_flag_override();
  }
  for (CLI::App* sub : command.get_subcommands({})) fall_through(*sub);
}

void define(CLI::App& root, Globals& globals) {
  root.description("Meshwright plans the parallel layout and the cluster for training a large model.");
  root.require_subcommand(1);
  root.set_version_flag("--version", std::string("meshwright ") + version);
  root.add_option("--hardware", globals.hardware,
                  "Overlay of the hardware database: a *.json file, or a folder of them")
      ->check(overlay_folder())
      ->type_name("PATH");
  root.add_option_function<std::string>(
          "--color", [](const std::string& when) { set_color(when); },
          "When to style: auto, always, never; auto by default")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("WHEN");
  for (const Command& row : commands()) {
    CLI::App* command = root.add_subcommand(std::string(row.name), std::string(row.summary));
    row.add(*command, globals);
    command->footer("Examples:\n" + std::string(row.examples) + "\n");
    fall_through(*command);
  }
}

int fail(int code, std::string_view text) {
  constexpr std::size_t longest = 2100;  // both parts of an Error
  std::fputs(fmt::format("meshwright: {}\n", abridged(text, longest)).c_str(), stderr);
  return code;
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
    return fail(exit_bad_input, explain_parse_error(root, error));
  }
  return 0;
}

/// Runs what `body` does and turns what it throws into one line and an exit code.
template <class Body>
int guarded(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    return fail(exit_bad_input, error.what());
  } catch (const Negative& negative) {
    return negative.text.empty() ? exit_negative : fail(exit_negative, negative.text);
  } catch (const OutputFailed& failed) {
    return fail(exit_output, failed.why);
  } catch (const std::system_error& error) {  // a folder that goes away, a thread that cannot be had
    return fail(exit_bad_input, error.what());
  } catch (const std::bad_alloc&) {
    return fail(exit_bad_input, "out of memory: the input asks for more than there is");
  } catch (const std::exception& error) {
    return fail(exit_internal,
                fmt::format("internal error: {} (please report it with the command line)", error.what()));
  }
}

}  // namespace
}  // namespace meshwright::cli

int main(int argc, char** argv) {
  using namespace meshwright::cli;
  hold_standard_streams();
  const Output notes(std::cerr, STDERR_FILENO);
  Output output(std::cout, STDOUT_FILENO);
  const int code = guarded([&] { return run(argc, argv); });
  if (code == exit_bad_input) output.discard();
  const int printed = guarded([&] {
    output.finish();
    return 0;
  });
  return printed != 0 ? printed : code;
}
