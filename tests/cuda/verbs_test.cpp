// Runs on: cuda (verbs).
// Every verb on Cuda against the same verb of the reference device, over random operands, strides and sizes.

#include <locus/cuda/backend.hpp>
#include <locus/cuda/linear_fusion.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/cuda/streams.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <support/compare_verbs.hpp>
#include <support/fused_relu.hpp>
#include <support/launches.hpp>
#include <support/skip.hpp>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using namespace locus_test;

static_assert(RowTeam<cuda::RowTeam<cuda::MemoryRows>> && RowTeam<cuda::RowTeam<cuda::RegisterRows<1>>>);
static_assert(MayLeaveChip<cuda::RowTeam<cuda::MemoryRows>> && !MayLeaveChip<cuda::RowTeam<cuda::RegisterRows<1>>>);
static_assert(SumsFactors<Cuda> && KeepsForDerivatives<Cuda> && StreamingDevice<Cuda> && CapturingDevice<Cuda>);
static_assert(SumsColumns<Cuda> && !AlwaysSumsColumns<Cuda> && !AddsRunningSums<Cuda>);

/// An array on the GPU.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t size)
      : bytes_(static_cast<std::size_t>(size) * sizeof(T)), data_(Backend<Cuda>::allocate({}, bytes_)) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { Backend<Cuda>::deallocate({}, data_, bytes_); }
  [[nodiscard]] T* device() const { return static_cast<T*>(data_); }
  [[nodiscard]] T first() const {
    T element{};
    Transfer<Cuda, Cpu>::copy({}, data_, {}, &element, sizeof(T));
    return element;
  }

 private:
  std::size_t bytes_;
  void* data_;
};

struct IndexAsByte {
  LOCUS_FN void operator()(std::int64_t index, std::uint8_t& out) const {
    out = static_cast<std::uint8_t>(index % 251);
  }
};

TEST_CASE("map equals the reference device's over random shapes and strides") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const Shape shape = random.shape(5000);
    compare_map<Cuda, float, float, float>(difference, random, shape, trial % 7 == 0);
    compare_map<Cuda, half, float, half>(difference, random, shape);
    compare_map<Cuda, std::int64_t, std::uint8_t, double>(difference, random, shape);
    compare_map<Cuda, std::uint8_t, std::uint8_t, std::uint8_t>(difference, random, shape);
    compare_map<Cuda, bfloat16, bfloat16, float>(difference, random, shape);
  }
  CHECK(difference.text() == "");
}

TEST_CASE("map of dense runs: every length around the vectors and tiles, every misalignment") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(2);
  for (const std::int64_t n :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 255, 1023, 1024, 1025, 2047, 2048, 2049, 4099, 40001})
    for (std::int64_t shift = 0; shift < 4; ++shift) compare_run<Cuda>(difference, random, n, shift);
  CHECK(difference.text() == "");
}

TEST_CASE("map: indices, several outputs, null outputs, no inputs, in place") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(3);
  for (const Shape& shape : {Shape{1000}, Shape{7, 12}, Shape{3, 5, 8}})
    compare_index_map<Cuda>(difference, random, shape);
  CHECK(difference.text() == "");
}

TEST_CASE("reduce equals the reference device's over random shapes, strides and axes") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(4);
  for (int trial = 0; trial < 60; ++trial) {
    Folding folding{random.shape(4000)};
    for (bool& reduced : folding.reduced) reduced = random.below(2) == 0;
    compare_reduce<Cuda, float>(difference, random, folding);
    compare_reduce<Cuda, half>(difference, random, folding);
  }
  CHECK(difference.text() == "");
}

TEST_CASE("reduce: narrow columns, of which a thread folds several") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(12);
  for (const Shape& shape : {Shape{1100, 64}, {260, 260}, {5, 14000}})
    for (const std::int64_t gap : {0, 1, 4}) {
      Folding folding{shape, {true, false}};
      const locus_test::Layout rows{{shape[1] + gap, 1}, shape[0] * (shape[1] + gap)};
      compare_reduce<Cuda, half>(difference, random, folding, &rows);
    }
  CHECK(difference.text() == "");
}

