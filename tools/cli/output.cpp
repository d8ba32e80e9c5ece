#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "meshwright/core/text.hpp"

namespace meshwright::cli {
namespace {

constexpr char style_begins = '\x01', style_ends = '\x02';
constexpr std::size_t enough = 1 << 16;

/// "\x01" "31" "\x02" -> the terminal's own "\x1b[31m"; its length, 0 where none begins here.
std::size_t style_at(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && at <= 2 && text[at] >= '0' && text[at] <= '9') ++at;
  return text[0] == style_begins && at > 1 && at < text.size() && text[at] == style_ends ? at + 1 : 0;
}

/// The text as it is shown.
std::string shown(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::size_t style = style_at(rest), length = character_length(rest);
    const std::string_view one = rest.substr(0, std::max<std::size_t>(1, length));
    if (style > 0) {
      out += fmt::format("\033[{}m", rest.substr(1, style - 2));
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (one == "\n" || one == "\t" || !is_control(one)) {
      out += one;
    } else {
      out += fmt::format("\\u00{:02x}", static_cast<unsigned char>(one.back()));
    }
    at += style > 0 ? style : one.size();
  }
  return out;
}

}  // namespace

Output::Output(std::ostream& stream, int descriptor)
    : stream_(stream), descriptor_(descriptor), before_(stream.rdbuf(this)) {}
Output::~Output() { stream_.rdbuf(before_); }

void Output::put(std::string_view text) {
  while (!text.empty() && failed_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failed_ = errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Whole lines, so that no character is cut.
void Output::write_lines(bool all) {
  const std::size_t last = held_.rfind('\n');
  const std::size_t end = all ? held_.size() : last == std::string::npos ? 0 : last + 1;
  put(shown(std::string_view(held_).substr(0, end)));
  held_.erase(0, end);
}

std::streamsize Output::xsputn(const char* text, std::streamsize count) {
  held_.append(text, static_cast<std::size_t>(count));
  if (held_.size() > enough) write_lines(false);
  return count;
}

Output::int_type Output::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  xsputn(&one, 1);
  return c;
}

int Output::sync() {
  write_lines(true);
  return failed_ == 0 ? 0 : -1;
}

void Output::finish() {
  write_lines(true);
  if (failed_ != 0) throw OutputFailed{"cannot write to stdout: " + std::generic_category().message(failed_)};
}

std::string marked(std::string_view text, std::string_view code) {
  const auto mark = [](std::string_view style) { return style_begins + std::string(style) + style_ends; };
  return mark(code) + std::string(text) + mark("0");
}

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest number that is free: this one. A stdout that can only be read refuses what is written.
    ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace meshwright::cli
