// Runs on: host; loops, alone.
#include <locus/cpu/backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <support/plans.hpp>
#include <utility>

using namespace locus;
using namespace locus_test;

namespace {

/// Two results of three inputs of different types; sums of halves arrive in registers of floats.
struct Mixed {
  template <class R>
  void operator()(float a, std::int32_t b, std::int64_t index, R& sum, std::uint8_t& low) const {
    sum = static_cast<R>(a) + static_cast<R>(2 * b) + static_cast<R>(index);
    low = static_cast<std::uint8_t>(b ^ static_cast<std::int32_t>(index & 127));
  }
};

struct MixedRepeated : Mixed {
  static constexpr unsigned repeated = 0b10;
};

struct Scale {
  float factor;
  void operator()(float x, float& y) const { y = factor * x; }
};

struct SumAndDifference {
  void operator()(float x, double y, float z, float& sum, double& difference) const {
    sum = x + static_cast<float>(y) + z;
    difference = static_cast<double>(x) - y;
  }
};
struct PlusIndex {
  template <class Index> void operator()(float x, Index index, float& y) const { y = x + static_cast<float>(index); }
};

struct MixedHalf {
  void operator()(float a, std::int32_t b, std::int64_t index, std::uint8_t& low, float& sum) const {
    sum = a + static_cast<float>(b) + static_cast<float>(index % 3);
    low = static_cast<std::uint8_t>(index % 200);
  }
};

struct WidenHalf {
  void operator()(float x, float& y) const { y = x + 1.0f; }
};

template <class T>
std::vector<T> counted(std::int64_t n, T first) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Results that are wrong, of `matrices` matrices of which two inputs lie dense by columns, the second with a gap
/// between these, the third as its strides say (null: zeros); rows of the outputs are `gap` elements apart.
int mistakes_of_transposed(std::int64_t matrices, std::int64_t rows, std::int64_t cols, const Strides& of_third,
                           bool has_third, std::int64_t gap) {
  const std::int64_t height = rows + 3, row = cols + gap, all = matrices * rows * row;
  const auto x = counted(matrices * rows * cols, 1.0f), z = counted(matrices * rows * cols + 1, -500.0f);
  const auto y = counted(matrices * height * cols, 0.25);
  std::vector<float> sums(static_cast<std::size_t>(all), -1.0f), expected_sums = sums;
  std::vector<double> differences(static_cast<std::size_t>(all), -1.0), expected_differences = differences;
  const Strides out{rows * row, row, 1};
  const auto plan = make_plan<5>(
      {matrices, rows, cols}, {Strides{rows * cols, 1, rows}, Strides{height * cols, 1, height}, of_third, out, out});
  Backend<Cpu>::map({}, plan, SumAndDifference{},
                    Pack<const float*, const double*, const float*>(x.data(), y.data(), has_third ? z.data() : nullptr),
                    Pack<float*, double*>(sums.data(), has_third ? differences.data() : nullptr));
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const auto at = [&](const auto& values, std::int64_t a, std::int64_t b, std::int64_t c) {
          return values[static_cast<std::size_t>(m * a + i * b + j * c)];
        };
        const auto to = static_cast<std::size_t>(m * out[0] + i * row + j);
        SumAndDifference{}(at(x, rows * cols, 1, rows), at(y, height * cols, 1, height),
                           has_third ? at(z, of_third[0], of_third[1], of_third[2]) : 0.0f, expected_sums[to],
                           expected_differences[to]);
        if (!has_third) expected_differences[to] = -1;
      }
  int mistakes = 0;
  for (std::size_t i = 0; i < sums.size(); ++i)
    mistakes += sums[i] != expected_sums[i] || differences[i] != expected_differences[i];
  return mistakes;
}

