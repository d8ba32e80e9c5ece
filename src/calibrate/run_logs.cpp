#include "meshwright/calibrate/run_logs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibrate/run_log_dialect.hpp"
#include "calibrate/run_log_lines.hpp"
#include "calibrate/run_log_settings.hpp"
#include "calibrate/run_log_steps.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t largest_model_config = 256 * 1024, longest_phrase = 64 * 1024;

bool contains(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

/// What one dialect has seen of the log.
struct Candidate {
  const LogDialect* dialect = nullptr;
  std::vector<bool> marks;
  StepSeries steps;
  double batch = 0, peak = 0;
  bool batch_changed = false;

  bool whole() const {
    return std::all_of(marks.begin(), marks.end(), [](bool seen) { return seen; });
  }

  void read_memory(std::string_view line) {
    if (!dialect->step.without.empty() && contains(line, dialect->step.without)) return;
    for (const LogMemory& m : dialect->memory) {
      if (!m.line.empty() && !contains(line, m.line)) continue;
      if (const auto value = number_after(line, m.value)) peak = std::max(peak, *value * m.times);
    }
  }

  /// A ramp of the batch makes earlier steps another job.
  void read_batch(std::string_view line) {
    if (dialect->step.batch.empty()) return;
    const auto value = number_after(line, dialect->step.batch);
    if (!value || *value <= 0) return;
    if (batch > 0 && *value != batch) {
      steps.clear();
      batch_changed = true;
    }
    batch = *value;
  }

  bool read_step(std::string_view line) {
    const LogStep& step = dialect->step;
    if (!step.without.empty() && contains(line, step.without)) return false;
    for (const std::string& key : step.value) {
      const auto value = number_after(line, key);
      if (!value) continue;
      double number = 0;
      for (const std::string& before : step.number) {
        if (const auto n = number_after(line, before)) {
          number = *n;
          break;
        }
      }
      read_batch(line);
      steps.add(static_cast<int>(std::clamp(number, 0.0, 2e9)), *value * step.times);
      return true;
    }
    return false;
  }
};

/// Collects the JSON object that follows a line of the dialect's "model_block".
class ModelBlock {
 public:
  explicit ModelBlock(const std::vector<LogDialect>& dialects) {
    for (const LogDialect& d : dialects) {
      if (!d.model_block.empty()) marks_.push_back(d.model_block);
    }
  }
  void read(std::string_view line) {
    if (!open_) {
      const bool begins =
          line.ends_with("{") && std::any_of(marks_.begin(), marks_.end(), [&](auto& m) { return contains(line, m); });
      if (begins) open_ = true, text_ = "{";
      return;
    }
    text_ += "\n";
    text_ += line;
    if (text_.size() > largest_model_config) {
      open_ = false;
    } else if (line == "}") {
      open_ = false;
      whole_ = text_;
    }
  }
  const std::string& whole() const { return whole_; }

 private:
  std::vector<std::string> marks_;
  std::string text_, whole_;
  bool open_ = false;
};

/// Everything that is gathered in one pass over the lines.
struct Gathering {
  const std::vector<LogDialect>& dialects = log_dialect_table();
  std::vector<Candidate> candidates;
  LogSettings settings{dialects};
  ModelBlock model{dialects};
  std::map<std::string, std::string> phrases;

  Gathering() {
    for (const LogDialect& d : dialects) {
      Candidate c;
      c.dialect = &d;
      c.marks.assign(d.marks.size(), false);
      candidates.push_back(std::move(c));
    }
  }

  bool read_bar(Candidate& c, std::string_view line) {
    const auto total = phrases.find(c.dialect->step.total);
    if (!c.dialect->step.progress_bar || total == phrases.end()) return false;
    const auto steps = number_after(total->second, "");
    const auto bar =
        steps ? progress_bar_step(line, static_cast<long long>(std::clamp(*steps, 0.0, 1e12))) : std::nullopt;
    if (bar) c.steps.add(bar->number, bar->seconds);
    return bar.has_value();
  }

  void read(std::string_view line) {
    bool step = false;
    for (Candidate& c : candidates) {
      for (std::size_t i = 0; i < c.marks.size(); ++i) {
        if (!c.marks[i] && contains(line, c.dialect->marks[i])) c.marks[i] = true;
      }
      c.read_memory(line);
      step = c.read_step(line) || read_bar(c, line) || step;
    }
    if (step) return;
    for (const Candidate& c : candidates) {
      for (const LogPhrase& p : c.dialect->phrases) {
        if (const auto text = text_between(line, p.after, p.before); text && text->size() <= longest_phrase)
          phrases[p.name] = *text;
      }
    }
    settings.read(line);
    model.read(line);
  }

  /// The dialect whose marks all stand in the log; among several the one with the most.
  const Candidate* best() const {
    const Candidate* found = nullptr;
    for (const Candidate& c : candidates) {
      if (!c.whole()) continue;
      if (found == nullptr || c.marks.size() > found->marks.size()) found = &c;
    }
    return found;
  }
};

void note_steps(const Candidate& c, const LogLines& lines, RunLog& log) {
  if (c.batch_changed)
    log.notes.push_back(fmt::format("the batch grew: only steps of {:.0f} sequences count", c.batch));
  if (log.steps.sick_count > 0) {
    log.notes.push_back(
        fmt::format("{} steps beyond half or one and a half of the median left out (checkpoint, "
                    "evaluation or a sick node?): {}{}",
                    log.steps.sick_count, fmt::join(log.steps.sick, ", "),
                    log.steps.sick_count > static_cast<int>(log.steps.sick.size()) ? ", ..." : ""));
  }
  if (lines.truncated()) log.notes.emplace_back("the file is truncated: what it holds so far counts");
  if (lines.cut() > 0) log.notes.push_back(fmt::format("{} lines were too long and were cut", lines.cut()));
}

/// Where no bar was printed, the trainer's own summary at the end: it includes the warm-up.
void use_run_summary(RunLog& log) {
  const auto value = [&](std::string_view to) {
    for (const LogDialect& d : log_dialect_table()) {
      if (d.name == log.dialect) return setting_json(d, log.settings, to, false);
    }
    return std::string();
  };
  const std::string runtime = value("train_runtime"), steps = value("steps");
  if (runtime.empty() || steps.empty()) return;
  const auto seconds = number_after(runtime, ""), count = number_after(steps, "");
  if (!seconds || !count || *seconds <= 0 || *count < 1) return;
  log.steps.read = static_cast<int>(std::min(*count, 2e9));
  log.steps.median = *seconds / *count;
  log.notes.emplace_back("no step's own time in the log: the mean over the whole run, start-up included");
}

}  // namespace

