#include "meshwright/core/reader.hpp"

#include "core/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

namespace meshwright {
namespace {
using namespace literals;
using testing::AllOf;
using testing::HasSubstr;

const char* const sample = R"({"layout": {"tp": 8, "pp": -1, "name": "x", "flags": [true, 3]},
                             "bandwidth": "400 Gb/s", "bare": 400, "nothing": null})";

TEST(Reader, GivesValuesWithTheirPlace) {
  const Reader r = Reader::text(sample, "job.json");
  EXPECT_EQ(r.at("layout").at("tp").integer(1), 8);
  EXPECT_EQ(r.at("bandwidth").quantity<BytesPerSecond::dimension>(), 50_GBps);
  EXPECT_EQ(r.at("layout").at("flags").items()[1].where(), "job.json:/layout/flags/1");
  EXPECT_FALSE(r.has("nothing"));
  EXPECT_EQ(r.integer_or("absent", 7), 7);
}

TEST(Reader, RefusesWithPlaceFoundAndExpected) {
  const Reader r = Reader::text(sample, "job.json");
  EXPECT_THAT(refusal([&] { r.at("layout").at("pp").integer(1, 64); }),
              AllOf(HasSubstr("job.json:/layout/pp"), HasSubstr("found -1"), HasSubstr("from 1 to 64")));
  EXPECT_THAT(refusal([&] { r.at("bare").quantity<BytesPerSecond::dimension>(); }),
              AllOf(HasSubstr("job.json:/bare"), HasSubstr("400"), HasSubstr("GB/s")));
  EXPECT_THAT(refusal([&] { r.at("layuot"); }), AllOf(HasSubstr("'layuot' is missing"), HasSubstr("'layout'")));
  EXPECT_THAT(refusal([&] { r.at("layout").at("name").number(); }), HasSubstr("expected a number"));
  EXPECT_THAT(refusal([&] {
                r.at("layout").allow_only({"tp", "pp", "names", "flags"});
              }),
              AllOf(HasSubstr("unknown key 'name'"), HasSubstr("did you mean 'names'")));
  EXPECT_THAT(refusal([&] { r.items(); }), HasSubstr("expected a list"));
}

TEST(Reader, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_THAT(refusal([] { Reader::text(R"({"n": 1e400})", "job.json").at("n").number(); }), HasSubstr("job.json"));
  EXPECT_THAT(refusal([] { Reader::text(R"({"n": 1e30})", "j").at("n").integer(); }), HasSubstr("whole number"));
}

TEST(Reader, RefusesTruncatedAndEmptyJson) {
  EXPECT_THAT(refusal([] { Reader::text("{\"a\": [1, 2", "cut.json"); }),
              AllOf(HasSubstr("cut.json"), HasSubstr("not valid JSON")));
  EXPECT_THAT(refusal([] { Reader::text("", "empty.json"); }), HasSubstr("empty"));
  EXPECT_THAT(refusal([] { Reader::file("absent.json"); }), HasSubstr("no such file"));
}

TEST(Reader, RefusesWhatIsTooDeepOrTooLarge) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(refusal([&] { Reader::text(nested(64), "j"); }), "accepted");
  EXPECT_THAT(refusal([&] { Reader::text(nested(65), "j"); }), HasSubstr("64 deep"));
  EXPECT_THAT(refusal([&] { Reader::text(std::string(1000000, '['), "j"); }), HasSubstr("64 deep"));
  std::string keys = "{\"k\": 0", values = "[0", items = "[0";
  for (int i = 0; i < 10001; ++i) keys += ", \"" + std::to_string(i) + "\": 0";
  for (int i = 0; i < 1100000; ++i) values += ",0";
  for (int i = 0; i < 100001; ++i) items += ",0";
  EXPECT_THAT(refusal([&] { Reader::text(keys + "}", "j"); }), HasSubstr("more than 10000 keys"));
  EXPECT_THAT(refusal([&] { Reader::text(values + "]", "j"); }), HasSubstr("values"));
  EXPECT_THAT(refusal([&] { Reader::text(items + "]", "j").items(); }), HasSubstr("at most 100000"));
  EXPECT_THAT(refusal([] { Reader::text("{\"" + std::string(1001, 'k') + "\": 0}", "j"); }), HasSubstr("1001 bytes"));
  EXPECT_THAT(refusal([] { Reader::text("[\"" + std::string(1 << 21, 'x') + "\"]", "j").items()[0].string(); }),
              HasSubstr("2097152 bytes"));
}

TEST(Reader, RefusesControlCharacters) {
  EXPECT_THAT(refusal([] { Reader::text(R"({"name": "a\u001b[31m"})", "j").at("name").string(); }),
              AllOf(HasSubstr("j:/name"), HasSubstr("control characters")));
  EXPECT_THAT(refusal([] { Reader::text(R"({"a\u0007": 1})", "j"); }), HasSubstr("control characters"));
  EXPECT_EQ(Reader::text(R"({"name": "a\tb\nc"})", "j").at("name").string(), "a\tb\nc");
}

TEST(Reader, TellsNullFromMissing) {
  EXPECT_THAT(refusal([] { Reader::text(R"({"layout": null})", "j").at("layout"); }), HasSubstr("'layout' is null"));
}

TEST(Reader, CutsWhatItQuotesBetweenCharacters) {
  for (int shift = 0; shift < 4; ++shift) {
    std::string text = "\"" + std::string(shift, 'a');
    for (int i = 0; i < 100; ++i) text += "\u00e9";
    const std::string said = refusal([&] { Reader::text(text + "\"", "j").number(); });
    EXPECT_EQ(said.find("\\x"), std::string::npos) << said;
    EXPECT_THAT(said, HasSubstr("..."));
  }
}

TEST(Reader, LinesCarryTheirNumber) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "records.jsonl";
  std::ofstream(path) << "{\"a\": 1}\n\n{\"a\": \"x\"}\n";
  const auto lines = Reader::lines(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(refusal([&] { lines[1].at("a").number(); }), HasSubstr("records.jsonl:3:/a"));
}

TEST(WriteFile, ReplacesInOneStep) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "out.json";
  write_file(path, "one");
  write_file(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
  EXPECT_THROW(write_file("/nowhere/at/all/out.json", "x"), Error);
}

}  // namespace
}  // namespace meshwright