TEST_CASE("reduce: long runs, long columns, in several chunks; empty ones") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(5);
  for (const auto& [shape, first, second] : {std::tuple{Shape{70001}, true, false},
                                             {Shape{3, 20011}, false, true},
                                             {Shape{20011, 3}, true, false},
                                             {Shape{5003, 40}, true, false},
                                             {Shape{300, 257}, true, true},
                                             {Shape{2, 4999, 5}, true, true},
                                             {Shape{0}, true, false},
                                             {Shape{4, 0}, false, true},
                                             {Shape{9000, 3}, false, true}})
    compare_reduce<Cuda, float>(difference, random, Folding{shape, {first, second}});
  CHECK(difference.text() == "");
}

TEST_CASE("for_each_row equals the reference device's: warps and blocks, registers, shared memory, a workspace") {
  NEEDS_CUDA();
#ifdef LOCUS_SIMULATED_CUDA
  simulated::architecture = 80;  // a block per row, however long
#endif
  Difference difference;
  RandomLayouts random(6);
  for (const std::int64_t cols :
       {0,   1,   8,    10,   31,   32,   33,   64,   100,  128,  129,  255,   256,   257,  500,
        512, 513, 1000, 1024, 2049, 3050, 4095, 4096, 4097, 6100, 8200, 13000, 30000, 60004}) {
    compare_rows<Cuda, float, 1>(difference, random, cols > 5000 ? 2 : 9, cols, {});
    compare_rows<Cuda, double, 1>(difference, random, 2, cols, {.transposed = true, .has_weight = cols % 2 == 0});
    if (cols >= 9000) continue;
    compare_rows<Cuda, float, 1>(difference, random, 3, cols, {.gap = 3, .has_weight = cols % 2 == 1});
    compare_rows<Cuda, double, 1>(difference, random, 2, cols, {.gap = 2, .step = 2});
    compare_rows<Cuda, half, 1>(difference, random, 5, cols, {.gap = 8 - cols % 8});
    compare_rows<Cuda, bfloat16, 1>(difference, random, 2, cols, {.gap = 1});
  }
  compare_rows<Cuda, float, 1>(difference, random, 700, 24, {});
  compare_rows<Cuda, half, 1>(difference, random, 130, 264, {});
  CHECK(difference.text() == "");
#ifdef LOCUS_SIMULATED_CUDA
  CHECK(simulated::last_cluster == 1);
  simulated::architecture = 90;
#endif
}

TEST_CASE("for_each_row equals the reference device's: a cluster of blocks per row") {
  NEEDS_CUDA();
  Difference difference;
  RandomLayouts random(7);
  for (const auto [rows, cols, cluster] : {std::array<std::int64_t, 3>{2, 4096, 2},
                                           {3, 4096, 1},
                                           {1, 8191, 2},
                                           {1, 8192, 4},
                                           {7, 8192, 2},
                                           {2, 8193, 2},
                                           {2, 16384, 4},
                                           {2, 20001, 4},
                                           {1, 32768, 8},
                                           {2, 32769, 8},
                                           {1, 65540, 8},
                                           {2, 131073, 8},
                                           {1, 300001, 8}}) {
    compare_rows<Cuda, float>(difference, random, rows, cols, {});
#ifdef LOCUS_SIMULATED_CUDA
    CHECK(simulated::last_cluster == cluster);
#else
    (void)cluster;
#endif
    if (cols > 20001) continue;
    compare_rows<Cuda, float>(difference, random, rows, cols, {.transposed = true, .has_weight = false});
    compare_rows<Cuda, double>(difference, random, rows, cols, {.gap = 2});
    compare_rows<Cuda, half>(difference, random, rows, cols, {});
  }
  CHECK(difference.text() == "");
}

