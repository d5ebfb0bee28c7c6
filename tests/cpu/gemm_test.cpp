// Runs on: host; loops, busy.
#include <locus/cpu/gemm/gemm.hpp>

#include <doctest/doctest.h>
#include <support/kernel_sets.hpp>
#include <support/skip.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using namespace locus_test;

struct Identity {
  static constexpr bool is_identity = true;
  template <class X> LOCUS_HD X operator()(X x) const { return x; }
};
struct Relu {
  template <class X> LOCUS_HD X operator()(X x) const { return x > X(0) ? x : X(0); }
};

/// How the elements of a matrix lie in memory.
enum class Layout { rows, columns, padded_rows, padded_columns, scattered, repeated_row, repeated_column };
constexpr Layout layouts[] = {Layout::rows,      Layout::columns,      Layout::padded_rows,    Layout::padded_columns,
                              Layout::scattered, Layout::repeated_row, Layout::repeated_column};
constexpr int distinct_layouts = 5;  // layouts in which no two elements share memory

template <class T>
struct Matrix {
  std::vector<T> memory;
  MatrixRef<T> ref;

  Matrix(std::int64_t rows, std::int64_t cols, Layout layout) {
    ref = {nullptr, rows, cols, cols, 1};
    if (layout == Layout::columns) ref.row_stride = 1, ref.col_stride = rows;
    if (layout == Layout::padded_rows) ref.row_stride = cols + 3;
    if (layout == Layout::padded_columns) ref.row_stride = 1, ref.col_stride = rows + 5;
    if (layout == Layout::scattered) ref.row_stride = 2 * cols + 1, ref.col_stride = 2;
    if (layout == Layout::repeated_row) ref.row_stride = 0;
    if (layout == Layout::repeated_column) ref.row_stride = 1, ref.col_stride = 0;
    const bool empty = rows == 0 || cols == 0;
    // Exactly as long as it must be, so that a sanitizer sees every access beyond it.
    memory.resize(empty ? 0 : static_cast<std::size_t>((rows - 1) * ref.row_stride + (cols - 1) * ref.col_stride + 1));
    ref.data = memory.data();
  }
  T& at(std::int64_t i, std::int64_t j) {
    return memory[static_cast<std::size_t>(i * ref.row_stride + j * ref.col_stride)];
  }
  MatrixRef<const T> view() const { return {memory.data(), ref.rows, ref.cols, ref.row_stride, ref.col_stride}; }
};

struct Random {
  std::uint64_t state = 88172645463325252ull;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }
};

template <class T>
void fill(Matrix<T>& matrix, Random& random) {
  for (T& x : matrix.memory) {
    if constexpr (std::is_integral_v<T>) x = static_cast<T>(random.next());
    else x = static_cast<T>(static_cast<locus::compute_t<T>>(random.uniform()));
  }
}

template <class T>
constexpr T poison() {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(77);
  else return static_cast<T>(std::numeric_limits<locus::compute_t<T>>::quiet_NaN());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// The type of reference sums: as exact as can be.
template <class T>
using Exact = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

template <class T>
Exact<T> exact(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<Exact<T>>(x);
  else return static_cast<double>(static_cast<locus::compute_t<T>>(x));
}

double size_of(double x) { return std::abs(x); }
std::uint64_t size_of(std::uint64_t x) { return x; }

/// The elements of columns `begin` to `end`, row by row; beyond the last column they are 0.
template <class T>
std::vector<Exact<T>> dense(Matrix<T>& matrix, std::int64_t begin, std::int64_t end) {
  std::vector<Exact<T>> elements;
  elements.reserve(static_cast<std::size_t>(matrix.ref.rows * (end - begin)));
  for (std::int64_t i = 0; i < matrix.ref.rows; ++i)
    for (std::int64_t j = begin; j < end; ++j) elements.push_back(j < matrix.ref.cols ? exact(matrix.at(i, j)) : 0);
  return elements;
}

/// Sums of products, from first to last, side by side: compilers are to keep them in registers without optimizing much.
constexpr int side_by_side = 8;
template <class X>
struct Sums {
  typedef X Lanes __attribute__((vector_size(sizeof(X) * side_by_side), aligned(8), may_alias));
  typedef std::int64_t Bits __attribute__((vector_size(sizeof(X) * side_by_side)));
  X sums[side_by_side], sizes[side_by_side];

  /// Adds a[k] b[k][lane] for all k, and their sizes.
  void add_products(const X* a, const X* b, std::int64_t depth) {
    Lanes sum = *reinterpret_cast<const Lanes*>(sums), size = *reinterpret_cast<const Lanes*>(sizes);
    for (std::int64_t k = 0; k < depth; ++k) {
      const Lanes product = a[k] * *reinterpret_cast<const Lanes*>(b + k * side_by_side);
      sum += product;
      if constexpr (std::is_floating_point_v<X>) size += (Lanes)((Bits)product & INT64_MAX);
    }
    *reinterpret_cast<Lanes*>(sums) = sum;
    *reinterpret_cast<Lanes*>(sizes) = size;
  }
};

/// The error of an element of T against a sum of `size` absolute products, in units of the allowed rounding; 0 or
/// infinity for integers.
template <class T>
double error_of(T given, Exact<T> sum, Exact<T> size, double roundings) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(sum) == given ? 0 : std::numeric_limits<double>::infinity();
  } else {
    const double sum_error =
        static_cast<double>(std::numeric_limits<locus::compute_t<T>>::epsilon()) * roundings * (size + 1);
    const double storage = std::is_same_v<T, half> ? 0x1p-11 : std::is_same_v<T, bfloat16> ? 0x1p-8 : 0;
    return std::abs(exact(given) - sum) / (sum_error + storage * (std::abs(sum) + 0x1p-13));
  }
}

