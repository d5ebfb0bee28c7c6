// Runs on: host; loops, alone.
#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <support/plans.hpp>

using namespace locus;
using namespace locus_test;

namespace {

struct SumOf {
  using Accumulator = double;
  double identity() const { return 0; }
  double combine(double a, double b) const { return a + b; }
  double finish(double a) const { return a; }
};
struct FloatSum {
  using Accumulator = float;
  float identity() const { return 0; }
  float combine(float a, float b) const { return a + b; }
  float finish(float a) const { return a; }
};

struct Largest {
  using Accumulator = float;
  float identity() const { return -INFINITY; }
  float combine(float a, float b) const { return a > b || a != a ? a : b; }
  float finish(float a) const { return a; }
};

/// The largest value and where it first stands: an accumulator that is no number.
struct Best {
  float value;
  std::int64_t at;
};
struct FirstLargest {
  using Accumulator = Best;
  Best identity() const { return {-INFINITY, INT64_MAX}; }
  Best combine(Best a, Best b) const { return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a; }
  std::int64_t finish(Best a) const { return a.at; }
};
struct WithIndex {
  Best operator()(float x, std::int64_t index) const { return {x, index}; }
};

/// Integers in double: sums are exact, so every order of folding gives the same.
struct Product {
  double operator()(float a, std::int32_t b, std::int64_t index) const {
    return static_cast<double>(a) * b + static_cast<double>(index % 5);
  }
};
/// Of whose inputs the first is read once for each run along which it is repeated.
struct ProductOfRepeated : Product {
  static constexpr unsigned repeated = 0b1;
};
struct Same {
  float operator()(float x) const { return x; }
};

struct Problem {
  Shape shape;
  Layout a, b, out;
  bool reduced[max_rank] = {};
  Shape kept_shape, reduced_shape;
};

Problem random_problem(RandomLayouts& random, std::int64_t size) {
  Problem p{random.shape(size), {}, {}, {}, {}, {}, {}};
  p.a = random.layout(p.shape, true);
  p.b = random.layout(p.shape, true);
  for (int d = 0; d < p.shape.rank(); ++d) {
    p.reduced[d] = random.below(2) == 0;
    (p.reduced[d] ? p.reduced_shape : p.kept_shape).push_back(p.shape[d]);
  }
  p.out = random.layout(p.kept_shape, false);
  return p;
}

/// Strides of the kept or of the reduced dimensions.
Strides part(const Problem& p, const Strides& strides, bool reduced) {
  Strides result;
  for (int d = 0; d < p.shape.rank(); ++d)
    if (p.reduced[d] == reduced) result.push_back(strides[d]);
  return result;
}

Strides output_strides(const Problem& p) {
  Strides result;
  for (int d = 0, kept = 0; d < p.shape.rank(); ++d) result.push_back(p.reduced[d] ? 0 : p.out.strides[kept++]);
  return result;
}

template <class T>
std::vector<T> digits(std::int64_t n, int step) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<int>(i) * step % 19 - 9);
  return values;
}

template <class F>
int mistakes_of_sum(RandomLayouts& random, std::int64_t size) {
  const Problem p = random_problem(random, size);
  const auto a = digits<float>(p.a.span, 7);
  const auto b = digits<std::int32_t>(p.b.span, 5);
  const bool null_a = random.below(6) == 0, adds = random.below(3) == 0;
  std::vector<double> out(static_cast<std::size_t>(p.out.span), 3), expected = out;
  for (std::int64_t k = 0; k < elements(p.kept_shape); ++k) {
    double sum = 0;
    for (std::int64_t r = 0; r < elements(p.reduced_shape); ++r) {
      const auto at = [&](const Strides& strides) {
        return static_cast<std::size_t>(offset_of(p.kept_shape, part(p, strides, false), k) +
                                        offset_of(p.reduced_shape, part(p, strides, true), r));
      };
      sum += Product{}(null_a ? 0 : a[at(p.a.strides)], b[at(p.b.strides)], r);
    }
    auto& target = expected[static_cast<std::size_t>(offset_of(p.kept_shape, p.out.strides, k))];
    target = sum + (adds ? target : 0);
  }
  const auto plan =
      locus_test::reduce_plan<3>(p.shape, {p.a.strides, p.b.strides, row_major(p.shape)}, output_strides(p), p.reduced);
  Backend<Cpu>::reduce({}, plan, F{}, SumOf{},
                       Pack<const float*, const std::int32_t*, LinearIndex>(null_a ? nullptr : a.data(), b.data(), {}),
                       adds ? out.data() : static_cast<const double*>(nullptr), out.data());
  return out != expected;
}

