// Runs on: host.
// Limits of pools: of the host here, of GPUs and of page-locked memory in cuda/simulated/memory.cpp.

#include <locus/cpu/backend.hpp>
#include <locus/cuda/pinned.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <atomic>
#include <thread>
#include <vector>

#include <support/child.hpp>
#include <support/thrown.hpp>

using namespace locus;
using locus_test::message_of;

namespace {

constexpr std::int64_t block = 1 << 20;

[[nodiscard]] void* allocate(std::int64_t bytes = block) {
  return Backend<Cpu>::allocate({}, static_cast<std::size_t>(bytes));
}
void deallocate(void* data, std::int64_t bytes = block) {
  Backend<Cpu>::deallocate({}, data, static_cast<std::size_t>(bytes));
}
/// Bytes of the pool after unused blocks are released.
[[nodiscard]] std::int64_t held() {
  (void)release_unused(Cpu{});
  return memory_stats(Cpu{}).reserved_bytes;
}

/// A limit that ends with this object.
struct Limited {
  explicit Limited(std::int64_t bytes) { set_memory_limit(Cpu{}, bytes); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() { set_memory_limit(Cpu{}, 0); }
};

}  // namespace

TEST_CASE("a list of limits names places and bytes, and any other text is an error that quotes it") {
  using detail::bytes_in, detail::memory_limit_in;
  static_assert(bytes_in("0") == 0 && bytes_in("8589934592") == std::int64_t{8} << 30);
  static_assert(bytes_in("3K") == 3 << 10 && bytes_in("3M") == 3 << 20 && bytes_in("3G") == std::int64_t{3} << 30 &&
                bytes_in("3T") == std::int64_t{3} << 40);
  static_assert(bytes_in("8388607T") == std::int64_t{8388607} << 40 && bytes_in("8388608T") == -1);
  static_assert(bytes_in("") == -1 && bytes_in("G") == -1 && bytes_in("-1") == -1 && bytes_in("1.5G") == -1 &&
                bytes_in("1GB") == -1 && bytes_in("1g") == -1 && bytes_in("99999999999999999999") == -1);
  constexpr std::string_view list = "cpu=8G,cuda=20M,cuda:1=10K,pinned=512";
  CHECK(memory_limit_in(list, "cpu") == std::int64_t{8} << 30);
  CHECK(memory_limit_in(list, "cuda:0") == 20 << 20);
  CHECK(memory_limit_in(list, "cuda:1") == 10 << 10);
  CHECK(memory_limit_in(list, "cuda:11") == 20 << 20);
  CHECK(memory_limit_in(list, "pinned") == 512);
  CHECK(memory_limit_in("cuda:1=0,cuda=1K", "cuda:1") == 0);
  CHECK(memory_limit_in("cuda:0=0K,cuda:10=1K", "cuda:10") == 1 << 10);
  CHECK(memory_limit_in("cuda=1K", "cpu") == 0);
  CHECK(memory_limit_in("", "cpu") == 0);
  for (const std::string wrong : {"8G", "cpu", "cpu=", "cpu=8X", "gpu=8G", "cuda:=8G", "cuda:x=8G", "cpu =8G",
                                  "cuda:01=1K", "cuda:00=1K", "cpu=08G", "cpu=00"}) {
    CAPTURE(wrong);
    const std::string said = message_of<ArgumentError>([&] { (void)memory_limit_in("pinned=1G," + wrong, "pinned"); });
    CHECK(said.find("LOCUS_MEMORY_LIMIT is \"pinned=1G," + wrong + "\", where \"" + wrong +
                    "\" is no limit; expected PLACE=BYTES, separated by commas, such as cpu=8G,cuda=20G,pinned=512M") ==
          0);
  }
  CHECK_THROWS_AS((void)memory_limit_in("cpu=8G,", "cpu"), ArgumentError);
  CHECK_THROWS_AS((void)memory_limit_in(",", "cpu"), ArgumentError);
}

TEST_CASE("an allocation beyond the limit releases unused blocks, or is refused with the numbers") {
  const std::int64_t before = held();
  const Limited limited(before + 3 * block);
  CHECK(memory_limit(Cpu{}) == before + 3 * block);
  void* const first = allocate();
  deallocate(allocate(2 * block), 2 * block);  // unused now
  CHECK(memory_stats(Cpu{}).reserved_bytes == before + 3 * block);
  void* const second = allocate();
  CHECK(memory_stats(Cpu{}).reserved_bytes == before + 2 * block);
  const std::int64_t requests = memory_stats(Cpu{}).requests;
  const std::string said = message_of<OutOfMemory>([] { (void)allocate(2 * block - 7); });
  CHECK(said == join("out of memory on cpu: ", 2 * block - 7, " bytes were asked for, in a block of ", 2 * block,
                     ", tensors hold ", before + 2 * block, " bytes, and the limit is ", before + 3 * block,
                     " bytes; use smaller batches, free tensors, or raise the limit by set_memory_limit or "
                     "LOCUS_MEMORY_LIMIT"));
  CHECK(memory_stats(Cpu{}).requests == requests);
  void* const third = allocate();  // all of the limit
  set_memory_limit(Cpu{}, 0);
  CHECK(memory_limit(Cpu{}) == 0);
  void* const fourth = allocate(2 * block);
  deallocate(fourth, 2 * block);
  for (void* const each : {first, second, third}) deallocate(each);
  CHECK(held() == before);
}

TEST_CASE("a limit below the bytes in use is refused, and stays as it was; unused blocks are released for it") {
  const std::int64_t before = held();
  const Limited limited(before + 8 * block);
  void* const kept = allocate();
  deallocate(allocate(4 * block), 4 * block);
  set_memory_limit(Cpu{}, before + block);
  CHECK(memory_stats(Cpu{}).reserved_bytes == before + block);
  CHECK(message_of<ArgumentError>([&] { set_memory_limit(Cpu{}, block - 1); }) ==
        join("set_memory_limit: ", block - 1, " bytes on cpu, where tensors hold ", before + block, " bytes; expected ",
             before + block, " bytes or more, or fewer tensors and captured steps"));
  CHECK(message_of<ArgumentError>([&] { set_memory_limit(Cpu{}, -1); }) ==
        "set_memory_limit: -1 bytes on cpu; expected 0, for no limit, or more");
  CHECK(memory_limit(Cpu{}) == before + block);
  CHECK_THROWS_AS((void)allocate(), OutOfMemory);
  deallocate(kept);
}

TEST_CASE("threads that allocate at once never exceed the limit") {
  const std::int64_t limit = held() + 12 * block;
  const Limited limited(limit);
  std::atomic<int> given{0}, refused{0}, exceeded{0};
  const auto work = [&](std::int64_t seed) {
    std::vector<std::pair<void*, std::int64_t>> mine;
    for (std::int64_t i = 0; i < 400; ++i) {
      const std::int64_t bytes = (1 + (seed * 7 + i * 5) % 11) * block / 4;
      try {
        mine.emplace_back(allocate(bytes), bytes);
        ++given;
      } catch (const OutOfMemory&) {
        ++refused;
      }
      if (memory_stats(Cpu{}).reserved_bytes > limit) ++exceeded;
      for (; mine.size() > 11 || (i % 16 == 0 && !mine.empty()); mine.pop_back())
        deallocate(mine.back().first, mine.back().second);
    }
    for (const auto& [data, bytes] : mine) deallocate(data, bytes);
  };
  std::vector<std::thread> threads;
  for (std::int64_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& each : threads) each.join();
  CHECK(given > 0);
  CHECK(refused > 0);
  CHECK(given + refused == 1600);
  CHECK(exceeded == 0);
  void* held_by_all[12];
  for (void*& each : held_by_all) each = allocate();
  CHECK_THROWS_AS((void)allocate(), OutOfMemory);
  for (void* const each : held_by_all) deallocate(each);
}

namespace {
/// The status of the case "a pool begins with the environment's limit" in a new process with this variable.
[[nodiscard]] int status_with(const char* limit) {
  return locus_test::status_of_child([&] {
    const char* const program = "/proc/self/exe";
    setenv("LOCUS_MEMORY_LIMIT", limit, 1);
    execl(program, program, "--test-case=*a pool begins with the environment's limit*", "--no-skip", nullptr);
    return 9;
  });
}
}  // namespace

TEST_CASE("LOCUS_MEMORY_LIMIT is the first limit of a process") {
  CHECK(status_with("cpu=4M,cuda=20G") == 40);
  CHECK(status_with("") == 41);
  CHECK(status_with("cpu=4MB") == 42);
}

/// 40: a limit of 4 MiB holds; 41: there is none; 42: the variable is refused by every call.
TEST_CASE("a pool begins with the environment's limit" * doctest::skip()) {
  if (!std::getenv("LOCUS_MEMORY_LIMIT")) return;
  const auto is_refused = [](auto f) {
    return message_of<ArgumentError>(f).find("\"cpu=4MB\" is no limit") != std::string::npos;
  };
  if (is_refused([] { (void)memory_limit(Cpu{}); }) && is_refused([] { (void)allocate(); })) _exit(42);
  if (memory_limit(Cpu{}) == 0) _exit(41);
  void* const data = allocate(3 * block);
  const bool holds =
      message_of<OutOfMemory>([] { (void)allocate(2 * block); }).find("the limit is 4194304") != std::string::npos;
  deallocate(data, 3 * block);
  _exit(holds ? 40 : 43);
}

TEST_CASE("without a GPU there is no limit of page-locked memory to set") {
  if (cuda::is_available() || LOCUS_CUDA) return;
  CHECK(memory_limit(Pinned{}) == 0);
  CHECK_THROWS_AS(set_memory_limit(Pinned{}, block), CudaUnavailable);
  CHECK_THROWS_AS(set_memory_limit(Cuda{}, block), CudaUnavailable);
  CHECK_THROWS_AS((void)memory_limit(Cuda{}), CudaUnavailable);
}