/// The largest error of c.
template <class T>
double error_of(Matrix<T>& a, Matrix<T>& b, Matrix<T>& before, Matrix<T>& c, const T* bias, bool relu,
                bool accumulate) {
  double worst = 0;
  // Equal products err in one direction, so that errors add up; others err at random.
  const bool repeats = a.ref.col_stride == 0 || b.ref.row_stride == 0;
  const double depth = static_cast<double>(a.ref.cols), roundings = 8 + (repeats ? depth / 2 : 2 * std::sqrt(depth));
  const auto of_a = dense(a, 0, a.ref.cols);
  for (std::int64_t begin = 0; begin < c.ref.cols; begin += side_by_side) {
    const auto of_b = dense(b, begin, begin + side_by_side);
    const std::int64_t lanes = std::min<std::int64_t>(side_by_side, c.ref.cols - begin);
    for (std::int64_t i = 0; i < c.ref.rows; ++i) {
      Sums<Exact<T>> row{};
      for (std::int64_t lane = 0; lane < lanes && bias; ++lane) {
        row.sums[lane] = exact(bias[begin + lane]);
        row.sizes[lane] = size_of(row.sums[lane]);
      }
      row.add_products(of_a.data() + i * a.ref.cols, of_b.data(), a.ref.cols);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        Exact<T> sum = row.sums[lane];
        if (relu && sum != size_of(sum)) sum = 0;
        if (accumulate) sum += exact(before.at(i, begin + lane));
        const double error = error_of(c.at(i, begin + lane), sum, row.sizes[lane], roundings);
        if (!(error <= worst)) worst = error;  // NaN is the worst of all
      }
    }
  }
  return worst;
}

struct Case {
  std::int64_t m, n, k;
};

template <class T>
void check(Case shape, Layout a_layout, Layout b_layout, Layout c_layout, bool with_bias, bool relu, bool accumulate) {
  Random random;
  Matrix<T> a(shape.m, shape.k, a_layout), b(shape.k, shape.n, b_layout), c(shape.m, shape.n, c_layout);
  fill(a, random);
  fill(b, random);
  if (accumulate) fill(c, random);
  else c.memory.assign(c.memory.size(), poison<T>());
  Matrix<T> before = c;
  Matrix<T> bias(1, shape.n, Layout::rows);
  fill(bias, random);
  const T* const bias_data = with_bias && shape.n > 0 ? bias.memory.data() : nullptr;
  if (relu) cpu::gemm(a.view(), b.view(), c.ref, Epilogue<T, Relu>{bias_data, accumulate});
  else cpu::gemm(a.view(), b.view(), c.ref, Epilogue<T, Identity>{bias_data, accumulate});
  const double error = error_of(a, b, before, c, bias_data, relu, accumulate);
  // Memory between the elements of c must be unchanged.
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = 0; j < shape.n; ++j) c.at(i, j) = before.at(i, j);
  const bool outside_untouched = same_bits(c.memory, before.memory);
  if (!(error <= 1) || !outside_untouched) {
    CAPTURE(shape.m);
    CAPTURE(shape.n);
    CAPTURE(shape.k);
    CAPTURE(static_cast<int>(a_layout));
    CAPTURE(static_cast<int>(b_layout));
    CAPTURE(static_cast<int>(c_layout));
    CAPTURE(with_bias);
    CAPTURE(relu);
    CAPTURE(accumulate);
    CHECK(error <= 1);
    CHECK(outside_untouched);
  }
}