int mistakes_of_argmax(RandomLayouts& random, std::int64_t size) {
  const Problem p = random_problem(random, size);
  const auto a = digits<float>(p.a.span, 4);
  std::vector<std::int64_t> out(static_cast<std::size_t>(p.out.span), -1), expected = out;
  for (std::int64_t k = 0; k < elements(p.kept_shape); ++k) {
    Best best = FirstLargest{}.identity();
    for (std::int64_t r = 0; r < elements(p.reduced_shape); ++r) {
      const float x = a[static_cast<std::size_t>(offset_of(p.kept_shape, part(p, p.a.strides, false), k) +
                                                 offset_of(p.reduced_shape, part(p, p.a.strides, true), r))];
      if (x > best.value) best = {x, r};
    }
    expected[static_cast<std::size_t>(offset_of(p.kept_shape, p.out.strides, k))] = best.at;
  }
  const auto plan =
      locus_test::reduce_plan<2>(p.shape, {p.a.strides, row_major(p.shape)}, output_strides(p), p.reduced);
  Backend<Cpu>::reduce({}, plan, WithIndex{}, FirstLargest{}, Pack<const float*, LinearIndex>(a.data(), {}),
                       static_cast<const std::int64_t*>(nullptr), out.data());
  return out != expected;
}

template <class Op>
std::vector<float> folded(const std::vector<float>& x, const Shape& shape, int axis) {
  bool reduced[max_rank] = {};
  reduced[axis] = true;
  Strides out = Dims::filled(2, 1);
  std::vector<float> result(static_cast<std::size_t>(shape[1 - axis]));
  const auto plan = locus_test::reduce_plan<1>(shape, {row_major(shape)}, out, reduced);
  Backend<Cpu>::reduce({}, plan, Same{}, Op{}, Pack<const float*>(x.data()), static_cast<const float*>(nullptr),
                       result.data());
  return result;
}
std::vector<float> sums(const std::vector<float>& x, const Shape& shape, int axis) {
  return folded<FloatSum>(x, shape, axis);
}

}  // namespace

TEST_CASE("reduce gives what its definition says, for random shapes, layouts, axes and null operands") {
  RandomLayouts random(7);
  int mistakes = 0;
  for (int round = 0; round < 3000; ++round) {
    mistakes += mistakes_of_sum<Product>(random, 1 + random.below(500));
    mistakes += mistakes_of_sum<ProductOfRepeated>(random, 1 + random.below(500));
  }
  for (int round = 0; round < 60; ++round) {
    mistakes += mistakes_of_sum<Product>(random, 60000);
    mistakes += mistakes_of_sum<ProductOfRepeated>(random, 60000);
  }
  CHECK(mistakes == 0);
}

TEST_CASE("strides of a null input are not followed, where it is read once for each run, either") {
  const Shape shape{64, 256};
  const std::vector<std::int32_t> b(64 * 256, 1);
  std::vector<double> out(64, -1);
  const bool reduced[max_rank] = {false, true};
  const auto plan =
      locus_test::reduce_plan<3>(shape, {Strides{1 << 20, 0}, row_major(shape), row_major(shape)}, {1, 0}, reduced);
  Backend<Cpu>::reduce({}, plan, ProductOfRepeated{}, SumOf{},
                       Pack<const float*, const std::int32_t*, LinearIndex>(nullptr, b.data(), {}),
                       static_cast<const double*>(nullptr), out.data());
  CHECK(out == std::vector<double>(64, 51 * (0 + 1 + 2 + 3 + 4)));
}

