// Laws of describing a job: the answer doesn't depend on how a cluster, model, layout or unit is spelled, and a default
// equals stating it. Seeded random jobs over nodes, presets and stacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "parallel/stated_recipe.hpp"

namespace meshwright::tests {
namespace {

struct Case {
  std::string model, node, framework;
  int nodes = 1, seq_len = 4096, global_batch = 64;
  Layout layout;
};

template <class T>
T one_of(std::mt19937& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

int power_of_two(std::mt19937& random, int most) {
  int value = 1;
  while (value * 2 <= most && random() % 2 == 0) value *= 2;
  return value;
}

Case any_case(std::mt19937& random) {
  Case c;
  c.model = one_of<std::string>(random, {"llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "gpt3-175b", "deepseek-v3"});
  c.node = one_of<std::string>(random, {"dgx-h100", "dgx-a100", "aws-p5.48xlarge", "gb200-nvl72", "dgx-b200",
                                        "pcie-a100", "alps-node", "gcp-a3-megagpu-8g"});
  c.framework = one_of<std::string>(random, {"megatron-core", "generic"});
  c.nodes = power_of_two(random, 64);
  const int devices = c.nodes * builtin_catalog().node(c.node).accelerators;
  c.seq_len = one_of<int>(random, {2048, 4096, 8192});
  c.layout.tp = power_of_two(random, std::min(8, devices));
  c.layout.pp = power_of_two(random, std::min(8, devices / c.layout.tp));
  c.layout.dp = devices / (c.layout.tp * c.layout.pp);
  c.layout.micro_batch = power_of_two(random, 2);
  c.global_batch = c.layout.dp * c.layout.micro_batch * c.layout.pp * 2;
  return c;
}

std::string job_text(const Case& c, const std::string& cluster, const std::string& rest) {
  return fmt::format(
      R"({{"model": "{}", "cluster": {}, "seq_len": {}, "global_batch": {}, "framework": "{}",
          "layout": {{"tp": {}, "pp": {}, "dp": {}, "micro_batch": {}}}{}}})",
      c.model, cluster, c.seq_len, c.global_batch, c.framework, c.layout.tp, c.layout.pp, c.layout.dp,
      c.layout.micro_batch, rest);
}

Job read(const std::string& text) { return read_job(Reader::text(text, "job.json"), builtin_catalog()); }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::ranges::replace(text, '-', '_');
  return text;
}

void expect_same(const Job& a, const Job& b, const std::string& how) {
  ASSERT_TRUE(a.layout && b.layout);
  EXPECT_TRUE(*a.layout == *b.layout) << how;
  const Prediction p = predict(a, *a.layout), q = predict(b, *b.layout);
  EXPECT_EQ(p.step_time, q.step_time) << how;
  EXPECT_EQ(p.memory.reserved, q.memory.reserved) << how;
  EXPECT_EQ(p.p10, q.p10) << how;
}

TEST(JobLaws, TheAnswerDoesNotDependOnTheSpelling) {
  std::mt19937 random(20260801);
  for (int i = 0; i < 60; ++i) {
    const Case c = any_case(random);
    const std::string nodes = fmt::format(R"(, "nodes": {})", c.nodes);
    const int devices = c.nodes * builtin_catalog().node(c.node).accelerators;
    const Job by_name = read(job_text(c, '"' + c.node + '"', nodes));
    const std::string how = fmt::format("{} on {} x {} {}", c.model, c.nodes, c.node, describe_layout(c.layout));
    expect_same(by_name, read(job_text(c, '"' + upper(c.node) + '"', nodes)), how);
    expect_same(by_name, read(job_text(c, fmt::format(R"({{"node": "{}"}})", c.node), nodes)), how);
    expect_same(by_name, read(job_text(c, fmt::format(R"({{"node": "{}", "nodes": {}}})", c.node, c.nodes), "")), how);
    expect_same(by_name, read(job_text(c, fmt::format(R"({{"of": "{}", "nodes": {}}})", c.node, c.nodes), "")), how);
    expect_same(by_name, read(job_text(c, '"' + c.node + '"', nodes + fmt::format(R"(, "gpus": {})", devices))), how);
    const double gigabits = builtin_catalog().node(c.node).nic_bandwidth.value() * 8e-9;
    expect_same(by_name,
                read(job_text(
                    c, fmt::format(R"({{"node": {{"name": "{}", "nic_bandwidth": "{} GB/s"}}}})", c.node, gigabits / 8),
                    nodes)),
                how + " in bytes a second");
    Case shape = c;
    shape.model = upper(c.model);
    expect_same(by_name, read(job_text(shape, '"' + c.node + '"', nodes)), how);
    expect_same(by_name, read(to_json(by_name.spec)), how + " written and read again");
    const Job spelled = with(by_name, [](JobSpec& spec) { spec.shape = load_model(spec.model), spec.model.clear(); });
    expect_same(by_name, read(to_json(spelled.spec)), how + " with the model spelled out");
  }
}

/// Everything that the job assumed, stated.
std::string stated(const Job& job) {
  JobSpec spec = job.spec;
  spec.precision = job.precision.name;
  spec.framework = job.framework.name;
  spec.framework_version = job.framework.version;
  spec.moe_imbalance = job.moe_imbalance;
  const Node& node = job.cluster.node;
  NodeSpec& n = spec.cluster.node;
  n.accelerators = node.accelerators, n.scale_up_domain = node.scale_up_domain, n.scale_up = node.scale_up;
  n.nics = node.nics, n.fabric = node.fabric;
  if (node.nics > 0) n.nic_bandwidth = node.nic_bandwidth;
  const Network& network = job.cluster.network;
  spec.cluster.network.topology = network.topology;
  spec.cluster.network.routing = network.routing;
  spec.cluster.network.oversubscription = {1.0};
  spec.layout = Reader::text(to_json(*job.layout), "layout.json");
  spec.recipe = Reader::text(stated_recipe(job), "recipe.json");
  return to_json(spec);
}

TEST(JobLaws, ADefaultEqualsStatingIt) {
  std::mt19937 random(20260802);
  for (int i = 0; i < 60; ++i) {
    const Case c = any_case(random);
    const Job assumed = read(job_text(c, '"' + c.node + '"', fmt::format(R"(, "nodes": {})", c.nodes)));
    const Job said = read(stated(assumed));
    expect_same(assumed, said, fmt::format("{} on {} x {}", c.model, c.nodes, c.node));
    EXPECT_TRUE(said.assumptions.empty()) << said.assumptions.front();
  }
}

}  // namespace
}  // namespace meshwright::tests