/// Root of the mean square, over some sums of so many random products of bfloat16, of the error before it is rounded to
/// bfloat16, relative to the sum of the products' sizes.
double error_of_sums(const KernelsOf<bfloat16>& set, std::int64_t depth) {
  struct Kept {
    float* sums;
    [[nodiscard]] bool accumulates() const { return false; }
    float operator()(float sum, float, std::int64_t row, std::int64_t col) const { return sums[16 * row + col] = sum; }
  };
  const InUse<bfloat16> restored(&set);
  Random random;
  Matrix<bfloat16> a(16, depth, Layout::rows), b(depth, 16, Layout::rows), c(16, 16, Layout::rows);
  fill(a, random);
  fill(b, random);
  std::vector<float> sums(256);
  cpu::gemm(a.view(), b.view(), c.ref, Kept{sums.data()});
  double squares = 0;
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 16; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double product = static_cast<double>(static_cast<float>(a.at(i, k))) * static_cast<float>(b.at(k, j));
        sum += product;
        size += std::abs(product);
      }
      const double error = (static_cast<double>(sums[static_cast<std::size_t>(16 * i + j)]) - sum) / size;
      squares += error * error;
    }
  return std::sqrt(squares / 256);
}

template <class T>
void check_layouts(Case shape) {
  int count = 0;
  for (Layout a : layouts)
    for (Layout b : layouts) {
      const Layout c = layouts[count % distinct_layouts];
      const bool floating = !std::is_integral_v<T>;
      check<T>(shape, a, b, c, floating && count % 3 == 1, floating && count % 2 == 1, count % 4 >= 2);
      ++count;
    }
  CHECK(count == 49);
}
}  // namespace

TEST_CASE_TEMPLATE("gemm equals the sum of products, whatever the layouts", T, float, double) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 7, 8, 10, 13, 16, 17, 29, 32, 33, 47};
  int count = 0;
  for (std::int64_t m : sizes)
    for (std::int64_t n : sizes)
      for (std::int64_t k : {std::int64_t(1), std::int64_t(4), std::int64_t(19)}) {
        check<T>({m, n, k}, layouts[count % 7], layouts[count / 7 % 7], layouts[count % 5], count % 3 == 0,
                 count % 2 == 0, count % 5 < 2);
        ++count;
      }
  check_layouts<T>({5, 7, 3});
  check_layouts<T>({37, 41, 29});
  check_layouts<T>({100, 32, 65});
  check_layouts<T>({61, 67, 530});
}

#if defined(__x86_64__)
TEST_CASE_TEMPLATE("every instruction set that the processor has multiplies right", T, float, double, bfloat16) {
  const InUse<T> restored;
  for (const KernelsOf<T>* set : EverySet<T>()) {
    cpu::detail::kernels_in_use<T>() = set;
    for (std::int64_t m : {1, 2, 3, 5, 6, 7, 12, 13, 14, 15, 29})
      for (std::int64_t n : {1, 3, 4, 5, 9, 16, 17, 31, 32, 33, 129})
        for (std::int64_t k : {21, 83}) {
          check<T>({m, n, k}, Layout::rows, Layout::columns, Layout::rows, true, true, false);
          check<T>({m, n, k}, Layout::columns, Layout::rows, Layout::rows, false, false, true);
          check<T>({m, n, k}, Layout::rows, Layout::rows, Layout::padded_rows, false, false, m % 2 == 0);
          check<T>({m, n, k}, Layout::columns, Layout::columns, Layout::columns, false, false, n % 2 == 0);
        }
    for (std::int64_t m : {1, 2, 9})
      for (std::int64_t n : {1, 2, 9})
        check<T>({m, n, 90}, Layout::scattered, Layout::scattered, Layout::scattered, false, false, m == n);
    check<T>({130, 150, 1100}, Layout::rows, Layout::rows, Layout::rows, true, false, true);
    check<T>({230, 250, 300}, Layout::columns, Layout::columns, Layout::padded_columns, false, false, false);
  }
}
#endif

TEST_CASE_TEMPLATE("small products of every size, and narrow ones, by every instruction set", T, float, double) {
  constexpr Layout dense[] = {Layout::rows, Layout::columns};
  const InUse<T> restored;
  for (const KernelsOf<T>* set : EverySet<T>()) {
    cpu::detail::kernels_in_use<T>() = set;
    int count = 0;
    const auto check_dense = [&](Case shape) {
      for (Layout a : dense)
        for (Layout b : dense) {
          const Layout c = count % 3 == 0 ? Layout::columns : count % 3 == 1 ? Layout::padded_rows : Layout::rows;
          check<T>(shape, a, b, c, false, false, count % 5 == 0);
          ++count;
        }
    };
    for (std::int64_t m = 1; m <= 17; ++m)
      for (std::int64_t n = 1; n <= 17; ++n)
        for (const std::int64_t k : {1, 2, 3, 5, 8, 15, 16, 17, 35}) check_dense({m, n, k});
    for (const std::int64_t many : {31, 100, 133})
      for (std::int64_t few = 1; few <= 8; ++few)
        for (const std::int64_t k : {1, 2, 10, 33, 67}) check_dense({many, few, k}), check_dense({few, many, k});
    for (const std::int64_t m : {23, 57, 100})
      for (const std::int64_t n : {20, 47, 70}) check_dense({m, n, 10});
    // Rows a multiple of 4 KiB apart, and almost, which take lower tiles.
    for (const std::int64_t m : {1, 7, 8, 9, 11, 16, 29})
      for (const std::int64_t k : {512, 1024, 1025}) check_dense({m, 40, k}), check_dense({m, 5, k});
    check_dense({65, 40, 1024});
    for (const std::int64_t m : {1, 2, 9, 30})
      for (const std::int64_t k : {1, 2, 4, 5}) check_dense({m, 512, k}), check_dense({m, 1025, k});
  }
}

