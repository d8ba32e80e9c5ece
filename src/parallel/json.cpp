#include "meshwright/parallel/json.hpp"

#include <nlohmann/json.hpp>

namespace meshwright::parallel {
namespace {

using json = nlohmann::ordered_json;

json layout_object(const Layout& l) {
  json out = {{"tp", l.tp}, {"cp", l.cp}, {"pp", l.pp}, {"vp", l.vp}, {"dp", l.dp}, {"ep", l.ep}};
  if (l.etp > 0) out["etp"] = l.etp;
  out.update(json{{"micro_batch", l.micro_batch},
                  {"zero_stage", l.zero_stage},
                  {"hsdp_shard", l.hsdp_shard},
                  {"sequence_parallel", l.sequence_parallel},
                  {"recompute", name(l.recompute)},
                  {"schedule", name(l.schedule)},
                  {"stage_split", name(l.stage_split)},
                  {"overlap_grad_reduce", l.overlap_grad_reduce},
                  {"overlap_param_gather", l.overlap_param_gather},
                  {"tp_comm_overlap", l.tp_comm_overlap},
                  {"ep_comm_overlap", l.ep_comm_overlap},
                  {"overlap_p2p", l.overlap_p2p}});
  if (l.cp_kind.set()) out["cp_kind"] = l.cp_kind->name;
  if (!l.stages.empty()) out["stages"] = l.stages;
  if (l.order) out["order"] = describe_order(*l.order);
  return out;
}

// {"compute_s": 3.1, ...}: the described fields with the unit in the key.
template <class Described>
json fields(const Described& described, const std::string& unit) {
  json out = json::object();
  describe(described, [&](const char* field, auto value) { out[field + unit] = value.value(); });
  return out;
}

}  // namespace

std::string to_json(const Layout& layout) { return layout_object(layout).dump(); }

std::string to_json(const Prediction& p) {
  static constexpr const char* fits[] = {"fits", "borderline", "does not fit"};
  json memory = fields(p.memory, "_bytes");
  memory["allocated_bytes"] = p.memory.allocated.value();
  memory["reserved_bytes"] = p.memory.reserved.value();
  memory["worst_stage"] = p.memory.stage;
  const json out = {{"layout", layout_object(p.layout)},
                    {"step_time_s", p.step_time.value()},
                    {"p10_s", p.p10.value()},
                    {"p90_s", p.p90.value()},
                    {"tokens_per_s_per_gpu", p.tokens_per_s_per_gpu},
                    {"mfu", p.mfu},
                    {"hfu", p.hfu},
                    {"comm_share", p.comm_share},
                    {"peak_memory_bytes", p.memory.reserved.value()},
                    {"fit", fits[static_cast<int>(p.fit)]},
                    {"breakdown", fields(p.time, "_s")},
                    {"hidden",
                     {{"tensor_parallel_s", p.hidden.tensor_parallel.value()},
                      {"expert_parallel_s", p.hidden.expert_parallel.value()},
                      {"data_parallel_s", p.hidden.data_parallel.value()}}},
                    {"memory", memory},
                    {"evidence", name(p.evidence)},
                    {"warnings", p.warnings},
                    {"assumptions", p.assumptions}};
  return out.dump();
}

}  // namespace meshwright::parallel
