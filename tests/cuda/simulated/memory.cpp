// Sources of a GPU's memory: a pool, separate blocks, or a driver without pools. Every case runs in a process of its
// own, which decides once.

#include <locus/autograd/traced.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/cuda/peers.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/factory.hpp>

#include <optional>
#include <thread>

#include "process.hpp"

#include <support/failing_memory.hpp>
#include <support/thrown.hpp>

using namespace locus;
using simulated::Environment;
using simulated::in_new_process;

namespace {
const Environment unpooled{{"LOCUS_CUDA_POOL", "0"}};

/// How often the system was asked for memory and given it back since.
struct Calls {
  int mallocs = simulated::mallocs, frees = simulated::frees;
  [[nodiscard]] std::array<int, 2> until_now() const {
    return {simulated::mallocs - mallocs, simulated::frees - frees};
  }
};
void* allocate(std::size_t bytes) { return Backend<Cuda>::allocate({}, bytes); }
void deallocate(void* block, std::size_t bytes) { Backend<Cuda>::deallocate({}, block, bytes); }
[[nodiscard]] std::int64_t reserved() { return Backend<Cuda>::memory_stats({}).reserved_bytes; }
[[nodiscard]] simulated::Stream& stream() {
  return *reinterpret_cast<simulated::Stream*>(cuda::Context::current(0).stream());
}
struct Fill {
  LOCUS_FN void operator()(float& out) const { out = 3; }
};
void fill(void* block) {
  Backend<Cuda>::map({}, make_plan<1>(Shape{256}, std::array<Strides, 1>{Strides{1}}), Fill{}, Pack<>{},
                     Pack<float*>{static_cast<float*>(block)});
}
/// A network's gradients, which take all kinds of memory.
[[nodiscard]] std::array<float, 6> gradients() {
  const auto w = variable(full<float, Cuda>({3, 2}, 2)), b = variable(full<float, Cuda>({3}, 1));
  linear(trace(full<float, Cuda>({5, 2}, 3)), w, b, functor::Relu{}).backward(full<float, Cuda>({5, 3}, 1));
  const Tensor<float, Cpu> found = w.grad().to<Cpu>();
  std::array<float, 6> values;
  std::copy(found.data(), found.data() + 6, values.begin());
  return values;
}
constexpr std::array<float, 6> expected_gradients{15, 15, 15, 15, 15, 15};
[[nodiscard]] bool all_are(const Tensor<float, Cuda>& x, float value) { return max(abs(x - value)).item() == 0.f; }

/// Runs, captures and replays a step; returns its last result.
[[nodiscard]] float replayed() {
  float value = 0;
  {
    const auto x = full<float, Cuda>({256}, 1);
    auto step = capture<Cuda>([&] {
      const Tensor y = (x * 2 + 1).eval();
      const Tensor z = (y * y).eval();
      x.copy_(z - 7);
    });
    for (int i = 0; i < 4; ++i) step();
    value = x.to<Cpu>().data()[255];
  }
  return value;
}
}  // namespace

TEST_CASE(
    "without a pool every allocation is a cudaMalloc of its size in whole vectors, and freed once its stream is done") {
  CHECK(in_new_process(unpooled, [] {
    cuda::Context::current(0);
    const Calls calls;
    void* const first = allocate(1024);
    void* const second = allocate(1000);
    bool is_right = calls.until_now() == std::array{2, 0} && simulated::size_of(first) == 1024 &&
                    simulated::size_of(second) == 1008;
    simulated::late = true;
    fill(first);
    is_right &= stream().done < stream().queued.size();
    deallocate(first, 1024);
    is_right &= stream().done == stream().queued.size() && calls.until_now() == std::array{2, 1};
    void* const third = allocate(1024);
    is_right &= calls.until_now() == std::array{3, 1};
    fill(third);
    std::thread([&] {  // another stream frees it
      Backend<Cuda>::synchronize({});
      deallocate(third, 1024);
    })
        .join();
    is_right &= stream().done == stream().queued.size() && calls.until_now() == std::array{3, 2};
    simulated::late = false;
    deallocate(second, 1000);
    void* const nothing = allocate(0);
    deallocate(nothing, 0);
    return is_right && calls.until_now() == std::array{4, 4} && reserved() == 0 && simulated::size_of(first) == 0;
  }));
}

