#pragma once
// Rows of a scenario's objects: which members each has and what they may be.
#include "capacity/scenario_parts.hpp"
#include "meshwright/core/members.hpp"

namespace meshwright::capacity {

const Members<Scenario>& scenario_members();
const Members<Workload>& workload_members();
const Members<Phase>& phase_members();
const Members<Candidate>& candidate_members();
/// Members of a workload that are those of a job file, by the same names.
std::span<const std::string_view> members_of_job();
/// Members of a candidate that are those of a cluster file's node and network.
std::span<const std::string_view> members_of_node();
std::span<const std::string_view> members_of_network();

}  // namespace meshwright::capacity
