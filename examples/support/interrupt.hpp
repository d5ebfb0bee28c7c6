#pragma once
// Ctrl-C as a question that training asks at a good moment.

/// While one lives, SIGINT and SIGTERM only set a flag, the first time; the second time they end the program.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] bool requested() const;
};

/// Thrown to leave training, once all is saved.
struct Interrupted {};