/// Outputs, of element types Sum and std::uint8_t, that differ from the definition of map, for one random plan.
template <class A, class Sum, class F = Mixed>
int mistakes_of_mixed(RandomLayouts& random, std::int64_t elements_wanted) {
  const Shape shape = random.shape(elements_wanted);
  const auto a = random.layout(shape, true), b = random.layout(shape, true),
             dense = locus_test::Layout{row_major(shape)};
  const auto sum = random.layout(shape, false), low = random.layout(shape, false);
  std::vector<A> a_values;
  for (std::int64_t i = 0; i < a.span; ++i) a_values.emplace_back(static_cast<float>(i % 999) + 0.5f);
  const auto b_values = counted<std::int32_t>(b.span, -7);
  std::vector<Sum> sums(static_cast<std::size_t>(sum.span), Sum(-1.0f)), expected_sums = sums;
  std::vector<std::uint8_t> lows(static_cast<std::size_t>(low.span), 9), expected_lows = lows;
  const bool null_a = random.below(6) == 0, null_sum = random.below(6) == 0;

  for (std::int64_t i = 0; i < elements(shape); ++i) {
    compute_t<Sum> s;
    std::uint8_t l;
    Mixed{}(null_a ? 0 : static_cast<float>(a_values[static_cast<std::size_t>(offset_of(shape, a.strides, i))]),
            b_values[static_cast<std::size_t>(offset_of(shape, b.strides, i))], i, s, l);
    if (!null_sum) expected_sums[static_cast<std::size_t>(offset_of(shape, sum.strides, i))] = Sum(s);
    expected_lows[static_cast<std::size_t>(offset_of(shape, low.strides, i))] = l;
  }
  const auto plan = make_plan<5>(shape, {a.strides, b.strides, dense.strides, sum.strides, low.strides});
  Backend<Cpu>::map({}, plan, F{},
                    Pack<const A*, const std::int32_t*, LinearIndex>(null_a ? nullptr : a_values.data(),
                                                                     b_values.data(), LinearIndex{}),
                    Pack<Sum*, std::uint8_t*>(null_sum ? nullptr : sums.data(), lows.data()));
  const auto same = [](Sum found, Sum expected) { return convert<double>(found) == convert<double>(expected); };
  return !std::equal(sums.begin(), sums.end(), expected_sums.begin(), same) + (lows != expected_lows);
}

/// Elements in which a copy between two layouts differs from its definition.
template <class T>
std::int64_t mistakes_of_copy(const Shape& shape, const Strides& from, const Strides& to) {
  const auto span = [&](const Strides& strides) {
    return static_cast<std::size_t>(offset_of(shape, strides, elements(shape) - 1) + 1);
  };
  std::vector<T> x(span(from)), y(span(to) + 1, T(200));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i * 7 % 199));
  auto expected = y;
  for (std::int64_t i = 0; i < elements(shape); ++i)
    expected[static_cast<std::size_t>(offset_of(shape, to, i))] =
        x[static_cast<std::size_t>(offset_of(shape, from, i))];
  Backend<Cpu>::map({}, make_plan<2>(shape, {from, to}), locus::detail::ConvertElement<T, T>{},
                    Pack<const T*>(x.data()), Pack<T*>(y.data()));
  std::int64_t mistakes = 0;
  for (std::size_t i = 0; i < y.size(); ++i) mistakes += static_cast<float>(y[i]) != static_cast<float>(expected[i]);
  return mistakes;
}

}  // namespace

TEST_CASE("map gives what its definition says, for random shapes, layouts, types and null operands") {
  RandomLayouts random(20);
  const auto mistakes = [&](auto mistakes_of_one) {
    int count = 0;
    for (int round = 0; round < 3000; ++round) count += mistakes_of_one(random, 1 + random.below(600));
    for (int round = 0; round < 60; ++round) count += mistakes_of_one(random, 40000);
    return count;
  };
  CHECK(mistakes(mistakes_of_mixed<float, double>) == 0);
  CHECK(mistakes(mistakes_of_mixed<half, half>) == 0);
  CHECK(mistakes(mistakes_of_mixed<float, half>) == 0);
  CHECK(mistakes(mistakes_of_mixed<float, double, MixedRepeated>) == 0);
  CHECK(mistakes(mistakes_of_mixed<bfloat16, float, MixedRepeated>) == 0);
  CHECK(mistakes(mistakes_of_mixed<half, float, MixedRepeated>) == 0);
}

TEST_CASE("map writes in place, and its result does not depend on the number of threads") {
  const std::int64_t n = 100003;
  const Shape shape{n};
  const auto plan = make_plan<2>(shape, {Strides{1}, Strides{1}});
  const int threads = cpu::max_threads();
  for (const int count : {1, 2, 5}) {
    cpu::set_max_threads(count);
    auto values = counted(n, 1.0f);
    LaunchLog log;
    Backend<Cpu>::map({}, plan, Scale{2}, Pack<const float*>(values.data()), Pack<float*>(values.data()));
    CHECK(log.launches() == 1);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      wrong += values[static_cast<std::size_t>(i)] != 2.0f * static_cast<float>(i + 1);
    CHECK(wrong == 0);
  }
  cpu::set_max_threads(threads);
}