#if defined(__x86_64__)
TEST_CASE("the level in use decides whether bfloat16, and no other type, is multiplied in pairs") {
  if (!cpu::has_isa(cpu::Isa::avx512_bf16)) SKIP_TEST("this processor does not multiply pairs of bfloat16");
  const bool has_tiles = cpu::has_isa(cpu::Isa::amx_bf16) && cpu::detail::amx_bf16::may_use_tiles();
  const auto* const pairs = cpu::detail::kernels_for<bfloat16>(cpu::Isa::avx512_bf16);
  CHECK(multiplies_pairs(*pairs));
  if (has_tiles) {
    CHECK(multiplies_pairs(*cpu::detail::kernels_for<bfloat16>(cpu::Isa::amx_bf16)));
    CHECK(cpu::detail::kernels_for<bfloat16>(cpu::Isa::amx_bf16) != pairs);
  }
  CHECK(!multiplies_pairs(*cpu::detail::kernels_for<bfloat16>(cpu::Isa::avx512)));
  const cpu::Isa best = has_tiles ? cpu::Isa::amx_bf16 : cpu::Isa::avx512_bf16;
  CHECK(multiplies_pairs(*cpu::detail::kernels_in_use<bfloat16>()) ==
        (cpu::isa() == best || cpu::isa() == cpu::Isa::avx512_bf16));
  for (const cpu::Isa isa : cpu::every_isa) {
    if (!cpu::has_isa(isa)) continue;
    CHECK(!multiplies_pairs(*cpu::detail::kernels_for<half>(isa)));
    CHECK(!multiplies_pairs(*cpu::detail::kernels_for<float>(isa)));
  }
}
#endif

TEST_CASE("pairs of bfloat16: sizes around tiles and vectors, odd depths, blocks of depth") {
  const InUse<bfloat16> restored;
  const SetsOfPairs sets;
  if (sets.empty()) SKIP_TEST("this processor does not multiply pairs of bfloat16");
  for (const KernelsOf<bfloat16>* set : sets) {
    cpu::detail::kernels_in_use<bfloat16>() = set;
    int count = 0;
    for (std::int64_t m : {1, 2, 13, 14, 15, 16, 17, 18, 28, 29, 32, 33, 34, 65})
      for (std::int64_t n : {1, 15, 16, 17, 31, 32, 33, 65})
        for (std::int64_t k : {1, 2, 3, 31, 32, 33, 64, 65}) {
          check<bfloat16>({m, n, k}, layouts[count % 7], layouts[count / 7 % 7], layouts[count % 5], count % 3 == 0,
                          count % 2 == 0, count % 5 < 2);
          ++count;
        }
    for (std::int64_t k : {1024, 1025, 2049, 3074})
      check<bfloat16>({30, 33, k}, layouts[k % 5], layouts[k / 5 % 5], Layout::rows, false, false, k % 2 == 0);
    check_layouts<bfloat16>({3, 17, 1027});
    check_layouts<bfloat16>({40, 17, 45});
    check<bfloat16>({1010, 20, 1027}, Layout::rows, Layout::columns, Layout::rows, true, true, true);
    check<bfloat16>({20, 1030, 1027}, Layout::columns, Layout::rows, Layout::rows, false, false, false);
  }
}

TEST_CASE("pairs of bfloat16 are summed as accurately as one by one, but for blocks of depth of twice the length") {
  const SetsOfPairs sets;
  if (sets.empty()) SKIP_TEST("this processor does not multiply pairs of bfloat16");
  for (const KernelsOf<bfloat16>* set : sets)
    for (const std::int64_t depth : {100, 1024, 4096, 65536}) {
      const double one_by_one = error_of_sums(*cpu::detail::kernels_for<bfloat16>(cpu::Isa::avx512), depth);
      const double in_pairs = error_of_sums(*set, depth);
      CAPTURE(depth);
      CHECK(in_pairs > 0);  // both round
      CHECK(in_pairs <= 2.5 * one_by_one);
      CHECK(in_pairs <= 0x1p-24);
    }
}

