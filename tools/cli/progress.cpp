#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "meshwright/core/text.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::cli {
using namespace std::chrono_literals;

Progress::Progress(std::string_view what, std::size_t total)
    : what_(printable(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::advance(std::size_t by) { show(done_ + by, total_); }

void Progress::show(std::size_t done, std::size_t total) {
  done_ = done, total_ = total;
  first_ = std::min(first_, done);
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 1s || now - last_ < (terminal_ ? 200ms : 10'000ms)) return;
  last_ = now;
  shown_ = terminal_;
  fmt::print(stderr, "{}{} {}/{}", terminal_ ? "\r\033[K" : "", what_, done_, total_);
  if (done > first_ && total > done) {
    const std::chrono::duration<double> passed = now - start_;
    const double each = passed.count() / static_cast<double>(done - first_);
    fmt::print(stderr, ", {} left", format(Seconds::base(each * static_cast<double>(total - done))));
  }
  if (!terminal_) fmt::print(stderr, "\n");
  std::fflush(stderr);
}

}  // namespace meshwright::cli
