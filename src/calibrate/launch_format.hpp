#pragma once
// What a launch configuration is written in, by its first lines.
#include <string_view>

namespace meshwright::calibrate {

enum class LaunchFormat { script, json, yaml, toml };

/// By the first line that only some of them can have. Where it could be several, `ending` (".yaml") decides, and where
/// no line tells.
LaunchFormat launch_format(std::string_view text, std::string_view ending);

}  // namespace meshwright::calibrate