TEST_CASE("bfloat16: NaN and infinity reach the sums that they belong to, and no others") {
  const InUse<bfloat16> restored;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const KernelsOf<bfloat16>* set : EverySet<bfloat16>()) {
    cpu::detail::kernels_in_use<bfloat16>() = set;
    for (const std::int64_t k : {1, 2, 5, 33, 67})
      for (const Layout layout : {Layout::rows, Layout::columns, Layout::scattered}) {
        Matrix<bfloat16> a(17, k, layout), b(k, 35, layout), c(17, 35, Layout::rows);
        a.memory.assign(a.memory.size(), bfloat16(1.f));
        b.memory.assign(b.memory.size(), bfloat16(0.25f));
        a.at(2, k - 1) = bfloat16(nan);
        a.at(5, 0) = bfloat16(inf);
        a.at(16, k - 1) = bfloat16(-inf);
        b.at(0, 34) = bfloat16(-inf);
        b.at(k - 1, 7) = bfloat16(nan);
        b.at(k - 1, 8) = bfloat16(0.f);
        cpu::gemm(a.view(), b.view(), c.ref, Epilogue<bfloat16, Identity>{});
        bool right = true;
        for (std::int64_t i = 0; i < 17; ++i)
          for (std::int64_t j = 0; j < 35; ++j) {
            float sum = 0;
            for (std::int64_t at = 0; at < k; ++at)
              sum += static_cast<float>(a.at(i, at)) * static_cast<float>(b.at(at, j));
            const float expected = static_cast<float>(bfloat16(sum)), given = static_cast<float>(c.at(i, j));
            right = right && (std::isnan(expected) ? std::isnan(given) : given == expected);
          }
        CAPTURE(k);
        CHECK(right);
      }
  }
}

TEST_CASE("bfloat16: denormals count, except in pairs, where they are zeros") {
  const InUse<bfloat16> restored;
  for (const KernelsOf<bfloat16>* set : EverySet<bfloat16>()) {
    cpu::detail::kernels_in_use<bfloat16>() = set;
    for (const std::int64_t side : {1, 9}) {  // few rows are not packed into pairs
      const bool in_pairs = side > 1 && multiplies_pairs(*set);
      const auto product = [&](float x, float y) {
        Matrix<bfloat16> a(side, 1, Layout::rows), b(1, side, Layout::rows), c(side, side, Layout::rows);
        a.memory.assign(a.memory.size(), bfloat16(x));
        b.memory.assign(b.memory.size(), bfloat16(y));
        cpu::gemm(a.view(), b.view(), c.ref, Epilogue<bfloat16, Identity>{});
        return static_cast<float>(c.memory.back());
      };
      const float inf = std::numeric_limits<float>::infinity();
      CHECK(product(0x1p-126f, 0x1p100f) == 0x1p-26f);
      CHECK(product(0x1p-60f, 0x1p-66f) == 0x1p-126f);
      CHECK(product(0x1p-127f, 0x1p100f) == (in_pairs ? 0 : 0x1p-27f));
      CHECK(product(0x1p-60f, 0x1p-67f) == (in_pairs ? 0 : 0x1p-127f));
      CHECK((in_pairs ? std::isnan(product(0x1p-127f, inf)) : product(0x1p-127f, inf) == inf));
    }
  }
}

TEST_CASE_TEMPLATE("a few rows times a large weight, by every instruction set", T, float, double, half, bfloat16) {
  const InUse<T> restored;
  const float inf = std::numeric_limits<float>::infinity();
  for (const KernelsOf<T>* set : EverySet<T>()) {
    cpu::detail::kernels_in_use<T>() = set;
    int count = 0;
    for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8})
      for (const Layout weight : {Layout::rows, Layout::padded_rows, Layout::columns, Layout::padded_columns}) {
        const auto next = [&](Case shape) {
          check<T>(shape, layouts[count % 5], weight, layouts[count / 2 % 5], count % 3 == 0, count % 4 == 1,
                   count % 7 == 2);
          ++count;
        };
        next({m, 259, 66}), next({m, 64, 257});
        if (m == 3) next({m, 515, 262}), next({m, 4161, 19});  // several parts of the depth, and of the columns
      }
    check<T>({300, 2, 67}, Layout::rows, Layout::rows, Layout::rows, false, true, false);  // columns as vectors
    if constexpr (sizeof(T) == 2) {  // larger than caches: a row after the other
      check<T>({1, 753, 701}, Layout::rows, Layout::columns, Layout::rows, false, false, true);
      check<T>({753, 1, 701}, Layout::padded_rows, Layout::rows, Layout::rows, true, false, false);
    } else {
      check<T>({1, 701, 501}, Layout::rows, Layout::rows, Layout::rows, true, false, false);
    }
    Matrix<T> a(2, 67, Layout::rows), b(67, 260, Layout::rows), c(2, 260, Layout::rows);
    a.memory.assign(a.memory.size(), T(1.f));
    b.memory.assign(b.memory.size(), T(0.25f));
    b.at(66, 259) = b.at(0, 3) = T(inf);
    cpu::gemm(a.view(), b.view(), c.ref, Epilogue<T, Identity>{});
    std::int64_t finite = 0, infinite = 0;
    for (const T& x : c.memory) {
      finite += exact(x) == 16.75;
      infinite += exact(x) == static_cast<double>(inf);
    }
    CHECK(finite == 2 * 258);
    CHECK(infinite == 2 * 2);
  }
}

