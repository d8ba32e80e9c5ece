#include "meshwright/capacity/questions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "capacity/places.hpp"
#include "capacity/question_parts.hpp"
#include "core/json_text.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

constexpr QuestionRow rows[] = {
    {"break_even", R"("between" [A, B], "vary", "range" [low, high], "of" "cost" or "days", "candidate", "workload")",
     "the value of an input, of price_premium or of a member of one candidate (nodes also of \"both\") at which A and "
     "B "
     "change places",
     break_even},
    {"size", R"("candidate", "workload", "deadline" or "goodput", "most_nodes")",
     "the fewest nodes with which the run keeps the deadline, failures included, and what they cost", smallest_size},
    {"compare", R"("candidates" [A, B], "workload")",
     "the difference of two candidates, term by term, in time and in money", compare_two},
    {"slowest", R"("candidate", "workload", "share", "stop")",
     "what taking out the slowest hosts is worth, and after how long it pays", slowest_removed},
    {"reliability", R"("candidate", "workload", "replicas", "seed")",
     "failures, checkpoint intervals (Young, Daly, exact), spares and goodput, in closed form and simulated",
     reliability},
    {"faults", R"("candidate", "workload", "maintenance")",
     "what each failed part of the fabric costs while it is out, and a plane's maintenance", fault_table},
    {"slices", R"("candidate", "workload", "switching", "failed_cubes", "draws", "seed")",
     "the best shape of an optically switched slice for each phase and for all, and what failed cubes do to it",
     optical_slices},
    {"in_switch", R"("candidate", "workload")",
     "what reductions in NVLink switches and in the network's are worth, in time and in money a switch",
     in_switch_reduction},
    {"congestion", R"("candidate", "workload", "profiles" [...])",
     "what each way of dealing with congestion leaves of the network under the workload's traffic",
     congestion_profiles_of},
};

std::vector<std::string> candidate_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < scenario.candidate_count(); ++i) names.push_back(scenario.candidate(i).name);
  return names;
}

}  // namespace

std::span<const QuestionRow> question_rows() { return rows; }

Reader members(const Asked& asked, std::initializer_list<std::string_view> known) {
  Reader reader = Reader::text(asked.question.object, asked.question.where);
  std::vector<std::string_view> all = {"name", "ask", "description"};
  all.insert(all.end(), known.begin(), known.end());
  reader.allow_only(all);
  return reader;
}

std::uint64_t number_of(const Asked& asked, const Reader& name) {
  if (const auto number = asked.scenario.find_candidate(name.string())) return *number;
  name.fail(
      fmt::format("no candidate '{}'{}", name.string(), suggestion(name.string(), candidate_names(asked.scenario))));
}

Candidate candidate_named(const Asked& asked, const Reader& name) {
  return asked.scenario.candidate(number_of(asked, name));
}

Candidate candidate_of(const Asked& asked, const Reader& question, std::string_view key) {
  if (const auto name = question.find(key)) return candidate_named(asked, *name);
  if (asked.scenario.candidate_count() > 1) question.at(key);
  return asked.scenario.candidate(0);
}

const Workload& workload_of(const Asked& asked, const Reader& question) {
  const auto name = question.find("workload");
  if (!name) {
    if (asked.scenario.workloads.size() > 1) question.at("workload");
    return asked.scenario.workloads.front();
  }
  const auto at = std::ranges::find(asked.scenario.workloads, name->string(), &Workload::name);
  if (at != asked.scenario.workloads.end()) return *at;
  std::vector<std::string> names;
  for (const Workload& w : asked.scenario.workloads) names.push_back(w.name);
  name->fail(fmt::format("no workload '{}'{}", name->string(), suggestion(name->string(), names)));
}

PlannedPoint planned(const Asked& asked, const Candidate& candidate, const Workload& workload) {
  PlannedPoint point = Planner(asked.scenario, asked.catalog, asked.plans).plan(candidate, workload, 0);
  if (!point.run) throw NoPlan{fmt::format("{} cannot run {}: {}", candidate.name, workload.name, point.refusal)};
  return point;
}

Answer answer(const Asked& asked, std::vector<std::string> lines, const question_json& object) {
  return {asked.question.name, asked.question.ask, std::move(lines), json_text(object)};
}

namespace {

const QuestionRow& row_of(const Question& question) {
  const auto row = std::ranges::find(rows, question.ask, &QuestionRow::ask);
  if (row != std::end(rows)) return *row;
  std::vector<std::string> names;
  for (const QuestionRow& r : rows) names.emplace_back(r.ask);
  throw Error(question.where + "/ask",
              fmt::format("nothing answers '{}'{}", question.ask, suggestion(question.ask, names)));
}

void check_names(const Asked& asked) {
  constexpr std::string_view both = "both";  // of a break-even
  const Reader reader = Reader::text(asked.question.object, asked.question.where);
  if (reader.has("workload")) workload_of(asked, reader);
  if (const auto name = reader.find("candidate"); name && name->string() != both) number_of(asked, *name);
  for (const char* list : {"candidates", "between"}) {
    const auto names = reader.find(list);
    if (!names) continue;
    for (const Reader& name : names->items()) number_of(asked, name);
  }
}

}  // namespace

void check_questions(const Scenario& scenario, const hardware::Catalog& catalog) {
  for (const Question& question : scenario.questions) {
    row_of(question);
    in_place(question.where, [&] { check_names({scenario, catalog, question, nullptr}); });
  }
}

std::vector<Answer> answer_questions(const Scenario& scenario, const hardware::Catalog& catalog,
                                     const std::shared_ptr<PlanCache>& plans) {
  const auto shared = plans != nullptr ? plans : make_plan_cache();
  std::vector<Answer> answers;
  for (const Question& question : scenario.questions) {
    const Asked asked{scenario, catalog, question, shared};
    try {
      answers.push_back(in_place(question.where, [&] { return row_of(question).answer(asked); }));
    } catch (const NoPlan& no) {
      answers.push_back(answer(asked, {no.words}, {{"violation", no.words}}));
    }
  }
  return answers;
}

}  // namespace meshwright::capacity
