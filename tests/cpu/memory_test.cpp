// Runs on: host.
// Memory of the host's pool that goes back to the system.

#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <support/temporary_folder.hpp>

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

TEST_CASE("memory_info is the host's memory, within the limits of the process's control groups and their parents") {
  const locus_test::TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.path / path).parent_path());
    std::ofstream(folder.path / path) << text;
  };
  const auto found = [&] {
    const auto [free, total] = cpu::detail::host_memory(folder.path);
    return std::pair(free, total);
  };
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(0, 0));
  write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   600 kB\n");
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(600 * 1024, 1000 * 1024));
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.current", "5\n");
  CHECK(found().second == 1000 * 1024);
  write("sys/fs/cgroup/a/memory.max", "300000\n");
  write("sys/fs/cgroup/a/memory.current", "200000\n");
  write("sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 50000\n");
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(150000, 300000));
  // A step within a job, as Slurm nests them: neither limit nor room of the job has to be the smaller one.
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "400000\n");
  write("sys/fs/cgroup/job/step/memory.current", "100000\n");
  for (const char* limit : {"400000\n", "800000\n", "2000000000\n"}) {
    write("sys/fs/cgroup/job/memory.max", limit);
    write("sys/fs/cgroup/job/memory.current", std::to_string(std::stoll(limit) - 10000));
    CHECK(found() == std::pair<std::int64_t, std::int64_t>(10000, 400000));
  }
  write("sys/fs/cgroup/job/memory.current", "100000\n");
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(300000, 400000));
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "400001\n");
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(0, 400000));
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 500000\n");
  CHECK(found() == std::pair<std::int64_t, std::int64_t>(600 * 1024, 1000 * 1024));
  const auto [free, total] = memory_info(Cpu{});
  CHECK(free > 0);
  CHECK(free <= total);
}
