#include <gtest/gtest.h>

#include <set>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

Prediction predicted(Job& job) {
  job = test_job(mixture(16, 64, 8), 64, 4096, 512);
  return predict(job, {.tp = 2, .cp = 2, .pp = 2, .dp = 8, .ep = 8, .recompute = Recompute::full});
}

TEST(StepFields, EveryTermSaysWhatItIs) {
  Job job;
  const Prediction p = predicted(job);
  const Term tree = explain(job, p);
  ASSERT_EQ(tree.parts.size(), step_fields().size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < tree.parts.size(); ++i) {
    const StepField& field = step_fields()[i];
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(std::string(field.advice).empty()) << field.name;
    EXPECT_FALSE(tree.parts[i].formula.empty()) << field.name;
    EXPECT_TRUE(!tree.parts[i].source.empty() || !tree.parts[i].parts.empty()) << field.name;
    EXPECT_NE(to_json(p).find("\"" + std::string(field.name) + "_s\""), std::string::npos);
  }
  EXPECT_NEAR(total(tree), p.step_time.value(), 1e-9 * p.step_time.value());
}

TEST(StepFields, CommunicationIsWhatRowsSay) {
  StepTime time;
  time.compute = Seconds::base(100), time.pipeline = Seconds::base(2), time.expert_parallel = Seconds::base(3);
  EXPECT_DOUBLE_EQ(communication(time).value(), 5);
  EXPECT_STREQ(largest_communication(time).name, "expert_parallel");
  EXPECT_DOUBLE_EQ(total(time).value(), 105);
  const Hidden hidden{Seconds::base(1), Seconds::base(2), Seconds::base(4)};
  EXPECT_DOUBLE_EQ(total(hidden).value(), 7);
}

TEST(MemoryFields, SumToWhatIsReserved) {
  Job job;
  const Prediction p = predicted(job);
  const Term tree = explain_memory(job, p);
  EXPECT_EQ(tree.unit, "B");
  EXPECT_NEAR(total(tree), p.memory.reserved.value(), 1);
  Bytes parts;
  for (const MemoryField& field : memory_fields()) parts += p.memory.*field.value;
  EXPECT_NEAR((parts - p.memory.context).value(), p.memory.allocated.value(), 1);
  Memory made_up;
  made_up.logits = Bytes::base(2), made_up.weights = Bytes::base(1);
  EXPECT_STREQ(largest_part(made_up).name, "logits");
}

}  // namespace
}  // namespace meshwright::parallel
