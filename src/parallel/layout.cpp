#include "meshwright/parallel/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace meshwright::parallel {
namespace {

struct Degree {
  const char* key;
  int Layout::*field;
  const char* shown;
  int most;
};
constexpr std::array<Degree, 7> degrees = {{{"tp", &Layout::tp, "tp", largest_tensor_degree},
                                            {"cp", &Layout::cp, "cp", largest_degree},
                                            {"ep", &Layout::ep, "ep", largest_degree},
                                            {"pp", &Layout::pp, "pp", largest_degree},
                                            {"vp", &Layout::vp, "vp", largest_virtual_degree},
                                            {"dp", &Layout::dp, "dp", largest_data_degree},
                                            {"micro_batch", &Layout::micro_batch, "mb", largest_degree}}};

/// Numbers that are no degrees of the mesh.
struct Range {
  const char* key;
  int Layout::*field;
  int least, most;
};
constexpr std::array<Range, 3> ranges = {{{"etp", &Layout::etp, 0, largest_tensor_degree},
                                          {"zero_stage", &Layout::zero_stage, 0, 3},
                                          {"hsdp_shard", &Layout::hsdp_shard, 0, largest_data_degree}}};

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

constexpr int most_layers = 10'000;

std::vector<int> read_stages(const Reader& reader) {
  std::vector<int> stages;
  const auto list = reader.find("stages");
  if (!list) return stages;
  for (const Reader& item : list->items()) stages.push_back(item.integer(0, most_layers));
  if (stages.empty() || stages.size() > static_cast<std::size_t>(largest_degree))
    list->fail(
        fmt::format("found {} entries, expected the layers of each stage, at most {}", stages.size(), largest_degree));
  return stages;
}

/// Place of a member's text among names, where the member is there.
std::optional<std::size_t> read_name(const Reader& reader, std::string_view key,
                                     std::span<const std::string_view> names) {
  const auto member = reader.find(key);
  if (!member) return std::nullopt;
  return static_cast<std::size_t>(member->one_of(std::vector<std::string>(names.begin(), names.end())));
}

template <class Enum>
void read_choice(const Reader& reader, std::string_view key, std::span<const std::string_view> names, Enum& field) {
  if (const auto at = read_name(reader, key, names)) field = static_cast<Enum>(*at);
}

}  // namespace

std::string describe_order(const RankOrder& order) {
  std::vector<std::string_view> names;
  for (const Axis axis : order.axes) names.push_back(name(axis));
  return fmt::format("{}", fmt::join(names, "-"));
}

RankOrder read_order(std::string_view text, const std::string& where) {
  RankOrder order;
  std::vector<bool> seen(axis_names.size());
  std::size_t at = 0;
  for (std::string_view rest = text; at < axis_names.size(); ++at) {
    const std::string_view word = rest.substr(0, rest.find('-'));
    const auto found = std::find(axis_names.begin(), axis_names.end(), word);
    if (found == axis_names.end() || seen[static_cast<std::size_t>(found - axis_names.begin())]) break;
    const auto axis = static_cast<std::size_t>(found - axis_names.begin());
    seen[axis] = true, order.axes[at] = static_cast<Axis>(axis);
    const bool last = at + 1 == axis_names.size();
    if ((rest.size() == word.size()) != last) break;
    rest.remove_prefix(last ? word.size() : word.size() + 1);
  }
  if (at == axis_names.size()) return order;
  throw Error(where, fmt::format("found '{}', expected every axis once, neighbours first, as in '{}'", text,
                                 describe_order({})));
}

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
  if (layout.ep > 1 && layout.etp > 0 && layout.etp != layout.tp) add(fmt::format("etp{}", layout.etp));
  if (layout.cp > 1 && layout.cp_kind.set() && layout.cp_kind != ContextKind::ring) add(layout.cp_kind->name);
  if (!layout.stages.empty()) add(fmt::format("stages {}", fmt::join(layout.stages, "+")));
  add(fmt::format("z{}", layout.zero_stage));
  if (layout.recompute != Recompute::none) add(fmt::format("recompute-{}", name(layout.recompute)));
  const PipelineSchedule schedule = effective_schedule(layout);
  if (layout.pp > 1 && schedule != PipelineSchedule::one_f_one_b && schedule != PipelineSchedule::interleaved) {
    add(name(schedule));
  }
  return text;
}

void check(const Layout& layout, const std::string& where) {
  const auto within = [&](const char* key, int value, int least, int most) {
    if (value < least || value > most)
      throw Error(fmt::format("{}/{}", where, key),
                  fmt::format("found {}, expected a whole number from {} to {}", value, least, most));
  };
  for (const Degree& degree : degrees) within(degree.key, layout.*degree.field, 1, degree.most);
  for (const Range& range : ranges) within(range.key, layout.*range.field, range.least, range.most);
  if (layout.accelerators() > largest_data_degree)
    throw Error(where, fmt::format("tp {} * cp {} * pp {} * dp {} make more than {} accelerators", layout.tp, layout.cp,
                                   layout.pp, layout.dp, largest_data_degree));
}

Layout read_layout(const Reader& reader) {
  std::vector<std::string_view> known = {"etp",         "zero_stage", "hsdp_shard", "schedule", "recompute",
                                         "stage_split", "cp_kind",    "stages",     "order"};
  for (const Degree& degree : degrees) known.emplace_back(degree.key);
  for (const Flag& flag : flags) known.emplace_back(flag.key);
  reader.allow_only(known);
  Layout layout;
  for (const Degree& degree : degrees) layout.*degree.field = reader.integer_or(degree.key, 1, 1, degree.most);
  for (const Flag& flag : flags) layout.*flag.field = reader.boolean_or(flag.key, layout.*flag.field);
  for (const Range& range : ranges) {
    const int least = range.field == &Layout::etp ? 1 : range.least;  // to leave it to the stack is to leave it out
    layout.*range.field = reader.integer_or(range.key, layout.*range.field, least, range.most);
  }
  read_choice(reader, "recompute", recompute_names, layout.recompute);
  if (const auto at = read_name(reader, "schedule", schedule_names())) layout.schedule = pipeline_schedules()[*at];
  if (const auto at = read_name(reader, "cp_kind", context_kind_names())) layout.cp_kind = context_kinds()[*at];
  layout.stages = read_stages(reader);
  if (const auto member = reader.find("order")) layout.order = read_order(member->string(), member->where());
  read_choice(reader, "stage_split", stage_split_names, layout.stage_split);
  check(layout, reader.where());
  return layout;
}

}  // namespace meshwright::parallel
