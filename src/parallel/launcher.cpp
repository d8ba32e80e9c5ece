#include "meshwright/parallel/launcher.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/report.hpp"
#include "meshwright/parallel/stages.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

/// How a stack takes its configuration.
enum class Syntax { arguments, overrides, yaml, json };

/// What a layout says beyond its degrees. A dialect without a key for it configures the stack's own choice alone.
struct Choice {
  std::string_view name;
  bool (*own)(const Job& job, const Layout& layout);  ///< whether it is the stack's own
  std::string (*said)(const Layout& layout);
};
bool replicates(const Layout& l) { return l.dp * l.cp > 1; }
std::string truth(bool value) { return value ? "true" : "false"; }
enum ChoiceKey : std::uint32_t {
  order_key = 1,
  stages_key = 2,
  shard_key = 4,
  expert_tensor_key = 8,
  schedule_key = 16,
  selective_key = 32,
  sequence_key = 64,
  reduce_key = 128,
  gather_key = 256,
  overlap_keys = reduce_key | gather_key
};
constexpr std::array<Choice, 9> choices = {{
    {"order", [](const Job& j, const Layout& l) { return rank_order(l, j.framework) == rank_order({}, j.framework); },
     [](const Layout& l) { return describe_order(*l.order); }},
    {"stages",
     [](const Job& j, const Layout& l) {
       Layout own = l;
       own.stages.clear(), own.stage_split = StageSplit::automatic;
       return l.stages.empty() ||
              pipeline_chunks(j.model, j.framework, l) == pipeline_chunks(j.model, j.framework, own);
     },
     [](const Layout& l) { return fmt::format("{}", fmt::join(l.stages, "-")); }},
    {"hsdp_shard", [](const Job&, const Layout& l) { return l.hsdp_shard == 0; },
     [](const Layout& l) { return std::to_string(l.hsdp_shard); }},
    {"etp",
     [](const Job& j, const Layout& l) {
       Layout own = l;
       own.etp = 0;
       return !j.model.is_moe() || expert_tensor_parallel(l, j.framework) == expert_tensor_parallel(own, j.framework);
     },
     [](const Layout& l) { return std::to_string(l.etp); }},
    {"schedule",
     [](const Job&, const Layout& l) { return l.pp == 1 || l.schedule == PipelineSchedule::one_f_one_b || l.vp > 1; },
     [](const Layout& l) { return std::string(effective_schedule(l)->name); }},
    {"recompute", [](const Job&, const Layout& l) { return l.recompute != Recompute::selective; },
     [](const Layout& l) { return std::string(name(l.recompute)); }},
    {"sequence_parallel", [](const Job&, const Layout& l) { return l.tp == 1 || l.sequence_parallel; },
     [](const Layout& l) { return truth(l.sequence_parallel); }},
    {"overlap_grad_reduce",
     [](const Job& j, const Layout& l) {
       return !replicates(l) || l.overlap_grad_reduce == usual_grad_reduce(j.framework, l.zero_stage);
     },
     [](const Layout& l) { return truth(l.overlap_grad_reduce); }},
    {"overlap_param_gather",
     [](const Job& j, const Layout& l) {
       return !replicates(l) || l.zero_stage == 0 ||
              l.overlap_param_gather == usual_param_gather(j.framework, l.zero_stage, l.overlap_grad_reduce);
     },
     [](const Layout& l) { return truth(l.overlap_param_gather); }},
}};

