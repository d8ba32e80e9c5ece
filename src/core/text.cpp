#include "meshwright/core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace meshwright {

std::size_t character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (length < 3) return length;
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

bool is_control(std::string_view one) {
  if (one.empty()) return false;
  const auto first = static_cast<unsigned char>(one[0]);
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && one.size() == 2 && static_cast<unsigned char>(one[1]) < 0xa0);
}

bool has_controls(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view one = text.substr(at, std::max<std::size_t>(1, character_length(text.substr(at))));
    if (is_control(one) && one != "\t" && one != "\n" && one != "\r") return true;
    at += one.size();
  }
  return false;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    const std::string_view one = text.substr(at, length == 0 ? 1 : length);
    if (at + one.size() > most) return out + "...";
    if (length > 0 && !is_control(one)) {
      out += one;
    } else {
      for (const char c : one) {
        char escape[5];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += escape;
      }
    }
    at += one.size();
  }
  return out;
}

std::string abridged(std::string_view text, std::size_t most) {
  // Of what is far too long, no more than what may be shown is looked at.
  std::string shown = text.size() > 2 * most
                          ? printable(text.substr(0, most), most) + printable(text.substr(text.size() - most), most)
                          : printable(text, text.size());
  if (shown.size() <= most) return shown;
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(shown[at]) & 0xc0) == 0x80; };
  std::size_t head = most / 2, tail = shown.size() - most / 2;
  while (head > 0 && continues(head)) --head;
  while (tail < shown.size() && continues(tail)) ++tail;
  return shown.substr(0, head) + " ... " + shown.substr(tail);
}

std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int> parse_whole(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace meshwright
