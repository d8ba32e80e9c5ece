#include "meshwright/core/text.hpp"

#include <gtest/gtest.h>

#include <clocale>

namespace meshwright {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("mlx5_0"), "mlx5_0");
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(printable("Gr\xc3\xbc\xc3\x9f"
                      "e"),
            "Gr\xc3\xbc\xc3\x9f"
            "e");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b"
            "2J");  // C1 control sequence introducer, in UTF-8
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xc3\xbc", 3), "ab...");
  EXPECT_EQ(printable("", 0), "");
}

TEST(Abridged, KeepsBothEnds) {
  EXPECT_EQ(abridged("abcdef", 6), "abcdef");
  EXPECT_EQ(abridged("abcdefgh", 6), "abc ... fgh");
  EXPECT_EQ(abridged("a\xc3\xbc\xc3\xbc\xc3\xbcz", 5), "a ... z");  // between characters
  EXPECT_EQ(abridged(std::string(9, '\n'), 8), "\\x0a ... \\x0a");
}

TEST(Numbers, WholeOrLeading) {
  EXPECT_EQ(parse_number("2.5"), 2.5);
  EXPECT_EQ(parse_number("2.5x"), std::nullopt);
  EXPECT_EQ(parse_number("1e999"), std::nullopt);
  EXPECT_EQ(parse_number("inf"), std::nullopt);
  EXPECT_EQ(parse_number(""), std::nullopt);
  EXPECT_EQ(leading_number("16.0 GT/s PCIe"), 16);
  EXPECT_EQ(leading_number("Unknown"), std::nullopt);
  EXPECT_EQ(parse_whole("18", 0, 20), 18);
  EXPECT_EQ(parse_whole("21", 0, 20), std::nullopt);
  EXPECT_EQ(parse_whole("99999999999999999999", 0, 20), std::nullopt);
  EXPECT_EQ(parse_whole("-1", 0, 20), std::nullopt);
}

TEST(Numbers, AreTheSameInEveryLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    EXPECT_EQ(parse_number("2.5"), 2.5) << name;
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

}  // namespace
}  // namespace meshwright