TEST_CASE("reduce folds accumulators that are no numbers") {
  RandomLayouts random(8);
  int mistakes = 0;
  for (int round = 0; round < 1500; ++round) mistakes += mistakes_of_argmax(random, 1 + random.below(500));
  for (int round = 0; round < 40; ++round) mistakes += mistakes_of_argmax(random, 60000);
  CHECK(mistakes == 0);
}

TEST_CASE("a sum has the same bits for every number of threads") {
  const Shape shape{300, 401};
  std::vector<float> x(static_cast<std::size_t>(elements(shape)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(3, i) - 0.5f;
  const Shape flat{1, elements(shape)};
  const int threads = cpu::max_threads();
  cpu::set_max_threads(1);
  const auto all = sums(x, flat, 1), rows = sums(x, shape, 1), columns = sums(x, shape, 0);
  for (const int count : {2, 3, 7}) {
    cpu::set_max_threads(count);
    CHECK(sums(x, flat, 1) == all);
    CHECK(sums(x, shape, 1) == rows);
    CHECK(sums(x, shape, 0) == columns);
  }
  cpu::set_max_threads(threads);
  const double exact = std::accumulate(x.begin(), x.end(), 0.0);
  CHECK(std::abs(all[0] - exact) < 1e-3);
}

TEST_CASE("sums over many short rows are those of float64, and the same for every number of threads") {
  const int threads = cpu::max_threads();
  for (const std::int64_t cols : {1, 2, 4, 15, 16, 31, 33, 47, 48, 49, 64, 70})
    for (const std::int64_t rows : {1, 47, 48, 129, 1500}) {
      const Shape shape{rows, cols};
      std::vector<float> x(static_cast<std::size_t>(elements(shape)));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(5, i) - 0.5f;
      cpu::set_max_threads(1);
      const auto found = sums(x, shape, 1);
      cpu::set_max_threads(5);
      CHECK(sums(x, shape, 1) == found);
      REQUIRE(found.size() == static_cast<std::size_t>(rows));
      double largest_error = 0;
      for (std::size_t row = 0; row < found.size(); ++row) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row) * cols;
        largest_error = std::max(largest_error, std::abs(std::accumulate(begin, begin + cols, 0.0) - found[row]));
      }
      CHECK(largest_error < 1e-5);
    }
  cpu::set_max_threads(threads);
}

TEST_CASE("rows of every length around whole vectors, and columns of every narrow matrix, see each element once") {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 1; n <= 34; ++n) sizes.push_back(n);
  for (const std::int64_t n : {47, 48, 49, 63, 64, 65, 79, 80, 81, 127, 128, 129, 143, 511, 512, 513})
    sizes.push_back(n);
  for (const std::int64_t others : {1, 3, 17, 70})
    for (const std::int64_t n : sizes)
      for (const bool rows : {true, false}) {
        const Shape shape = rows ? Shape{others, n} : Shape{n, others};
        std::vector<float> x(static_cast<std::size_t>(others * n));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 61 + i % 7);  // sums are exact
        const auto found = sums(x, shape, rows ? 1 : 0);
        for (std::int64_t k = 0; k < others; ++k) {
          float sum = 0;
          for (std::int64_t r = 0; r < n; ++r) sum += x[static_cast<std::size_t>(rows ? k * n + r : r * others + k)];
          REQUIRE(found[static_cast<std::size_t>(k)] == sum);
        }
      }
}