TEST_CASE("for_each_row names the inputs of the row that comes next in a block's place") {
  NEEDS_CUDA();
  const cuda::Context& context = cuda::Context::current(0);
  RandomLayouts random(10);
  for (const std::int64_t cols : {6000, 8193, 20001}) {
    const std::int64_t rows = 2 * context.multiprocessors() + 5;
    const std::int64_t ahead = cuda::plan_rows(rows, cols, cuda::detail::row_fragments<DoubledRows>(),
                                               cuda::detail::row_device<DoubledRows>(context, cols))
                                   .ahead;
    const Twin<float, Cuda> x(random, rows * cols);
    Twin<std::uint8_t, Cuda> named(rows);
    named.fill([](std::int64_t) { return 0; });
    const auto launch = [&](auto place) {
      Backend<decltype(place)>::for_each_row(place, rows, cols, DoubledRows{x.at(place), named.at(place), cols});
    };
    launch(ReferenceDevice{});
    launch(Cuda{});
    for (std::int64_t row = 0; row < rows; ++row) named.at(ReferenceDevice{})[row] = ahead > 0 && row >= ahead;
    CHECK(x.difference() == "");
    CHECK(named.difference() == "");
#ifdef LOCUS_SIMULATED_CUDA
    CHECK(ahead == (cols == 6000 ? 0 : cols == 8193 ? 4 : 2));
#endif
  }
}

TEST_CASE("sums over the rows equal the reference device's: warps, several teams of a block, clusters") {
  NEEDS_CUDA();
#ifdef LOCUS_SIMULATED_CUDA
  const std::int64_t many = 90;
#else
  const std::int64_t many = 20 * cuda::Context::current(0).multiprocessors() + 10;
#endif
  Difference difference;
  RandomLayouts random(9);
  for (const std::int64_t cols : {32, 33, 100, 256, 257, 500, 1000, 2049, 4096})
    compare_column_sums<Cuda, float>(difference, random, many, cols);
  for (const std::int64_t cols : {39, 264, 1032}) {
    compare_column_sums<Cuda, half>(difference, random, 2 * many, cols);
    compare_column_sums<Cuda, double>(difference, random, many, cols);
  }
  if (cuda::Context::current(0).has_clusters())
    for (const std::int64_t cols : {4097, 8200, 20001})
      compare_column_sums<Cuda, float>(difference, random, many, cols);
  CHECK(difference.text() == "");
}

TEST_CASE("sums over the rows are declined, without effect, where separate passes cost less") {
  NEEDS_CUDA();
  const Array<float> x(40000), y(40000), out(40000), sums(40000);
  const auto takes = [&](std::int64_t rows, std::int64_t cols, bool wanted = true) {
    const ColumnSum<float> to[] = {{wanted ? sums.device() : nullptr, false}, {nullptr, false}};
    const LaunchLog log;
    const bool taken =
        Backend<Cuda>::for_each_row({}, rows, cols, SummedRows<float>{x.device(), y.device(), out.device(), cols}, to);
    CHECK(log.counts().rows == taken);
    CHECK(log.counts().reduce == taken);
    return taken;
  };
  CHECK_FALSE(takes(0, 100));
  CHECK_FALSE(takes(10, 100));          // few rows
  CHECK_FALSE(takes(1250, 31));         // less than a warp
  CHECK_FALSE(takes(400, 100, false));  // nothing to sum
  CHECK_FALSE(takes(1, 40000));         // more than the registers of a cluster
}

#ifdef LOCUS_SIMULATED_CUDA
TEST_CASE("for_each_row takes clusters as large as the GPU can host, which it is asked once") {
  Difference difference;
  RandomLayouts random(8);
  const auto cluster_of = [&](auto gpu, int largest, std::int64_t cols) {
    simulated::largest_cluster = largest;
    compare_rows<Cuda, float, gpu()>(difference, random, 1, cols, {});
    simulated::largest_cluster = 8;
    return simulated::last_cluster;
  };
  const std::integral_constant<int, 2> a_half{};
  const std::integral_constant<int, 3> a_quarter{};
  const std::integral_constant<int, 4> a_seventh{};
  const int before = simulated::asked_kernels;
  CHECK(cluster_of(a_half, 4, 65540) == 4);
  const int asked = simulated::asked_kernels - before;
  CHECK(asked == 3);  // for its attributes, for clusters of 8, of 4
  CHECK(cluster_of(a_half, 8, 65540) == 4);
  CHECK(cluster_of(a_half, 4, 4096) == 2);
  CHECK(simulated::asked_kernels - before == asked);
  CHECK(cluster_of(a_quarter, 2, 65540) == 2);
  CHECK(cluster_of(a_seventh, 1, 65540) == 1);
  CHECK(cluster_of(a_seventh, 1, 13000) == 1);
  CHECK(difference.text() == "");
}
#endif

