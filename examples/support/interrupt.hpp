#pragma once
// Ctrl-C as a flag that training polls when it can stop.

/// In its lifetime, the first SIGINT or SIGTERM sets a flag; a second one of the same signal ends the program.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] bool requested() const;
};

/// Thrown to leave training, after the checkpoint is saved.
struct Interrupted {};
