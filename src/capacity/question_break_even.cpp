// At which value do two candidates change places?
#include <fmt/format.h>

#include <cmath>

#include "capacity/question_parts.hpp"
#include "capacity/roots.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

/// What is varied, as a function that gives both points their objective.
struct Varying {
  std::string what;
  std::function<double(bool first, double value)> objective;
  std::function<std::string(double value)> shown;
  double low = 0, high = 0;
};

double objective_of(const PlannedPoint& point, const RunAssumptions& assumptions, bool by_cost) {
  const RunEstimate e = estimate_run(*point.run, assumptions);
  return by_cost ? e.cost.value : e.wall.value() / 86400;
}

/// Range of an input: stated with its unit, else its tenth to ninetieth percentile.
void take_input_range(const Reader& q, const Input& input, Varying& v) {
  v.low = input.low, v.high = input.high;
  const auto range = q.find("range");
  if (!range) {
    if (!input.varies()) q.at("range");
    return;
  }
  const std::vector<Reader> ends = range->items();
  if (ends.size() != 2) range->fail("expected [low, high]");
  v.low = read_value(ends[0], input.kind, input.least, input.most);
  v.high = read_value(ends[1], input.kind, input.least, input.most);
}

/// An input; a premium acts on `of` alone, anything else on both.
Varying vary_input(const Asked& asked, const Reader& q, const std::string& name, const std::vector<Candidate>& pair,
                   const Workload& workload, int of, bool by_cost) {
  const bool premium = name == network_premium;
  const PlannedPoint first = planned(asked, pair[0], workload), second = planned(asked, pair[1], workload);
  const Input input = first.assumptions.inputs.row(name);
  Varying v;
  v.what = premium ? "price_premium of " + pair[static_cast<std::size_t>(of)].name : name;
  v.objective = [=](bool is_first, double value) {
    const PlannedPoint& point = is_first ? first : second;
    RunAssumptions moved = point.assumptions;
    if (!premium || is_first == (of == 0)) moved.inputs.set(name, value);
    return objective_of(point, moved, by_cost);
  };
  v.shown = [=](double value) { return format_value(value, input); };
  take_input_range(q, input, v);
  return v;
}

/// A member of one candidate: its number goes through the range, and the layout is searched anew each time.
Varying vary_member(const Asked& asked, const Reader& q, const std::string& key, const std::vector<Candidate>& pair,
                    const Workload& workload, int of, std::uint64_t number, bool by_cost) {
  const std::string unit = q.string_or("unit", "");
  const std::vector<Reader> ends = q.at("range").items();
  if (ends.size() != 2) q.at("range").fail("expected [low, high]");
  const std::string varied = pair[static_cast<std::size_t>(of)].name;
  const auto at = [=, &asked, &workload](double value) {
    const question_json member =
        unit.empty() ? question_json(value) : question_json(fmt::format("{:.12g} {}", value, unit));
    const Candidate candidate = asked.scenario.candidate(number, key, member.dump());
    const PlannedPoint point = planned(asked, candidate, workload);
    return objective_of(point, point.assumptions, by_cost);
  };
  const PlannedPoint other = planned(asked, pair[static_cast<std::size_t>(1 - of)], workload);
  const double fixed = objective_of(other, other.assumptions, by_cost);
  Varying v;
  v.what = fmt::format("{} of {}", key, varied);
  v.objective = [=](bool is_first, double value) { return is_first == (of == 0) ? at(value) : fixed; };
  v.shown = [unit](double value) { return fmt::format("{:.4g}{}{}", value, unit.empty() ? "" : " ", unit); };
  v.low = ends[0].number(), v.high = ends[1].number();
  return v;
}

/// Members of a candidate that are whole numbers, of which only counts that divide well are tried.
bool is_count(std::string_view key) { return key == "nodes" || key == "gpus"; }

/// Counts in a row at which the same candidate is best.
struct Stretch {
  std::string name;
  int from = 0, to = 0;
};

