// Runs on: host.
// How products are computed: cpu/gemm/strategy.hpp, over shapes, layouts, kernels and numbers of threads.

#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

namespace {
using namespace locus;
namespace gemm = cpu::detail;
using gemm::GemmStrategy;
using Call = gemm::GemmCall<float>;
using Kernels = gemm::KernelSet<float>;

struct Same {
  static constexpr bool is_identity = true;
  float operator()(float x) const { return x; }
};
using Plain = Epilogue<float, Same>;

enum class Layout { rows, columns, apart };
constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::apart};

constexpr std::int64_t largest_side = 2048;
/// Room for any of the matrices: strategies point into them, and read nothing. (Never touched, so never given by the
/// system.)
float* room() {
  static const std::unique_ptr<float[]> elements(new float[largest_side * (2 * largest_side + 1)]);
  return elements.get();
}

template <class T>
MatrixRef<T> matrix(T* data, std::int64_t rows, std::int64_t cols, Layout layout) {
  if (layout == Layout::rows) return {data, rows, cols, cols, 1};
  if (layout == Layout::columns) return {data, rows, cols, 1, rows};
  return {data, rows, cols, 2 * cols + 1, 2};
}

struct Restored {
  const Kernels* kernels = gemm::kernels_in_use<float>();
  int threads = cpu::max_threads();
  ~Restored() {
    gemm::kernels_in_use<float>() = kernels;
    cpu::set_max_threads(threads);
  }
};

/// Calls f(kernels, call) for every product of these sides, layouts, epilogues, kernels, and numbers of threads.
template <class F>
void for_each_call(const std::vector<std::int64_t>& sides, const F& f) {
  const Restored restored;
  for (const Kernels* kernels : gemm::available_kernels<float>()) {
    if (!kernels) continue;
    gemm::kernels_in_use<float>() = kernels;
    for (const int threads : {1, 2}) {
      cpu::set_max_threads(threads);
      for (const std::int64_t m : sides)
        for (const std::int64_t n : sides)
          for (const std::int64_t k : sides)
            for (const Layout a : layouts)
              for (const Layout b : layouts)
                for (const Layout c : layouts)
                  for (const int kind : {0, 1, 2})  // c = a b, c += a b, an activation
                    f(*kernels, Call{matrix<const float>(room(), m, k, a), matrix<const float>(room(), k, n, b),
                                     matrix<float>(room(), m, n, c), kind == 1, kind != 2, nullptr, nullptr});
    }
  }
}

