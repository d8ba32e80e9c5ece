#include "meshwright/parallel/json.hpp"
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace meshwright::parallel {
namespace {

using json = nlohmann::ordered_json;

json layout_object(const Layout& l) {
  json out;
  for (const LayoutField& field : layout_fields()) {
    const int value = field.get(l);
    if (value < field.least) continue;  // unset
    json& member = out[std::string(field.key)];
    if (field.is_switch)
      member = value != 0;
    else if (field.names.empty())
      member = value;
    else
      member = field.row_name != nullptr ? field.row_name(l) : field.names[static_cast<std::size_t>(value)];
  }
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

json hidden_object(const Hidden& hidden) {
  json out = json::object();
  for (const StepField& field : step_fields()) {
    if (field.hidden != nullptr) out[std::string(field.name) + "_s"] = (hidden.*field.hidden).value();
  }
  return out;
}

json axis_object(const AxisPlace& axis) {
  json levels = json::array();
  for (const Level& level : axis.place.levels) levels.push_back({{"ranks", level.ranks}, {"link", level.link}});
  return {{"axis", name(axis.axis)}, {"ranks", axis.group.size}, {"stride", axis.group.stride}, {"levels", levels}};
}

json stage_object(const StagePlace& stage) {
  json layers = json::array();
  for (const Chunk& chunk : stage.chunks) layers.push_back(chunk.layers);
  return {{"layers", layers},
          {"parameters", stage.parameters.dense},
          {"expert_parameters", stage.parameters.experts},
          {"in_flight", stage.in_flight}};
}

json placement_object(const Placement& p) {
  json axes = json::array(), stages = json::array();
  for (const AxisPlace& axis : p.axes) axes.push_back(axis_object(axis));
  for (const StagePlace& stage : p.stages) stages.push_back(stage_object(stage));
  return {{"order", describe_order(p.order)},
          {"axes", axes},
          {"rank",
           {{"tokens", p.tokens.all},
            {"heads", p.heads},
            {"kv_heads", p.kv_heads},
            {"experts", p.experts},
            {"vocabulary", p.vocabulary},
            {"state_ranks", p.state_ranks.dense},
            {"expert_state_ranks", p.state_ranks.experts},
            {"boundary_bytes", p.boundary.value()}}},
          {"stages", stages}};
}

}  // namespace

std::string to_json(const Layout& layout) { return json_text(layout_object(layout)); }

std::string to_json(const Prediction& p) {
  json memory = fields(p.memory, "_bytes");
  memory["host_bytes"] = p.memory.host.value();
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
                    {"peak_memory_p10_bytes", p.memory_p10.value()},
                    {"peak_memory_p90_bytes", p.memory_p90.value()},
                    {"fit", name(p.fit)},
                    {"fits_probability", p.fits_probability},
                    {"breakdown", fields(p.time, "_s")},
                    {"hidden", hidden_object(p.hidden)},
                    {"memory", memory},
                    {"placement", placement_object(p.placement)},
                    {"evidence", name(p.evidence)},
                    {"warnings", p.warnings},
                    {"assumptions", p.assumptions}};
  return json_text(out);
}

std::string to_json(const Violation& violation, std::span<const Layout> nearest) {
  json layouts = json::array();
  for (const Layout& layout : nearest) layouts.push_back(layout_object(layout));
  const json out = {{"rule", violation.rule},
                    {"words", violation.text()},
                    {"needed", violation.needed},
                    {"available", violation.available},
                    {"nearest", layouts}};
  return json_text(out);
}

}  // namespace meshwright::parallel
