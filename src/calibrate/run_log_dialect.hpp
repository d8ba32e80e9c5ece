#pragma once
// How stacks print a training run: one row a stack, from data/logs (compiled in).
#include <string>
#include <utility>
#include <vector>

namespace meshwright::calibrate {

/// A value between two pieces of text on a line; `before` empty = to the end of the line.
struct LogPhrase {
  std::string name, after, before;
};

/// When a setting counts: one of `keys` is printed and is one of `is` (empty = anything but None), and none of `isnt`;
/// or, with `or_absent`, none of `keys` is printed.
struct LogCondition {
  std::vector<std::string> keys, is, isnt;
  bool or_absent = false;
};

/// A member of the job file from an argument that the log prints. Rows stand in order; the first that applies to a
/// member gives it.
struct LogSetting {
  std::string to;                 ///< "layout.tp", "model.hidden", "global_batch", ...
  std::vector<std::string> keys;  ///< as the log spells it; "section.key" where key is ambiguous
  /// Printed -> JSON; empty = as printed. In files "values", and before them those of the table of
  /// parallel::launcher_names() that "names" says.
  std::vector<std::pair<std::string, std::string>> values;
  std::string otherwise;            ///< JSON for what `values` lack; "" = the row does not apply
  std::string constant;             ///< JSON, with or without keys
  std::string absent;               ///< JSON where a launch configuration has none of `keys`; "" = as the job's default
  std::vector<std::string> unless;  ///< printed values that say nothing
  /// "count" of a list, "zeros_at_start" of a list, "layers" of the chunks in "Et*7|t*8L", "modules": the layers of
  /// each part in "[['tok_embeddings', 'layers.0'], ['layers.1']]", "whole": nothing but a whole number, "names": those
  /// of `values` in a list, or "".
  std::string take;
  LogCondition when;
  bool multiply = false;  ///< the product of all such rows of a member
};

/// What a step line tells, and where.
struct LogStep {
  std::vector<std::string> number;  ///< text before the step's number
  std::vector<std::string> value;   ///< text before the figure
  std::string figure;               ///< as RunLog::figure
  double times = 1;                 ///< to base units
  std::string batch;                ///< text before the sequences of this step; "" = not printed
  std::string without;              ///< lines with this text are no training steps
  bool progress_bar = false;        ///< tqdm's "10/100 [00:50<07:30, 5.00s/it]"
  std::string total;                ///< phrase that says how many steps the bar of training has
};

struct LogMemory {
  std::string value, line;  ///< text before the figure, on lines that also have `line`
  double times = 1;         ///< bytes of one unit
};

struct LogDialect {
  std::string name, title, framework;
  std::vector<std::string> marks;  ///< all of them stand somewhere in such a log
  LogStep step;
  std::vector<LogMemory> memory;
  std::string model_block;  ///< text of the line after which a Hugging Face config follows as JSON
  std::vector<LogPhrase> phrases;
  std::vector<LogSetting> settings;
  std::vector<std::string> tells;  ///< arguments of a launch configuration that no other stack takes
};

const std::vector<LogDialect>& log_dialect_table();

}  // namespace meshwright::calibrate
