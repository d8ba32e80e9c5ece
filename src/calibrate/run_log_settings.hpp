#pragma once
// Arguments that a log dumps in whatever form: dotted lists, "Config param k: v", JSON, YAML, Python reprs.
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "calibrate/run_log_dialect.hpp"

namespace meshwright::calibrate {

/// Collects key and value pairs line by line; only keys that some dialect asks for are kept.
class LogSettings {
 public:
  explicit LogSettings(const std::vector<LogDialect>& dialects);
  void read(std::string_view line);
  /// A value by its path in a configuration ("parallelism.tp"); false where no dialect asks for it.
  bool add(std::string_view path, std::string_view value);
  const std::map<std::string, std::string>& found() const { return found_; }

 private:
  void keep(std::string_view key, std::string_view value);
  std::set<std::string, std::less<>> wanted_;  ///< "tp", "parallelism.tp"
  std::map<std::string, std::string> found_;
  std::string section_;  ///< the last key whose value opened a block
};

/// The JSON of a member from what was found: see LogSetting. "" where no row gives it. `complete`: what was found is
/// all that was said, so that defaults of the stack stand for the rest.
std::string setting_json(const LogDialect& dialect, const std::map<std::string, std::string>& found,
                         std::string_view to, bool complete);
/// How many of the dialect's keys were found.
int keys_found(const LogDialect& dialect, const std::map<std::string, std::string>& found);

}  // namespace meshwright::calibrate