struct Dialect {
  std::string_view name;
  std::string_view release;  ///< that its names and rules were read from
  AxisSet axes;              ///< that it can configure, dp in any case
  std::vector<std::string> (*flags)(const Job& job, const Layout& layout);
  Syntax syntax;
  std::string_view use;                                      ///< what takes the file
  bool offloads_states = false;                              ///< has a key for the optimizer in host memory,
  bool offloads_activations = false, names_modules = false;  ///< for activations there, for modules of recompute
  std::uint32_t lacks = 0;                                   ///< choices that it has no key for
};
constexpr std::uint32_t bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
constexpr AxisSet every_axis{0b11111};
constexpr std::array<Dialect, 10> dialects = {{
    {"megatron", "Megatron-LM, core 0.20, 2026-08-22 (d98e8a64dd)", every_axis, megatron_flags, Syntax::arguments,
     "torchrun ... pretrain_gpt.py \"${MESHWRIGHT_ARGS[@]}\" and your data and optimizer arguments", true, false, true},
    {"bridge", "Megatron-Bridge 0.6.0, 2026-08-22 (067f987df0)", every_axis, bridge_flags, Syntax::overrides,
     "overrides of a recipe's ConfigContainer: your script with \"${MESHWRIGHT_ARGS[@]}\"", true, false, true},
    {"nemo", "NeMo 2.0 (nemo/lightning), 25.04", every_axis, nemo_flags, Syntax::overrides,
     "nemo llm pretrain --factory RECIPE \"${MESHWRIGHT_ARGS[@]}\"", false, false, true},
    {"megatron-deepspeed", "Megatron-DeepSpeed, main of 2024", every_axis, megatron_deepspeed_flags, Syntax::arguments,
     "deepspeed pretrain_gpt.py \"${MESHWRIGHT_ARGS[@]}\" and your data and optimizer arguments", false, false, false,
     order_key | stages_key | shard_key | expert_tensor_key | overlap_keys},
    {"torchtitan", "torchtitan 0.2.2, 2026-08-21 (b5bcd76c66)", every_axis, torchtitan_flags, Syntax::arguments,
     "run_train.sh \"${MESHWRIGHT_ARGS[@]}\" with your model's config", false, false, false,
     order_key | expert_tensor_key | overlap_keys},
    {"nanotron", "nanotron 0.4, 2026-04-07 (2411b022a7)", every_axis, nanotron_flags, Syntax::yaml,
     "merge into the YAML of run_train.py --config-file", false, false, false,
     order_key | stages_key | expert_tensor_key | selective_key | overlap_keys},
    {"deepspeed",
     "DeepSpeed 0.19.6, 2026-08-22 (edaa722126)",
     {bit(Axis::tp) | bit(Axis::cp)},
     deepspeed_flags,
     Syntax::json,
     "deepspeed train.py --deepspeed_config FILE; gradient_checkpointing and max_seq_length are arguments of the "
     "trainer",
     true,
     false,
     false,
     order_key | gather_key},
    {"accelerate",
     "accelerate 1.15 (16cb6eb80d, 2026-07-24), FSDP 2",
     {bit(Axis::tp) | bit(Axis::cp)},
     accelerate_flags,
     Syntax::yaml,
     "accelerate launch --config_file FILE; the last three keys are arguments of the trainer",
     true,
     false,
     false,
     order_key | overlap_keys},
    {"fsdp",
     "LLM Foundry 0.22 (Composer's fsdp_config)",
     {},
     fsdp_flags,
     Syntax::yaml,
     "merge into the YAML of LLM Foundry's train.py",
     false,
     true,
     false,
     order_key | overlap_keys},
    {"maxtext", "MaxText 0.2.4, 2026-08-22 (e591f30cbb)", every_axis, maxtext_flags, Syntax::yaml,
     "python -m maxtext.trainers.pre_train.train FILE, or merge into your YAML over base.yml", true, false, false,
     order_key | expert_tensor_key | schedule_key | sequence_key | overlap_keys},
}};

/// Stacks that a dialect configures.
std::vector<std::string> stacks_of(std::string_view dialect) {
  std::vector<std::string> names;
  for (const Framework& stack : frameworks()) {
    if (std::ranges::find(stack.flags, dialect) != stack.flags.end()) names.push_back(stack.name);
  }
  return names;
}

const Dialect& dialect_of(const Framework& stack, std::string_view asked) {
  const std::vector<std::string>& own = stack.flags;
  if (asked.empty() && own.empty()) {
    throw Error("--flags", fmt::format("no launcher dialect is known for {}; expected one by name: {}", stack.name,
                                       fmt::join(launcher_dialects(), ", ")));
  }
  const std::string wanted = asked.empty() ? own.front() : std::string(asked);
  const auto row = std::find_if(dialects.begin(), dialects.end(), [&](const Dialect& d) { return d.name == wanted; });
  if (row == dialects.end()) {
    throw Error("--flags",
                fmt::format("unknown launcher dialect '{}'{}", wanted, suggestion(wanted, launcher_dialects())));
  }
  if (!own.empty() && std::find(own.begin(), own.end(), wanted) == own.end()) {
    throw Error("--flags",
                fmt::format("found '{}', but the layout is for {}, which that does not configure; expected {}, "
                            "or a plan for another framework ({})",
                            wanted, stack.name, fmt::join(own, " or "), fmt::join(stacks_of(wanted), ", ")));
  }
  return *row;
}

