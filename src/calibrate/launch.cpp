// Launch configurations, by the same tables of arguments as logs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibrate/launch_values.hpp"
#include "calibrate/run_log_settings.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/core/names.hpp"

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

}  // namespace

RunLog read_launch(const std::filesystem::path& path, std::string_view framework) {
  const LaunchValues values = read_launch_values(path);
  LogSettings all(log_dialect_table());
  for (const LaunchValue& v : values) all.add(v.key, v.value);
  const LogDialect& dialect = dialect_for(path.string(), framework, all.found());
  LogSettings own({dialect});
  std::vector<std::string> unread;
  for (const LaunchValue& v : values) {
    if (!own.add(v.key, v.value)) {
      if (std::ranges::find(unread, v.key) == unread.end()) unread.push_back(v.key);
    } else if (!v.unset.empty()) {
      throw Error(fmt::format("{}:{}", path.string(), v.line),
                  fmt::format("found ${} as {}, which nothing here sets; expected its value", v.unset, v.key));
    }
  }
  RunLog launch;
  launch.path = path.string(), launch.dialect = dialect.name, launch.framework = dialect.framework;
  launch.settings = own.found();
  if (!unread.empty()) launch.notes.push_back(fmt::format("not taken over: {}", fmt::join(unread, ", ")));
  return launch;
}

}  // namespace meshwright::calibrate