TEST_CASE("outputs that are written around the cache are the same, wherever they begin and end") {
  std::int64_t& bytes = cpu::bytes_worth_streaming();
  const std::int64_t usual = std::exchange(bytes, 0);
  RandomLayouts random(7);
  for (const std::int64_t wanted : {1, 30, 600, 5000}) {
    for (int i = 0; i < 20; ++i) {
      CHECK(mistakes_of_mixed<float, double>(random, wanted) == 0);
      CHECK(mistakes_of_mixed<half, half>(random, wanted) == 0);
    }
  }
  const auto x = counted(3000, 0.25f);
  for (const std::int64_t first : {0, 1, 3, 15})
    for (const std::int64_t n : {1, 2, 5, 16, 511, 513, 1100}) {
      std::vector<float> y(3000, -1.0f);
      const Shape shape{n};
      Backend<Cpu>::map({}, make_plan<2>(shape, {row_major(shape), row_major(shape)}), Scale{2},
                        Pack<const float*>(x.data()), Pack<float*>(y.data() + first));
      std::vector<float> expected(3000, -1.0f);
      for (std::int64_t k = 0; k < n; ++k)
        expected[static_cast<std::size_t>(first + k)] = 2 * x[static_cast<std::size_t>(k)];
      CHECK(y == expected);
    }
  bytes = usual;
}

TEST_CASE_TEMPLATE("copies that transpose put every element in its place, and touch no other", T, float, std::int64_t) {
  const int threads = cpu::max_threads();
  cpu::set_max_threads(3);
  for (const std::int64_t rows : {15, 16, 17, 40, 301})
    for (const std::int64_t cols : {2, 3, 16, 31, 32, 150})
      for (const std::int64_t gap : {0, 5}) {  // between rows of the output
        const std::int64_t row = cols + gap;
        CHECK(mistakes_of_copy<T>({3, rows, cols}, {rows * cols, 1, rows}, {rows * row, row, 1}) == 0);
        CHECK(mistakes_of_copy<T>({rows, 3, cols}, {1, rows, 3 * rows}, {3 * row, row, 1}) == 0);
        CHECK(mistakes_of_copy<T>({2, rows, 3, cols}, {3 * rows, 1, rows, 6 * rows},
                                  {3 * rows * row, 3 * row, row, 1}) == 0);
      }
  cpu::set_max_threads(threads);
}

TEST_CASE_TEMPLATE("copies of rows put every element in its place, and touch no other", T, std::uint8_t, half, float,
                   double) {
  const int threads = cpu::max_threads();
  std::int64_t& bytes = cpu::bytes_worth_streaming();
  const std::int64_t usual = bytes;
  for (const int count : {1, 3})
    for (const std::int64_t streamed : {usual, std::int64_t{0}})
      for (const std::int64_t cols : {1, 2, 7, 100, 700})
        for (const std::int64_t step : {0, 1, 2, 3})
          for (const std::int64_t gap : {0, 5}) {
            cpu::set_max_threads(count);
            bytes = streamed;
            const std::int64_t row = cols + gap, from = cols * step + 1;
            CHECK(mistakes_of_copy<T>({90, 4, cols}, {from, 90 * from, step}, {4 * row, row, 1}) == 0);
          }
  cpu::set_max_threads(threads);
  bytes = usual;
}

