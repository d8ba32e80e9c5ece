#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "meshwright/core/text.hpp"

namespace meshwright::cli {
namespace {

constexpr std::size_t narrowest = 80, usual = 100, widest = 160;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

/// POSIX: the first of these that is set and not empty names the locale; "C" has no UTF-8.
bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string text(variable(name));
    if (text.empty()) continue;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

/// Of the terminal, or as COLUMNS says; 0 = neither.
std::size_t columns() {
  if (const auto said = parse_number(variable("COLUMNS")); said && *said >= 1)
    return static_cast<std::size_t>(std::min(*said, 1e6));
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

bool shows_styles() { return isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb"; }

}  // namespace

Terminal& terminal() {
  static Terminal found = [] {
    const std::size_t wide = columns();
    return Terminal{shows_styles(), utf8_locale(), wide == 0 ? usual : std::clamp(wide, narrowest, widest), wide > 0};
  }();
  return found;
}

void set_color(std::string_view when) { terminal().styled = when == "always" || (when == "auto" && shows_styles()); }

}  // namespace meshwright::cli