TEST_CASE("after the first product of a shape, packing allocates nothing") {
  const int threads = cpu::max_threads();
  cpu::set_max_threads(1);  // which thread does which part is not fixed, and each has working memory of its own
  const auto product = [] {
    check<float>({230, 250, 300}, Layout::rows, Layout::columns, Layout::rows, true, true, true);
  };
  product();
  const std::int64_t allocations = cpu::scratch_allocations();
  CHECK(allocations > 0);
  product();
  CHECK(cpu::scratch_allocations() == allocations);
  cpu::set_max_threads(threads);
}

TEST_CASE_TEMPLATE("gemm of the other element types", T, half, bfloat16, std::int32_t, std::int64_t, std::uint8_t) {
  check_layouts<T>({1, 1, 1});
  check_layouts<T>({5, 7, 3});
  check_layouts<T>({37, 41, 29});
  check_layouts<T>({20, 35, 530});
}

TEST_CASE("gemm of the shapes of a small perceptron") {
  for (bool accumulate : {false, true}) {
    check<float>({100, 32, 784}, Layout::rows, Layout::columns, Layout::rows, true, true, accumulate);
    check<float>({32, 784, 100}, Layout::columns, Layout::rows, Layout::rows, false, false, accumulate);
    check<float>({100, 10, 32}, Layout::rows, Layout::columns, Layout::rows, true, false, accumulate);
    check<float>({100, 32, 10}, Layout::rows, Layout::rows, Layout::rows, false, false, accumulate);
    check<float>({10, 32, 100}, Layout::columns, Layout::rows, Layout::rows, false, false, accumulate);
  }
}

TEST_CASE("gemm of large and lopsided shapes") {
  check<float>({700, 810, 600}, Layout::rows, Layout::rows, Layout::rows, true, true, true);
  check<float>({339, 337, 1031}, Layout::columns, Layout::columns, Layout::padded_rows, false, false, true);
  check<double>({171, 403, 517}, Layout::rows, Layout::columns, Layout::columns, true, true, true);
  check<half>({171, 203, 1025}, Layout::rows, Layout::columns, Layout::rows, true, true, true);
  check<float>({1, 3000, 700}, Layout::rows, Layout::rows, Layout::rows, true, false, false);
  check<float>({3000, 1, 700}, Layout::rows, Layout::rows, Layout::rows, true, false, false);
  check<float>({3000, 1, 700}, Layout::columns, Layout::rows, Layout::columns, false, false, false);
  check<float>({1, 77, 900}, Layout::scattered, Layout::columns, Layout::rows, true, true, true);
  check<float>({2000, 1, 900}, Layout::padded_rows, Layout::scattered, Layout::scattered, true, true, true);
  check<float>({1, 1, 3001}, Layout::rows, Layout::columns, Layout::rows, true, true, true);
  check<float>({2, 3, 65536}, Layout::rows, Layout::columns, Layout::rows, false, false, false);
  check<float>({3000, 40, 1}, Layout::rows, Layout::rows, Layout::rows, false, false, true);
}

TEST_CASE("gemm of packed operands, with sums kept apart and more rows and columns than fit at a time") {
  check<float>({131, 1030, 530}, Layout::columns, Layout::rows, Layout::rows, false, false, false);
  check<float>({131, 1030, 530}, Layout::rows, Layout::columns, Layout::rows, true, true, true);
  check<float>({85, 1100, 1030}, Layout::padded_columns, Layout::scattered, Layout::scattered, true, true, true);
  check<bfloat16>({1021, 1030, 515}, Layout::columns, Layout::rows, Layout::rows, true, false, true);
  check<half>({2021, 35, 5}, Layout::columns, Layout::columns, Layout::rows, false, true, false);
}

TEST_CASE_TEMPLATE("gemm with few rows or columns, or few beyond those of whole registers", T, float, double) {
  constexpr Layout dense[] = {Layout::rows, Layout::columns};
  constexpr std::int64_t few[] = {1, 2, 3, 4, 5, 7, 11, 16, 33, 36};
  int count = 0;
  for (std::int64_t size : few)
    for (std::int64_t depth : {33, 100})
      for (Layout a : dense)
        for (Layout b : dense) {
          const bool relu = count % 3 == 0, accumulate = count / 3 % 2 == 0;
          check<T>({75, size, depth}, a, b, Layout::rows, relu, relu, accumulate);
          check<T>({size, 75, depth}, a, b, Layout::rows, relu, relu, accumulate);
          check<T>({size, 75, depth}, a, b, Layout::padded_columns, relu, relu, !accumulate);
          ++count;
        }
  // Along the depth of both operands, up to the most vectors at once, and beyond.
  for (std::int64_t vectors : {17, 40, 63, 64, 65}) {
    check<T>({70, vectors, 400}, Layout::rows, Layout::columns, Layout::rows, false, false, vectors % 2 == 0);
    check<T>({vectors, 70, 400}, Layout::rows, Layout::columns, Layout::rows, true, true, vectors % 2 == 0);
  }
  check<T>({333, 3, 1100}, Layout::columns, Layout::rows, Layout::rows, false, false, true);
  check<T>({333, 18, 1100}, Layout::columns, Layout::columns, Layout::rows, false, false, true);
}