TEST_CASE("maps of transposed inputs, alone and beside others, give what map's definition says") {
  const int threads = cpu::max_threads();
  std::int64_t& bytes = cpu::bytes_worth_streaming();
  const std::int64_t usual = bytes;
  cpu::set_max_threads(3);
  for (const std::int64_t streamed : {usual, std::int64_t{0}}) {
    bytes = streamed;
    for (const std::int64_t rows : {15, 16, 17, 40})
      for (const std::int64_t cols : {1, 2, 16, 31, 255, 256, 257, 600})
        for (const std::int64_t gap : {0, 5}) {
          CHECK(mistakes_of_transposed(3, rows, cols, {rows * cols, cols, 1}, true, gap) == 0);
          CHECK(mistakes_of_transposed(2, rows, cols, {0, 1, 0}, true, gap) == 0);
          CHECK(mistakes_of_transposed(1, rows, cols, {0, 0, 1}, true, gap) == 0);
          CHECK(mistakes_of_transposed(2, rows, cols, {0, 0, 0}, false, gap) == 0);
        }
    CHECK(mistakes_of_transposed(1, 500, 700, {0, 700, 1}, true, 0) == 0);
    for (const std::int64_t cols : {1, 2, 3, 7, 17}) {  // more rows than one block has
      CHECK(mistakes_of_transposed(2, 4100, cols, {0, cols, 1}, true, 0) == 0);
      CHECK(mistakes_of_transposed(2, 4100, cols, {0, 0, 1}, true, 0) == 0);
      CHECK(mistakes_of_transposed(2, 4100, cols, {0, 0, 0}, false, 0) == 0);
    }
    CHECK(mistakes_of_transposed(1, 16, 5000, {0, 0, 1}, true, 0) == 0);
  }
  cpu::set_max_threads(threads);
  bytes = usual;
}

TEST_CASE("maps of transposed inputs are in place, and mix with halves") {
  constexpr std::int64_t rows = 70, cols = 600;
  const Strides dense{cols, 1}, across{1, rows};
  std::vector<half> halves;
  for (std::int64_t i = 0; i < rows * cols; ++i) halves.emplace_back(static_cast<float>(i % 512));
  const auto x = counted(rows * cols, 0.0f);
  auto in_place = counted(rows * cols, 5.0f), both_across = in_place;
  std::vector<half> sums(halves.size());
  const auto add = [](auto& to, const Strides& of_to, auto& with, const Strides& of_with, auto& out) {
    using A = std::remove_cvref_t<decltype(to[0])>;
    using B = std::remove_cvref_t<decltype(with[0])>;
    using O = std::remove_cvref_t<decltype(out[0])>;
    Backend<Cpu>::map({}, make_plan<3>({rows, cols}, {of_to, of_with, of_to}), PlusIndex{},
                      Pack<const A*, const B*>(to.data(), with.data()), Pack<O*>(out.data()));
  };
  add(in_place, dense, x, across, in_place);
  add(both_across, across, x, across, both_across);
  add(halves, dense, x, across, sums);
  int wrong = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      const auto at = static_cast<std::size_t>(cols * i + j), turned = static_cast<std::size_t>(i + rows * j);
      wrong += in_place[at] != static_cast<float>(at) + 5.0f + static_cast<float>(turned);
      wrong += both_across[turned] != 2.0f * static_cast<float>(turned) + 5.0f;
      wrong += !(convert<float>(sums[at]) ==
                 convert<float>(half(static_cast<float>(at % 512) + static_cast<float>(turned))));
    }
  CHECK(wrong == 0);
}

TEST_CASE("beside a transposed input, the index of an element is that of the whole") {
  const auto x = counted(40 * 300, 0.0f);
  std::vector<float> y(40 * 300);
  const Strides dense{300, 1};
  Backend<Cpu>::map({}, make_plan<3>({40, 300}, {Strides{1, 40}, dense, dense}), PlusIndex{},
                    Pack<const float*, LinearIndex>(x.data(), LinearIndex{}), Pack<float*>(y.data()));
  int wrong = 0;
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 300; ++j)
      wrong += y[static_cast<std::size_t>(300 * i + j)] != static_cast<float>(i + 40 * j + 300 * i + j);
  CHECK(wrong == 0);
}

