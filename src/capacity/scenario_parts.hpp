#pragma once
// Readers of a scenario's parts.
#include "meshwright/capacity/scenario.hpp"

namespace meshwright::capacity {

Workload read_workload(const Reader& reader);
CandidateRow read_candidate_row(const Reader& reader);
std::vector<Constraint> read_constraints(const Reader& reader);
Question read_question(const Reader& reader);

}  // namespace meshwright::capacity
