#include "interrupt.hpp"

namespace meshwright::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void remember(int) {
  caught = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() : before_(std::signal(SIGINT, remember)) { caught = 0; }
Interrupt::~Interrupt() { std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_); }
bool Interrupt::asked() const { return caught != 0; }

}  // namespace meshwright::cli