TEST_CASE("without a pool networks and captured steps compute the same, and give all back") {
  for (const Environment& environment : {Environment{}, unpooled}) {
    CHECK(in_new_process(environment, gradients) == expected_gradients);
    CHECK(in_new_process(environment, replayed) == in_new_process({}, replayed));
  }
  CHECK(in_new_process(unpooled, [] {
    (void)gradients();
    (void)replayed();
    return Backend<Cuda>::memory_stats({}).allocated_bytes == 0 && simulated::mallocs == simulated::frees;
  }));
}

TEST_CASE("LOCUS_CUDA_POOL is 0 or 1, and anything else is named") {
  const auto said = [](const char* value) {
    const auto text = in_new_process({{"LOCUS_CUDA_POOL", value}}, [] {
      std::array<char, 300> what{};
      try {
        deallocate(allocate(64), 64);
      } catch (const ArgumentError& error) {
        std::snprintf(what.data(), what.size(), "%s", error.what());
      }
      return what;
    });
    return std::string(text.data());
  };
  CHECK(said("0").empty());
  CHECK(said("1").empty());
  CHECK(said("").empty());
  CHECK(said("off").find("LOCUS_CUDA_POOL=off: expected 1, or nothing, for memory from a pool, or 0") == 0);
  CHECK(said("2").find("LOCUS_CUDA_POOL=2: ") == 0);
}

TEST_CASE("a driver without pools is asked for blocks, which are used again") {
  CHECK(in_new_process({}, [] {
    simulated::refuses_pools = true;
    cuda::Context::current(0);
    const Calls calls;
    void* const first = allocate(4096);
    deallocate(first, 4096);
    void* const second = allocate(4000);
    const bool is_right = second == first && calls.until_now() == std::array{1, 0};
    deallocate(second, 4000);
    return is_right && gradients() == expected_gradients && cudaGetLastError() == cudaSuccess;
  }));
}

TEST_CASE("what the pool keeps is given back where memory runs short, and asked for again") {
  for (const bool has_pools : {true, false}) {
    CHECK(in_new_process({}, [&] {
      simulated::refuses_pools = !has_pools;
      void* const kept = allocate(1 << 20);
      deallocate(kept, 1 << 20);
      const bool is_kept = reserved() == 1 << 20;
      simulated::total_memory = 3 << 19;
      void* const other = allocate(5 << 18);
      const bool is_given_back = reserved() == 5 << 18;
      deallocate(other, 5 << 18);
      return is_kept && is_given_back;
    }));
  }
}

TEST_CASE("release_unused gives the system what no tensor and no captured step holds") {
  for (const Environment& environment : {Environment{}, Environment{{"LOCUS_SIMULATED_POOLS", "0"}}}) {
    CHECK(in_new_process(environment, [] {
      constexpr std::size_t bytes = 1 << 20;
      void* const held = allocate(bytes);
      void* const freed = allocate(2 * bytes);
      deallocate(freed, 2 * bytes);
      bool is_right = simulated::size_of(freed) == 2 * bytes && release_unused(Cuda{}) == 2 * bytes;
      is_right &= reserved() == bytes && simulated::size_of(freed) == 0 && simulated::size_of(held) == bytes;
      deallocate(held, bytes);
      is_right &= release_unused(Cuda{}) == bytes && release_unused(Cuda{}) == 0 && reserved() == 0;
      void* const locked = Backend<Pinned>::allocate({}, bytes);
      is_right &= release_unused(Pinned{}) == 0;
      Backend<Pinned>::deallocate({}, locked, bytes);
      return is_right && release_unused(Pinned{}) == bytes && memory_stats(Pinned{}).reserved_bytes == 0;
    }));
  }
  CHECK(in_new_process({}, [] {
    const auto x = full<float, Cuda>({1 << 18}, 1.f);
    float result = 0;
    {
      auto step = capture<Cuda>([&] { x.copy_((x * 2.f).eval() + 1.f); });
      for (int i = 0; i < 2; ++i) step();
      (void)release_unused(Cuda{});
      step();  // replays in memory that it kept
      result = x.to<Cpu>().data()[0];
    }
    return result == 15.f && release_unused(Cuda{}) >= 1 << 20 && reserved() <= (1 << 20) + 8192;
  }));
}

