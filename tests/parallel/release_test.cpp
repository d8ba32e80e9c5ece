#include "meshwright/parallel/release.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

const std::vector<Release> releases = {
    {"24.09", "2024-09-20", {"core 0.9"}},
    {"25.04", "2025-04-15", {"core 0.12", "nemolib 2.3"}},
    {"25.09", "2025-09-30", {"bridge 0.1", "core 0.14"}},
    {"25.11", "2025-11-26", {"bridge 0.2", "core 0.15", "9e159aed7"}},
    {"26.02.01", "2026-03-10", {"bridge 0.3.1"}},
};

struct Spelling {
  const char *text, *version;
  ReleaseFound found;
};

TEST(Release, SpellingsThatPeopleWrite) {
  const Spelling spellings[] = {
      {"25.11", "25.11", ReleaseFound::named},
      {"NeMo 25.04", "25.04", ReleaseFound::named},
      {"nemo:25.11", "25.11", ReleaseFound::named},
      {"NeMo 25.04.01", "25.04", ReleaseFound::named},
      {"NeMo 25.04.rc2", "25.04", ReleaseFound::named},
      {"NeMo nemo:dev(24.11)", "24.09", ReleaseFound::before},
      {"NVIDIA NeMo Framework Release 25.09", "25.09", ReleaseFound::named},
      {"Megatron-Bridge v0.2.0", "25.11", ReleaseFound::named},
      {"Megatron-Bridge r0.1.0", "25.09", ReleaseFound::named},
      {"Megatron-Bridge 0.4.2, Megatron-Core 0.17.1 (nemo 26.04.01)", "26.02.01", ReleaseFound::before},
      {"core v0.14", "25.09", ReleaseFound::named},
      {"Megatron-Core r0.13.1", "25.04", ReleaseFound::before},
      {"Megatron-Core r0.8.0", "24.09", ReleaseFound::oldest},
      {"main@9e159aed7, nightly", "25.11", ReleaseFound::named},
      {"trainer 2025-10", "25.09", ReleaseFound::dated},
      {"(2025-04-20)", "25.04", ReleaseFound::dated},
      {"NeMo launcher-2024-12", "24.09", ReleaseFound::dated},
      {"Megatron-LM 2020", "24.09", ReleaseFound::oldest},
  };
  for (const Spelling& s : spellings) {
    const ReleaseChoice choice = release_choice(releases, s.text);
    ASSERT_GE(choice.index, 0) << s.text;
    EXPECT_EQ(releases[static_cast<std::size_t>(choice.index)].version, s.version) << s.text;
    EXPECT_EQ(choice.found, s.found) << s.text;
  }
}

// NeMo's containers are numbered by year and month, its library counts from 2 on: "NeMo 25.04" is after no "nemo 2.5".
TEST(Release, NumbersOfAProductThatCountsInTwoWays) {
  const std::vector<Release> nemo = {{"24.09", "2024-09", {"nemo 24.09"}},
                                     {"24.12", "2024-12", {"nemo 2.1", "nemo 24.12"}},
                                     {"25.04", "2025-04", {"nemo 2.3", "nemo 25.04"}},
                                     {"25.09", "2025-09", {"bridge 0.1", "nemo 2.5", "nemo 25.09"}}};
  const Spelling spellings[] = {
      {"NeMo nemo:dev(24.11)", "24.09", ReleaseFound::before},
      {"NeMo 24.12", "24.12", ReleaseFound::named},
      {"NeMo 25.02.01", "24.12", ReleaseFound::before},
      {"NeMo 25.04.01", "25.04", ReleaseFound::named},
      {"NeMo 25.07", "25.04", ReleaseFound::before},
      {"nemo 2.4", "25.04", ReleaseFound::before},
      {"nemo 2.5", "25.09", ReleaseFound::named},
  };
  for (const Spelling& s : spellings) {
    const ReleaseChoice choice = release_choice(nemo, s.text);
    EXPECT_EQ(nemo[static_cast<std::size_t>(choice.index)].version, s.version) << s.text;
    EXPECT_EQ(choice.found, s.found) << s.text;
  }
}

TEST(Release, WhatNamesNothingIsDatedElseTheNewest) {
  for (const char* text : {"", "MLPerf v5.0", "see recipe", "commit 285068c8", "fork"}) {
    EXPECT_EQ(release_choice(releases, text).index, 4) << text;
    const ReleaseChoice dated = release_choice(releases, text, "2025-05-02");
    EXPECT_EQ(dated.index, 1) << text;
    EXPECT_EQ(dated.found, ReleaseFound::dated) << text;
  }
  EXPECT_EQ(release_choice(releases, "").found, ReleaseFound::newest);
  EXPECT_EQ(release_choice(releases, "see recipe").found, ReleaseFound::unknown);
  EXPECT_EQ(release_choice({}, "25.04").index, -1);
}

TEST(Release, ChoicesThatWereNotNamedAreStated) {
  const auto said = [](const char* version, const char* date = "") {
    return assumption(release_choice(releases, version, date), releases, "nemo", version);
  };
  EXPECT_EQ(said("25.04"), "");
  EXPECT_EQ(said(""), "framework_version: 26.02.01 (the newest known of nemo)");
  EXPECT_THAT(said("25.10"), HasSubstr("25.09 (the release of nemo before '25.10')"));
  EXPECT_THAT(said("fork", "2025-10"), HasSubstr("25.09 (the newest known of nemo at the time)"));
  EXPECT_THAT(said("fork"), HasSubstr("'fork' names none"));
  EXPECT_THAT(said("23.01"), HasSubstr("24.09"));
}

}  // namespace
}  // namespace meshwright::parallel
