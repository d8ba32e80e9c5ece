#include "meshwright/core/error.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace meshwright {
namespace {

const std::vector<std::string> models = {"llama-3.1-405b", "llama-3.1-70b", "gpt-3-175b"};

TEST(Error, NamesPlaceAndCauseOnOneLine) {
  const Error e("job.json:/layout/tp", "found 0, expected a whole number from 1 to 64");
  EXPECT_STREQ(e.what(), "job.json:/layout/tp: found 0, expected a whole number from 1 to 64");
  EXPECT_EQ(e.where(), "job.json:/layout/tp");
}

TEST(Error, IsOneLineThatATerminalCanShow) {
  const Error e("a\x1b[2J.json", "found\n" + std::string(1000000, 'x') + ", expected a number");
  EXPECT_EQ(e.where(), "a\\x1b[2J.json");
  EXPECT_LT(std::string(e.what()).size(), 1100U);
  EXPECT_TRUE(std::string(e.what()).ends_with("xxx, expected a number")) << "what was expected is said all the same";
  EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
}

TEST(Nearest, IsNotSlowedDownByHostileNames) {
  EXPECT_EQ(nearest(std::string(1000000, 'l'), models), "");
  EXPECT_EQ(nearest("llama", std::vector<std::string>{std::string(1000000, 'l')}), "");
  EXPECT_EQ(nearest("", models), "");
}

TEST(Nearest, ForgivesCaseDashesAndAFewLetters) {
  EXPECT_EQ(nearest("Llama3.1 405B", models), "llama-3.1-405b");
  EXPECT_EQ(nearest("gpt3-175b", models), "gpt-3-175b");
  EXPECT_EQ(nearest("lama-3.1-70b", models), "llama-3.1-70b");
  EXPECT_EQ(nearest("zzz", models), "");
}

TEST(Suggestion, ListsTheValidOnesWhereNothingIsNear) {
  EXPECT_EQ(suggestion("gpt-3-175", models), " (did you mean 'gpt-3-175b'?)");
  EXPECT_EQ(suggestion("zzz", models), "; expected one of llama-3.1-405b, llama-3.1-70b, gpt-3-175b");
}

TEST(Violation, ReadsAsASentence) {
  EXPECT_EQ((Violation{"device memory", "91.2 GB", "80.0 GB"}).text(), "device memory: needs 91.2 GB, has 80.0 GB");
}

}  // namespace
}  // namespace meshwright
