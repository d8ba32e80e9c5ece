// Launch configurations, by the same tables of arguments as logs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "calibrate/launch_values.hpp"
#include "calibrate/run_log_settings.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

/// Forks share most of their arguments: those that a stack alone has tell more.
int weight(const LogDialect& dialect, const std::map<std::string, std::string>& found) {
  constexpr int weight_of_own = 8;
  const auto own = std::ranges::count_if(dialect.tells, [&](const std::string& key) { return found.contains(key); });
  return keys_found(dialect, found) + weight_of_own * static_cast<int>(own);
}

/// The dialect of a stack, or of which most arguments were found: the first among equals.
const LogDialect& dialect_for(const std::string& path, std::string_view framework,
                              const std::map<std::string, std::string>& found) {
  const LogDialect* best = nullptr;
  std::vector<std::string> names;
  for (const LogDialect& d : log_dialect_table()) {
    names.push_back(d.name);
    if (!framework.empty() && folded_name(d.name) != folded_name(framework) &&
        folded_name(d.framework) != folded_name(framework))
      continue;
    if (best == nullptr || weight(d, found) > weight(*best, found)) best = &d;
  }
  if (best == nullptr) {
    throw Error("--framework", fmt::format("no launch configuration of '{}' is understood{}", framework,
                                           suggestion(std::string(framework), names)));
  }
  constexpr int least = 2;  // one argument is anybody's
  if (keys_found(*best, found) < least) {
    throw Error(path, fmt::format("found no arguments of a known stack, expected a configuration of {}",
                                  fmt::join(names, ", ")));
  }
  return *best;
}

/// What launchers call the processes that they start, one an accelerator: torch/distributed/run.py, deepspeed/launcher/
/// runner.py, accelerate/commands/launch.py, and srun and sbatch of Slurm. Earlier rows win: under torchrun a task of
/// Slurm is a node.
constexpr std::string_view of_nodes[] = {"nnodes", "num_nodes", "num_machines", "nodes"};
constexpr std::string_view of_one_node[] = {"nproc_per_node", "num_gpus", "gpus_per_node", "gres", "ntasks_per_node"};
constexpr std::string_view of_all[] = {"num_processes", "ntasks"};

bool starts_processes(std::string_view key) {
  const auto among = [&](const auto& keys) { return std::ranges::find(keys, key) != std::end(keys); };
  return among(of_nodes) || among(of_one_node) || among(of_all);
}

/// The first of these keys that has a number: "8", "gpu:8", "gpu:a100:8"; 0 where there is none.
double first_number(const LaunchValues& values, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    for (const LaunchValue& v : values) {
      if (v.key != key || !v.unset.empty()) continue;
      const auto number = parse_number(std::string_view(v.value).substr(v.value.rfind(':') + 1));
      if (number && *number >= 1) return *number;
    }
  }
  return 0;
}

void count_processes(const LaunchValues& values, RunLog& launch) {
  const auto says = [&](std::span<const std::string_view> keys) {
    return std::ranges::any_of(values,
                               [&](const LaunchValue& v) { return std::ranges::find(keys, v.key) != std::end(keys); });
  };
  launch.nodes = first_number(values, of_nodes);
  const double each = first_number(values, of_one_node);
  const bool one_node = each > 0 && !says(of_nodes);  // what launchers take where nothing is said
  launch.processes = each * (one_node ? 1 : launch.nodes);
  if (launch.processes == 0) launch.processes = first_number(values, of_all);
}

}  // namespace

RunLog read_launch(const std::filesystem::path& path, std::string_view framework) {
  const LaunchValues values = read_launch_values(path);
  LogSettings all(log_dialect_table());
  for (const LaunchValue& v : values) all.add(v.key, v.value);
  const LogDialect& dialect = dialect_for(path.string(), framework, all.found());
  LogSettings own({dialect});
  std::vector<std::string> unread;
  for (const LaunchValue& v : values) {
    const bool starts = starts_processes(v.key);
    if (starts && !v.unset.empty()) continue;  // of the machine that it runs on
    if (!own.add(v.key, v.value)) {
      if (!starts && std::ranges::find(unread, v.key) == unread.end()) unread.push_back(v.key);
    } else if (!v.unset.empty()) {
      throw Error(fmt::format("{}:{}", path.string(), v.line),
                  fmt::format("found ${} as {}, which nothing here sets; expected its value", v.unset, v.key));
    }
  }
  RunLog launch;
  launch.path = path.string(), launch.dialect = dialect.name, launch.framework = dialect.framework;
  launch.settings = own.found();
  count_processes(values, launch);
  if (!unread.empty()) launch.notes.push_back(fmt::format("not taken over: {}", fmt::join(unread, ", ")));
  return launch;
}

}  // namespace meshwright::calibrate