/// Whether call and kernels meet a strategy's needs; if not, the product would be computed wrongly.
bool suits(GemmStrategy strategy, const Kernels& kernels, const Call& call) {
  const bool in_place = kernels.masks && call.plain && !call.accumulates;
  switch (strategy) {
    case GemmStrategy::numbers: return call.plain;
    case GemmStrategy::few_tiles:
      return kernels.masks && call.plain && call.b.col_stride == 1 && call.c.col_stride == 1;
    case GemmStrategy::narrow:
      return kernels.multiply_narrow && in_place && call.c.col_stride == 1 && 2 * call.c.cols <= kernels.lanes;
    case GemmStrategy::columns_of_b: return call.a.col_stride == 1;
    case GemmStrategy::rows_of_a: return call.b.row_stride == 1;
    case GemmStrategy::few_rows: return call.b.col_stride == 1;
    case GemmStrategy::transposed:
      return call.plain && gemm::strategy_of(kernels, gemm::transposed(call)) != GemmStrategy::transposed;
    case GemmStrategy::library: return LOCUS_CBLAS;
    case GemmStrategy::transposed_in_place: return in_place && call.a.row_stride == 1;
    case GemmStrategy::in_place: return in_place && call.b.col_stride == 1;
    case GemmStrategy::transposed_tiles: return call.plain;
    case GemmStrategy::apart: {
      const std::int64_t whole = gemm::whole_columns(kernels, call);
      return call.plain && whole > 0 && whole < call.c.cols;
    }
    case GemmStrategy::tiles: return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every product has a strategy that it suits, the same whenever it is asked") {
  std::map<GemmStrategy, std::int64_t> seen;
  std::int64_t unsuited = 0, changed = 0;
  for_each_call({1, 2, 3, 5, 8, 10, 16, 17, 33, 100, 784, largest_side}, [&](const Kernels& kernels, const Call& call) {
    const GemmStrategy strategy = gemm::strategy_of(kernels, call);
    ++seen[strategy];
    unsuited += !suits(strategy, kernels, call);
    changed += gemm::strategy_of(kernels, call) != strategy;
  });
  CHECK(unsuited == 0);
  CHECK(changed == 0);
  for (const auto strategy : {GemmStrategy::numbers, GemmStrategy::columns_of_b, GemmStrategy::rows_of_a,
                              GemmStrategy::few_rows, GemmStrategy::transposed, GemmStrategy::tiles})
    CHECK(seen[strategy] > 0);
  const Kernels* const best = gemm::kernels_in_use<float>();
  if (best->masks)
    for (const auto strategy : {GemmStrategy::few_tiles, GemmStrategy::narrow, GemmStrategy::in_place,
                                GemmStrategy::transposed_in_place, GemmStrategy::apart})
      CHECK(seen[strategy] > 0);
}

TEST_CASE("the number of threads decides between two strategies alone: where operands lie, and blocks") {
  const Restored restored;
  std::int64_t others = 0;
  for (const std::int64_t side : {4, 16, 64, 100, 200, 400})
    for (const Layout b : layouts)
      for (const Layout c : layouts) {
        const Call call{matrix<const float>(room(), side, side, Layout::rows),
                        matrix<const float>(room(), side, side, b),
                        matrix<float>(room(), side, side, c),
                        false,
                        true,
                        nullptr,
                        nullptr};
        cpu::set_max_threads(1);
        const GemmStrategy alone = gemm::strategy_of(*restored.kernels, call);
        cpu::set_max_threads(2);
        const GemmStrategy shared = gemm::strategy_of(*restored.kernels, call);
        others += alone != shared && !(alone == GemmStrategy::in_place && shared == GemmStrategy::tiles) &&
                  !(alone == GemmStrategy::transposed_in_place && shared == GemmStrategy::transposed_tiles);
      }
  CHECK(others == 0);
}

TEST_CASE("operands are packed where the copy pays: without masks, by the rows of c and the distance of b's rows") {
  for (const Kernels* kernels : gemm::available_kernels<float>()) {
    if (!kernels) continue;
    CAPTURE(kernels->lanes);
    const auto packs = [&](std::int64_t m, std::int64_t k, std::int64_t n, Layout of_b = Layout::rows) {
      return gemm::packing_pays(
          *kernels, Call{matrix<const float>(room(), m, k, Layout::rows), matrix<const float>(room(), k, n, of_b),
                         matrix<float>(room(), m, n, Layout::rows), false, true, nullptr, nullptr});
    };
    if (kernels->masks) {
      CHECK_FALSE(packs(200, 512, 1024));  // b has 2^19 elements
      CHECK(packs(200, 513, 1024));
      CHECK_FALSE(packs(4 * kernels->max_rows, 1024, 1024));
      continue;
    }
    CHECK_FALSE(packs(27, 1024, 1024));  // rows of b 4 KiB apart
    CHECK(packs(28, 1024, 1024));
    CHECK_FALSE(packs(159, 512, 512));  // rows that begin on a line
    CHECK(packs(160, 512, 512));
    CHECK_FALSE(packs(39, 513, 513));  // rows that begin within one
    CHECK(packs(40, 513, 513));
    CHECK_FALSE(packs(2048, 320, 320));  // 400 KiB of b
    CHECK_FALSE(packs(319, 300, 300));
    CHECK(packs(320, 300, 300));
    CHECK_FALSE(packs(1024, 512, 512, Layout::columns));  // b is packed in any case
    CHECK(packs(1024, 1024, 1024, Layout::columns));
  }
}

TEST_CASE("products whose strategy is plain to see") {
  const Kernels& kernels = *gemm::kernels_in_use<float>();
  const auto strategy = [&](std::int64_t m, std::int64_t n, std::int64_t k, Layout c = Layout::rows) {
    return gemm::strategy_of(
        kernels, Call{matrix<const float>(room(), m, k, Layout::rows), matrix<const float>(room(), k, n, Layout::rows),
                      matrix<float>(room(), m, n, c), false, true, nullptr, nullptr});
  };
  CHECK(strategy(1, 1, 1) == GemmStrategy::numbers);
  CHECK(strategy(784, 1, 128) == GemmStrategy::columns_of_b);
  CHECK(strategy(1000, 1000, 1000, Layout::columns) == GemmStrategy::transposed);
  CHECK(strategy(1000, 1000, 1000) == (LOCUS_CBLAS ? GemmStrategy::library : GemmStrategy::tiles));
}

TEST_CASE("the first product of each strategy is right") {
  std::map<std::pair<const Kernels*, GemmStrategy>, Call> first;
  for_each_call({1, 2, 3, 5, 8, 10, 17, 33, 100}, [&](const Kernels& kernels, const Call& call) {
    if (call.plain) first.emplace(std::pair(&kernels, gemm::strategy_of(kernels, call)), call);
  });
  CHECK(first.size() >= 5);
  const Restored restored;
  std::vector<float> a(40'000), b(40'000), c(40'000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);  // whole numbers: sums are exact
    b[i] = static_cast<float>(static_cast<int>(i * 5 % 11) - 5);
  }
  for (auto& entry : first) {
    Call& call = entry.second;  // clang 14 captures no structured binding
    CAPTURE(static_cast<int>(entry.first.second));
    CAPTURE(call.c.rows);
    CAPTURE(call.c.cols);
    CAPTURE(call.a.cols);
    gemm::kernels_in_use<float>() = entry.first.first;
    std::fill(c.begin(), c.end(), 1.f);
    const Plain epilogue{nullptr, call.accumulates, {}};
    call.a.data = a.data(), call.b.data = b.data(), call.c.data = c.data();
    call.finish = gemm::finish_tile<float, Plain>, call.epilogue = &epilogue;
    gemm::multiply(call);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < call.c.rows; ++i)
      for (std::int64_t j = 0; j < call.c.cols; ++j) {
        double sum = call.accumulates ? 1 : 0;
        for (std::int64_t k = 0; k < call.a.cols; ++k)
          sum += static_cast<double>(call.a.data[i * call.a.row_stride + k * call.a.col_stride]) *
                 static_cast<double>(call.b.data[k * call.b.row_stride + j * call.b.col_stride]);
        wrong += static_cast<double>(call.c.data[i * call.c.row_stride + j * call.c.col_stride]) != sum;
      }
    CHECK(wrong == 0);
  }
}