TEST_CASE("maps of short rows beside vectors that are the same for all rows") {
  const int threads = cpu::max_threads();
  std::int64_t& bytes = cpu::bytes_worth_streaming();
  const std::int64_t usual = bytes;
  cpu::set_max_threads(3);
  // x(k, i, j) + v(k or any, j), and the difference, where the elements of v lie `step` apart
  const auto mistakes = [](std::int64_t blocks, std::int64_t rows, std::int64_t cols, std::int64_t step, bool shared) {
    const auto x = counted(blocks * rows * cols, 1.0f), v = counted(blocks * cols * step, 3.0f);
    std::vector<float> y(x.size());
    std::vector<double> rest(x.size());
    const Strides dense{rows * cols, cols, 1}, vector{shared ? 0 : cols * step, 0, step}, none{0, 0, 0};
    const auto plan = make_plan<5>({blocks, rows, cols}, {dense, vector, none, dense, dense});
    Backend<Cpu>::map({}, plan, SumAndDifference{},
                      Pack<const float*, const double*, const float*>(
                          x.data(), std::vector<double>(v.begin(), v.end()).data(), nullptr),
                      Pack<float*, double*>(y.data(), rest.data()));
    int wrong = 0;
    for (std::int64_t i = 0; i < blocks * rows * cols; ++i) {
      const std::int64_t block = shared ? 0 : i / (rows * cols);
      const float of_x = 1.0f + static_cast<float>(i),
                  of_v = v[static_cast<std::size_t>((block * cols + i % cols) * step)];
      wrong += y[static_cast<std::size_t>(i)] != of_x + of_v;
      wrong += rest[static_cast<std::size_t>(i)] != static_cast<double>(of_x) - static_cast<double>(of_v);
    }
    return wrong;
  };
  for (const std::int64_t streamed : {usual, std::int64_t{0}}) {
    bytes = streamed;
    for (const std::int64_t cols : {2, 3, 16, 31, 64, 255, 256, 257})
      for (const std::int64_t rows : {1, 2, 3, 40, 700})
        for (const std::int64_t step : {1, 2})
          for (const bool shared : {false, true}) CHECK(mistakes(3, rows, cols, step, shared) == 0);
  }
  cpu::set_max_threads(threads);
  bytes = usual;
  // The index goes on from row to row, and halves are widened.
  std::vector<half> halves, sums(64 * 40);
  for (int i = 0; i < 64 * 40; ++i) halves.emplace_back(static_cast<float>(i % 256));
  const auto v = counted(40, 0.0f);
  const Strides dense{40, 1}, vector{0, 1};
  Backend<Cpu>::map({}, make_plan<3>({64, 40}, {dense, vector, dense}), PlusIndex{},
                    Pack<const half*, const float*>(halves.data(), v.data()), Pack<half*>(sums.data()));
  std::vector<float> numbered(64 * 40);
  Backend<Cpu>::map({}, make_plan<3>({64, 40}, {vector, dense, dense}), PlusIndex{},
                    Pack<const float*, LinearIndex>(v.data(), LinearIndex{}), Pack<float*>(numbered.data()));
  int wrong = 0;
  for (int i = 0; i < 64 * 40; ++i) {
    const auto at = static_cast<std::size_t>(i);
    wrong += convert<float>(sums[at]) != static_cast<float>(i % 256 + i % 40);
    wrong += numbered[at] != static_cast<float>(i % 40 + i);
  }
  CHECK(wrong == 0);
}

TEST_CASE("map in place through a strided layout touches nothing between the elements") {
  auto values = counted(3000, 0.0f);
  const auto plan = make_plan<2>({1000}, {Strides{3}, Strides{3}});
  Backend<Cpu>::map({}, plan, Scale{-1}, Pack<const float*>(values.data()), Pack<float*>(values.data()));
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) wrong += values[static_cast<std::size_t>(i)] != static_cast<float>(i % 3 ? i : -i);
  CHECK(wrong == 0);
}

TEST_CASE("pieces of a plan see the index of the whole") {
  const Strides repeated{0, 0}, dense{3, 1};
  auto plan = make_plan<5>({2, 3}, {repeated, repeated, dense, dense, dense});
  plan.first_index = 1000;
  const float a = 0;
  const std::int32_t b = 0;
  double sums[6];
  Backend<Cpu>::map({}, plan, Mixed{}, Pack<const float*, const std::int32_t*, LinearIndex>(&a, &b, LinearIndex{}),
                    Pack<double*, std::uint8_t*>(sums, nullptr));
  for (int i = 0; i < 6; ++i) CHECK(sums[i] == 1000 + i);
}

TEST_CASE("map loads and stores 16-bit elements as floats") {
  std::vector<half> halves(700, half(0.5f));
  std::vector<bfloat16> results(700);
  const auto plan = make_plan<2>({700}, {Strides{1}, Strides{1}});
  Backend<Cpu>::map({}, plan, WidenHalf{}, Pack<const half*>(halves.data()), Pack<bfloat16*>(results.data()));
  int wrong = 0;
  for (const auto result : results) wrong += static_cast<float>(result) != 1.5f;
  CHECK(wrong == 0);
}