template <class... T>
std::string compare_products_of(std::uint64_t seed, int trials) {
  Difference difference;
  RandomLayouts random(seed);
  (compare_products<Cuda, T>(difference, random, trials), ...);
  return difference.text();
}

TEST_CASE("gemm equals the reference device's: every layout, batches, epilogues") {
  NEEDS_CUDA();
  CHECK(compare_products_of<float>(7, 20) == "");
  {
    const FusedRelu fused;
    CHECK(compare_products_of<float>(8, 6) == "");
  }
  CHECK(compare_products_of<double, half, bfloat16>(9, 8) == "");
}

TEST_CASE("gemm of integers equals the reference device's") {
  NEEDS_CUDA();
  CHECK(compare_products_of<std::int32_t, std::int64_t, std::uint8_t>(10, 6) == "");
}

TEST_CASE("launches are counted as they happen") {
  NEEDS_CUDA();
  const Array<float> x(100 * 100), bias(100), y(100 * 100);
  const MatrixRef<const float> a{x.device(), 100, 100, 100, 1};
  const MatrixRef<float> c{y.device(), 100, 100, 100, 1};
  const auto count = [&](const auto& epilogue) {
    const LaunchLog log;
    Backend<Cuda>::gemm({}, GemmBatch{}, a, a, c, epilogue);
    return log.counts();
  };
  const auto check = [&](const char* what, const auto& epilogue, int expected) {
    const LaunchCounts counts = count(epilogue);
    locus_test::check_launches<Cuda>(what, counts.total(), expected, 2);
    CHECK(counts.gemm == 1);
    CHECK(counts.map <= 1);
  };
  check("a bias", Epilogue<float, Keep>{bias.device(), false, {}}, 1);
  check("a bias and relu", Epilogue<float, Rectify>{bias.device(), false, {}}, 2);
  check("another activation", Epilogue<float, TwicePlusOne>{bias.device(), false, {}}, 2);
  check("relu, chosen", Epilogue<float, Chosen>{bias.device(), false, {true}}, 2);
  check("a bias, added", Epilogue<float, Chosen>{bias.device(), true, {false}}, 1);
  check("relu, added", Epilogue<float, Chosen>{bias.device(), true, {true}}, 2);
  {
    const locus_test::FusedRelu fused;
    check("a bias and relu in one", Epilogue<float, Rectify>{bias.device(), false, {}}, 1);
    check("relu in one, chosen", Epilogue<float, Chosen>{bias.device(), false, {true}}, 1);
    check("relu, added all the same", Epilogue<float, Chosen>{bias.device(), true, {true}}, 2);
  }
  const LaunchLog log;
  const std::array<Strides, 1> dense{Strides{1}};
  Backend<Cuda>::map({}, make_plan<1>(Shape{0}, dense), Fill{1.f}, Pack<>{}, Pack<float*>{x.device()});
  CHECK(log.launches() == 0);
}

