#include "meshwright/core/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/refusal.hpp"
#include "meshwright/core/members.hpp"

namespace meshwright {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(Document, YamlIsReadAsTheSameJson) {
  const Reader r = read_document(
      "# a cluster\n"
      "name: my cluster\n"
      "node: {name: dgx-h100, nics: 8, nic_bandwidth: 400 Gb/s}\n"
      "network:\n"
      "  oversubscription: [4:1, 1]\n"
      "  topology: fat-tree   # leaf first\n"
      "flags: [true, False, ~, 1.5, +2, .5, \"8\", 007, yes]\n"
      "anchored: &a [1, {b: c}]\n"
      "again: *a\n",
      "cluster.yaml");
  EXPECT_EQ(r.dump(), R"({"name":"my cluster","node":{"name":"dgx-h100","nics":8,"nic_bandwidth":"400 Gb/s"},)"
                      R"("network":{"oversubscription":["4:1",1],"topology":"fat-tree"},)"
                      R"("flags":[true,false,null,1.5,2.0,0.5,"8","007","yes"],)"
                      R"("anchored":[1,{"b":"c"}],"again":[1,{"b":"c"}]})");
  EXPECT_EQ(r.at("node").at("nics").where(), "cluster.yaml:/node/nics");
}

TEST(Document, YamlIsHeldToWhatJsonIs) {
  EXPECT_THAT(refusal([] { read_document("a: 1\na: 2\n", "x.yaml"); }), HasSubstr("'a' stands twice"));
  EXPECT_THAT(refusal([] { read_document("a: [1, 2\n", "x.yaml"); }), AllOf(HasSubstr("x.yaml:"), HasSubstr("YAML")));
  EXPECT_THAT(refusal([] { read_document("a: 1\n---\nb: 2\n", "x.yaml"); }), HasSubstr("several"));
  EXPECT_THAT(refusal([] { read_document("", "x.yaml"); }), HasSubstr("empty"));
  EXPECT_THAT(refusal([] { read_document("? [1, 2]\n: 3\n", "x.yaml"); }), HasSubstr("as a key"));
  EXPECT_THAT(refusal([] { read_document("a: !!python/object 1\n", "x.yaml"); }), HasSubstr("tag"));
  const std::string deep(100, '[');
  EXPECT_THAT(refusal([&] { read_document("a: " + deep, "x.yaml"); }), HasSubstr("x.yaml"));
  // Each alias doubles: a billion values out of twenty lines.
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" +
            std::to_string(i - 1) + "]\n";
  EXPECT_THAT(refusal([&] { read_document(bomb, "bomb.yaml"); }), HasSubstr("bomb.yaml"));
}

TEST(Document, NamesAndLooksTell) {
  for (const char* name : {"a.json", "b/c.yaml", "d.yml", "e.json.gz", "-"}) EXPECT_TRUE(names_document(name)) << name;
  for (const char* name : {"dgx-h100", "json", "a.toml", ""}) EXPECT_FALSE(names_document(name)) << name;
  EXPECT_EQ(read_document("{\"a\": 1}", "stdin").at("a").integer(), 1);
  EXPECT_EQ(read_document("a: 1", "stdin").at("a").integer(), 1);
  EXPECT_THAT(refusal([] { read_document("a: 1", "x.json"); }), HasSubstr("not valid JSON"));
  EXPECT_EQ(shown_path("-"), "stdin");
}

TEST(Document, SizesAsPeopleSayThem) {
  constexpr int most = 1 << 24;
  EXPECT_EQ(parse_size("4096", "x", 1, most), 4096);
  EXPECT_EQ(parse_size("4k", "x", 1, most), 4096);
  EXPECT_EQ(parse_size("1.5K", "x", 1, most), 1536);
  EXPECT_EQ(parse_size("1M", "x", 1, most), 1 << 20);
  for (const char* wrong : {"", "k", "4 k", "-4", "1.5", "0.0001k", "4kb", "1e3", "0x10", "010", "64M", "nan"})
    EXPECT_THAT(refusal([&] { parse_size(wrong, "--seq-len", 1, most); }), HasSubstr("--seq-len: found")) << wrong;
  EXPECT_EQ(read_size(Reader::text("\"8k\"", "x"), 1, most), 8192);
  EXPECT_EQ(read_size(Reader::text("8192", "x"), 1, most), 8192);
}

struct Sample {
  std::string name;
  std::optional<int> count;
  BytesPerSecond rate{};
};

TEST(Members, ReaderAndSchemaAreTheSameRows) {
  const Members<Sample> rows = {needed(text_member<&Sample::name>("name", "what it is called")),
                                whole_member<&Sample::count>("count", 1, 8, ""),
                                quantity_member<&Sample::rate>("rate", "")};
  Sample sample;
  read_members(Reader::text(R"({"$schema": "x.json", "name": "a", "rate": "400 Gb/s"})", "f"), rows, sample);
  EXPECT_EQ(sample.name, "a");
  EXPECT_FALSE(sample.count.has_value());
  EXPECT_DOUBLE_EQ(sample.rate.value(), 50e9);
  EXPECT_THAT(refusal([&] { read_members(Reader::text(R"({"count": 2})", "f"), rows, sample); }),
              HasSubstr("'name' is missing"));
  EXPECT_THAT(refusal([&] { read_members(Reader::text(R"({"name": "a", "cuont": 2})", "f"), rows, sample); }),
              HasSubstr("did you mean 'count'"));
  const Reader schema = Reader::text(shape_of(rows).schema, "schema");
  EXPECT_EQ(schema.at("required").items().front().string(), "name");
  EXPECT_EQ(schema.at("properties").at("count").at("maximum").integer(), 8);
  EXPECT_EQ(schema.at("properties").at("name").at("description").string(), "what it is called");
  EXPECT_FALSE(schema.at("additionalProperties").boolean());
}

}  // namespace
}  // namespace meshwright
