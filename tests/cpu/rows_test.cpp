// Runs on: host; loops.
#include <locus/core/math.hpp>
#include <locus/core/rng.hpp>
#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <support/skip.hpp>
#include <utility>
#include <vector>

using namespace locus;

namespace {

struct Largest {
  using Accumulator = float;
  LOCUS_FN float identity() const { return -INFINITY; }
  LOCUS_FN float combine(float a, float b) const { return a > b ? a : b; }
};
struct Sum {
  using Accumulator = double;
  LOCUS_FN double identity() const { return 0; }
  LOCUS_FN double combine(double a, double b) const { return a + b; }
};

/// Softmax with everything a team can do: reductions, before an update, with it and after it, a store with a stride,
/// one value per row.
struct SoftmaxRow {
  static constexpr int fragments = 1;
  const float* x;
  std::int64_t row_stride, stride;
  RowOutput<float> out;
  std::int64_t out_row_stride;
  double* totals;

  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    auto values = team.load(RowInput<float>{x + row * row_stride, stride});
    const float largest = team.reduce(
        Largest{}, [](float v, std::int64_t) { return v; }, values);
    const RowOutput<float> target{out.data + row * out_row_stride, out.stride, out.accumulate};
    const double total = team.update_and_reduce(
        Sum{}, [=](float v, std::int64_t) { return math::exp(v - largest); }, values, target);
    const double again = team.reduce(
        Sum{}, [](float v, std::int64_t) { return static_cast<double>(v); }, values);
    team.store(
        target, [=](float v, std::int64_t) { return v / static_cast<float>((total + again) / 2); }, values);
    team.write(totals + row, total);
  }
};

/// Fragments of three types at once; the middle one is null and reads as zero.
struct CombineRow {
  static constexpr int fragments = 3;
  const half* a;
  const std::int32_t* b;
  bfloat16* out;
  std::int64_t cols;

  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    auto left = team.load(RowInput<half>{a + row * cols});
    const auto none = team.load(RowInput<std::int32_t>{nullptr});
    const auto right = team.load(RowInput<std::int32_t>{b + row * cols});
    team.update(
        [](float l, std::int32_t n, std::int32_t r, std::int64_t c) { return l + static_cast<float>(n + r + c % 2); },
        left, none, right);
    team.store(
        RowOutput<bfloat16>{out + row * cols}, [](float v, std::int64_t) { return v; }, left);
  }
};

struct Softmax {
  std::vector<float> out;
  std::vector<double> totals;
};

struct Case {
  std::int64_t rows, cols, row_stride, stride, out_stride;
  bool accumulate;
};

Softmax softmax(const Case& c, const std::vector<float>& x) {
  Softmax result{std::vector<float>(static_cast<std::size_t>(c.rows * c.cols * c.out_stride), 1.0f),
                 std::vector<double>(static_cast<std::size_t>(c.rows), -1)};
  Backend<Cpu>::for_each_row(
      {}, c.rows, c.cols,
      SoftmaxRow{x.data(), c.row_stride, c.stride, RowOutput<float>{result.out.data(), c.out_stride, c.accumulate},
                 c.cols * c.out_stride, result.totals.data()});
  return result;
}

