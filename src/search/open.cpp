#include "meshwright/search/open.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::search {
namespace {

/// One value of every choice so far.
struct Start {
  std::string words;
  Job job;
  Limits space;
};

std::string joined(const std::string& words, const std::string& more) {
  return words.empty() ? more : words + ", " + more;
}

/// `from` with something else of its job; nothing where the device has no such units, or the stack no such recipe.
void add(std::vector<Start>& out, const Start& from, const std::string& words,
         const std::function<void(JobSpec&)>& say) {
  try {
    out.push_back({joined(from.words, words), with(from.job, say), from.space});
  } catch (const Error&) {
    return;
  }
}

/// The job's own format, and those that its device and its stack train with.
std::vector<Start> precisions_of(const Start& from) {
  std::vector<Start> out;
  for (const Precision& row : precisions()) {
    const std::string name(row.name);
    const bool offered = trains_with(from.job.framework, row) && !row.any_recipe;
    if (!offered && name != from.job.precision.name) continue;
    add(out, from, "precision " + name, [&](JobSpec& spec) { spec.precision = name; });
  }
  return out;
}

/// Stacks whose own figures are known, in their newest release, and that train in the format.
std::vector<Start> frameworks_of(const Start& from) {
  std::vector<Start> out;
  for (const Framework& stack : frameworks(Catalog(from.job.cluster.catalog))) {
    const bool own = stack.name == from.job.framework.name;
    if (!own && (stack.releases.empty() || !trains_with(stack, from.job.precision))) continue;
    add(out, from, "framework " + stack.name, [&](JobSpec& spec) {
      spec.framework = stack.name;
      if (own) return;
      spec.framework_version.clear();
      spec.date.clear();
    });
  }
  return out;
}

/// A field of the recipe as stated.
void state(JobSpec& spec, const char* part, const char* key, const nlohmann::ordered_json& value) {
  auto recipe = spec.recipe ? nlohmann::ordered_json::parse(spec.recipe->dump()) : nlohmann::ordered_json::object();
  recipe[part][key] = value;
  spec.recipe = Reader::text(recipe.dump(), "recipe");
}

std::vector<Start> offloads_of(const Start& from) {
  std::vector<Start> out;
  for (const bool on : {false, true}) {
    add(out, from, fmt::format("optimizer on the {}", on ? "host" : "device"),
        [on](JobSpec& spec) { state(spec, "offload", "optimizer", on); });
  }
  return out;
}

using Modules = NameSet<recompute_module_names>;

std::vector<std::string_view> names_of(Modules modules) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
    if (modules.has(i)) names.push_back(recompute_module_names[i]);
  }
  return names;
}

/// Those that the stack can be told and the model has.
Modules modules_to_choose(const Job& job) {
  Modules out;
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
    if (job.framework.rules.recompute_modules.has(i) && has_module(job.model, static_cast<RecomputeModule>(i)))
      out.bits |= 1U << i;
  }
  return out;
}

/// The job's own modules with every kind of recompute, the others with that which asks for them.
std::vector<Start> modules_of(const Start& from) {
  const Modules all = modules_to_choose(from.job), own = from.job.recipe.activations.recompute_modules;
  const auto words = [](Modules modules) { return fmt::format("modules {}", fmt::join(names_of(modules), " + ")); };
  Start first = from;
  first.words = joined(from.words, words(own));
  std::vector<Start> out = {std::move(first)};
  const auto selective = static_cast<int>(Recompute::selective);
  if (!from.space.filter.admits(Axis::recompute, selective)) return out;
  Start others = from;
  others.space.filter.fix(Axis::recompute, selective, "--open");
  for (std::uint32_t bits = 1; bits <= all.bits; ++bits) {
    if ((bits & ~all.bits) != 0 || bits == (own.bits & all.bits)) continue;
    add(out, others, words({bits}),
        [bits](JobSpec& spec) { state(spec, "activations", "recompute_modules", names_of({bits})); });
  }
  return out;
}

/// The orders in which the stack can number ranks.
std::vector<Start> orders_of(const Start& from) {
  const Framework& stack = from.job.framework;
  std::vector<RankOrder> orders = stack.rules.orders;
  if (orders.empty()) orders.push_back(stack.defaults.order);
  std::vector<Start> out;
  for (const RankOrder& order : orders) {
    Start start = from;
    start.words = joined(from.words, "order " + describe_order(order));
    if (order != stack.defaults.order) start.space.order = order;
    out.push_back(std::move(start));
  }
  return out;
}

/// How the stack can exchange among context ranks; its own way first.
std::vector<Start> context_kinds_of(const Start& from) {
  const auto kinds = context_kinds();
  std::vector<Start> out;
  for (const ContextKind kind : from.job.framework.rules.cp_kinds.rows) {
    const auto place = static_cast<int>(std::ranges::find(kinds, kind) - kinds.begin());
    if (!from.space.filter.admits(Axis::cp_kind, place)) continue;
    Start start = from;
    start.words = joined(from.words, fmt::format("cp_kind {}", kind.name()));
    start.space.filter.fix(Axis::cp_kind, place, "--open");
    out.push_back(std::move(start));
  }
  return out;
}

/// Full recompute of any number of a chunk's layers: one search, since it is an axis.
std::vector<Start> some_layers_of(const Start& from) {
  Start start = from;
  start.words = joined(from.words, "recompute_layers");
  start.space.some_layers = true;
  return {start};
}

struct Choice {
  std::string name;
  std::vector<Start> (*values)(const Start& from);
};
const std::vector<Choice>& choices() {
  static const std::vector<Choice> rows = {{"precision", precisions_of},     {"framework", frameworks_of},
                                           {"offload", offloads_of},         {"order", orders_of},
                                           {"cp_kind", context_kinds_of},    {"recompute_layers", some_layers_of},
                                           {"recompute_modules", modules_of}};
  return rows;
}

/// What the choices ask of each other goes by the order of the table: a stack is chosen before its orders.
std::vector<Start> starts(const Job& job, const Limits& space, const std::vector<std::string>& open,
                          const std::string& where) {
  for (const std::string& name : open) {
    if (std::ranges::find(choices(), name, &Choice::name) == choices().end())
      throw Error(where, fmt::format("unknown choice '{}'{}", name, suggestion(name, open_choices())));
  }
  std::vector<Start> all;
  all.push_back({"", job, space});
  for (const Choice& row : choices()) {
    if (std::ranges::find(open, row.name) == open.end()) continue;
    std::vector<Start> more;
    for (const Start& from : all) {
      for (Start& start : row.values(from)) more.push_back(std::move(start));
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace

const std::vector<std::string>& open_choices() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Choice& row : choices()) all.push_back(row.name);
    return all;
  }();
  return names;
}

std::vector<Variant> search_open(const Job& job, const SearchOptions& options, const std::vector<std::string>& open,
                                 const std::string& where) {
  std::vector<Variant> out;
  SearchOptions of_start = options;
  for (Start& start : starts(job, options.space, open, where)) {
    of_start.space = start.space;
    SearchResult result = search(start.job, of_start);
    const bool stopped = result.interrupted;
    out.push_back({std::move(start.words), std::move(start.job), std::move(start.space), std::move(result)});
    if (stopped) break;
  }
  std::ranges::stable_sort(out, [](const Variant& a, const Variant& b) {
    if (a.result.best.empty() || b.result.best.empty()) return !a.result.best.empty() && b.result.best.empty();
    return a.result.best.front().value < b.result.best.front().value;
  });
  return out;
}

}  // namespace meshwright::search