TEST_CASE("memory comes from the pool, and one stream's blocks go back to it") {
  NEEDS_CUDA();
  if (!locus_test::memory_is_pooled()) SKIP_TEST("LOCUS_CUDA_POOL=0: no block is used again");
  for (const int size : {0, 1, 512, 513, 4096, 4097, 100000, 1 << 20, (1 << 20) + 1}) {
    const auto bytes = static_cast<std::size_t>(size);
    void* first = Backend<Cuda>::allocate({}, bytes);
    Backend<Cuda>::deallocate({}, first, bytes);
    const MemoryStats before = Backend<Cuda>::memory_stats({});
    void* second = Backend<Cuda>::allocate({}, bytes);
    CHECK(second == first);
    std::thread([&] { Backend<Cuda>::deallocate({}, second, bytes); }).join();
    void* third = Backend<Cuda>::allocate({}, bytes);
    CHECK(third == first);
    std::thread([&] {
      Backend<Cuda>::synchronize({});
      Backend<Cuda>::deallocate({}, third, bytes);
    }).join();
    const MemoryStats after = Backend<Cuda>::memory_stats({});
    CHECK(after.requests == before.requests + 2);
    CHECK(after.system_allocations == before.system_allocations);
    CHECK(after.allocated_bytes == before.allocated_bytes);
    CHECK(after.reserved_bytes == before.reserved_bytes);
  }
}

TEST_CASE("more memory than there is: the error says how much was asked for, is held and is free") {
  NEEDS_CUDA();
  for (const int bits : {52, 62}) {
    for (const char* part : {"bytes were asked for", "tensors hold", "the pool keeps", "bytes are free"}) {
      CHECK_THROWS_WITH_AS((void)Backend<Cuda>::allocate({}, std::size_t{1} << bits), doctest::Contains(part),
                           OutOfMemory);
    }
    CHECK_THROWS_AS((void)Backend<Pinned>::allocate({}, std::size_t{1} << bits), OutOfMemory);
  }
  CHECK_THROWS_AS((void)Backend<Cuda>::allocate(Cuda{99}, 1), CudaUnavailable);
}

TEST_CASE("a second GPU has its own memory and stream; copies between the two keep their order") {
  NEEDS_CUDA();
  if (cuda::device_count() < 2) SKIP_TEST("one GPU here");
  const Cuda first{0}, second{1};
  const std::int64_t n = 3001;
  const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
  const std::array<Strides, 1> dense{Strides{1}};
  auto* here = static_cast<float*>(Backend<Cuda>::allocate(first, bytes));
  auto* there = static_cast<float*>(Backend<Cuda>::allocate(second, bytes));
  CHECK(Backend<Cuda>::memory_stats(second).allocated_bytes >= static_cast<std::int64_t>(bytes));
  Backend<Cuda>::map(second, make_plan<1>(Shape{n}, dense), Fill{5.f}, Pack<>{}, Pack<float*>{there});
  Transfer<Cuda, Cuda>::copy(second, there, first, here, bytes);
  Backend<Cuda>::map(second, make_plan<1>(Shape{n}, dense), Fill{6.f}, Pack<>{}, Pack<float*>{there});
  std::vector<float> result(static_cast<std::size_t>(n));
  Transfer<Cuda, Cpu>::copy(first, here, {}, result.data(), bytes);
  CHECK(std::count(result.begin(), result.end(), 5.f) == n);
  Transfer<Cuda, Cpu>::copy(second, there, {}, result.data(), bytes);
  CHECK(std::count(result.begin(), result.end(), 6.f) == n);
  Backend<Cuda>::deallocate(first, here, bytes);
  Backend<Cuda>::deallocate(second, there, bytes);
}

