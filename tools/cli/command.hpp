#pragma once
// The command table. A command is one file tools/cli/NAME.cpp with one function `add_NAME`, and one row in commands().
//
//   void add_hardware(CLI::App& root, const Globals& globals) {
//     CLI::App* list = command(*root..., "list", "...", examples);
//     auto options = std::make_shared<Options>();        // lives as long as the callback
//     list->add_flag("--json", options->json, ...);
//     list->callback([options, &globals] { run(*options, globals); });
//   }
//
// A callback prints its answer on stdout and returns; bad input is thrown as meshwright::Error: main prints it as one
// line on stderr and exits with 2. An answer that is "no" (nothing fits, a check failed) throws cli::Negative: exit 1.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "meshwright/core/namespaces.hpp"

namespace meshwright::cli {

/// Options of the program, before or behind the command's name.
struct Globals {
  std::filesystem::path hardware;  ///< --hardware PATH: overlays of the hardware database
};

/// The command answered, and the answer is no. Its text, if any, goes to stderr.
struct Negative {
  std::string text;
};

struct Command {
  std::string_view name;
  std::string_view summary;
  void (*add)(CLI::App& command, const Globals& globals);  ///< fills an empty subcommand with options and callback
  std::string_view examples;                               ///< shown at the end of --help
};
std::span<const Command> commands();

void add_cluster(CLI::App& command, const Globals& globals);
void add_completion(CLI::App& command, const Globals& globals);
void add_man(CLI::App& command, const Globals& globals);
void add_schema(CLI::App& command, const Globals& globals);
void add_algorithms(CLI::App& command, const Globals& globals);
void add_plan(CLI::App& command, const Globals& globals);
void add_predict(CLI::App& command, const Globals& globals);
void add_validate(CLI::App& command, const Globals& globals);
void add_collective(CLI::App& command, const Globals& globals);
void add_topo(CLI::App& command, const Globals& globals);
void add_model(CLI::App& command, const Globals& globals);
void add_calibrate(CLI::App& command, const Globals& globals);
void add_hardware(CLI::App& command, const Globals& globals);
void add_import(CLI::App& command, const Globals& globals);
void add_whatif(CLI::App& command, const Globals& globals);

/// What an option takes: a whole number in decimal digits (not "010", "0x10" or "1e3"), a finite number, a text that is
/// not empty, a *.json file or a folder with some. Anything else is refused with what was found and what is expected.
CLI::Validator whole_number(long long least, long long most);
/// The same, and "4k" or "1M" in powers of two: a transformation.
CLI::Validator whole_size(int least, int most);
CLI::Validator decimal_number(double least, double most);
CLI::Validator some_text();
CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator overlay_folder();
/// A file that can be written as far as its folder tells, and a .json file or a folder: what cannot is said before the
/// work.
CLI::Validator output_file();
CLI::Validator output_overlay();

/// `text` as one line of valid UTF-8: control characters and stray bytes are escaped.
std::string one_line(std::string_view text);

/// A document as text; bytes that are no UTF-8, as arguments and names of files may have, are replaced.
std::string json_text(const nlohmann::ordered_json& document, int indent = -1);
/// Prints one JSON document on stdout and nothing else.
void print_json(const nlohmann::ordered_json& document);

/// What a command line that CLI11 refuses looks like as one sentence, with the nearest option or command.
std::string explain_parse_error(const CLI::App& root, const CLI::ParseError& error);

}  // namespace meshwright::cli
