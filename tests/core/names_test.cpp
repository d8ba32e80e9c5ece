#include "meshwright/core/names.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace meshwright {
namespace {

struct Entry {
  std::string name;
  std::vector<std::string> aliases;
};

TEST(Names, SpellingsOfOneNameFoldAlike) {
  EXPECT_EQ(folded_name("DGX_H100"), folded_name("dgx-h100"));
  EXPECT_EQ(folded_name("Llama 3.1"), "llama31");
  EXPECT_NE(folded_name("dragonfly"), folded_name("dragonfly+"));
  EXPECT_EQ(folded_name("- _"), "");
}

TEST(Names, ANameGoesBeforeAnAlias) {
  const std::vector<Entry> entries = {{"first", {"second"}}, {"Second", {"third"}}};
  EXPECT_EQ(find_named(entries, "SECOND"), &entries[1]);
  EXPECT_EQ(find_named(entries, "third"), &entries[1]);
  EXPECT_EQ(find_named(entries, "fourth"), nullptr);
}

TEST(Names, AnUnknownNameIsAnError) { EXPECT_THROW(throw UnknownName("here", "unknown"), Error); }

}  // namespace
}  // namespace meshwright