TEST_CASE("threads work side by side, each in its own stream") {
  NEEDS_CUDA();
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&sums, t] {
      for (int round = 0; round < 5; ++round) {
        const std::int64_t n = 20000;
        const Array<float> x(n);
        const Array<double> sum(1);
        const std::array<Strides, 1> dense{Strides{1}};
        const bool reduced[max_rank] = {true};
        Backend<Cuda>::map({}, make_plan<1>(Shape{n}, dense), Fill{static_cast<float>(t + 1)}, Pack<>{},
                           Pack<float*>{x.device()});
        const double* const none = nullptr;
        Backend<Cuda>::reduce({}, locus_test::reduce_plan<1>(Shape{n}, dense, Strides{0}, reduced), AsDouble{},
                              Sum<double>{}, Pack<const float*>{x.device()}, none, sum.device());
        sums[t] += sum.first() / static_cast<double>(n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < sums.size(); ++t) CHECK(sums[t] == 5. * static_cast<double>(t + 1));
}

TEST_CASE("copies between host, pinned memory and GPU") {
  NEEDS_CUDA();
  Philox random(9);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20,
                                  (std::size_t{1} << 20) + 1, (std::size_t{5} << 20) + 3}) {
    std::vector<unsigned char> source(bytes);
    for (auto& byte : source) byte = static_cast<unsigned char>(random());
    const std::vector<unsigned char> original = source;
    std::vector<unsigned char> result(bytes), result_of_pinned(bytes);
    void* device = Backend<Cuda>::allocate({}, bytes);
    void* other = Backend<Cuda>::allocate({}, bytes);
    void* pinned = Backend<Pinned>::allocate({}, bytes);
    Transfer<Cpu, Cuda>::copy({}, source.data(), {}, device, bytes);
    std::fill(source.begin(), source.end(), 0);  // it may change at once
    Transfer<Cuda, Cuda>::copy({}, device, {}, other, bytes);
    Transfer<Cuda, Cpu>::copy({}, other, {}, result.data(), bytes);
    CHECK(result == original);
    Transfer<Cuda, Pinned>::copy({}, device, {}, pinned, bytes);
    Transfer<Pinned, Cuda>::copy({}, pinned, {}, other, bytes);
    Transfer<Pinned, Cpu>::copy({}, pinned, {}, result_of_pinned.data(), bytes);
    CHECK(result_of_pinned == original);
    Transfer<Cpu, Pinned>::copy({}, source.data(), {}, pinned, bytes);
    cuda::copy_async(cuda::Context::current(0), pinned, pinned, other, bytes, cudaMemcpyHostToDevice)->wait();
    Transfer<Cuda, Cpu>::copy({}, other, {}, result.data(), bytes);
    CHECK(result == source);
    Backend<Pinned>::deallocate({}, pinned, bytes);
    Backend<Cuda>::deallocate({}, other, bytes);
    Backend<Cuda>::deallocate({}, device, bytes);
  }
}

#ifndef LOCUS_SIMULATED_CUDA
TEST_CASE("more elements than 32 bits count: map, reduce") {
  NEEDS_CUDA();
  const std::int64_t n = (std::int64_t{1} << 32) + 5;
  const Array<float> one(1);
  const Array<double> sum(1);
  const std::array<Strides, 1> repeated{Strides{0}};
  Backend<Cuda>::map({}, make_plan<1>(Shape{1}, repeated), Fill{1.f}, Pack<>{}, Pack<float*>{one.device()});
  bool reduced[max_rank] = {true};
  const auto plan = locus_test::reduce_plan<1>(Shape{n}, repeated, Strides{0}, reduced);
  Backend<Cuda>::reduce({}, plan, AsDouble{}, Sum<double>{}, Pack<const float*>{one.device()},
                        static_cast<const double*>(nullptr), sum.device());
  CHECK(sum.first() == static_cast<double>(n));

  const std::int64_t rows = 3, cols = (std::int64_t{1} << 30) + 7;
  void* memory = Backend<Cuda>::allocate({}, static_cast<std::size_t>(rows * cols));
  auto* bytes = static_cast<std::uint8_t*>(memory);
  const std::array<Strides, 2> strides{Strides{cols, 1}, Strides{cols, 1}};
  Backend<Cuda>::map({}, make_plan<2>(Shape{rows, cols}, strides), IndexAsByte{}, Pack<LinearIndex>{LinearIndex{}},
                     Pack<std::uint8_t*>{bytes});
  for (const std::int64_t at : {std::int64_t{0}, cols - 1, cols, 2 * cols + 12345, rows * cols - 1}) {
    std::uint8_t value = 0;
    Transfer<Cuda, Cpu>::copy({}, bytes + at, {}, &value, 1);
    CHECK(value == static_cast<std::uint8_t>(at % 251));
  }
  Backend<Cuda>::deallocate({}, memory, static_cast<std::size_t>(rows * cols));
}
#endif

}  // namespace
