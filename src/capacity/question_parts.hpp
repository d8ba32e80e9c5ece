#pragma once
// What the answers share.
#include <nlohmann/json.hpp>

#include "meshwright/capacity/questions.hpp"

namespace meshwright::capacity {

using question_json = nlohmann::ordered_json;

/// The question's object, only `known` members besides name, ask and description allowed.
Reader members(const Asked& asked, std::initializer_list<std::string_view> known);
/// The candidate or workload that a member names; the only one of the scenario where the member is missing.
Candidate candidate_of(const Asked& asked, const Reader& question, std::string_view key);
Candidate candidate_named(const Asked& asked, const Reader& name);
/// Its number in the scenario.
std::uint64_t number_of(const Asked& asked, const Reader& name);
const Workload& workload_of(const Asked& asked, const Reader& question);
/// Counts that divide well, ascending: 2^i times 1, 3, 5 or 7.
std::vector<int> round_counts(int most);
/// Thrown where nothing fits: an answer too.
struct NoPlan {
  std::string words;
};
/// The plan of it, or NoPlan.
PlannedPoint planned(const Asked& asked, const Candidate& candidate, const Workload& workload);
Answer answer(const Asked& asked, std::vector<std::string> lines, const question_json& object);

Answer break_even(const Asked& asked);
Answer smallest_size(const Asked& asked);
Answer compare_two(const Asked& asked);
Answer slowest_removed(const Asked& asked);
Answer reliability(const Asked& asked);
Answer fault_table(const Asked& asked);
Answer optical_slices(const Asked& asked);
Answer in_switch_reduction(const Asked& asked);
Answer congestion_profiles_of(const Asked& asked);

}  // namespace meshwright::capacity