TEST_CASE("NaN and infinities are found wherever in a row or column they stand") {
  for (const std::int64_t n : {1, 7, 15, 16, 17, 33, 64, 65, 100, 131})
    for (const bool rows : {true, false}) {
      const Shape shape = rows ? Shape{n, n} : Shape{n, 5};
      const std::int64_t outputs = rows ? n : 5;
      for (const float extreme : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY}) {
        std::vector<float> x(static_cast<std::size_t>(elements(shape)), -1.f);
        for (std::int64_t k = 0; k < outputs; ++k) {  // one of each output, at another place
          const std::int64_t at = k % n;
          x[static_cast<std::size_t>(rows ? k * n + at : at * 5 + k)] = extreme;
        }
        const auto found_sums = folded<FloatSum>(x, shape, rows ? 1 : 0),
                   largest = folded<Largest>(x, shape, rows ? 1 : 0);
        for (std::int64_t k = 0; k < outputs; ++k) {
          const float sum = found_sums[static_cast<std::size_t>(k)], most = largest[static_cast<std::size_t>(k)];
          REQUIRE((std::isnan(extreme) ? std::isnan(sum) : sum == extreme));
          REQUIRE((std::isnan(extreme) ? std::isnan(most) : most == (extreme > 0 || n == 1 ? extreme : -1.f)));
        }
      }
    }
}

TEST_CASE("a long sum in float keeps its digits, though every addition rounds the same way") {
  for (const float value : {0.1f, 0.3f, 0.7f}) {
    for (const std::int64_t n : {100000, 1 << 22, 10000000}) {
      const std::vector<float> x(static_cast<std::size_t>(n), value);
      const double exact = static_cast<double>(value) * static_cast<double>(n);
      CHECK(std::abs(sums(x, {1, n}, 1)[0] - exact) / exact < 9e-7);  // one by one: 4e-2
      const double of_column = exact / 8;
      CHECK(std::abs(sums(x, {n / 8, 8}, 0)[0] - of_column) / of_column < 9e-7);
    }
  }
}

TEST_CASE("reduce over no elements gives the identity; no outputs are no launch") {
  std::vector<double> out(3, 9);
  const bool inner[max_rank] = {false, true}, outer[max_rank] = {true, false};
  const std::vector<float> a(1);
  const auto run = [&](const Shape& shape, const bool(&reduced)[max_rank]) {
    const auto plan = locus_test::reduce_plan<3>(shape, {Strides{1, 1}, Strides{1, 1}, Strides{1, 1}}, {1, 1}, reduced);
    Backend<Cpu>::reduce({}, plan, Product{}, SumOf{},
                         Pack<const float*, const std::int32_t*, LinearIndex>(a.data(), nullptr, {}),
                         static_cast<const double*>(nullptr), out.data());
  };
  run({3, 0}, inner);
  CHECK(out == std::vector<double>(3, 0));
  LaunchLog log;
  run({3, 0}, outer);
  CHECK(log.launches() == 0);
}

TEST_CASE("folding the columns of a tall matrix takes little memory beside it, and keeps its digits") {
  const std::int64_t rows = 65536, cols = 512;
  const std::vector<float> x(static_cast<std::size_t>(rows * cols), 0.1f);
  std::vector<float> sums(static_cast<std::size_t>(cols));
  bool reduced[max_rank] = {true};
  const auto plan = locus_test::reduce_plan<1>({rows, cols}, {Strides{cols, 1}}, Strides{0, 1}, reduced);
  const auto before = cpu::MemoryPool::instance().stats();
  Backend<Cpu>::reduce({}, plan, Same{}, FloatSum{}, Pack<const float*>(x.data()), static_cast<const float*>(nullptr),
                       sums.data());
  const auto after = cpu::MemoryPool::instance().stats();
  CHECK(after.allocated_bytes == before.allocated_bytes);
  CHECK(after.peak_bytes - before.allocated_bytes <= rows * cols * 4 / 100);
  for (const float sum : sums) CHECK(sum == doctest::Approx(0.1 * 65536).epsilon(1e-6));
}