void check_axes(const Dialect& dialect, const Layout& l) {
  const std::size_t axis = axis_outside(l, dialect.axes);
  if (axis == axis_names.size()) return;
  throw Error("--flags", fmt::format("{} cannot configure {} {}: it has no such key", dialect.name, axis_names[axis],
                                     degrees_beside_dp(l)[axis]));
}

void check_choices(const Dialect& dialect, const Job& job, const Layout& layout) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if ((dialect.lacks >> i & 1) == 0 || choices[i].own(job, layout)) continue;
    throw Error("--flags", fmt::format("{} cannot configure {} {}: it has no such key; expected the stack's own choice",
                                       dialect.name, choices[i].name, choices[i].said(layout)));
  }
}

using Json = nlohmann::ordered_json;

/// "a.b=value" lines as nested objects.
Json nested(const std::vector<std::string>& flags) {
  Json document = Json::object();
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    Json* at = &document;
    std::string_view path = std::string_view(flag).substr(0, equals);
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      at = &(*at)[std::string(path.substr(0, dot))];
      path.remove_prefix(dot + 1);
    }
    const std::string text = flag.substr(equals + 1);
    (*at)[std::string(path)] = Json::accept(text) ? Json::parse(text) : Json(text);
  }
  return document;
}

std::string yaml_of(const Json& object, const std::string& indent) {
  std::string out;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      out += indent + key + ":\n" + yaml_of(value, indent + "  ");
    } else {
      out += fmt::format("{}{}: {}\n", indent, key, value.is_string() ? value.get<std::string>() : json_text(value));
    }
  }
  return out;
}

/// What the prediction rests on and the dialect has no key for, or we write none.
std::vector<std::string> unwritten(const Job& job, const Layout& layout, const Dialect& dialect) {
  std::vector<std::string> out;
  const Recipe& recipe = job.recipe;
  const bool names_dispatch = !launcher_names("recipe.kernels.dispatcher", dialect.name).empty();
  const bool sends = job.model.is_moe() && layout.ep > 1;
  const bool chosen = recipe.kernels.dispatcher != Dispatcher::all_to_all;  // what stacks do that offer nothing else
  if (sends && (names_dispatch ? megatron_dispatch(job, layout, dialect.name).type.empty() : chosen))
    out.push_back(
        fmt::format("kernels dispatcher {}",
                    choice_names(recipe.kernels.dispatcher)[static_cast<std::size_t>(recipe.kernels.dispatcher)]));
  if (sends && recipe.kernels.shared_expert_overlap && !names_dispatch)
    out.emplace_back("kernels shared_expert_overlap");
  if (job.model.is_moe() && recipe.kernels.capacity_factor > 0 && !names_dispatch) {
    out.push_back(fmt::format("kernels capacity_factor {:g}{}", recipe.kernels.capacity_factor,
                              recipe.kernels.pad_to_capacity ? " pad_to_capacity" : ""));
  }
  const bool usual_fusions = recipe.kernels.unfused == usual_recipe(job.framework, job.precision).kernels.unfused;
  if (!usual_fusions) out.push_back(fmt::format("kernels unfused {}", recipe.kernels.unfused));
  if (recipe.kernels.cuda_graphs != CudaGraphs::none)
    out.push_back(
        fmt::format("kernels cuda_graphs {}", cuda_graph_names[static_cast<std::size_t>(recipe.kernels.cuda_graphs)]));
  const std::vector<std::string_view> modules = recompute_modules(job);
  const bool usual = modules.size() == 1 && modules.front() == "core_attn";
  if (layout.recompute == Recompute::selective && !usual && !dialect.names_modules)
    out.push_back(fmt::format("activations recompute_modules {}", fmt::join(modules, " ")));
  if (recipe.offload.optimizer && !dialect.offloads_states) out.emplace_back("offload optimizer");
  if (recipe.offload.activations && !dialect.offloads_activations) out.emplace_back("offload activations");
  return out;
}

