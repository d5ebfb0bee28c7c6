#pragma once
// Streams of the host, in which there is never anything to wait for.

#include <locus/device/stream.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// On the host, operations are done when they return: there is nothing to order.
template <>
class Event<Cpu> {
 public:
  [[nodiscard]] explicit operator bool() const { return false; }
  void wait() const {}
  [[nodiscard]] bool done() const { return true; }
};
template <>
class Stream<Cpu> {
 public:
  using device_type = Cpu;
  struct Current {
    explicit Current(const Stream&) {}
  };
  explicit Stream(Cpu = {}) {}
  [[nodiscard]] static Stream current(Cpu = {}) { return Stream{}; }
  [[nodiscard]] Cpu device() const { return {}; }
  [[nodiscard]] Event<Cpu> record() const { return {}; }
  void wait(const Event<Cpu>&) const {}
  void synchronize() const {}
};

}}  // namespace locus::LOCUS_ABI
