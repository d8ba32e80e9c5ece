#include "meshwright/workload/presets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace meshwright {
namespace {

TEST(Presets, EveryPresetHasItsPublishedSize) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    const ParameterCounts counts = parameter_counts(model);
    EXPECT_FALSE(model.source.empty());
    ASSERT_GT(model.published_params, 0);
    // Nine digits are the exact count of a checkpoint; "6.7B" of a paper is rounded.
    const bool exact = std::fmod(model.published_params, 1e6) != 0;
    EXPECT_NEAR(counts.total / model.published_params, 1, exact ? 1e-3 : 0.03) << counts.total;
    if (model.published_active > 0) {
      EXPECT_NEAR(counts.active / model.published_active, 1, 0.05) << counts.active;
    }
  }
}

}  // namespace
}  // namespace meshwright