/// Where one of the two becomes the best as the number of nodes or accelerators grows, of one candidate or of both. Not
/// every count has a layout: those without one are passed over.
Answer break_even_count(const Asked& asked, const Reader& q, const std::string& key, const std::vector<Candidate>& pair,
                        const std::vector<std::uint64_t>& numbers, const Workload& workload, int of, bool by_cost) {
  constexpr int both = 2, most = 1 << 17;
  const std::vector<Reader> ends = q.at("range").items();
  if (ends.size() != 2) q.at("range").fail("expected [low, high]");
  const int low = ends[0].integer(1, most), high = ends[1].integer(1, most);
  if (low >= high) q.at("range").fail("expected a range from less to more");
  Planner planner(asked.scenario, asked.catalog, asked.plans);
  const auto value = [&](int which, int count) -> std::optional<double> {
    const auto i = static_cast<std::size_t>(which);
    const PlannedPoint point =
        of == both || of == which
            ? planner.plan(asked.scenario.candidate(numbers[i], key, std::to_string(count)), workload, 0)
            : planner.plan(pair[i], workload, 0);
    if (!point.run) return {};
    return objective_of(point, point.assumptions, by_cost);
  };
  question_json rows = question_json::array();
  std::vector<Stretch> best;
  for (const int count : round_counts(high)) {
    if (count < low) continue;
    const auto a = value(0, count), b = value(1, count);
    if (!a && !b) continue;
    const std::string& name = !b || (a && *a <= *b) ? pair[0].name : pair[1].name;
    rows.push_back({{key, count},
                    {"best", name},
                    {pair[0].name, a ? question_json(*a) : question_json()},
                    {pair[1].name, b ? question_json(*b) : question_json()}});
    if (best.empty() || best.back().name != name) best.push_back({name, count, count});
    best.back().to = count;
  }
  if (rows.empty()) q.at("range").fail(fmt::format("no number of {} in it has a layout", key));
  std::string text;
  for (const Stretch& s : best)
    text += fmt::format("{}{} is best {}", text.empty() ? "" : "; ", s.name,
                        s.from == s.to ? fmt::format("at {}", s.from) : fmt::format("from {} to {}", s.from, s.to));
  return answer(asked, {fmt::format("{} {}", text, key)},
                {{"what", key},
                 {"of", by_cost ? "cost" : "days"},
                 {"low", low},
                 {"high", high},
                 {"best_at_low", best.front().name},
                 {"best_at_high", best.back().name},
                 {"counts", rows}});
}

}  // namespace

Answer break_even(const Asked& asked) {
  const Reader q = members(asked, {"between", "vary", "range", "of", "candidate", "workload", "unit"});
  static const std::vector<std::string> objectives = {"cost", "days"};
  const bool by_cost = !q.has("of") || q.at("of").one_of(objectives) == 0;
  const std::vector<Reader> names = q.at("between").items();
  if (names.size() != 2) q.at("between").fail("expected two candidates");
  const std::vector<Candidate> pair = {candidate_named(asked, names[0]), candidate_named(asked, names[1])};
  const Workload& workload = workload_of(asked, q);
  const std::string of_name = q.string_or("candidate", pair[0].name);
  const std::string vary = q.at("vary").string();
  const bool both = is_count(vary) && of_name == "both";
  if (!both && of_name != pair[0].name && of_name != pair[1].name)
    q.at("candidate").fail(fmt::format("expected one of 'between'{}", is_count(vary) ? " or 'both'" : ""));
  if (is_count(vary))
    return break_even_count(asked, q, vary, pair, {number_of(asked, names[0]), number_of(asked, names[1])}, workload,
                            both                      ? 2
                            : of_name == pair[0].name ? 0
                                                      : 1,
                            by_cost);
  const int of = of_name == pair[0].name ? 0 : 1;
  const std::string input = vary == "price_premium" ? std::string(network_premium) : vary;
  const Varying v = Inputs().has(input) ? vary_input(asked, q, input, pair, workload, of, by_cost)
                                        : vary_member(asked, q, vary, pair, workload, of,
                                                      number_of(asked, names[static_cast<std::size_t>(of)]), by_cost);
  if (!(v.low < v.high)) q.fail("expected a range from less to more");
  const auto lead = [&](double value) { return v.objective(true, value) - v.objective(false, value); };
  const double at_low = lead(v.low), at_high = lead(v.high);
  const auto winner = [&](double difference) { return difference <= 0 ? pair[0].name : pair[1].name; };
  question_json object = {{"what", v.what},        {"of", by_cost ? "cost" : "days"}, {"low", v.low},
                          {"high", v.high},        {"best_at_low", winner(at_low)},   {"best_at_high", winner(at_high)},
                          {"at", question_json()}, {"at_text", question_json()},      {"all", question_json::array()}};
  const double tiny = 1e-9 * v.objective(true, v.low);
  const std::vector<double> all = roots(lead, v.low, v.high);
  const std::string range = fmt::format("{} from {} to {}", v.what, v.shown(v.low), v.shown(v.high));
  if (all.empty() && std::abs(at_low) < tiny && std::abs(at_high) < tiny) {
    object["best_at_low"] = object["best_at_high"] = question_json();
    return answer(asked, {fmt::format("{} and {} are equal for every {}", pair[0].name, pair[1].name, range)}, object);
  }
  if (all.empty()) return answer(asked, {fmt::format("{} is best for every {}", winner(at_low), range)}, object);
  object["at"] = all.front();
  object["at_text"] = v.shown(all.front());
  object["all"] = all;
  std::string text = fmt::format("{} is best below {} = {}", winner(at_low), v.what, v.shown(all.front()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    const double next = last ? v.high : all[i + 1];
    text +=
        fmt::format(", {} {}", winner(lead((all[i] + next) / 2)), last ? "above" : "from there to " + v.shown(next));
  }
  return answer(asked, {text}, object);
}

}  // namespace meshwright::capacity
