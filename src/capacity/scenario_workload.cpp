// Workloads, limits and questions of a scenario.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "capacity/fields.hpp"
#include "capacity/scenario_members.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/limits.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

Phase read_phase(const Reader& r, double of_run) {
  r.allow_only(keys_of(phase_members()));
  if (r.has("tokens") == r.has("share")) r.fail("expected 'tokens' or 'share' (of the workload's tokens)");
  Phase phase;
  phase.name = r.at("name").string();
  phase.tokens = r.has("tokens") ? read_tokens(r.at("tokens")) : of_run * read_share(r.at("share"));
  phase.seq_len = read_size(r.at("seq_len"), 1, largest_count);
  phase.global_batch = read_size(r.at("global_batch"), 1, largest_count);
  return phase;
}

std::vector<Phase> read_phase_list(const Reader& r, double of_run) {
  std::vector<Phase> phases;
  for (const Reader& item : r.items()) phases.push_back(read_phase(item, of_run));
  if (phases.empty()) r.fail("expected at least one phase");
  return phases;
}

void read_phases(const Reader& r, RunSchedule& schedule) {
  const double tokens = r.has("tokens") ? read_tokens(r.at("tokens")) : 0;
  if (const auto phases = r.find("phases")) {
    for (const char* key : {"seq_len", "global_batch"}) {
      if (r.has(key)) r.at(key).fail("expected it in each of 'phases'");
    }
    schedule.phases = read_phase_list(*phases, tokens);
    return;
  }
  r.at("tokens");
  schedule.phases.push_back(
      {"run", tokens, read_size(r.at("seq_len"), 1, largest_count), read_size(r.at("global_batch"), 1, largest_count)});
}

void read_extras(const Reader& r, RunSchedule& schedule) {
  if (const auto ramp = r.find("ramp")) {
    ramp->allow_only({"start", "increment", "samples"});
    schedule.ramp = {ramp->at("start").integer(1, largest_count), ramp->at("increment").integer(1, largest_count),
                     read_number(ramp->at("samples"), 1, most_ramp_samples)};
  }
  if (const auto evaluation = r.find("evaluation")) {
    evaluation->allow_only({"every", "takes"});
    schedule.evaluate_every = evaluation->at("every").integer(1);
    schedule.evaluation = read_time(evaluation->at("takes"));
  }
  schedule.warm_up = r.quantity_or("warm_up", Seconds{});
}

std::vector<std::string> read_texts(const Reader& r) {
  std::vector<std::string> out;
  for (const Reader& item : r.is_array() ? r.items() : std::vector<Reader>{r}) out.push_back(item.string());
  return out;
}

double read_limit(const Reader& r, Limit limit) {
  switch (limit) {
    case Limit::deadline:
      return read_time(r).value();
    case Limit::power:
      return r.quantity<Watts::dimension>().value();
    case Limit::energy:
      return r.quantity<Joules::dimension>().value();
    case Limit::gpus:
      return r.integer(1, largest_count);
    case Limit::goodput:
      return read_share(r);
    case Limit::carbon:
      return read_number(r, 0, 1e12) * 1000;
    default:
      return r.quantity<Dollars::dimension>().value();
  }
}

}  // namespace

Workload read_workload(const Reader& r) {
  r.allow_only(keys_of(workload_members()));
  Workload workload;
  workload.where = r.where();
  workload.name = r.at("name").string();
  r.at("model");
  json job = json::object();
  for (const std::string_view key : members_of_job()) {
    if (const auto member = r.find(key)) job[std::string(key)] = json::parse(member->dump());
  }
  workload.job = job.dump();
  if (const auto layout = r.find("layout")) workload.layout = layout->dump();
  if (const auto fix = r.find("fix")) workload.fixed = read_texts(*fix);
  if (const auto exclude = r.find("exclude")) workload.excluded = read_texts(*exclude);
  read_phases(r, workload.schedule);
  read_extras(r, workload.schedule);
  return workload;
}

StatedRun read_stated_run(const Reader& r, const Phase& whole) {
  r.allow_only({"description", "prices", "power", "failures", "checkpoint", "stragglers", "phases", "ramp",
                "evaluation", "warm_up"});
  StatedRun run{read_assumptions(r, {}), {}};
  const auto phases = r.find("phases");
  run.schedule.phases = phases ? read_phase_list(*phases, whole.tokens) : std::vector{whole};
  read_extras(r, run.schedule);
  return run;
}

std::vector<Constraint> read_constraints(const Reader& r) {
  std::vector<std::string_view> names(limit_names.begin(), limit_names.end());
  r.allow_only(names);
  std::vector<Constraint> out;
  for (std::size_t i = 0; i < limit_names.size(); ++i) {
    const auto member = r.find(limit_names[i]);
    if (!member) continue;
    const double value = read_limit(*member, static_cast<Limit>(i));
    if (!(value > 0)) member->fail("nothing can keep a limit of zero");
    out.push_back({static_cast<Limit>(i), value});
  }
  return out;
}

Question read_question(const Reader& r) {
  Question question;
  question.name = r.at("name").string();
  question.ask = r.at("ask").string();
  question.object = r.dump();
  question.where = r.where();
  return question;
}

}  // namespace meshwright::capacity