void check_softmax(const Case& c) {
  CAPTURE(c.rows);
  CAPTURE(c.cols);
  std::vector<float> x(static_cast<std::size_t>(c.rows * c.row_stride + c.cols * c.stride + 1));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10 * (uniform(5, i) - 0.5f);
  const auto given = softmax(c, x);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const auto at = [&](std::int64_t col) {
      return static_cast<double>(x[static_cast<std::size_t>(row * c.row_stride + col * c.stride)]);
    };
    double largest = -INFINITY, total = 0;
    for (std::int64_t col = 0; col < c.cols; ++col) largest = std::max(largest, at(col));
    for (std::int64_t col = 0; col < c.cols; ++col) total += std::exp(at(col) - largest);
    wrong += std::abs(given.totals[static_cast<std::size_t>(row)] - total) > 1e-5 * (1 + total);
    for (std::int64_t col = 0; col < c.cols * c.out_stride; ++col) {
      const bool written = col % c.out_stride == 0;
      const double expected = written ? std::exp(at(col / c.out_stride) - largest) / total + (c.accumulate ? 1 : 0) : 1;
      wrong += std::abs(static_cast<double>(given.out[static_cast<std::size_t>(row * c.cols * c.out_stride + col)]) -
                        expected) > 1e-5;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a row functor sees its row: loads, reductions, updates and stores of any stride") {
  for (const std::int64_t cols : {1, 2, 15, 16, 17, 100, 1000, 1023, 1024, 1025, 1040, 2047, 3001}) {
    check_softmax({2, cols, cols + 3, 1, 1, false});
    check_softmax({5, cols, cols, 1, 1, false});
    check_softmax({3, cols, cols * 2, 2, 1, true});
    check_softmax({4, cols, 1, 4, 3, false});
  }
  check_softmax({3000, 33, 33, 1, 1, false});
  check_softmax({2, 70000, 70000, 1, 2, true});
}

TEST_CASE("rows are updated, reduced and stored where they were loaded from") {
  for (const std::int64_t cols : {1, 17, 1000, 1024, 1025, 3001}) {
    const Case c{3, cols, cols, 1, 1, false};
    std::vector<float> x(static_cast<std::size_t>(3 * cols + 1));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10 * (uniform(5, i) - 0.5f);
    const auto expected = softmax(c, x);
    std::vector<double> totals(3);
    Backend<Cpu>::for_each_row({}, 3, cols,
                               SoftmaxRow{x.data(), cols, 1, RowOutput<float>{x.data()}, cols, totals.data()});
    x.pop_back();
    CHECK(x == expected.out);
    CHECK(totals == expected.totals);
  }
}

TEST_CASE("rows of several element types, a null one reading as zero") {
  constexpr std::int64_t rows = 40, cols = 23;
  std::vector<half> a(rows * cols);
  std::vector<std::int32_t> b(rows * cols);
  std::vector<bfloat16> out(rows * cols);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = half(static_cast<float>(i % 7) / 2);
    b[i] = static_cast<std::int32_t>(i % 5) - 2;
  }
  LaunchLog log;
  Backend<Cpu>::for_each_row({}, rows, cols, CombineRow{a.data(), b.data(), out.data(), cols});
  CHECK(log.launches() == 1);
  int wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float expected = static_cast<float>(a[i]) + static_cast<float>(b[i] + static_cast<int>(i % cols % 2));
    wrong += static_cast<float>(out[i]) != expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rows give the same bits for every number of threads") {
  const Case c{1000, 50, 50, 1, 1, false};
  std::vector<float> x(50000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(6, i);
  const int threads = cpu::max_threads();
  cpu::set_max_threads(1);
  const auto expected = softmax(c, x);
  for (const int count : {2, 5}) {
    cpu::set_max_threads(count);
    const auto given = softmax(c, x);
    CHECK(given.out == expected.out);
    CHECK(given.totals == expected.totals);
  }
  cpu::set_max_threads(threads);
}

namespace {
/// Sums every column, and its square; every row, and its products with the columns' numbers; and negates.
struct ColumnsRow {
  static constexpr int fragments = 1;
  static constexpr std::int64_t bytes_per_element = 8;
  static constexpr bool waits_for_memory = true;
  const float* x;
  float *negative, *totals;
  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const auto values = team.load(RowInput<float>{x + row * team.cols()});
    const auto found = team.add(
        [](float v, std::int64_t c) {
          const float by_column = v * static_cast<float>(c);
          return Addends<float>{{v + static_cast<float>(c), v * v}, {v, by_column}};
        },
        values);
    team.write(totals + 2 * row, found.first);
    team.write(totals + 2 * row + 1, found.second);
    team.store(
        RowOutput<float>{negative + row * team.cols()}, [](float v, std::int64_t) { return -v; }, values);
  }
};

/// Expected results of ColumnsRow; the squares are added to 3. `one_wanted`: not the sums of the columns.
struct ColumnsResult {
  std::vector<float> sums, negative, totals;
  ColumnsResult(std::int64_t rows, std::int64_t cols, const std::vector<float>& x, bool one_wanted)
      : sums(static_cast<std::size_t>(2 * cols), 3.f), negative(x.size()), totals(static_cast<std::size_t>(2 * rows)) {
    const ColumnSum<float> wanted[] = {{one_wanted ? nullptr : sums.data(), false}, {sums.data() + cols, true}};
    Backend<Cpu>::for_each_row(Cpu{}, rows, cols, ColumnsRow{x.data(), negative.data(), totals.data()}, wanted);
  }
  bool operator==(const ColumnsResult&) const = default;
};
}  // namespace

