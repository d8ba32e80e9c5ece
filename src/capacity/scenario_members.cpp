#include "capacity/scenario_members.hpp"

#include <nlohmann/json.hpp>

#include "meshwright/capacity/checkpoint.hpp"
#include "meshwright/capacity/failures.hpp"
#include "meshwright/capacity/questions.hpp"
#include "meshwright/capacity/schema.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/members.hpp"
#include "meshwright/hardware/schema.hpp"
#include "meshwright/parallel/schema.hpp"

namespace meshwright::capacity {
namespace {

using Json = nlohmann::ordered_json;

/// Members of another schema, by their names there.
JsonSchema member_of(const JsonSchema& object, std::string_view key) {
  return {Json::parse(object.schema).at("properties").at(std::string(key)).dump()};
}

JsonSchema number_or_text() { return shape::either({shape::number(-1e300, 1e300), shape::text()}); }
JsonSchema texts() { return shape::either({shape::text(), shape::list(shape::text())}); }
JsonSchema time_shape() { return shape::quantity(Seconds::dimension); }

/// A value of an input, or it with a range and where it comes from.
JsonSchema input_shape(const Input& input) {
  const bool plain = input.kind == Kind::number || input.kind == Kind::share;
  const JsonSchema value = plain ? number_or_text() : shape::text();
  const Members<Input> rows = {needed<Input>({"value", "", value}),
                               {"low", "tenth percentile", value},
                               {"high", "ninetieth percentile", value},
                               {"source", "", shape::text()},
                               {"date", "", shape::text()}};
  return shape::either({value, shape_of(rows)});
}

/// The inputs of a group, "prices.energy" as "energy", and `others`.
JsonSchema group_shape(std::string_view group, Members<Inputs> others = {}) {
  static const Inputs inputs;
  const std::string prefix = std::string(group) + ".";
  Members<Inputs> rows = std::move(others);
  for (const Input& input : inputs.rows()) {
    if (!input.name.starts_with(prefix)) continue;
    const std::string_view key = std::string_view(input.name).substr(prefix.size());
    const bool known = std::ranges::any_of(rows, [&](const Member<Inputs>& row) { return row.key == key; });
    if (!known) rows.push_back({key, input.what, input_shape(input)});
  }
  return shape_of(rows);
}

JsonSchema prices_shape() {
  return group_shape("prices",
                     {{"contract", "of data/capacity/contracts.json: on demand, reserved, ...", shape::text()}});
}

JsonSchema failures_shape() {
  std::vector<std::string> names;
  for (const FailureProfile& profile : failure_profiles()) names.push_back(profile.name);
  const JsonSchema profile = shape::one_of(names), free = shape::map(shape::anything());
  Members<Inputs> rows = {{"profile", "the rates to start from", profile},
                          {"name", "", shape::text()},
                          {"title", "", shape::text()},
                          {"node_rate", "\"5 per 1000 node-days\", \"5e-3 /d\"", shape::text()},
                          {"node_mtbf", "between interruptions of a node", time_shape()},
                          {"components", "rates of parts", shape::list(free)},
                          {"recovery", "how long each step of it takes", free},
                          {"planned", "interruptions that are planned", free},
                          {"spread", "p90 over median of the rates", shape::anything()},
                          {"sources", "", shape::list(free)},
                          {"spares", "hosts, or a share of the job's", number_or_text()}};
  for (const RecoveryPart& part : recovery_parts) rows.push_back({part.key, "of an interruption", time_shape()});
  return shape::either({profile, group_shape("failures", std::move(rows))});
}

JsonSchema checkpoint_shape() {
  return group_shape(
      "checkpoint",
      {{"mode", "", shape::one_of(std::span<const std::string_view>(checkpoint_mode_names))},
       {"interval", "between checkpoints; the best by default", time_shape()},
       {"peer_interval", "between copies to a peer", time_shape()},
       {"bytes_per_parameter", "that are saved", shape::number(least_bytes_per_parameter, most_bytes_per_parameter)},
       {"rollback", "intervals that an interruption costs", shape::number(0, most_rollback)}});
}

JsonSchema uncertainty_shape() {
  static const Inputs inputs;
  const JsonSchema range = shape::list(number_or_text(), 2);
  Members<Inputs> rows = {{"draws", "of the Monte Carlo", shape::whole(0, most_draws)},
                          {"seed", "", shape::whole(0, 9007199254740992LL)}};
  for (const Input& input : inputs.rows()) rows.push_back({input.name, input.what, range});
  Json schema = Json::parse(shape_of(rows).schema);
  schema["additionalProperties"] = Json::parse(range.schema);  // names without their group
  return {schema.dump()};
}

JsonSchema constraints_shape() {
  Members<Constraint> rows;
  for (const std::string_view name : limit_names) rows.push_back({name, "", number_or_text()});
  return shape_of(rows);
}

JsonSchema question_shape() {
  std::vector<std::string_view> asks;
  for (const QuestionRow& row : question_rows()) asks.push_back(row.ask);
  const Members<Question> rows = {needed<Question>({"name", "", shape::text()}),
                                  needed<Question>({"ask", "", shape::one_of(asks)})};
  Json schema = Json::parse(shape_of(rows).schema);
  schema["additionalProperties"] = true;  // each kind has members of its own
  return {schema.dump()};
}

}  // namespace

std::span<const std::string_view> members_of_job() {
  static constexpr std::string_view names[] = {"model",  "precision",   "framework",     "framework_version", "overlay",
                                               "recipe", "collectives", "moe_imbalance", "document_len"};
  return names;
}
namespace {

// A candidate's own members of these names mean something else.
constexpr std::string_view own_names[] = {"nodes", "power"};

std::vector<std::string_view> without_own(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> out;
  for (const std::string_view name : names) {
    if (std::ranges::find(own_names, name) == std::end(own_names)) out.push_back(name);
  }
  return out;
}

}  // namespace

std::span<const std::string_view> members_of_node() {
  static const std::vector<std::string_view> names = without_own(hardware::node_members());
  return names;
}
std::span<const std::string_view> members_of_network() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = without_own(hardware::network_members());
    std::erase_if(all, [](std::string_view name) {  // of both: the node's
      return std::ranges::find(members_of_node(), name) != members_of_node().end();
    });
    return all;
  }();
  return names;
}

