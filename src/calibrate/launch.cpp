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
    if (best == nullptr || keys_found(d, found) > keys_found(*best, found)) best = &d;
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
  for (const auto& [key, value] : values) all.add(key, value);
  const LogDialect& dialect = dialect_for(path.string(), framework, all.found());
  LogSettings own({dialect});
  std::vector<std::string> unread;
  for (const auto& [key, value] : values) {
    if (!own.add(key, value)) unread.push_back(key);
  }
  RunLog launch;
  launch.path = path.string(), launch.dialect = dialect.name, launch.framework = dialect.framework;
  launch.settings = own.found();
  if (!unread.empty()) launch.notes.push_back(fmt::format("not taken over: {}", fmt::join(unread, ", ")));
  return launch;
}

}  // namespace meshwright::calibrate
