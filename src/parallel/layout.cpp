#include "meshwright/parallel/layout.hpp"

#include <fmt/format.h>

#include <span>

namespace meshwright::parallel {
namespace {

struct Degree {
  const char* key;
  int Layout::*field;
  const char* shown;
};
constexpr std::array<Degree, 7> degrees = {{{"tp", &Layout::tp, "tp"},
                                            {"cp", &Layout::cp, "cp"},
                                            {"ep", &Layout::ep, "ep"},
                                            {"pp", &Layout::pp, "pp"},
                                            {"vp", &Layout::vp, "vp"},
                                            {"dp", &Layout::dp, "dp"},
                                            {"micro_batch", &Layout::micro_batch, "mb"}}};

struct Flag {
  const char* key;
  bool Layout::*field;
};
constexpr std::array<Flag, 6> flags = {{{"sequence_parallel", &Layout::sequence_parallel},
                                        {"overlap_grad_reduce", &Layout::overlap_grad_reduce},
                                        {"overlap_param_gather", &Layout::overlap_param_gather},
                                        {"tp_comm_overlap", &Layout::tp_comm_overlap},
                                        {"ep_comm_overlap", &Layout::ep_comm_overlap},
                                        {"overlap_p2p", &Layout::overlap_p2p}}};

constexpr int largest_degree = 1 << 20;

template <class Enum>
void read_choice(const Reader& reader, std::string_view key, std::span<const std::string_view> names, Enum& field) {
  const auto member = reader.find(key);
  if (!member) return;
  const std::vector<std::string> valid(names.begin(), names.end());
  field = static_cast<Enum>(member->one_of(valid));
}

}  // namespace

std::string describe_layout(const Layout& layout) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    if (!text.empty()) text += ' ';
    text += part;
  };
  for (const Degree& degree : degrees) {
    const bool always = degree.field == &Layout::dp || degree.field == &Layout::micro_batch;
    if (layout.*degree.field != 1 || always) add(fmt::format("{}{}", degree.shown, layout.*degree.field));
  }
  if (layout.ep > 1 && layout.etp != layout.tp) add(fmt::format("etp{}", layout.etp));
  add(fmt::format("z{}", layout.zero_stage));
  if (layout.recompute != Recompute::none) add(fmt::format("recompute-{}", name(layout.recompute)));
  const PipelineSchedule schedule = effective_schedule(layout);
  if (layout.pp > 1 && schedule != PipelineSchedule::one_f_one_b && schedule != PipelineSchedule::interleaved) {
    add(name(schedule));
  }
  return text;
}

Layout read_layout(const Reader& reader) {
  reader.allow_only({"tp", "cp", "pp", "vp", "dp", "ep", "etp", "micro_batch", "zero_stage", "hsdp_shard", "schedule",
                     "recompute", "stage_split", "sequence_parallel", "overlap_p2p", "overlap_grad_reduce",
                     "overlap_param_gather", "tp_comm_overlap", "ep_comm_overlap"});
  Layout layout;
  for (const Degree& degree : degrees) layout.*degree.field = reader.integer_or(degree.key, 1, 1, largest_degree);
  for (const Flag& flag : flags) layout.*flag.field = reader.boolean_or(flag.key, layout.*flag.field);
  layout.etp = reader.integer_or("etp", layout.etp, 0, largest_degree);
  layout.zero_stage = reader.integer_or("zero_stage", layout.zero_stage, 0, 3);
  layout.hsdp_shard = reader.integer_or("hsdp_shard", layout.hsdp_shard, 0, largest_degree);
  read_choice(reader, "recompute", recompute_names, layout.recompute);
  read_choice(reader, "schedule", schedule_names, layout.schedule);
  read_choice(reader, "stage_split", stage_split_names, layout.stage_split);
  return layout;
}

}  // namespace meshwright::parallel
