#pragma once
// Text from outside: shown without harm, and read as numbers whatever the locale of the host program.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright {

/// `text` fit for a terminal and for JSON: control characters and bytes that are no UTF-8 as \xNN, at most `most` bytes
/// of the original (cut between characters, "..." after it).
std::string printable(std::string_view text, std::size_t most = 80);

/// The same, of a longer text its beginning and its end, " ... " between them, at most `most` bytes in all: what was
/// expected stands behind what was found.
std::string abridged(std::string_view text, std::size_t most);

/// Bytes of the UTF-8 character that `text` begins with; zero where it begins with none (overlong forms, surrogates and
/// code points past U+10FFFF included: RFC 3629).
std::size_t character_length(std::string_view text);
/// C0 and C1 controls, and DEL: of one character.
bool is_control(std::string_view character);
/// True where `text` holds a character that a terminal would obey: C0 and C1 controls and DEL, apart from tabs and line
/// ends.
bool has_controls(std::string_view text);

/// ASCII letters in lower case.
std::string lower(std::string_view text);

/// A finite decimal number ("16", "2.5", "1e3") that is the whole of `text`; nothing otherwise.
std::optional<double> parse_number(std::string_view text);
/// The number that `text` begins with ("16.0 GT/s PCIe" is 16); nothing where it begins with none.
std::optional<double> leading_number(std::string_view text);
/// A whole number within [least, most] that is the whole of `text`; nothing otherwise.
std::optional<int> parse_whole(std::string_view text, int least, int most);

}  // namespace meshwright