TEST_CASE_TEMPLATE("an empty sum is zero, and an empty result is left alone", T, float, half, std::int32_t) {
  check<T>({3, 5, 0}, Layout::rows, Layout::rows, Layout::rows, false, false, false);
  check<T>({3, 5, 0}, Layout::rows, Layout::columns, Layout::scattered, false, false, true);
  check<T>({0, 5, 4}, Layout::rows, Layout::rows, Layout::rows, false, false, false);
  check<T>({3, 0, 4}, Layout::rows, Layout::rows, Layout::rows, false, false, false);
  check<T>({0, 0, 0}, Layout::rows, Layout::rows, Layout::rows, false, false, false);
}

TEST_CASE("an epilogue sees every element once, with its row and column") {
  struct RowTimesColumn {
    [[nodiscard]] bool accumulates() const { return true; }
    float operator()(float product, float previous, std::int64_t row, std::int64_t col) const {
      return product + previous + static_cast<float>(1000 * row + col);
    }
  };
  const int threads = cpu::max_threads();
  for (const Case shape : {Case{45, 71, 9}, Case{33, 70, 1200}, Case{3, 5, 0}, Case{250, 300, 150}, Case{99, 41, 784},
                           Case{1500, 40, 200}})
    for (const Layout layout : {Layout::rows, Layout::columns, Layout::scattered}) {
      const Layout of_b = layout == Layout::columns ? Layout::columns : Layout::rows;
      Matrix<float> a(shape.m, shape.k, Layout::rows), b(shape.k, shape.n, of_b), c(shape.m, shape.n, layout);
      a.memory.assign(a.memory.size(), 1);
      b.memory.assign(b.memory.size(), 1);
      for (const int count : {1, 2, 5}) {
        cpu::set_max_threads(count);
        c.memory.assign(c.memory.size(), 7);
        cpu::gemm(a.view(), b.view(), c.ref, RowTimesColumn{});
        bool right = true;
        for (std::int64_t i = 0; i < shape.m; ++i)
          for (std::int64_t j = 0; j < shape.n; ++j)
            right = right && c.at(i, j) == static_cast<float>(shape.k + 7 + 1000 * i + j);
        CHECK(right);
      }
    }
  cpu::set_max_threads(threads);
}

TEST_CASE("operands that do not fit are refused by name") {
  Matrix<float> a(3, 4, Layout::rows), b(5, 2, Layout::rows), c(3, 2, Layout::rows);
  CHECK_THROWS_WITH_AS(cpu::gemm(a.view(), b.view(), c.ref, Epilogue<float, Identity>{}),
                       doctest::Contains("(3, 4) x (5, 2) -> (3, 2)"), ShapeError);
}

TEST_CASE_TEMPLATE("a batch is its products one by one, operands shared where the stride is 0", T, float, bfloat16) {
  Random random;
  Matrix<T> a(6 * 9, 11, Layout::rows), b(11, 8, Layout::rows), c(6 * 9, 8, Layout::rows), one(9, 8, Layout::rows);
  fill(a, random);
  fill(b, random);
  MatrixRef<const T> a_ref = a.view();
  MatrixRef<T> c_ref = c.ref;
  a_ref.rows = c_ref.rows = 9;
  cpu::gemm({6, 9 * 11, 0, 9 * 8}, a_ref, b.view(), c_ref, Epilogue<T, Identity>{});
  for (std::int64_t i = 0; i < 6; ++i) {
    MatrixRef<const T> part = a_ref;
    part.data += i * 9 * 11;
    cpu::gemm(part, b.view(), one.ref, Epilogue<T, Identity>{});
    CHECK(std::memcmp(one.memory.data(), c.memory.data() + i * 72, sizeof(T) * 72) == 0);
  }
  cpu::gemm({0, 0, 0, 0}, a_ref, b.view(), c_ref, Epilogue<T, Identity>{});
}