/// How many processes it takes, and on how many nodes.
std::string started(const Job& job, const Layout& layout) {
  const int ranks = layout.accelerators(), node = job.cluster.node.accelerators, nodes = (ranks + node - 1) / node;
  return fmt::format("start {} processes, one an accelerator: {} node{} of {}", ranks, nodes, nodes == 1 ? "" : "s",
                     std::min(ranks, node));
}

/// What the file is for and what it rests on, a line each.
std::vector<std::string> remarks(const Job& job, const Prediction& p, const Dialect& dialect) {
  std::vector<std::string> lines = {
      fmt::format("{} on {} x {} ({}), sequence {}, global batch {}", job.model.name, p.layout.accelerators(),
                  job.cluster.accelerator.name, job.cluster.name, job.seq_len, job.global_batch),
      fmt::format("layout: {}", describe_layout(p.layout)),
      fmt::format("ranks in the order {}, the first closest: {}", describe_order(rank_order(p.layout, job.framework)),
                  describe_placement(p.placement)),
      started(job, p.layout),
      fmt::format("predicted: {} a step (P10 to P90: {} to {}), MFU {}, {} of {} of a device", format(p.step_time),
                  format(p.p10), format(p.p90), format_percent(p.mfu), format(p.memory.reserved),
                  format(job.cluster.accelerator.memory_capacity)),
      fmt::format("for {}", dialect.release),
      fmt::format("use: {}", dialect.use)};
  if (const auto missing = unwritten(job, p.layout, dialect); !missing.empty())
    lines.push_back(fmt::format("not in these flags, set it besides: {}", fmt::join(missing, "; ")));
  for (const std::string& warning : p.warnings) lines.push_back("warning: " + warning);
  for (const std::string& assumption : p.assumptions) lines.push_back("assumed: " + assumption);
  return lines;
}

}  // namespace

std::string launch_file(const Job& job, const Prediction& prediction, std::string_view asked) {
  const Dialect& dialect = dialect_of(job.framework, asked);
  const std::vector<std::string> flags = launcher_flags(job, prediction.layout, asked);
  const std::vector<std::string> said = remarks(job, prediction, dialect);
  if (dialect.syntax == Syntax::json) {
    Json document = {{"_comment", said}};  // JSON has no comments; DeepSpeed passes keys by that it doesn't know
    document.update(nested(flags));
    return json_text(document, 2) + "\n";
  }
  std::string out;
  for (const std::string& line : said) out += "# " + printable(line, 2000) + "\n";
  if (dialect.syntax == Syntax::yaml) return out + yaml_of(nested(flags), "");
  out += "MESHWRIGHT_ARGS=(\n";
  for (const std::string& flag : flags) out += "  " + flag + "\n";
  return out + ")\n";
}

void check_launch_ending(const Job& job, std::string_view path, std::string_view asked) {
  struct Ending {
    std::string_view text, means;
    std::optional<Syntax> syntax;
  };
  static constexpr Ending endings[] = {{".sh", "a script", Syntax::arguments},
                                       {".json", "JSON", Syntax::json},
                                       {".yaml", "YAML", Syntax::yaml},
                                       {".yml", "YAML", Syntax::yaml},
                                       {".toml", "TOML", std::nullopt}};
  const Dialect& dialect = dialect_of(job.framework, asked);
  const Syntax syntax = dialect.syntax == Syntax::overrides ? Syntax::arguments : dialect.syntax;
  const auto of_syntax = [&](const Ending& ending) { return ending.syntax == syntax; };
  const Ending* right = std::ranges::find_if(endings, of_syntax);
  for (const Ending& ending : endings) {
    if (!path.ends_with(ending.text) || of_syntax(ending)) continue;
    throw Error("--launch",
                fmt::format("found '{}', but {} is configured by {}, not {}; expected a name that ends in {}", path,
                            dialect.name, right->means, ending.means, right->text));
  }
}

std::vector<std::string> launcher_dialects() {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects) names.emplace_back(dialect.name);
  return names;
}

std::vector<std::string> launcher_flags(const Job& job, const Layout& layout, std::string_view dialect) {
  const Dialect& row = dialect_of(job.framework, dialect);
  check_axes(row, layout);
  check_choices(row, job, layout);
  return row.flags(job, complete(job, layout));
}

std::string launcher_release(const Job& job, std::string_view dialect) {
  return std::string(dialect_of(job.framework, dialect).release);
}

}  // namespace meshwright::parallel
