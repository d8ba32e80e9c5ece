#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "meshwright/core/text.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace meshwright::cli {
namespace {

constexpr char style_begins = '\x01', style_ends = '\x02';
constexpr std::size_t enough = 1 << 16;

bool data = false;  // what is printed is for machines

/// A character beyond ASCII, for a terminal without UTF-8.
std::string_view in_ascii(std::string_view one) {
  struct Row {
    std::string_view from, to;
  };
  static constexpr Row rows[] = {{"█", "#"}, {"…", "~"}, {"µ", "u"}, {"×", "x"}, {"→", ">"},
                                 {"–", "-"}, {"—", "-"}, {"’", "'"}, {"≤", "<"}, {"≥", ">"}};
  const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.from == one; });
  return row == std::end(rows) ? "?" : row->to;
}

/// The text as it is shown.
std::string shown(std::string_view text) {
  const bool ascii = !terminal().utf8 && !data;
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::size_t style = style_at(rest), length = character_length(rest);
    const std::string_view one = rest.substr(0, std::max<std::size_t>(1, length));
    if (style > 0) {
      if (terminal().styled) out += fmt::format("\033[{}m", rest.substr(1, style - 2));
    } else if (length == 0) {
      out += ascii ? "?" : "\xef\xbf\xbd";
    } else if (length > 1 && ascii && !is_control(one)) {
      out += in_ascii(one);
    } else if (one == "\n" || one == "\t" || !is_control(one)) {
      out += one;
    } else {
      out += fmt::format("\\u00{:02x}", static_cast<unsigned char>(one.back()));
    }
    at += style > 0 ? style : one.size();
  }
  return out;
}

/// A line for people that is wider than the terminal, where there is one, goes on below it, two columns further in.
/// What has no space to break at, and what is there to be pasted ("--flag value"), stays as it is.
std::string folded(std::string_view line) {
  const std::size_t width = terminal().width, indent = std::min(line.find_first_not_of(' '), line.size());
  if (!terminal().bounded || display_width(line) <= width || line.substr(indent).starts_with("--"))
    return std::string(line);
  std::string out, margin(indent + 2, ' '), rest(line);
  while (display_width(rest) > width) {
    std::size_t at = rest.size();
    while (at != std::string::npos &&
           (at >= rest.size() || display_width(std::string_view(rest).substr(0, at)) > width))
      at = at == 0 ? std::string::npos : rest.rfind(' ', at - 1);
    if (at == std::string::npos || rest.find_first_not_of(' ') >= at) break;
    out += rest.substr(0, at) + "\n";
    rest = margin + rest.substr(std::min(rest.find_first_not_of(' ', at), rest.size()));
  }
  return out + rest;
}

/// Every line of it folded.
std::string lines_folded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += folded(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
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
  const std::string_view whole = std::string_view(held_).substr(0, end);
  put(shown(data ? std::string(whole) : lines_folded(whole)));
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

std::size_t style_at(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && at <= 2 && text[at] >= '0' && text[at] <= '9') ++at;
  return text[0] == style_begins && at > 1 && at < text.size() && text[at] == style_ends ? at + 1 : 0;
}

void prints_data() { data = true; }

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
