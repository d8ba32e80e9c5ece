#pragma once
// What the screen takes: styles, characters, width. Found out once; --color has the last word.
#include <cstddef>
#include <string_view>

namespace meshwright::cli {

struct Terminal {
  bool styled = false;      ///< stdout is a terminal, and NO_COLOR is unset
  bool utf8 = true;         ///< by LC_ALL, LC_CTYPE and LANG
  std::size_t width = 100;  ///< columns: COLUMNS, the terminal's own, or 100 where there is neither; at least 80
  bool bounded = false;     ///< there is either: text is cut and folded; a pipe gets whole lines
};

/// Of this program's stdout.
Terminal& terminal();
/// "always", "never" or "auto" (as the terminal is).
void set_color(std::string_view when);

}  // namespace meshwright::cli