TEST_CASE("maps convert halves as single conversions do, on every instruction set") {
  const auto bits_of = [](const auto& value) {
    std::conditional_t<sizeof value == 2, std::uint16_t, std::uint32_t> bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  };
  std::vector<half> halves(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(static_cast<void*>(&halves[i]), &bits, sizeof bits);
  }
  std::vector<float> floats;  // every half, and neighbours up to and around the midpoint where rounding changes
  for (const half value : halves) {
    const float x = static_cast<float>(value);
    const std::uint32_t bits = bits_of(x);
    for (const std::uint32_t next : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
      const std::uint32_t neighbour = bits + next;
      std::memcpy(&floats.emplace_back(), &neighbour, sizeof neighbour);
    }
  }
  for (int i = 0; i < 400; ++i) floats.push_back(std::ldexp(1.2345f, i / 2 - 140) * (i % 2 ? 1.0f : -1.0f));
  const auto same = [&](const auto& a, const auto& b) {  // any NaN is as good as another
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    return (x != x && y != y) || bits_of(a) == bits_of(b);
  };
  const cpu::Isa usual = cpu::isa();
  for (const cpu::Isa isa : cpu::every_isa) {
    if (!cpu::has_isa(isa)) continue;
    cpu::set_isa(isa);
    std::vector<float> widened(halves.size());
    Backend<Cpu>::map({}, make_plan<2>({65536}, {Strides{1}, Strides{1}}), locus::detail::ConvertElement<half, float>{},
                      Pack<const half*>(halves.data()), Pack<float*>(widened.data()));
    int wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) wrong += !same(widened[i], static_cast<float>(halves[i]));
    const auto n = static_cast<std::int64_t>(floats.size());
    std::vector<half> narrowed(floats.size());
    Backend<Cpu>::map({}, make_plan<2>({n}, {Strides{1}, Strides{1}}), locus::detail::ConvertElement<float, half>{},
                      Pack<const float*>(floats.data()), Pack<half*>(narrowed.data()));
    for (std::size_t i = 0; i < floats.size(); ++i) wrong += !same(narrowed[i], half(floats[i]));
    CHECK(wrong == 0);
  }
  cpu::set_isa(usual);
}

TEST_CASE("maps of halves mix with other types, are in place, and touch nothing past their ends") {
  for (const std::int64_t n : {1, 7, 8, 9, 255, 256, 257, 700}) {
    std::vector<half> a(static_cast<std::size_t>(n) + 9, half(3.0f));
    std::vector<std::uint8_t> low(a.size(), 9);
    std::vector<std::int32_t> b(a.size());
    for (std::int64_t i = 0; i < n; ++i) {
      a[static_cast<std::size_t>(i)] = half(static_cast<float>(i) / 4);
      b[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 5);
    }
    const Strides dense{1};
    Backend<Cpu>::map({}, make_plan<5>({n}, {dense, dense, dense, dense, dense}), MixedHalf{},
                      Pack<const half*, const std::int32_t*, LinearIndex>(a.data(), b.data(), LinearIndex{}),
                      Pack<std::uint8_t*, half*>(low.data(), a.data()));
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const half expected(static_cast<float>(i) / 4 + static_cast<float>(i % 5) + static_cast<float>(i % 3));
      wrong += static_cast<float>(a[static_cast<std::size_t>(i)]) != static_cast<float>(expected);
      wrong += low[static_cast<std::size_t>(i)] != i % 200;
    }
    for (std::size_t i = static_cast<std::size_t>(n); i < a.size(); ++i)
      wrong += static_cast<float>(a[i]) != 3.0f || low[i] != 9;
    CHECK(wrong == 0);
  }
}

TEST_CASE("map over no elements is no launch") {
  LaunchLog log;
  const auto plan = make_plan<2>({3, 0}, {Strides{0, 1}, Strides{0, 1}});
  Backend<Cpu>::map({}, plan, Scale{1}, Pack<const float*>(nullptr), Pack<float*>(nullptr));
  CHECK(log.launches() == 0);
}

TEST_CASE("map of strided operands fits the smallest stacks that threads are given") {
  auto values = counted(64, 0.0f);
  const auto work = [](void* data) -> void* {
    auto* const x = static_cast<float*>(data);
    const auto plan = make_plan<2>({32}, {Strides{2}, Strides{2}});
    Backend<Cpu>::map({}, plan, Scale{2}, Pack<const float*>(x), Pack<float*>(x));
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, work, values.data()) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(values[62] == 124.0f);
  CHECK(values[63] == 63.0f);
}