namespace {
constexpr std::int64_t mebibyte = 1 << 20;
/// The message of E that f throws, for the result of a process; empty if none.
template <class E, class F>
[[nodiscard]] std::array<char, 500> text_of(const F& f) {
  std::array<char, 500> text{};
  std::snprintf(text.data(), text.size(), "%s", locus_test::message_of<E>(f).c_str());
  return text;
}
}  // namespace

TEST_CASE("an allocation beyond a GPU's limit releases unused blocks, or is refused with the numbers") {
  for (const Environment& environment : {Environment{}, Environment{{"LOCUS_SIMULATED_POOLS", "0"}}, unpooled}) {
    const auto said = in_new_process(environment, [] {
      set_memory_limit(Cuda{}, 3 * mebibyte);
      void* const first = allocate(mebibyte);
      deallocate(allocate(2 * mebibyte), 2 * mebibyte);
      void* const second = allocate(3 * mebibyte / 2);
      if (memory_limit(Cuda{}) != 3 * mebibyte || reserved() != 5 * mebibyte / 2) return std::array<char, 500>{};
      const auto text = text_of<OutOfMemory>([] { (void)allocate(mebibyte); });
      set_memory_limit(Cuda{}, 0);
      deallocate(allocate(mebibyte), mebibyte);
      deallocate(first, mebibyte), deallocate(second, 3 * mebibyte / 2);
      return text;
    });
    CHECK(
        std::string(said.data()) ==
        "out of memory on cuda:0: 1048576 bytes were asked for, in a block of 1048576, tensors hold 2621440 bytes, and "
        "the limit is 3145728 bytes; use smaller batches, free tensors, or raise the limit by set_memory_limit or "
        "LOCUS_MEMORY_LIMIT");
  }
  CHECK(in_new_process({}, [] {
    set_memory_limit(Cuda{1}, 2 * mebibyte);
    const bool is_kept = simulated::kept_memory == 2 * mebibyte;  // by the driver's pool
    set_memory_limit(Cuda{1}, 0);
    return is_kept && simulated::kept_memory == ~0ull && memory_limit(Cuda{0}) == 0;
  }));
}

TEST_CASE("page-locked memory has a limit of its own, and copies in flight hold their blocks") {
  const auto said = in_new_process({}, [] {
    const auto pinned = [](std::int64_t bytes) {
      return Backend<Pinned>::allocate({}, static_cast<std::size_t>(bytes));
    };
    set_memory_limit(Pinned{}, 2 * mebibyte);
    Backend<Pinned>::deallocate({}, pinned(2 * mebibyte), 2 * mebibyte);
    Backend<Pinned>::deallocate({}, pinned(mebibyte), mebibyte);  // released the other
    if (memory_stats(Pinned{}).reserved_bytes != mebibyte) return std::array<char, 500>{};
    simulated::late = true;
    (void)copy_async(full<float>({mebibyte / 4}, 1.f).to<Pinned>()).ordered();
    const auto text = text_of<OutOfMemory>([&] { (void)pinned(2 * mebibyte); });
    simulated::late = false;
    Backend<Cuda>::synchronize({});
    set_memory_limit(Pinned{}, mebibyte / 2);  // the copy is done, and its block is unused
    return memory_stats(Pinned{}).reserved_bytes == 0 ? text : std::array<char, 500>{};
  });
  CHECK(std::string(said.data())
            .find("out of memory on pinned: 2097152 bytes were asked for, in a block of 2097152, tensors "
                  "hold 0 bytes, captured steps and copies in flight 1048576 more, and the limit is "
                  "2097152 bytes") == 0);
}

