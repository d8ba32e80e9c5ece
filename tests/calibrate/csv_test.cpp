// RFC 4180 and the dirt that tables gather on their way through spreadsheets.
#include "calibrate/csv.hpp"
#include "core/refusal.hpp"

#include <gmock/gmock.h>

#include "meshwright/core/error.hpp"

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

std::vector<std::vector<std::string>> rows(const std::string& text, std::size_t columns) {
  CsvTable table(text, "t.csv");
  std::vector<std::vector<std::string>> all;
  while (table.next()) {
    all.emplace_back();
    for (std::size_t c = 0; c < columns; ++c) all.back().emplace_back(table.text(c));
  }
  return all;
}

std::string refusal(const std::string& text) {
  return meshwright::refusal([&] {
    CsvTable table(text, "t.csv");
    const std::size_t a = table.column("a");
    while (table.next()) table.number(a, 0, 100);
  });
}

TEST(Csv, EverySpellingOfATableIsTheSame) {
  const std::vector<std::vector<std::string>> want = {{"1", "x"}, {"2", "y"}};
  for (const std::string text :
       {"a,b\n1,x\n2,y\n", "a,b\n1,x\n2,y", "a,b\r\n1,x\r\n2,y\r\n",
        "\xef\xbb\xbf"
        "a,b\n1,x\n2,y\n",
        "\"a\",\"b\"\n\"1\",\"x\"\n2,\"y\"\n", "\xef\xbb\xbf\"a\",\"b\"\r\n\"1\",\"x\"\r\n\r\n2,y\r\n",
        "a , b\n 1, x\n\t2 ,\"y\" \n\n"}) {
    EXPECT_EQ(rows(text, 2), want) << text;
    CsvTable table(text, "t.csv");
    EXPECT_EQ(table.column("b"), 1U) << text;
  }
}

TEST(Csv, QuotedFieldsHoldCommasQuotesAndLineEnds) {
  EXPECT_EQ(rows("a,b\n\"x, \"\"y\"\"\nz\",\"\"\n", 2), (std::vector<std::vector<std::string>>{{"x, \"y\"\nz", ""}}));
  EXPECT_EQ(rows("a,b\n,\n", 2), (std::vector<std::vector<std::string>>{{"", ""}}));
}

TEST(Csv, RefusalsNameTheLine) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("\xef\xbb\xbf"), HasSubstr("empty"));
  EXPECT_THAT(refusal("b,c\n1,2\n"), HasSubstr("t.csv:1: no column 'a'; found b, c"));
  EXPECT_THAT(refusal("a,b\n1,2\n\n1,2,3\n"), HasSubstr("t.csv:4: 3 fields; expected 2"));
  EXPECT_THAT(refusal("a,b\n1,\"x\ny\"\nz,2\n"), HasSubstr("t.csv:4: a is 'z'"));  // a row of two lines before it
  EXPECT_THAT(refusal("a,b\n1,\"x\n"), HasSubstr("t.csv:2: a quoted field is not closed"));
  EXPECT_THAT(refusal("a,b\n1,\"x\"y\n"), HasSubstr("after a quoted field"));
  for (const char* number : {"1e308", "-1", "nan", "inf", "1,5", "0x10", "1 2", "\x1b[2J"})
    EXPECT_THAT(refusal("a\n\"" + std::string(number) + "\"\n"), HasSubstr("expected a number of 0 to 100")) << number;
  EXPECT_EQ(refusal("a\n\x1b[2J\n").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace meshwright::calibrate
