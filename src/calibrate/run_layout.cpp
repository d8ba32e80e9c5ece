#include "calibrate/run_layout.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "meshwright/core/names.hpp"

namespace meshwright::calibrate {
namespace {

/// Reads members of "layout", else what the record's flags say of them, and notes which were resolved by rule.
struct Reading {
  Reader layout;
  std::optional<Reader> flags;
  std::vector<std::string>& assumptions;

  int degree(std::string_view key, int fallback, int most, int least = 1) const {
    if (!layout.has(key)) note(key, std::to_string(fallback));
    return layout.integer_or(key, fallback, least, most);
  }
  bool flag(std::string_view key, bool fallback) const {
    if (!layout.has(key) && flags && flags->has(key)) return flags->at(key).boolean();
    if (!layout.has(key)) note(key, fallback ? "true" : "false");
    return layout.boolean_or(key, fallback);
  }
  void note(std::string_view key, const std::string& value) const {
    assumptions.push_back(std::string(key) + ": " + value + " (not recorded; the stack's default)");
  }
};

Recompute recompute_of(const Reading& r, const UsualChoices& usual) {
  if (!r.layout.has("recompute")) {
    r.note("recompute", std::string(name(usual.recompute)));
    return usual.recompute;
  }
  std::vector<std::string> words(recompute_names.begin(), recompute_names.end());
  words.emplace_back("custom");  // of some modules or layers: selective
  const Reader word = r.layout.at("recompute");
  const auto found = std::ranges::find(words, word.string());
  if (found == words.end())
    throw UnknownName(word.where(), "unknown recompute '" + word.string() + "'" + suggestion(word.string(), words));
  return *found == words.back() ? Recompute::selective : static_cast<Recompute>(found - words.begin());
}

/// An interleaved schedule whose chunks were not said has one layer a chunk, the finest there is.
int virtual_stages_unsaid(const Reader& layout, int layers, int pp) {
  const bool interleaved = schedule_in(layout.string_or("schedule", "")) == PipelineSchedule::interleaved;
  return interleaved ? std::max(1, (layers + pp - 1) / pp) : 1;
}

/// Layers of a chunk that are done again where a record says so: "block: 21 of 80 layers" (Megatron's method "block",
/// --recompute-num-layers); 0 = all.
int recomputed_layers_of(const Reading& r, Recompute recompute) {
  const std::string_view method = "block: ";
  const std::string detail = r.layout.string_or("recompute_detail", "");
  if (recompute != Recompute::full || !detail.starts_with(method)) return 0;
  int layers = 0;
  std::from_chars(detail.data() + method.size(), detail.data() + detail.size(), layers);
  return std::clamp(layers, 0, largest_degree);
}

int zero_stage_of(const Reading& r, const UsualChoices& usual) {
  const bool sharded = r.flags && r.flags->has("zero_stage");  // Megatron-FSDP: as published recipes switch it on
  const bool fsdp = r.layout.boolean_or("fsdp", false) && !r.layout.has("zero_stage");  // a stage that is said is it
  if (fsdp || sharded) return 3;
  return std::min(3, r.degree("zero_stage", usual.zero_stage, 99, 0));
}

/// Sequences of a pass. Stacks that run a replica's sequences at once state a device's share of them (MaxText,
/// configs/types.py, calculate_global_batch_sizes; Pax, PERCORE_BATCH_SIZE): with tensor parallelism a pass has more.
int micro_batch_of(const Reading& r, const UsualChoices& usual, int devices, const Layout& l) {
  const int sequences = r.layout.integer_or("global_batch", 0, 0, largest_data_degree);
  const bool at_once = usual.one_pass && l.pp == 1;
  const int all = at_once ? std::clamp(sequences / l.dp, 1, largest_degree) : 1;
  const int stated = r.degree("micro_batch", all, largest_degree);
  const bool of_a_device = at_once && 1LL * stated * devices == sequences;
  return of_a_device ? all : stated;
}

}  // namespace

std::string resolve_degrees(const Reader& record, const UsualChoices& usual, JobSpec& spec, Layout& l) {
  const Reading r{record.at("layout"), {}, spec.assumptions};
  if (!r.layout.has("tp") && !r.layout.has("pp") && !r.layout.boolean_or("fsdp", false))
    return "layout not published: no parallel degrees";
  const int devices = spec.cluster.accelerators;
  l.tp = r.degree("tp", 1, largest_tensor_degree), l.pp = r.degree("pp", 1, largest_degree);
  l.cp = r.degree("cp", 1, largest_degree), l.ep = r.degree("ep", 1, largest_degree);
  l.vp =
      l.pp > 1 ? r.degree("vp", virtual_stages_unsaid(r.layout, spec.shape->layers, l.pp), largest_virtual_degree) : 1;
  l.dp = static_cast<int>(std::max(1LL, devices / (1LL * l.tp * l.pp * l.cp)));
  if (l.accelerators() != devices)
    return "layout inconsistent: tp * cp * pp does not divide the number of accelerators";
  l.etp = r.layout.integer_or("etp", l.ep > l.cp * l.dp || !usual.experts_cut_by_tp ? 1 : 0, 0, largest_tensor_degree);
  l.micro_batch = micro_batch_of(r, usual, devices, l);
  const long long a_pass = 1LL * l.dp * l.micro_batch;
  spec.global_batch =
      r.degree("global_batch", static_cast<int>(std::min<long long>(a_pass, largest_data_degree)), largest_data_degree);
  // A source that gives sequences a step that replicas don't divide ran fewer in some of them; the mean counts.
  l.micro_batch = std::min(l.micro_batch, std::max(1, spec.global_batch / l.dp));
  return "";
}

void resolve_choices(const Reader& record, const UsualChoices& usual, const std::optional<Reader>& flags, JobSpec& spec,
                     Layout& l) {
  const Reading r{record.at("layout"), flags, spec.assumptions};
  l.zero_stage = zero_stage_of(r, usual);
  const int shard = r.layout.integer_or("hsdp_shard_size", 0);
  l.hsdp_shard = l.zero_stage == 3 && shard > 1 && shard < l.dp * l.cp && (l.dp * l.cp) % shard == 0 ? shard : 0;
  l.sequence_parallel = l.tp > 1 && r.flag("sequence_parallel", usual.sequence_parallel);
  l.recompute = recompute_meant(recorded_stack(record), recompute_of(r, usual));
  l.recompute_layers = recomputed_layers_of(r, l.recompute);
  l.schedule = with_virtual_stages(schedule_in(r.layout.string_or("schedule", "")), 1);  // vp says the rest
  const bool each_layer = l.zero_stage == 3;
  l.overlap_grad_reduce = r.flag("overlap_grad_reduce", usual.overlap || each_layer);
  l.overlap_param_gather = r.flag("overlap_param_gather", each_layer ? l.overlap_grad_reduce : usual.overlap);
  l.overlap_p2p = l.vp == 1 || r.flag("overlap_p2p", usual.overlap_p2p);
  l.tp_comm_overlap = l.tp > 1 && r.flag("tp_comm_overlap", usual.tp_comm_overlap && l.sequence_parallel);
  l.ep_comm_overlap = l.ep > 1 && flags && flags->boolean_or("ep_comm_overlap", false);
}

std::optional<Layout> lightest_layout(const Reader& record, const std::optional<Reader>& flags,
                                      const Layout& resolved) {
  const Reader said = record.at("layout");
  const auto open = [&](std::string_view key) { return !said.has(key) && !(flags && flags->has(key)); };
  Layout l = resolved;
  // "custom" says that something is done again, of which modules or layers it does not.
  if (open("recompute") || said.string_or("recompute", "") == "custom") l.recompute = Recompute::full;
  if (open("zero_stage")) l.zero_stage = std::max(l.zero_stage, 1);  // more shards of a stack are told by its name
  if (open("sequence_parallel")) l.sequence_parallel = l.tp > 1;
  if (open("micro_batch")) l.micro_batch = 1;
  return l == resolved ? std::nullopt : std::optional(l);
}

}  // namespace meshwright::calibrate
