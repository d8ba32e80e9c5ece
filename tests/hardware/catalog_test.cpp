#include "meshwright/hardware/catalog.hpp"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(Catalog, LookupsForgiveCaseDashesAndTheVendor) {
  const Catalog& c = builtin_catalog();
  for (const char* spelling : {"H100-SXM5-80GB", "h100 sxm5 80gb", "H100", "nvidia_h100", "NVIDIA H100 80GB HBM3"})
    EXPECT_EQ(c.accelerator(spelling).name, "H100-SXM5-80GB") << spelling;
  EXPECT_EQ(c.node("DGX H100").name, "dgx-h100");
  EXPECT_EQ(c.node("p5.48xlarge").name, "aws-p5.48xlarge");
  EXPECT_EQ(c.switch_named("QM9700").name, "quantum2");
}

}  // namespace
}  // namespace meshwright
