#include "meshwright/core/breakdown.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace meshwright {
namespace {

const Term a{"step", 5, "s", "", "", {{"compute", 3, "s", "2mnk/F", "gemm table", {}}, {"bubble", 2, "s", "", "", {}}}};
const Term b{"step", 6, "s", "", "", {{"compute", 4, "s", "", "", {}}, {"host", 2, "s", "", "", {}}}};

TEST(Term, TotalIsTheSumOfTheLeaves) { EXPECT_DOUBLE_EQ(total(a), 5); }

TEST(Term, CompareIsAgainABreakdown) {
  const Term difference = compare(a, b);
  EXPECT_DOUBLE_EQ(difference.value, 1);
  EXPECT_DOUBLE_EQ(total(difference), 1);
  EXPECT_DOUBLE_EQ(find(difference, "compute")->value, 1);
  EXPECT_DOUBLE_EQ(find(difference, "bubble")->value, -2);
  EXPECT_DOUBLE_EQ(find(difference, "host")->value, 2);
  EXPECT_EQ(find(difference, "absent"), nullptr);
}

TEST(Term, JsonCarriesFormulaAndSource) {
  const auto json = nlohmann::json::parse(to_json(a));
  EXPECT_EQ(json["parts"][0]["formula"], "2mnk/F");
  EXPECT_EQ(json["parts"][0]["source"], "gemm table");
  EXPECT_FALSE(json["parts"][1].contains("formula"));
}

}  // namespace
}  // namespace meshwright
