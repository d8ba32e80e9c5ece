#pragma once
// Progress on stderr for whatever takes over a second, on one line of a terminal; elsewhere a line every ten seconds.
#include <chrono>
#include <cstddef>
#include <string>

namespace meshwright::cli {

class Progress {
 public:
  /// `what` is shown before the count: "validating 1,200/3,598, 2 min left".
  explicit Progress(std::string_view what, std::size_t total = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance(std::size_t by = 1);
  /// The same for work that counts itself.
  void show(std::size_t done, std::size_t total);

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  std::size_t first_ = static_cast<std::size_t>(-1);  ///< done before this program began
  bool shown_ = false, terminal_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace meshwright::cli
