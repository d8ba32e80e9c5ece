#include "meshwright/parallel/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "meshwright/core/limits.hpp"
#include "meshwright/parallel/schema.hpp"

namespace meshwright::parallel {
namespace {

template <auto Member>
int get(const Layout& layout) {
  return static_cast<int>(layout.*Member);
}
template <auto Member>
void set(Layout& layout, int value) {
  layout.*Member = static_cast<std::remove_reference_t<decltype(layout.*Member)>>(value);
}
template <auto Member>
constexpr LayoutField number(std::string_view key, int least, int most, std::string_view doc) {
  return {.key = key, .doc = doc, .get = get<Member>, .set = set<Member>, .least = least, .most = most, .plain = least};
}
template <auto Member>
constexpr LayoutField degree(std::string_view key, int most, std::string_view doc) {
  return number<Member>(key, 1, most, doc);
}
template <auto Member>
constexpr LayoutField choice(std::string_view key, std::span<const std::string_view> names, std::optional<int> plain,
                             std::string_view doc) {
  const int most = static_cast<int>(names.size()) - 1;
  return {.key = key, .doc = doc, .get = get<Member>, .set = set<Member>, .most = most, .names = names, .plain = plain};
}
template <auto Member>
constexpr LayoutField on_or_off(std::string_view key, std::string_view doc) {
  return {.key = key, .doc = doc, .get = get<Member>, .set = set<Member>, .most = 1, .is_switch = true, .plain = 0};
}

// Rows of other tables: their place there.
int get_schedule(const Layout& layout) { return static_cast<int>(index_of(layout.schedule)); }
void set_schedule(Layout& layout, int value) {
  layout.schedule = pipeline_schedules()[static_cast<std::size_t>(value)];
}
int get_context(const Layout& layout) {
  const auto kinds = context_kinds();
  const auto at = std::ranges::find(kinds, layout.cp_kind);
  return at == kinds.end() ? -1 : static_cast<int>(at - kinds.begin());
}
void set_context(Layout& layout, int value) { layout.cp_kind = context_kinds()[static_cast<std::size_t>(value)]; }
LayoutField schedule_field() {
  const auto names = schedule_names();
  return {.key = "schedule",
          .doc = "pipeline schedule; interleaved when vp > 1",
          .get = get_schedule,
          .set = set_schedule,
          .most = static_cast<int>(names.size()) - 1,
          .names = names,
          .row_name = [](const Layout& l) { return name(l.schedule); }};
}
LayoutField context_field() {
  const auto names = context_kind_names();
  return {.key = "cp_kind",
          .doc = "how context ranks exchange; unset = the stack's default",
          .get = get_context,
          .set = set_context,
          .most = static_cast<int>(names.size()) - 1,
          .names = names,
          .row_name = [](const Layout& l) { return l.cp_kind.name(); }};
}

std::vector<int> read_stages(const Reader& list) {
  std::vector<int> stages;
  for (const Reader& item : list.items()) stages.push_back(item.integer(0, largest_layers));
  if (stages.empty() || stages.size() > static_cast<std::size_t>(largest_degree))
    list.fail(
        fmt::format("found {} entries, expected the layers of each stage, at most {}", stages.size(), largest_degree));
  return stages;
}

void read_field(const Reader& member, const LayoutField& field, Layout& layout) {
  if (field.is_switch) return field.set(layout, member.boolean() ? 1 : 0);
  if (field.names.empty()) return field.set(layout, member.integer(field.least, field.most));
  field.set(layout, static_cast<int>(member.one_of(std::vector<std::string>(field.names.begin(), field.names.end()))));
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

std::string describe_recompute(const Layout& layout) {
  if (layout.recompute_layers == 0) return std::string(name(layout.recompute));
  return fmt::format("{} of {} layers a chunk", name(layout.recompute), layout.recompute_layers);
}

std::string describe_layout(const Layout& layout) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    if (!text.empty()) text += ' ';
    text += part;
  };
  for (const char* key : {"tp", "cp", "ep", "pp", "vp"}) {
    if (const int value = layout_field(key).get(layout); value != 1) add(fmt::format("{}{}", key, value));
  }
  add(fmt::format("dp{} mb{}", layout.dp, layout.micro_batch));
  if (layout.ep > 1 && layout.etp > 0 && layout.etp != layout.tp) add(fmt::format("etp{}", layout.etp));
  if (layout.cp > 1 && layout.cp_kind.set() && layout.cp_kind != ContextKind::ring) add(layout.cp_kind->name);
  if (!layout.stages.empty()) add(fmt::format("stages {}", fmt::join(layout.stages, "+")));
  add(fmt::format("z{}", layout.zero_stage));
  if (layout.hsdp_shard > 0) add(fmt::format("hsdp{}", layout.hsdp_shard));
  if (layout.recompute != Recompute::none) add(fmt::format("recompute-{}", name(layout.recompute)));
  if (layout.recompute_layers > 0) add(fmt::format("of {}", layout.recompute_layers));
  const PipelineSchedule schedule = effective_schedule(layout);
  if (layout.pp > 1 && schedule != PipelineSchedule::one_f_one_b && schedule != PipelineSchedule::interleaved) {
    add(name(schedule));
  }
  return text;
}

std::span<const LayoutField> layout_fields() {
  static const std::array fields = {
      degree<&Layout::tp>("tp", largest_tensor_degree, "tensor parallel degree"),
      degree<&Layout::cp>("cp", largest_degree, "context parallel degree"),
      degree<&Layout::pp>("pp", largest_degree, "pipeline stages"),
      degree<&Layout::vp>("vp", largest_virtual_degree, "virtual stages on each"),
      degree<&Layout::dp>("dp", largest_data_degree, "data parallel degree"),
      degree<&Layout::ep>("ep", largest_degree, "expert parallel degree, folded over dp, cp and tp"),
      degree<&Layout::etp>("etp", largest_tensor_degree,
                           "tensor parallel degree inside an expert; unset = the stack's default"),
      degree<&Layout::micro_batch>("micro_batch", largest_degree, "sequences a pass"),
      number<&Layout::zero_stage>("zero_stage", 0, 3, "0 none, 1 optimizer, 2 + gradients, 3 + parameters sharded"),
      number<&Layout::hsdp_shard>("hsdp_shard", 0, largest_data_degree,
                                  "ZeRO-3 over this many ranks, replicated over the rest; 0 = all of dp * cp"),
      on_or_off<&Layout::sequence_parallel>("sequence_parallel", "with tp > 1"),
      choice<&Layout::recompute>("recompute", recompute_names, 0, "activations that are computed again"),
      number<&Layout::recompute_layers>("recompute_layers", 0, largest_layers,
                                        "under full recompute, layers of each stage or chunk; 0 = all"),
      schedule_field(),
      choice<&Layout::stage_split>("stage_split", stage_split_names, {}, "layers over stages"),
      on_or_off<&Layout::overlap_grad_reduce>("overlap_grad_reduce", "gradients reduced behind backward"),
      on_or_off<&Layout::overlap_param_gather>("overlap_param_gather", "parameters gathered behind forward"),
      on_or_off<&Layout::tp_comm_overlap>("tp_comm_overlap", "gathers and scatters inside the GEMMs (userbuffers)"),
      on_or_off<&Layout::ep_comm_overlap>("ep_comm_overlap",
                                          "dispatch and combine behind the other micro-batch's compute"),
      on_or_off<&Layout::overlap_p2p>("overlap_p2p", "pipeline sends behind compute"),
      context_field()};
  return fields;
}

const LayoutField& layout_field(std::string_view key) {
  return *std::ranges::find(layout_fields(), key, &LayoutField::key);
}

void check(const Layout& layout, const std::string& where) {
  for (const LayoutField& field : layout_fields()) {
    const int value = field.get(layout);
    const bool unset = value < field.least && value == field.get(Layout{});
    if (!unset && (value < field.least || value > field.most) && field.row_name == nullptr)
      throw Error(fmt::format("{}/{}", where, field.key),
                  fmt::format("found {}, expected a whole number from {} to {}", value, field.least, field.most));
  }
  if (layout.accelerators() > largest_data_degree)
    throw Error(where, fmt::format("tp {} * cp {} * pp {} * dp {} make more than {} accelerators", layout.tp, layout.cp,
                                   layout.pp, layout.dp, largest_data_degree));
}

namespace {

JsonSchema shape_of_field(const LayoutField& field) {
  if (field.is_switch) return shape::truth();
  return field.names.empty() ? shape::whole(field.least, field.most) : shape::one_of(field.names);
}

const Members<Layout>& layout_members() {
  static const Members<Layout> rows = [] {
    Members<Layout> all;
    for (const LayoutField& field : layout_fields()) {
      all.push_back({field.key, field.doc, shape_of_field(field),
                     [&field](const Reader& r, Layout& layout) { read_field(r, field, layout); }});
    }
    all.push_back({"stages", "layers of each stage, or of each chunk in model order",
                   shape::list(shape::whole(0, largest_layers), 1),
                   [](const Reader& r, Layout& layout) { layout.stages = read_stages(r); }});
    all.push_back({"order", "every axis once, neighbours first: tp-cp-ep-dp-pp", shape::text(),
                   [](const Reader& r, Layout& layout) { layout.order = read_order(r.string(), r.where()); }});
    return all;
  }();
  return rows;
}

}  // namespace

JsonSchema layout_shape() { return shape_of(layout_members()); }

Layout read_layout(const Reader& reader) {
  Layout layout;
  read_members(reader, layout_members(), layout);
  check(layout, reader.where());
  return layout;
}

}  // namespace meshwright::parallel