TEST_CASE_TEMPLATE("the number of threads changes no bit of the result", T, float, bfloat16) {
  const int threads = cpu::max_threads();
  struct Given {
    Case shape;
    Layout a = Layout::rows, b = Layout::columns;
  };
  for (const Given& given :
       {Given{{100, 32, 784}}, Given{{99, 41, 784}}, Given{{99, 64, 784}}, Given{{1500, 40, 200}},
        Given{{32, 784, 100}}, Given{{301, 503, 700}}, Given{{64, 64, 5000}}, Given{{100, 48, 1024}},
        Given{{700, 5, 900}}, Given{{3, 901, 700}}, Given{{257, 65, 300}}, Given{{10, 221, 362}}, Given{{2, 400, 900}},
        Given{{1, 1034, 600}, Layout::rows, Layout::rows}, Given{{3, 1034, 611}, Layout::rows, Layout::rows},
        Given{{43, 304, 68}, Layout::rows, Layout::rows}, Given{{2, 10, 40000}, Layout::rows, Layout::rows},
        Given{{1400, 7, 90}, Layout::rows, Layout::rows}, Given{{548, 2, 839}, Layout::columns, Layout::rows}}) {
    const Case& shape = given.shape;
    Random random;
    Matrix<T> a(shape.m, shape.k, given.a), b(shape.k, shape.n, given.b);
    Matrix<T> one(shape.m, shape.n, Layout::rows), two = one, five = one;
    fill(a, random);
    fill(b, random);
    const auto product = [&](int count, Matrix<T>& c) {
      c.ref.data = c.memory.data();
      cpu::set_max_threads(count);
      cpu::gemm(a.view(), b.view(), c.ref, Epilogue<T, Identity>{});
    };
    product(1, one);
    product(2, two);
    product(5, five);
    CHECK(same_bits(one.memory, two.memory));
    CHECK(same_bits(one.memory, five.memory));
  }
  cpu::set_max_threads(threads);
}

TEST_CASE("threads have columns apart only where rows begin cache lines, and then whole lines") {
  alignas(64) float c[4 * 64];
  const auto can_cut = [&](std::int64_t first, std::int64_t row_stride, std::int64_t columns) {
    return cpu::detail::can_cut(MatrixRef<float>{c + first, 4, 32, row_stride, 1}, columns);
  };
  CHECK(can_cut(0, 32, 16));
  CHECK(can_cut(16, 64, 32));
  CHECK_FALSE(can_cut(1, 32, 16));
  CHECK_FALSE(can_cut(0, 40, 16));
  CHECK_FALSE(can_cut(0, 32, 8));
}

TEST_CASE("tasks of dot products: enough for the threads, and rows that stay in the cache") {
  namespace gemm = cpu::detail;
  for (const std::int64_t rows : {1, 7, 64, 100, 128, 1000})
    for (const std::int64_t depth : {16, 784, 100'000})
      for (const std::int64_t at_once : {4, 8})
        for (const std::int64_t tasks : {1, 2, 8, 20}) {
          const std::int64_t part = gemm::rows_per_task(rows, depth, at_once, tasks);
          const auto does = [&](std::int64_t size) {
            return size * (depth + 1) <= gemm::rows_together && size <= 256 &&
                   (tasks == 1 ? size < rows + at_once : size * tasks <= rows);
          };
          CHECK(part % at_once == 0);
          CHECK((part == at_once || does(part)));
          CHECK_FALSE(does(part + at_once));
        }
}

TEST_CASE_TEMPLATE("threads share a batch of small products", T, float, bfloat16) {
  const int threads = cpu::max_threads();
  Random random;
  Matrix<T> a(300 * 16, 20, Layout::rows), b(300 * 20, 17, Layout::rows), one(300 * 16, 17, Layout::rows), two = one;
  fill(a, random);
  fill(b, random);
  const auto product = [&](int count, Matrix<T>& c) {
    cpu::set_max_threads(count);
    cpu::gemm({300, 16 * 20, 20 * 17, 16 * 17}, {a.memory.data(), 16, 20, 20, 1}, {b.memory.data(), 20, 17, 17, 1},
              MatrixRef<T>{c.memory.data(), 16, 17, 17, 1}, Epilogue<T, Relu>{});
  };
  product(1, one);
  product(3, two);
  CHECK(same_bits(one.memory, two.memory));
  cpu::set_max_threads(threads);
}

TEST_CASE("products run from several threads at once") {
  Random random;
  Matrix<float> a(90, 300, Layout::rows), b(300, 70, Layout::rows), expected(90, 70, Layout::rows);
  fill(a, random);
  fill(b, random);
  cpu::gemm(a.view(), b.view(), expected.ref, Epilogue<float, Identity>{});
  std::vector<Matrix<float>> results(4, Matrix<float>(90, 70, Layout::rows));
  std::vector<std::thread> threads;
  for (Matrix<float>& result : results)
    threads.emplace_back([&] {
      result.ref.data = result.memory.data();
      for (int i = 0; i < 20; ++i) cpu::gemm(a.view(), b.view(), result.ref, Epilogue<float, Identity>{});
    });
  for (std::thread& thread : threads) thread.join();
  for (const Matrix<float>& result : results) CHECK(same_bits(result.memory, expected.memory));
}
