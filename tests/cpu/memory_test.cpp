// Runs on: host.
// Memory of the host's pool that goes back to the system.

#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

#include <unistd.h>

using namespace locus;

namespace {

/// Bytes of this process in memory.
[[nodiscard]] std::int64_t resident() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%*d %ld", &pages) == 1);
  (void)std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("release_unused gives the blocks of freed tensors back to the system, and returns their bytes") {
  (void)release_unused(Cpu{});
  constexpr std::size_t block = std::size_t{8} << 20;
  constexpr int count = 26;
  constexpr std::int64_t all = count * static_cast<std::int64_t>(block);
  void* blocks[count];
  const std::int64_t reserved = memory_stats(Cpu{}).reserved_bytes;
  for (void*& each : blocks) {
    each = Backend<Cpu>::allocate({}, block);
    std::memset(each, 1, block);
  }
  void* const held = Backend<Cpu>::allocate({}, 4096);  // keeps the heap's end from falling
  for (void* each : blocks) Backend<Cpu>::deallocate({}, each, block);
  CHECK(memory_stats(Cpu{}).reserved_bytes == reserved + all + 4096);
  [[maybe_unused]] const std::int64_t before = resident();
  CHECK(release_unused(Cpu{}) == all);
  CHECK(memory_stats(Cpu{}).reserved_bytes == reserved + 4096);
  CHECK(release_unused(Cpu{}) == 0);
#if !LOCUS_ADDRESS_SANITIZER  // which keeps freed memory
  CHECK(before - resident() > all * 9 / 10);
#endif
  Backend<Cpu>::deallocate({}, held, 4096);
}