RunLog read_run_log(const std::filesystem::path& path) {
  LogLines lines(path);
  Gathering gathered;
  for (std::string_view line; lines.next(line);) gathered.read(line);
  const Candidate* c = gathered.best();
  if (c == nullptr) {
    throw Error(path.string(), fmt::format("no training log that is known: found none of the step lines of {}",
                                           fmt::join(log_dialects(), ", ")));
  }
  RunLog log;
  log.path = path.string();
  log.dialect = c->dialect->name;
  log.framework = c->dialect->framework;
  log.figure = c->dialect->step.figure;
  log.settings = gathered.settings.found();
  log.settings.insert(gathered.phrases.begin(), gathered.phrases.end());
  log.model_config = gathered.model.whole();
  log.steps = c->steps.summary();
  log.global_batch = c->batch;
  if (c->peak > 0) log.peak_memory = Bytes::base(c->peak);
  note_steps(*c, lines, log);
  if (log.steps.read == 0) use_run_summary(log);
  if (log.steps.read == 0)
    throw Error(path.string(), fmt::format("{} without a step's time or rate", c->dialect->title));
  return log;
}

std::vector<std::string> log_dialects() {
  std::vector<std::string> names;
  for (const LogDialect& d : log_dialect_table()) names.push_back(d.title);
  return names;
}

}  // namespace meshwright::calibrate
