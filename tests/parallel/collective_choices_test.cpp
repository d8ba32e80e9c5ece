#include "meshwright/parallel/collective_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/parallel/prediction.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

Job forced(const Job& job, const std::string& object) {
  return with(job, [&](JobSpec& spec) { spec.collectives = Reader::text(object, "collectives"); });
}

/// Messages of 134 MB between tensor ranks: far beyond where the switch and a ring take the same time.
const Layout layout{
    .tp = 8, .dp = 8, .micro_batch = 4, .zero_stage = 0, .sequence_parallel = false, .overlap_grad_reduce = false};

// A row beside the table is priced, chosen and used by a plan, as one that stands in it.
TEST(CollectiveChoices, ARowOfOnesOwnServesAPlan) {
  static const Algorithm toy = [] {
    Algorithm row = *find_algorithm(Collective::all_reduce, "ring");
    row.name = "toy", row.elsewhere = {};
    return row;
  }();
  const Job job = test_job(llama_8b(), 64, 4096, 128);
  const Job toys = with_figures(job, [](Figures& figures) {
    figures.collectives.all.beside = &toy;
    figures.collectives.algorithm[static_cast<std::size_t>(Collective::all_reduce)] = "toy";
  });
  const Job rings = forced(job, R"({"algorithm": {"all_reduce": "ring"}})");
  EXPECT_EQ(predict(toys, layout).step_time, predict(rings, layout).step_time);
  EXPECT_NE(predict(toys, layout).step_time, predict(job, layout).step_time);
}

// Every row of the table can be asked for by its name.
TEST(CollectiveChoices, EveryRowCanBeForced) {
  const Job job = test_job(llama_8b(), 64, 4096, 128);
  for (const Algorithm& row : algorithms()) {
    const std::string object =
        "{\"algorithm\": {\"" + std::string(name(row.collective)) + "\": \"" + std::string(row.name) + "\"}}";
    EXPECT_GT(predict(forced(job, object), layout).step_time.value(), 0) << object;
  }
}

TEST(CollectiveChoices, SwitchesThatReduceAreUsedAsSaid) {
  const Job job = test_job(llama_8b(), 64, 4096, 128);
  const double usual = predict(job, layout).step_time.value();
  EXPECT_GT(predict(forced(job, R"({"nvls": false})"), layout).step_time.value(), usual);
  const Layout wide{.dp = 64, .zero_stage = 0, .overlap_grad_reduce = false};  // gradients over nodes and inside them
  EXPECT_LT(predict(forced(job, R"({"sharp": true})"), wide).step_time, predict(job, wide).step_time);
  EXPECT_GT(predict(forced(job, R"({"algorithm": "ring", "protocol": "LL"})"), layout).step_time.value(), usual);
}

TEST(CollectiveChoices, NamesAreChecked) {
  const Job job = test_job(llama_8b(), 64, 4096, 128);
  for (const char* object :
       {R"({"algorithm": "rign"})", R"({"algorithm": {"all_reduce": "bruck"}})",
        R"({"algorithm": {"all_reduse": "ring"}})", R"({"protocol": "LL64"})", R"({"algo": "ring"})"})
    EXPECT_THROW(forced(job, object), Error) << object;
}

TEST(CollectiveChoices, AreWrittenAsTheyWereSaid) {
  const Job job =
      forced(test_job(llama_8b(), 64, 4096, 128), R"({"algorithm": {"all_reduce": "tree"}, "sharp": true})");
  const JobSpec again = read_job_spec(Reader::text(to_json(job.spec), "job"));
  ASSERT_TRUE(again.collectives);
  EXPECT_EQ(again.collectives->dump(), job.spec.collectives->dump());
}

}  // namespace
}  // namespace meshwright::parallel
