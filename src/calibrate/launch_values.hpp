#pragma once
// Launch configurations as flat lists of keys and values, whatever their format.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::calibrate {

/// "parallelism.tensor_parallel_degree" and "8"; keys with '_' for '-'.
struct LaunchValue {
  std::string key, value;
  int line = 0;         ///< of a script; 0 elsewhere
  std::string unset{};  ///< a variable that the value is made of and that the script does not set; "" = none
};
/// In the order of the file.
using LaunchValues = std::vector<LaunchValue>;

/// JSON, YAML or TOML by what the first lines look like, anything else as command lines (see read_command_line); the
/// file's ending decides where lines could be either. Throws Error for what can't be parsed.
LaunchValues read_launch_values(const std::filesystem::path& path);

/// Arguments of a command line or a shell script: "--key value", "--key=value", "--flag", "key=value", and of Slurm's
/// srun and #SBATCH also "-N 4" (nodes), "-n 32" (ntasks). Comments, line
/// ends behind a backslash, quotes and arrays are understood, and variables that the script itself sets: outside
/// quotes they are split into words, as the shell does.
LaunchValues read_command_line(std::string_view text, const std::string& name);

}  // namespace meshwright::calibrate