TEST_CASE("LOCUS_MEMORY_LIMIT is the first limit of each GPU and of page-locked memory") {
  CHECK(in_new_process({{"LOCUS_MEMORY_LIMIT", "cuda=2M,cuda:1=3M,pinned=1M"}}, [] {
    bool is_right = memory_limit(Cuda{0}) == 2 * mebibyte && memory_limit(Cuda{1}) == 3 * mebibyte;
    is_right &=
        memory_limit(Pinned{}) == mebibyte && memory_limit(Cpu{}) == 0 && simulated::kept_memory == 3 * mebibyte;
    deallocate(allocate(2 * mebibyte), 2 * mebibyte);
    is_right &= !locus_test::message_of<OutOfMemory>([] { (void)allocate(3 * mebibyte); }).empty();
    return is_right &&
           !locus_test::message_of<OutOfMemory>([] { (void)Backend<Pinned>::allocate({}, 2 * mebibyte); }).empty();
  }));
  const auto said = in_new_process({{"LOCUS_MEMORY_LIMIT", "cuda=20 GB"}},
                                   [] { return text_of<ArgumentError>([] { (void)allocate(64); }); });
  CHECK(std::string(said.data())
            .find("LOCUS_MEMORY_LIMIT is \"cuda=20 GB\", where \"cuda=20 GB\" is no limit; expected PLACE=BYTES") == 0);
}

TEST_CASE("captured steps hold their blocks until they are destroyed: no release and no lower limit takes them") {
  const auto said = in_new_process({}, [] {
    const auto x = full<float, Cuda>({1 << 18}, 1.f);
    std::array<char, 500> text{};
    bool is_right = true;
    {
      auto step = capture<Cuda>([&] { x.copy_((x * 2.f).eval() + 1.f); });
      for (int i = 0; i < 2; ++i) step();
      (void)release_unused(Cuda{});
      text = text_of<ArgumentError>([] { set_memory_limit(Cuda{}, mebibyte); });
      set_memory_limit(Cuda{}, reserved() + 65536);
      step();
      is_right = all_are(x, 15.f);
    }
    set_memory_limit(Cuda{}, mebibyte + 16384);
    return is_right && reserved() <= mebibyte + 16384 ? text : std::array<char, 500>{};
  });
  CHECK(std::string(said.data())
            .find("set_memory_limit: 1048576 bytes on cuda:0, where tensors hold 1048576 bytes, captured steps") == 0);
  CHECK(std::string(said.data()).find("or fewer tensors and captured steps") != std::string::npos);
}

TEST_CASE("memory of a step's first run is released before its capture, which asks for it again") {
  CHECK(in_new_process({}, [] {
    const auto x = full<float, Cuda>({1 << 18}, 1.f);
    auto step = capture<Cuda>([&] { x.copy_((x * 2.f).eval() + 1.f); });
    step();
    bool is_right = release_unused(Cuda{}) >= mebibyte && reserved() < 2 * mebibyte;
    for (int i = 0; i < 3; ++i) step();
    is_right &= all_are(x, 31.f);
    return is_right;
  }));
  CHECK(in_new_process({}, [] {  // blocks of another size than the next request are released within the run
    bool is_right = true;
    auto step = capture<Cuda>([&] {
      deallocate(allocate(2 * mebibyte), 2 * mebibyte);
      if (reserved() < 4 * mebibyte) set_memory_limit(Cuda{}, 4 * mebibyte);
      deallocate(allocate(3 * mebibyte), 3 * mebibyte);
      is_right &= reserved() <= 4 * mebibyte;
    });
    step();
    return is_right;
  }));
}

TEST_CASE("blocks that are shared with other processes count, and threads at once never exceed a GPU's limit") {
  CHECK(in_new_process({}, [] {
    set_memory_limit(Cuda{}, 3 * mebibyte);
    void* const shared = PeerMemory::allocate_shareable(Cuda{}, 2 * mebibyte);
    bool is_right = reserved() == 2 * mebibyte && memory_stats(Cuda{}).allocated_bytes == 2 * mebibyte;
    is_right &= !locus_test::message_of<OutOfMemory>([] { (void)allocate(2 * mebibyte); }).empty();
    is_right &= !locus_test::message_of<OutOfMemory>([] {
                   (void)PeerMemory::allocate_shareable(Cuda{}, 2 * mebibyte);
                 }).empty();
    PeerMemory::free_shareable(Cuda{}, shared, 2 * mebibyte);
    return is_right && reserved() == 0;
  }));
  CHECK(in_new_process({}, [] {
    set_memory_limit(Cuda{}, 4 * mebibyte);
    std::atomic<int> given{0}, refused{0}, exceeded{0};
    std::vector<std::thread> threads;
    for (int seed = 0; seed < 3; ++seed)
      threads.emplace_back([&, seed] {
        for (int i = 0; i < 60; ++i) {
          const auto bytes = static_cast<std::size_t>((2 + (seed * 5 + i * 3) % 11) * mebibyte / 2);  // up to 6 MiB
          try {
            void* const block = allocate(bytes);
            ++given;
            if (reserved() > 4 * mebibyte) ++exceeded;
            deallocate(block, bytes);
          } catch (const OutOfMemory&) {
            ++refused;
          }
        }
      });
    for (std::thread& each : threads) each.join();
    return given > 0 && refused > 0 && exceeded == 0;
  }));
}

