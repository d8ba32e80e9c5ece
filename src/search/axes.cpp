#include "meshwright/search/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "meshwright/core/error.hpp"
#include "meshwright/core/names.hpp"

namespace meshwright::search {
namespace {

constexpr std::array<std::string_view, 2> switch_names = {"false", "true"};

/// A row for every field of a layout, in its order, which is that of Axis.
std::vector<AxisRow> rows_of_fields() {
  std::vector<AxisRow> all;
  for (const LayoutField& f : layout_fields()) {
    const auto words = f.is_switch ? std::span<const std::string_view>(switch_names) : f.names;
    all.push_back({static_cast<Axis>(all.size()), f.key, f.get, f.set, words, f.least, f.most, f.plain});
  }
  return all;
}
const std::vector<AxisRow> rows = rows_of_fields();

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

struct Alias {
  std::string_view text;
  Axis axis;
};
/// What else people, stacks and describe_layout() call an axis; spellings differ as names' do.
constexpr Alias aliases[] = {{"mb", Axis::micro_batch},
                             {"mbs", Axis::micro_batch},
                             {"micro_batch_size", Axis::micro_batch},
                             {"z", Axis::zero_stage},
                             {"zero", Axis::zero_stage},
                             {"sp", Axis::sequence_parallel},
                             {"vpp", Axis::vp},
                             {"hsdp", Axis::hsdp_shard},
                             {"tensor_parallel", Axis::tp},
                             {"pipeline_parallel", Axis::pp},
                             {"data_parallel", Axis::dp},
                             {"context_parallel", Axis::cp},
                             {"expert_parallel", Axis::ep},
                             {"expert_tensor_parallel", Axis::etp},
                             {"tensor_model_parallel_size", Axis::tp},
                             {"pipeline_model_parallel_size", Axis::pp},
                             {"virtual_pipeline_model_parallel_size", Axis::vp},
                             {"context_parallel_size", Axis::cp},
                             {"expert_model_parallel_size", Axis::ep},
                             {"expert_tensor_parallel_size", Axis::etp}};

/// What is the job's and no axis of its layouts, and the option that says it.
struct OfTheJob {
  std::string_view text, option;
};
constexpr OfTheJob of_the_job[] = {{"gbs", "--global-batch"},
                                   {"global_batch", "--global-batch"},
                                   {"global_batch_size", "--global-batch"},
                                   {"batch_size", "--global-batch"},
                                   {"seq_len", "--seq-len"},
                                   {"seq_length", "--seq-len"},
                                   {"gpus", "--gpus"},
                                   {"nodes", "--nodes"},
                                   {"precision", "--precision"},
                                   {"framework", "--framework"}};

const AxisRow& row_named(std::string_view text, const std::string& where) {
  const std::string key = folded_name(text);
  const auto is_it = [&](const auto& row) { return folded_name(row.text) == key; };
  std::vector<std::string> names;
  for (const AxisRow& row : rows) {
    if (folded_name(row.name) == key) return row;
    names.emplace_back(row.name);
  }
  if (const auto alias = std::ranges::find_if(aliases, is_it); alias != std::end(aliases)) return row_of(alias->axis);
  if (const auto job = std::ranges::find_if(of_the_job, is_it); job != std::end(of_the_job))
    throw Error(where, fmt::format("'{}' is the job's and no axis of its layouts; expected {}", text, job->option));
  throw Error(where, fmt::format("unknown axis '{}'{}", text, suggestion(text, names)));
}

int value_of(const AxisRow& row, std::string_view text, const std::string& where) {
  const auto word = std::find(row.words.begin(), row.words.end(), text);
  if (word != row.words.end()) return static_cast<int>(word - row.words.begin());
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (row.words.empty() && whole && value >= row.least && value <= row.most) return value;
  if (!row.words.empty()) {
    const std::vector<std::string> words(row.words.begin(), row.words.end());
    throw Error(where, fmt::format("{}: unknown value '{}'{}", row.name, text, suggestion(text, words)));
  }
  throw Error(
      where, fmt::format("{}: found '{}', expected a whole number from {} to {}", row.name, text, row.least, row.most));
}

/// Calls visit(axis row, value text or "", the part as written) for each part of "tp=8, cp".
template <class Visit>
void each_part(std::string_view text, const std::string& where, Visit visit) {
  while (true) {
    const auto comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    const auto equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    if (name.empty()) throw Error(where, fmt::format("found '{}', expected AXIS=VALUE, as in tp=8", part));
    visit(row_named(name, where), equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1)), part);
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const AxisRow> axis_rows() { return rows; }
const AxisRow& row_of(Axis axis) { return rows[static_cast<std::size_t>(axis)]; }

std::string spelled(Axis axis, int value) {
  const AxisRow& row = row_of(axis);
  return row.words.empty() ? std::to_string(value) : std::string(row.words[static_cast<std::size_t>(value)]);
}

void Filter::fix(Axis axis, int value, const std::string& where) {
  auto& fixed = fixed_[static_cast<std::size_t>(axis)];
  if (fixed && *fixed != value) {
    throw Error(where, fmt::format("{} cannot be both {} and {}", row_of(axis).name, spelled(axis, *fixed),
                                   spelled(axis, value)));
  }
  if (!admits(axis, value)) {
    throw Error(where, fmt::format("{} = {} is excluded", row_of(axis).name, spelled(axis, value)));
  }
  fixed = value;
}

void Filter::exclude(Axis axis, int value, const std::string& where) {
  if (fixed(axis) == value) {
    throw Error(where, fmt::format("{} is fixed to {}", row_of(axis).name, spelled(axis, value)));
  }
  auto& excluded = excluded_[static_cast<std::size_t>(axis)];
  if (std::find(excluded.begin(), excluded.end(), value) == excluded.end()) excluded.push_back(value);
}

void Filter::add(const Filter& other, const std::string& where) {
  for (const AxisRow& row : rows) {
    if (const auto value = other.fixed(row.axis)) fix(row.axis, *value, where);
    for (const int value : other.excluded_[static_cast<std::size_t>(row.axis)]) exclude(row.axis, value, where);
  }
}

std::vector<int> Filter::tried(Axis axis, std::vector<int> usual) const {
  if (const auto value = fixed(axis)) return {*value};
  std::erase_if(usual, [&](int value) { return !admits(axis, value); });
  return usual;
}

bool Filter::admits(Axis axis, int value) const {
  const auto at = static_cast<std::size_t>(axis);
  if (fixed_[at]) return *fixed_[at] == value;
  return std::find(excluded_[at].begin(), excluded_[at].end(), value) == excluded_[at].end();
}

bool Filter::admits(const Layout& layout) const {
  return std::all_of(rows.begin(), rows.end(), [&](const AxisRow& row) { return admits(row.axis, row.get(layout)); });
}

void Filter::apply(Layout& layout) const {
  for (const AxisRow& row : rows) {
    if (const auto value = fixed(row.axis); value && row.axis > Axis::micro_batch) row.set(layout, *value);
  }
}

std::vector<std::string> Filter::stated() const {
  std::vector<std::string> out;
  for (const AxisRow& row : rows) {
    if (const auto value = fixed(row.axis)) out.push_back(fmt::format("{} = {}", row.name, spelled(row.axis, *value)));
    for (const int value : excluded_[static_cast<std::size_t>(row.axis)]) {
      out.push_back(fmt::format("not {} = {}", row.name, spelled(row.axis, value)));
    }
  }
  return out;
}

void fix(Filter& filter, std::string_view text, const std::string& where) {
  each_part(text, where, [&](const AxisRow& row, std::string_view value, std::string_view part) {
    if (value.empty()) throw Error(where, fmt::format("found '{}', expected {}=VALUE", part, row.name));
    filter.fix(row.axis, value_of(row, value, where), where);
  });
}

void exclude(Filter& filter, std::string_view text, const std::string& where) {
  each_part(text, where, [&](const AxisRow& row, std::string_view value, std::string_view part) {
    if (!value.empty()) return filter.exclude(row.axis, value_of(row, value, where), where);
    if (row.off && !part.ends_with('=')) return filter.fix(row.axis, *row.off, where);
    throw Error(where, fmt::format("found '{}', expected one value to leave out, as in {}={}", part, row.name,
                                   row.words.empty() ? "1" : row.words.back()));
  });
}

}  // namespace meshwright::search
