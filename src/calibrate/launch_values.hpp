#pragma once
// Launch configurations as flat lists of keys and values, whatever their format.
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace meshwright::calibrate {

/// "parallelism.tensor_parallel_degree" and "8", in the order of the file; keys with '_' for '-'.
using LaunchValues = std::vector<std::pair<std::string, std::string>>;

/// JSON, YAML and TOML by the file's extension, anything else as command lines (see read_command_line). Throws Error
/// for what can't be parsed.
LaunchValues read_launch_values(const std::filesystem::path& path);

/// Arguments of a command line or a shell script: "--key value", "--key=value", "--flag", "key=value". Comments, line
/// ends behind a backslash, quotes and arrays are understood, and variables that the script itself sets. Throws
/// Error(name:LINE, ...) for a variable that it doesn't.
LaunchValues read_command_line(std::string_view text, const std::string& name);

}  // namespace meshwright::calibrate
