#include "calibrate/run_log_lines.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/core/files.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t longest_line = 64 * 1024;  ///< what is kept of one
constexpr std::size_t no_line = 64 << 20;        ///< more than that without a line end is no log
constexpr std::size_t buffer_size = 256 * 1024;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes colour and cursor sequences (ESC [ ... letter) out in place.
void remove_escapes(std::string& line) {
  if (line.find('\x1b') == std::string::npos) return;
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') ++i;
    while (i + 1 < line.size() && std::isalpha(static_cast<unsigned char>(line[i + 1])) == 0) ++i;
    ++i;
  }
  line = std::move(out);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

/// K, M, B, T after a number that stands alone: "3.2K |", not "12.3GB" or "5.00s".
double suffix_factor(std::string_view rest) {
  if (rest.empty()) return 1;
  if (rest.size() > 1 && (std::isalnum(static_cast<unsigned char>(rest[1])) != 0 || rest[1] == '/')) return 1;
  switch (rest.front()) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

/// A number at the start of `text` with commas between groups of three digits.
std::optional<double> leading_number(std::string_view text, std::size_t& used) {
  std::string digits;
  std::size_t i = 0;
  const auto group = [&](std::size_t at) {
    return at + 3 < text.size() + 1 && at + 2 < text.size() && is_digit(text[at]) && is_digit(text[at + 1]) &&
           is_digit(text[at + 2]) && (at + 3 == text.size() || !is_digit(text[at + 3]));
  };
  for (; i < text.size() && i < 64; ++i) {
    if (text[i] == ',' && i > 0 && is_digit(text[i - 1]) && digits.find('.') == std::string::npos && group(i + 1))
      continue;
    const bool part =
        is_digit(text[i]) || text[i] == '.' || text[i] == '-' || text[i] == '+' || text[i] == 'e' || text[i] == 'E';
    if (!part) break;
    digits += text[i];
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end == digits.data() || !std::isfinite(value)) return std::nullopt;
  used = i - static_cast<std::size_t>(digits.data() + digits.size() - end);
  return value;
}

}  // namespace

struct LogLines::Impl {
  std::string path, line;
  InputFile file;
  std::array<char, buffer_size> buffer{};
  std::size_t at = 0, filled = 0, since_line_end = 0;
  long long cut = 0;
  bool any = false;

  explicit Impl(const std::filesystem::path& from) : path(from.string()), file(from, most_stream_bytes) {}

  bool fill() {
    at = 0;
    filled = file.read(buffer.data(), buffer.size());
    any = any || filled > 0;
    // A log that was copied while it grew is damaged: what came so far counts.
    if (file.damaged() && !any) throw Error(path, "is not a whole gzip file");
    return filled > 0;
  }
};

LogLines::LogLines(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}

LogLines::~LogLines() = default;

bool LogLines::truncated() const { return impl_->file.damaged(); }
long long LogLines::cut() const { return impl_->cut; }

bool LogLines::next(std::string_view& line) {
  Impl& s = *impl_;
  s.line.clear();
  bool too_long = false;
  while (true) {
    if (s.at == s.filled && !s.fill()) {
      if (s.line.empty()) return false;
      break;
    }
    const std::string_view rest(s.buffer.data() + s.at, s.filled - s.at);
    const std::size_t end = rest.find_first_of("\n\r");
    const std::string_view piece = rest.substr(0, end);
    const std::size_t room = longest_line - s.line.size();
    too_long = too_long || piece.size() > room;
    s.line.append(piece.substr(0, room));
    s.at += piece.size();
    s.since_line_end += piece.size();
    if (s.since_line_end > no_line) throw Error(s.path, "no log: more than 64 MiB without a line end");
    if (end == std::string_view::npos) continue;
    s.since_line_end = 0;
    ++s.at;
    if (s.line.empty()) continue;  // blank lines, and the second half of "\r\n"
    break;
  }
  if (too_long) ++s.cut;
  remove_escapes(s.line);
  line = s.line;
  return true;
}

std::optional<double> number_after(std::string_view line, std::string_view key) {
  const std::size_t found = line.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(found + key.size());
  const std::size_t start = rest.find_first_not_of(" \t:=");
  if (start == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(start);
  std::size_t used = 0;
  const auto value = leading_number(rest, used);
  if (!value) return std::nullopt;
  return *value * suffix_factor(rest.substr(used));
}

std::optional<std::string> text_between(std::string_view line, std::string_view after, std::string_view before) {
  const std::size_t found = line.find(after);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(found + after.size());
  const std::size_t end = before.empty() ? rest.size() : rest.find(before);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(trimmed(rest.substr(0, end)));
}

std::optional<BarStep> progress_bar_step(std::string_view line, long long total) {
  const std::size_t slow = line.find("s/it"), fast = line.find("it/s");
  const std::size_t unit = slow != std::string_view::npos ? slow : fast;
  const std::string slash = "/" + std::to_string(total) + " [";
  const std::size_t bar = line.find(slash);
  if (unit == std::string_view::npos || bar == std::string_view::npos || bar == 0 || unit == 0) return std::nullopt;
  const auto number_before = [&](std::size_t end) {
    std::size_t start = end;
    while (start > 0 && (is_digit(line[start - 1]) || line[start - 1] == '.')) --start;
    double value = 0;
    std::from_chars(line.data() + start, line.data() + end, value);
    return value;
  };
  const double number = number_before(bar), rate = number_before(unit);
  if (number <= 0 || rate <= 0 || number > 1e9) return std::nullopt;
  return BarStep{static_cast<int>(number), slow != std::string_view::npos ? rate : 1 / rate};
}

}  // namespace meshwright::calibrate
