#include "meshwright/parallel/framework.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/embedded.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::parallel {
namespace {

template <class T>
struct Field {
  std::string_view key;
  T Framework::*member;
};

constexpr auto number_fields = std::to_array<Field<double>>({
    {"parameter_bytes", &Framework::parameter_bytes},
    {"gradient_bytes", &Framework::gradient_bytes},
    {"optimizer_bytes", &Framework::optimizer_bytes},
    {"reduce_bytes", &Framework::reduce_bytes},
    {"logits_bytes", &Framework::logits_bytes},
    {"ddp_bucket_bytes_per_parameter", &Framework::ddp_bucket_bytes_per_parameter},
    {"gathered_parameter_bytes", &Framework::gathered_parameter_bytes},
    {"gathered_gradient_bytes", &Framework::gathered_gradient_bytes},
    {"gathered_layers", &Framework::gathered_layers},
    {"gathered_parameters_least", &Framework::gathered_parameters_least},
    {"saved_extra_hidden", &Framework::saved_extra_hidden},
    {"saved_extra_ffn", &Framework::saved_extra_ffn},
    {"run_ahead_hidden", &Framework::run_ahead_hidden},
    {"fp16_gradient_bytes", &Framework::fp16_gradient_bytes},
    {"fp16_optimizer_bytes", &Framework::fp16_optimizer_bytes},
    {"selective_share", &Framework::selective_share},
    {"cached_weight_bytes", &Framework::cached_weight_bytes},
    {"weight_gradient_bytes", &Framework::weight_gradient_bytes},
    {"fragmentation", &Framework::fragmentation},
    {"usable_memory", &Framework::usable_memory},
    {"memory_traffic", &Framework::memory_traffic},
    {"gemm_efficiency", &Framework::gemm_efficiency},
    {"gemm_efficiency_hopper", &Framework::gemm_efficiency_hopper},
    {"accumulation_traffic", &Framework::accumulation_traffic},
    {"attention_efficiency", &Framework::attention_efficiency},
    {"grouped_gemm_efficiency", &Framework::grouped_gemm_efficiency},
    {"tp_overlap_exposed", &Framework::tp_overlap_exposed},
    {"overlap_slowdown", &Framework::overlap_slowdown},
    {"fsdp_overlap_penalty", &Framework::fsdp_overlap_penalty},
    {"bucket_parameters", &Framework::bucket_parameters},
    {"optimizer_traffic", &Framework::optimizer_traffic},
});
constexpr auto time_fields = std::to_array<Field<Seconds>>({
    {"host_per_layer", &Framework::host_per_layer},
    {"host_per_layer_tp", &Framework::host_per_layer_tp},
    {"kernel_launch", &Framework::kernel_launch},
    {"layer_overhead", &Framework::layer_overhead},
    {"step_overhead", &Framework::step_overhead},
    {"pipeline_send_host", &Framework::pipeline_send_host},
    {"host_softmax_fallback", &Framework::host_softmax_fallback},
});
constexpr auto flag_fields = std::to_array<Field<bool>>({
    {"fused_attention", &Framework::fused_attention},
    {"fused_norms", &Framework::fused_norms},
    {"overlap_grad_reduce", &Framework::overlap_grad_reduce},
    {"overlap_param_gather", &Framework::overlap_param_gather},
    {"tp_comm_overlap", &Framework::tp_comm_overlap},
    {"can_overlap_tp", &Framework::can_overlap_tp},
    {"can_overlap_ep", &Framework::can_overlap_ep},
    {"tp_backward_overlap", &Framework::tp_backward_overlap},
    {"dispatch_by_node", &Framework::dispatch_by_node},
    {"dispatch_low_precision", &Framework::dispatch_low_precision},
    {"low_precision_inputs", &Framework::low_precision_inputs},
    {"logs_allocated", &Framework::logs_allocated},
    {"logs_first_stage", &Framework::logs_first_stage},
    {"keeps_gathered_with_pipeline", &Framework::keeps_gathered_with_pipeline},
    {"kv_heads_replicate", &Framework::kv_heads_replicate},
    {"uneven_stages", &Framework::uneven_stages},
    {"uneven_by_default", &Framework::uneven_by_default},
    {"splits_by_cost", &Framework::splits_by_cost},
    {"interleaving_needs_multiple", &Framework::interleaving_needs_multiple},
    {"micro_batches_cover_pipeline", &Framework::micro_batches_cover_pipeline},
    {"experts_fold_over_tp", &Framework::experts_fold_over_tp},
});
constexpr auto count_fields = std::to_array<Field<int>>({
    {"max_zero_stage", &Framework::max_zero_stage},
    {"max_zero_stage_pipeline", &Framework::max_zero_stage_pipeline},
    {"vocab_multiple", &Framework::vocab_multiple},
});
constexpr auto other_keys =
    std::to_array<std::string_view>({"description", "sources", "name", "aliases", "title", "context",
                                     "communication_buffers", "flags", "notes", "schedules", "axes"});

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(other_keys.begin(), other_keys.end());
  const auto add = [&keys](const auto& fields) {
    for (const auto& field : fields) keys.push_back(field.key);
  };
  add(number_fields), add(time_fields), add(flag_fields), add(count_fields);
  return keys;
}