TEST_CASE("sums over rows: of any shape, added to what is there or not, the same bits for every number of threads") {
  const int threads = cpu::max_threads();
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{0, 5}, {1, 1}, {9, 33}, {1000, 50}, {40, 3000}, {3, 1024}, {70, 1025}}) {
    const auto n = static_cast<std::size_t>(cols);
    std::vector<float> x(static_cast<std::size_t>(rows) * n), first;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(6, i);
    std::vector<double> exact(2 * n), totals(static_cast<std::size_t>(2 * rows));
    for (std::size_t i = 0; i < x.size(); ++i) {
      exact[i % n] += x[i] + static_cast<double>(i % n);
      exact[n + i % n] += static_cast<double>(x[i]) * x[i];
      totals[i / n * 2] += x[i];
      totals[i / n * 2 + 1] += x[i] * static_cast<double>(i % n);
    }
    cpu::set_max_threads(1);
    const ColumnsResult expected(rows, cols, x, false), one(rows, cols, x, true);
    const auto are_close = [](float given, double wanted) {
      return std::abs(given - wanted) <= 1e-5 * (1 + std::abs(wanted));
    };
    for (std::size_t c = 0; c < 2 * n; ++c) CHECK(are_close(expected.sums[c], exact[c] + (c < n ? 0 : 3)));
    for (std::size_t i = 0; i < totals.size(); ++i) CHECK(are_close(expected.totals[i], totals[i]));
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wrong += expected.negative[i] != -x[i];
    CHECK(wrong == 0);
    CHECK(one.sums[n - 1] == 3);
    CHECK(one.sums[n] == expected.sums[n]);
    for (const int count : {2, 5}) {
      cpu::set_max_threads(count);
      CHECK(ColumnsResult(rows, cols, x, false) == expected);
    }
  }
  cpu::set_max_threads(threads);
}

TEST_CASE("rows that are written around the cache have the same bits, wherever they begin") {
  std::int64_t& bytes = cpu::bytes_worth_streaming_rows();
  const std::int64_t before = bytes;
  for (const std::int64_t cols : {256, 257, 300, 1000, 1024, 2049}) {
    std::vector<float> x(static_cast<std::size_t>(9 * cols));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(6, i);
    const ColumnsResult expected(9, cols, x, false);
    bytes = 1;
    CHECK(cpu::rows_stream<ColumnsRow>(9, cols));
    CHECK_FALSE(cpu::rows_stream<ColumnsRow>(9, 10));
    CHECK_FALSE(cpu::rows_stream<SoftmaxRow>(9, cols));
    CHECK(ColumnsResult(9, cols, x, false) == expected);
    bytes = before;
  }
}

TEST_CASE("the last cache is that of one core, not all of the package's") {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::int64_t kilobytes = 0;
  if (!(file >> kilobytes)) SKIP_TEST("the system does not tell its size");
  CHECK(cpu::detail::core_cache_bytes() == kilobytes * 1024);
}

TEST_CASE("no rows are no launch; rows without columns reduce to the identity") {
  LaunchLog log;
  (void)softmax({0, 5, 5, 1, 1, false}, {0});
  CHECK(log.launches() == 0);
  const auto empty = softmax({3, 0, 0, 1, 1, false}, {0});
  CHECK(log.launches() == 1);
  CHECK(empty.totals == std::vector<double>(3, 0.0));
}

namespace {
struct Unchanged {
  LOCUS_FN float operator()(float x) const { return x; }
};

/// A softmax of equal numbers and a product of ones; a wrong result ends the process with an error.
void use_working_memory() {
  const std::vector<float> x(300, 2.0f);
  std::vector<float> y(300);
  double total = 0;
  Backend<Cpu>::for_each_row({}, 1, 300, SoftmaxRow{x.data(), 300, 1, {y.data()}, 300, &total});
  if (std::abs(y[299] - 1 / 300.f) > 1e-6f) std::abort();

  const std::int64_t n = 200;
  const std::vector<float> a(static_cast<std::size_t>(n * n), 1.0f);
  std::vector<float> c(a.size());
  const MatrixRef<const float> columns{a.data(), n, n, 1, n};
  Backend<Cpu>::gemm({}, GemmBatch{}, columns, columns, MatrixRef<float>{c.data(), n, n, n, 1},
                     Epilogue<float, Unchanged>{});
  if (c[0] != 200.0f) std::abort();
}

/// Computes after main has ended, when the main thread's working memory is gone.
const struct AtExit {
  ~AtExit() { use_working_memory(); }
} at_exit;
}  // namespace

TEST_CASE("rows and products are computed in destructors of static objects too") {
  use_working_memory();  // and again after the last test
}
