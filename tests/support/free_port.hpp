#pragma once
// A port at which ranks of a test meet.

#include <locus/distributed/tcp/interface.hpp>

#include <atomic>

namespace locus_test {

/// A port of 127.0.0.1 that was free a moment ago, below those that Linux gives to outgoing connections (from 32,768
/// on): no connection of another program takes it meanwhile. Each call of a process returns another one.
inline int free_port() {
  constexpr unsigned first = 12000, count = 20000;
  static std::atomic<unsigned> calls{0};
  auto address = locus::dist::detail::loopback_address();
  for (;;) {
    address.set_port(static_cast<int>(first + (61 * static_cast<unsigned>(getpid()) + calls++) % count));
    if (const auto socket = locus::dist::detail::Socket::listening(address)) return socket.port();
  }
}

}  // namespace locus_test