std::vector<std::string> strings(const Reader& reader, std::string_view key) {
  std::vector<std::string> values;
  const auto member = reader.find(key);
  if (!member) return values;
  for (const Reader& item : member->items()) values.push_back(item.string());
  return values;
}

/// A bit for each name in the list `key`.
template <std::size_t N>
std::uint32_t read_mask(const Reader& reader, std::string_view key, const std::array<std::string_view, N>& names,
                        std::uint32_t fallback) {
  const auto member = reader.find(key);
  if (!member) return fallback;
  const std::vector<std::string> valid(names.begin(), names.end());
  std::uint32_t mask = 0;
  for (const Reader& item : member->items()) mask |= 1U << item.one_of(valid);
  return mask;
}

/// The profiles as data/frameworks describes them, without what was fitted to runs.
const std::vector<Framework>& described() {
  static const std::vector<Framework> profiles = [] {
    std::vector<Framework> read;
    for (const EmbeddedFile& file : embedded_frameworks()) {
      read.push_back(read_framework(Reader::text(file.content, "data/frameworks/" + std::string(file.name))));
    }
    return read;
  }();
  return profiles;
}

const Framework& named(const std::vector<Framework>& profiles, std::string_view name, const std::string& where) {
  if (const Framework* profile = find_named(profiles, name)) return *profile;
  std::vector<std::string> valid;
  for (const Framework& profile : profiles) valid.push_back(profile.name);
  const std::string listed = suggestion(name, valid);
  std::string close;
  for (const Framework& profile : profiles) {
    if (close.empty()) close = nearest(name, profile.aliases);
  }
  const bool by_alias = nearest(name, valid).empty() && !close.empty();
  throw UnknownName(where, "unknown framework '" + std::string(name) + "'" +
                               (by_alias ? " (did you mean '" + close + "'?)" : listed));
}

}  // namespace

Framework read_framework(const Reader& reader, Framework profile) {
  reader.allow_only(known_keys());
  profile.name = reader.at("name").string();
  profile.title = profile.title.empty() ? reader.at("title").string() : reader.string_or("title", profile.title);
  profile.notes = reader.string_or("notes", profile.notes);
  if (reader.has("aliases")) profile.aliases = strings(reader, "aliases");
  if (reader.has("flags")) profile.flags = strings(reader, "flags");
  profile.schedules = read_mask(reader, "schedules", schedule_names, profile.schedules);
  profile.axes = read_mask(reader, "axes", axis_names, profile.axes);
  profile.context = reader.quantity_or("context", profile.context);
  profile.communication_buffers = reader.quantity_or("communication_buffers", profile.communication_buffers);
  for (const auto& [key, member] : number_fields) profile.*member = reader.number_or(key, profile.*member);
  for (const auto& [key, member] : time_fields) profile.*member = reader.quantity_or(key, profile.*member);
  for (const auto& [key, member] : flag_fields) profile.*member = reader.boolean_or(key, profile.*member);
  for (const auto& [key, member] : count_fields) profile.*member = reader.integer_or(key, profile.*member);
  return profile;
}

std::vector<Framework> frameworks(const Catalog& catalog) {
  std::vector<Framework> profiles = described();
  for (const Reader& entry : catalog.frameworks) {
    const std::string name = folded_name(entry.at("name").string());
    const auto same = std::ranges::find_if(profiles, [&](const Framework& f) { return folded_name(f.name) == name; });
    if (same == profiles.end()) {
      profiles.push_back(read_framework(entry));
    } else {
      *same = read_framework(entry, *same);
    }
  }
  return profiles;
}

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> profiles = frameworks(builtin_catalog());
  return profiles;
}

const Framework& framework(std::string_view name, const std::string& where) { return named(frameworks(), name, where); }

Framework framework(std::string_view name, const std::string& where, const Catalog& catalog) {
  return named(frameworks(catalog), name, where);
}

}  // namespace meshwright::parallel
