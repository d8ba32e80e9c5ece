// meshwright man: the manual page in man(7)'s macros, made from the parser's own tree.
#include <fmt/format.h>

#include <iostream>

#include "command.hpp"
#include "command_tree.hpp"
#include "meshwright/version.hpp"
#include "output.hpp"

namespace meshwright::cli {
namespace {

/// Text as roff shows it: backslashes, dashes, and dots and quotes at the start of a line.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string option_text(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += names.empty() ? "" : ", ";
    names += option.positional ? fmt::format("\\fI{}\\fR", roff(name)) : fmt::format("\\fB{}\\fR", roff(name));
  }
  if (!option.positional && !option.value.empty()) names += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}{}\n", names, roff(option.doc), option.required ? " (required)" : "");
}

std::string command_text(const CommandFacts& command) {
  std::string out = command.path.empty()
                        ? ".SH OPTIONS\n"
                        : fmt::format(".SS meshwright {}\n{}\n", roff(command.path), roff(command.doc));
  for (const OptionFacts& option : command.options) out += option_text(option);
  if (!command.footer.empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  return out;
}

constexpr std::string_view closing = R"(.SH EXIT STATUS
.TP
0
The command answered.
.TP
1
It answered, and the answer is no: nothing fits, a check failed.
.TP
2
The input is wrong; one line on stderr names file, place, what was found and what is expected.
.TP
70, 74
An internal error; output that could not be written.
.SH ENVIRONMENT
.TP
MESHWRIGHT_HARDWARE
A folder of overlays, read before the one of \-\-hardware.
.TP
COLUMNS, NO_COLOR, LC_ALL, LC_CTYPE, LANG
The width of tables, no styles, and whether the terminal shows UTF\-8.
)";

}  // namespace

void add_man(CLI::App& command, const Globals&) {
  command.callback([&command] {
    const std::vector<CommandFacts> tree = command_tree(command);
    prints_data();
    std::string out = fmt::format(".TH MESHWRIGHT 1 \"\" \"meshwright {}\" \"User Commands\"\n", version);
    out += fmt::format(".SH NAME\nmeshwright \\- {}\n", roff(tree.front().doc));
    out += ".SH SYNOPSIS\n.B meshwright\n\\fICOMMAND\\fR [\\fIOPTION\\fR ...]\n";
    out += command_text(tree.front()) + ".SH COMMANDS\n";
    for (std::size_t i = 1; i < tree.size(); ++i) out += command_text(tree[i]);
    std::cout << out << closing;
  });
}

}  // namespace meshwright::cli
