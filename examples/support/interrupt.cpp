#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace {
volatile std::sig_atomic_t is_requested = 0;
}  // namespace

extern "C" {
static void note_interrupt(int signal) {
  is_requested = 1;
  std::signal(signal, SIG_DFL);
}
}

Interrupt::Interrupt() {
  is_requested = 0;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, note_interrupt);
}
Interrupt::~Interrupt() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}
bool Interrupt::requested() const { return is_requested != 0; }
