#pragma once
// Ctrl-C as a question that long work asks: the first one is remembered, the second one ends the program.
#include <csignal>

namespace meshwright::cli {

/// Catches SIGINT while it lives.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool asked() const;

 private:
  void (*before_)(int);
};

}  // namespace meshwright::cli
