#pragma once
// Lines of a log as they are needed: plain or gzip, cut where they are too long, without colours and rank prefixes.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::calibrate {

/// Reads a file line by line; a carriage return ends a line too (progress bars). Keeps one buffer and one line.
class LogLines {
 public:
  /// Throws Error(path, ...) for a file that is missing, a folder or unreadable.
  explicit LogLines(const std::filesystem::path& path);
  ~LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  /// The next line; false at the end. The view holds until the next call. Throws Error for a broken gzip stream that
  /// yields nothing; a truncated one ends where it ends, and `truncated` says so.
  bool next(std::string_view& line);
  bool truncated() const;
  long long cut() const;  ///< lines that were longer than is kept

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The number after the first `key` in the line, over spaces, '=' and ':': "6,543" is 6543, "3.2K" 3200, "1.5e3" 1500.
std::optional<double> number_after(std::string_view line, std::string_view key);
/// The text between `after` and `before` (or the line's end), trimmed; nothing where one of them is not on the line.
std::optional<std::string> text_between(std::string_view line, std::string_view after, std::string_view before);
/// Seconds a step and the step's number from tqdm's bar with `total` steps; nothing where the line has none.
struct BarStep {
  int number = 0;
  double seconds = 0;
};
std::optional<BarStep> progress_bar_step(std::string_view line, long long total);

}  // namespace meshwright::calibrate
