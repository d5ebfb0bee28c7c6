#include "operands.hpp"

namespace bench {

void copy_on_host(void* to, const void* from, std::size_t bytes) {
  const auto threads = static_cast<std::size_t>(locus::cpu::max_threads());
  locus::cpu::parallel_for(static_cast<std::int64_t>(threads), [=](std::int64_t thread) {
    const std::size_t first = bytes * static_cast<std::size_t>(thread) / threads;
    const std::size_t last = bytes * static_cast<std::size_t>(thread + 1) / threads;
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

}  // namespace bench