namespace {

/// What read_assumptions() reads.
template <class T>
void add_assumption_members(Members<T>& rows) {
  rows.push_back({"prices", "over the defaults", prices_shape()});
  rows.push_back({"power", "over the defaults", group_shape("power")});
  rows.push_back({"failures", "a profile, or what differs from one", failures_shape()});
  rows.push_back({"checkpoint", "over the defaults", checkpoint_shape()});
  rows.push_back({"stragglers", "over the defaults", group_shape("stragglers")});
}

}  // namespace

const Members<Phase>& phase_members() {
  static const Members<Phase> rows = {
      needed<Phase>({"name", "", shape::text()}),
      {"tokens", "15e12 or \"15T\"", number_or_text()},
      {"share", "of the workload's tokens", number_or_text()},
      needed<Phase>({"seq_len", "tokens a sequence", shape::size(1, largest_count)}),
      needed<Phase>({"global_batch", "sequences a step", shape::size(1, largest_count)})};
  return rows;
}

const Members<Workload>& workload_members() {
  static const Members<Workload> rows = [] {
    const JsonSchema count = shape::whole(1, largest_count);
    const Members<Workload> ramp = {{"start", "first batch", count},
                                    {"increment", "added each time", count},
                                    {"samples", "over which it grows", shape::number(1, most_ramp_samples)}};
    const Members<Workload> evaluation = {{"every", "steps", shape::whole(1, 2147483647)}, {"takes", "", time_shape()}};
    Members<Workload> all = {needed<Workload>({"name", "", shape::text()}),
                             {"description", "", shape::text()},
                             {"seq_len", "tokens a sequence", shape::size(1, largest_count)},
                             {"global_batch", "sequences a step", shape::size(1, largest_count)},
                             {"tokens", "to train: 15e12 or \"15T\"", number_or_text()},
                             {"layout", "the best by default", parallel::layout_shape()},
                             {"phases", "of different lengths and batches", shape::list(shape_of(phase_members()), 1)},
                             {"ramp", "of the batch", shape_of(ramp)},
                             {"fix", "axes that are given, as of `plan --fix`", texts()},
                             {"exclude", "as of `plan --exclude`", texts()},
                             {"evaluation", "", shape_of(evaluation)},
                             {"warm_up", "before the first step", time_shape()}};
    const JsonSchema job = parallel::job_shape();
    for (const std::string_view key : members_of_job()) all.push_back({key, "", member_of(job, key)});
    return all;
  }();
  return rows;
}

const Members<Candidate>& candidate_members() {
  static const Members<Candidate> rows = [] {
    const JsonSchema cluster = hardware::cluster_shape(), free = shape::map(shape::anything());
    const JsonSchema node = {Json::parse(member_of(cluster, "node").schema).at("anyOf").at(1).dump()};
    const Members<Candidate> size = {{"capex", "what may be spent", shape::quantity(Dollars::dimension)},
                                     {"power", "what may be drawn", shape::quantity(Watts::dimension)}};
    Members<Candidate> all = {
        needed<Candidate>({"name", "", shape::text()}),
        {"description", "", shape::text()},
        {"cluster", "of the catalogue, a file, or its members", shape::either({shape::text(), cluster})},
        {"nodes", "", shape::whole(1, largest_count)},
        {"gpus", "", shape::size(1, largest_count)},
        {"size", "as large as this allows", shape_of(size)},
        {"vary", "members that take several values: lists, or ranges", free},
        {"node", "members that differ", node},
        {"network", "members that differ", member_of(cluster, "network")},
        {"price_premium", "on the network: 0.2 is 20 % dearer", number_or_text()},
        {"power_cap", "of an accelerator", shape::quantity(Watts::dimension)},
        {"site_power", "what all of it may draw", shape::quantity(Watts::dimension)},
        {"congestion", "a profile of data/capacity/congestion.json", shape::text()}};
    add_assumption_members(all);
    for (const std::string_view key : members_of_node()) all.push_back({key, "of the node", member_of(node, key)});
    const JsonSchema network = member_of(cluster, "network");
    for (const std::string_view key : members_of_network())
      all.push_back({key, "of the network", member_of(network, key)});
    return all;
  }();
  return rows;
}

const Members<Scenario>& scenario_members() {
  static const Members<Scenario> rows = [] {
    Members<Scenario> all = {
        {"name", "", shape::text()},
        {"description", "", shape::text()},
        {"objective", "what is the best", shape::one_of(std::span<const std::string_view>(scenario_objectives))},
        needed<Scenario>({"workloads", "", shape::list(shape_of(workload_members()), 1)}),
        needed<Scenario>({"candidates", "", shape::list(shape_of(candidate_members()), 1)}),
        {"constraints", "limits that a result keeps", constraints_shape()},
        {"uncertainty", "ranges of inputs, and how often they are drawn", uncertainty_shape()},
        {"questions", "", shape::list(question_shape())}};
    add_assumption_members(all);
    return all;
  }();
  return rows;
}

JsonSchema scenario_shape() {
  Members<Scenario> rows = scenario_members();
  rows.insert(rows.begin(), {"include", "files in the same folder that this one stands over", texts()});
  return shape_of(rows);
}

}  // namespace meshwright::capacity