TEST_CASE("memory_info is the free and total memory of a GPU") {
  simulated::free_memory = 5 << 20;
  const auto [free, total] = memory_info(Cuda{1});
  simulated::free_memory = std::size_t{1} << 34;
  CHECK(free == 5 << 20);
  CHECK(total == std::int64_t{1} << 34);
  CHECK_THROWS_AS((void)memory_info(Cuda{2}), CudaUnavailable);
}

TEST_CASE("sizes beyond any memory are out of memory, whatever the driver calls that") {
  for (const int bits : {40, 52, 62}) {
    CAPTURE(bits);
    const std::size_t bytes = std::size_t{1} << bits;
    CHECK_THROWS_AS((void)allocate(bytes), OutOfMemory);
    CHECK_THROWS_AS((void)Backend<Pinned>::allocate({}, bytes), OutOfMemory);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  CHECK_THROWS_AS((void)allocate(~std::size_t{0}), OutOfMemory);
  CHECK_THROWS_AS((void)Backend<Pinned>::allocate({}, ~std::size_t{0}), OutOfMemory);
}

namespace {
constexpr std::int64_t wide = 40'000;  // elements of a tensor whose memory is shared between steps

/// Computes with six tensors as large as x that live at once, and adds up to 63 x.
[[nodiscard]] Tensor<float, Cuda> chain(const Tensor<float, Cuda>& x) {
  std::vector<Tensor<float, Cuda>> held{(x * 1.f).eval()};
  while (held.size() < 6) held.push_back((held.back() * 2.f).eval());
  for (std::size_t i = 5; i > 0; --i) held[i - 1] += held[i];
  return held[0];
}
template <class F>
void times(int count, const F& f) {
  for (int i = 0; i < count; ++i) f();
}
/// The sum of chain(x) as a renewable step, as fit makes them.
class Summed {
 public:
  explicit Summed(Tensor<float, Cuda> x) : x_(std::move(x)) {}
  float operator()() {
    runner_([this] { sum_ = sum(chain(x_)).eval(); });
    return sum_.item();
  }

 private:
  Tensor<float, Cuda> x_, sum_;
  locus::detail::StepRunner<Cuda> runner_{Cuda{}, true};
};
}  // namespace

TEST_CASE("renewable steps that are called in one stream share the memory that each needs for itself") {
  const auto bytes = in_new_process({}, [] {
    const auto x = full<float, Cuda>({wide}, 1.f), smaller = full<float, Cuda>({wide * 3 / 4}, 2.f);
    const std::int64_t before = reserved();
    std::array<std::int64_t, 4> grown{};
    bool is_right = true;
    {
      Summed large(x), small(smaller), also_large(x);
      times(3, [&] { is_right &= large() == 63.f * wide; });
      grown[0] = reserved() - before;
      times(3, [&] { is_right &= small() == 126.f * (wide * 3 / 4); });
      times(3, [&] { is_right &= also_large() == 63.f * wide; });
      grown[1] = reserved() - before;
      times(2, [&] {
        is_right &= large() == 63.f * wide && small() == 126.f * (wide * 3 / 4);
        is_right &= also_large() == 63.f * wide;
      });
      grown[2] = is_right;
    }
    grown[3] = Backend<Cuda>::memory_stats({}).allocated_bytes;
    return grown;
  });
  CHECK(bytes[2]);
  CHECK(bytes[0] > 6 * 4 * wide);
  CHECK(bytes[1] < bytes[0] + bytes[0] / 10);
  CHECK(bytes[3] < 3 * 4 * wide);
}

TEST_CASE("a step that another thread replays during a run or a capture follows the replays before") {
  for (const int first_call : {1, 2}) {
    CAPTURE(first_call);
    CHECK(in_new_process({}, [&] {
      const auto x = full<float, Cuda>({256}, 1.f);
      auto adds = capture<Cuda>([&] { x += 1.f; });
      auto doubles = capture<Cuda>([&] { x *= 2.f; });
      times(2, [&] { adds(), doubles(); });  // 1 -> 2 -> 4 -> 5 -> 10
      int calls = 0;
      float found = 0;
      auto step = capture<Cuda>([&] {
        if (++calls != first_call) return;
        std::thread([&] {
          doubles();
          found = x.to<Cpu>().data()[255];
        }).join();
      });
      times(first_call - 1, [&] { step(); });
      simulated::late = true;
      adds();
      step();
      simulated::late = false;
      return found == 22.f && x.to<Cpu>().data()[0] == 22.f;
    }));
  }
}

TEST_CASE("a step may end within the capture of another, even if other streams replayed it or own memory it reads") {
  for (const bool replays : {false, true}) {
    CAPTURE(replays);
    CHECK(in_new_process({}, [&] {
      const auto x = full<float, Cuda>({wide}, 1.f);
      Tensor<float, Cuda> freed = (x * 3.f).eval();
      const std::size_t bytes = sizeof(float) * wide;
      const void* const block = freed.data();
      int calls = 0, calls_of_other = 0;
      const auto body = [&] {
        if (++calls == 2) freed = {};
        return sum(x).eval();
      };
      auto step = std::make_unique<decltype(capture(body))>(body, Cuda{});
      times(3, [&] { (void)(*step)(); });
      auto other = capture([&] {
        if (++calls_of_other == 2) {
          if (replays) std::thread([&] { (void)(*step)(); }).join();
          step.reset();
        }
        return (sum(x) * 2.f).eval();
      });
      bool is_right = true;
      times(3, [&] { is_right &= other().item() == 2.f * wide; });
      void* const again = allocate(bytes);
      is_right &= again == block;
      deallocate(again, bytes);
      return is_right;
    }));
  }
}

TEST_CASE("memory that another thread frees while a step is captured is reused only after what that thread queued") {
  CHECK(in_new_process({}, [] {
    const auto x = full<float, Cuda>({wide}, 1.f), y = zeros<float, Cuda>({wide});
    Tensor<float, Cuda> kept;
    std::optional<Event<Cuda>> made, read;
    const void* block = nullptr;
    int calls = 0;
    {
      auto keeping = capture<Cuda>([&] { kept = (x * 3.f).eval(); });
      auto step = capture<Cuda>([&] {
        if (++calls != 2) return;
        std::thread([&] {
          Stream<Cuda>::current().wait(*made);
          y.copy_(kept);
          kept = {};
          read = Stream<Cuda>::current().record();
        }).join();
      });
      keeping(), step();
      made = Stream<Cuda>::current().record();
      block = kept.data();
      simulated::late = true;
      step();
    }
    const auto other = full<float, Cuda>({wide}, 9.f);
    Backend<Cuda>::synchronize({});
    Stream<Cuda>::current().wait(*read);
    simulated::late = false;
    return other.data() == block && all_are(y, 3.f) && all_are(other, 9.f);
  }));
}

TEST_CASE("host memory that runs out in a step's run or capture loses no block, and lets the step be captured") {
  CHECK(in_new_process({}, [] {
    constexpr std::size_t bytes = 1 << 20;
    bool is_right = true;
    auto step = capture<Cuda>([&] {
      deallocate(allocate(bytes), bytes);
      const Calls calls;
      {
        const locus_test::MemoryFailure failure(0, true);
        try {
          (void)allocate(bytes);
          is_right = false;
        } catch (const std::bad_alloc&) {}
      }
      deallocate(allocate(bytes), bytes);
      is_right &= calls.until_now() == std::array{0, 0};
    });
    times(3, [&] { step(); });
    return is_right;
  }));
  CHECK(in_new_process({}, [] {
    const auto x = full<float, Cuda>({wide}, 1.f);
    int calls = 0;
    auto step = capture<Cuda>([&] {
      x.copy_(chain(x) - 61.f);
      if (++calls > 2) return;
      locus_test::failing_memory.once.store(true);  // the next allocation, at the end of the run, fails
      locus_test::failing_memory.left.store(0);
    });
    step();
    const bool has_failed = locus_test::MemoryFailure::happened();
    locus_test::MemoryFailure::end();
    calls = 2;
    times(2, [&] { step(); });
    return has_failed && x.to<Cpu>().data()[wide - 1] == 65.f * 63.f - 61.f;
  }));
}

namespace {
/// Points, in batches of 96, 96 and 64, and their classes.
struct Points {
  [[nodiscard]] std::int64_t size() const { return 256; }
  [[nodiscard]] data::Fields<float, std::int64_t> fields() const { return {{64}, {}}; }
  void write(std::int64_t i, Span<float> x, Span<std::int64_t> y) const {
    for (std::int64_t j = 0; j < 64; ++j) x[j] = static_cast<float>((i * 7 + j * 3) % 11) / 11;
    y[0] = i % 4;
  }
};
/// Results of fit for a perceptron whose activations outweigh its weights.
struct Fitted {
  std::array<double, 6> losses;
  std::int64_t reserved, calls;  ///< bytes; calls of the model
};
/// `keeps`: the metric keeps predictions until it is called again, while steps are replayed.
[[nodiscard]] Fitted fitted(bool captures, bool keeps = false) {
  manual_seed(2);
  nn::Sequential<float, Cuda> net{nn::Linear<float, Cuda>{64, 256}, nn::Tanh{}, nn::Linear<float, Cuda>{256, 256},
                                  nn::Tanh{}, nn::Linear<float, Cuda>{256, 4}};
  optim::Sgd optimizer{net.parameters(), {.lr = 0.05f}};
  Fitted result{};
  const auto model = [&](const auto& x) {
    ++result.calls;
    return net(x);
  };
  std::vector<Tensor<float, Cuda>> kept;
  const auto metric = [&](const auto& prediction, const auto& target) {
    if (keeps) kept.push_back((repeat(prediction, {1, 64}) * 0.f + 7.f).eval());
    return nn::cross_entropy(prediction, target);
  };
  History history;
  auto train = data::loader<Cuda>(Points{}, {.batch_size = 96});
  fit(model, optimizer, nn::CrossEntropyLoss{}, train, data::loader<Cuda>(Points{}, {.batch_size = 96}), history,
      {.epochs = 3, .capture = captures}, Metric{"again", metric});
  for (const auto& each : kept)
    if (!all_are(each, 7.f)) return {};
  for (std::size_t i = 0; i < 3; ++i) {
    result.losses[2 * i] = history.records()[i].train_loss;
    result.losses[2 * i + 1] = history.records()[i].valid_loss;
  }
  result.reserved = reserved();
  return result;
}
}  // namespace

TEST_CASE("fit's smaller last batch and its validation run in the memory of captured steps") {
  const Fitted launched = in_new_process({}, [] { return fitted(false); });
  const Fitted captured = in_new_process({}, [] { return fitted(true); });
  CHECK(launched.losses[0] > launched.losses[5]);
  CHECK(captured.losses == launched.losses);
  CHECK(static_cast<double>(captured.reserved) < 1.1 * static_cast<double>(launched.reserved));
}

TEST_CASE("a step of fit is captured anew where a tensor keeps memory that the replay would overwrite") {
  const Fitted launched = in_new_process({}, [] { return fitted(false, true); });
  const Fitted captured = in_new_process({}, [] { return fitted(true, true); });
  CHECK(launched.losses[0] > launched.losses[5]);
  CHECK(captured.losses == launched.losses);
  const Fitted undisturbed = in_new_process({}, [] { return fitted(true); });
  // Batches of the validation; the run, the capture, and the last batch of each epoch.
  CHECK(undisturbed.calls == 9 + 2 + 3);
  CHECK(captured.calls > undisturbed.calls);
  CHECK(captured.calls < launched.calls);
}
