#pragma once
// Functors for the tests of verbs. They map small integers to integers, which are exact in every type and order.

#include <locus/device/verbs.hpp>

namespace locus_test {

// AddMixed and Times declare an input as usually repeated: devices may read a repeated input once.
struct AddMixed {
  static constexpr unsigned repeated = 0b10;
  template <class A, class B, class O>
  LOCUS_HD void operator()(A a, B b, O& out) const {
    out = static_cast<O>(static_cast<O>(a) + static_cast<O>(b) * O(2));
  }
};
struct IndexPlusTwo {
  template <class A>
  LOCUS_HD void operator()(A a, std::int64_t index, std::int64_t& out, float& difference) const {
    out = index + 2;
    difference = static_cast<float>(a) - static_cast<float>(index % 16);
  }
};
struct Fill {
  float value;
  template <class O> LOCUS_HD void operator()(O& out) const { out = static_cast<O>(value); }
};

template <class A>
struct Sum {
  using Accumulator = A;
  LOCUS_FN A identity() const { return A(0); }
  LOCUS_FN A combine(A a, A b) const { return a + b; }
  LOCUS_FN A finish(A a) const { return a; }
};
struct HalfOfSum : Sum<double> {
  LOCUS_FN double finish(double a) const { return a / 2; }
};
struct Located {
  float value;
  std::int64_t index;
};
struct ArgMax {
  using Accumulator = Located;
  LOCUS_FN Located identity() const { return {-1e30f, -1}; }
  LOCUS_FN Located combine(const Located& a, const Located& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
  }
  LOCUS_FN std::int64_t finish(const Located& a) const { return a.index; }
};
struct Moments {
  float count, mean, squares;
};
struct Spread {
  using Accumulator = Moments;
  LOCUS_FN Moments identity() const { return {0, 0, 0}; }
  LOCUS_FN Moments combine(const Moments& a, const Moments& b) const {
    const float n = a.count + b.count;
    if (n == 0) return a;
    const float shift = b.mean - a.mean, part = b.count / n;
    return {n, a.mean + shift * part, a.squares + b.squares + shift * shift * a.count * part};
  }
  LOCUS_FN float finish(const Moments& a) const { return a.squares; }
};
struct And {
  using Accumulator = bool;
  LOCUS_FN bool identity() const { return true; }
  LOCUS_FN bool combine(bool a, bool b) const { return a && b; }
  LOCUS_FN bool finish(bool a) const { return a; }
};
struct Or {
  using Accumulator = bool;
  LOCUS_FN bool identity() const { return false; }
  LOCUS_FN bool combine(bool a, bool b) const { return a || b; }
  LOCUS_FN bool finish(bool a) const { return a; }
};

struct Times {
  static constexpr unsigned repeated = 0b10;
  template <class A, class B>
  LOCUS_FN double operator()(A a, B b) const {
    return static_cast<double>(a) * static_cast<double>(b);
  }
};
struct Locate {
  LOCUS_FN Located operator()(float value, std::int64_t index) const { return {value, index}; }
};
struct OneMoment {
  LOCUS_FN Moments operator()(float value) const { return {1, value, 0}; }
};
struct AsDouble {
  LOCUS_FN double operator()(float value) const { return static_cast<double>(value); }
};
struct IsSmall {
  LOCUS_FN bool operator()(float value) const { return value < 2.5f; }
};

struct Same {
  template <class X> LOCUS_FN X operator()(X value, std::int64_t) const { return value; }
};

/// Uses every operation of a team: two fragments, reductions of several kinds, updates, stores with and without
/// accumulation. The occupancy of a functor type is queried once, so each GPU model has its own type.
template <class T, int gpu = 0>
struct Rows {
  [[maybe_unused]] static constexpr int fragments = 2;
  const T* x;
  const float* weight;  // shared by the rows; may be null
  T* out;
  double* sums;  // two for each row
  std::int64_t* best;
  std::int64_t row_stride, col_stride, out_row_stride, out_stride;

  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = locus::compute_t<T>;
    auto values = team.load(locus::RowInput<T>{x + row * row_stride, col_stride});
    const auto weights = team.load(locus::RowInput<float>{weight, 1});
    const auto found = team.reduce(
        ArgMax{},
        [](R v, std::int64_t c) {
          return Located{static_cast<float>(v), c};
        },
        values);
    team.update([found](R v, float w, std::int64_t c) { return v * w + static_cast<R>((c + found.index) % 3); }, values,
                weights);
    const double sum = team.reduce(
        Sum<double>{}, [](R v, float w, std::int64_t) { return static_cast<double>(v + w); }, values, weights);
    const locus::RowOutput<T> target{out + row * out_row_stride, out_stride, false};
    const double later = team.update_and_reduce(
        Sum<double>{}, [](R v, std::int64_t c) { return v + static_cast<R>(c % 2); }, values, target);
    team.store(target, Same{}, values);
    team.store(
        locus::RowOutput<T>{target.data, out_stride, true}, [](float w, std::int64_t) { return static_cast<R>(w); },
        weights);
    team.write(sums + 2 * row, sum);
    team.write(sums + 2 * row + 1, later);
    team.write(best + row, static_cast<std::int64_t>(found.index + team.cols()));
  }
};

/// A row functor that also sums over the rows.
template <class T>
struct SummedRows {
  [[maybe_unused]] static constexpr int fragments = 2;
  [[maybe_unused]] static constexpr std::int64_t bytes_per_element = 3 * sizeof(T);
  const T *x, *y;
  T* out;
  std::int64_t cols;

  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = locus::compute_t<T>;
    const auto a = team.load(locus::RowInput<T>{x + row * cols}), b = team.load(locus::RowInput<T>{y + row * cols});
    const locus::RowTotals<R> totals = team.add(
        [](R v, R w, std::int64_t c) {
          return locus::Addends<R>{{v, v * w}, {w, v + static_cast<R>(c % 2)}};
        },
        a, b);
    team.store(
        locus::RowOutput<T>{out + row * cols},
        [totals](R v, std::int64_t) { return v + totals.first - R(2) * totals.second; }, a);
  }
};

/// Doubles rows in place, and marks those that are named before they are loaded.
struct DoubledRows {
  [[maybe_unused]] static constexpr int fragments = 1;
  [[maybe_unused]] static constexpr std::int64_t bytes_per_element = 2 * sizeof(float);
  float* x;
  std::uint8_t* named;
  std::int64_t cols;

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    named[row] = 1;
    visit(locus::RowInput<float>{x + row * cols});
  }
  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const auto values = team.load(locus::RowInput<float>{x + row * cols});
    team.store(
        locus::RowOutput<float>{x + row * cols}, [](float v, std::int64_t) { return 2 * v; }, values);
  }
};

struct Keep {
  [[maybe_unused]] static constexpr bool is_identity = true;
  template <class X> LOCUS_FN X operator()(X x) const { return x; }
};
struct Rectify {
  [[maybe_unused]] static constexpr bool is_relu = true;
  template <class X> LOCUS_FN X operator()(X x) const { return x > X(0) ? x : X(0); }
};
struct TwicePlusOne {
  template <class X> LOCUS_FN X operator()(X x) const { return static_cast<X>(x + x + X(1)); }
};
/// One of two activations, chosen at run time.
struct Chosen {
  bool rectifies;
  template <class X> LOCUS_FN X operator()(X x) const { return rectifies ? Rectify{}(x) : x; }
  template <class Use>
  void visit(const Use& use) const {
    rectifies ? use(Rectify{}) : use(Keep{});
  }
};
/// An activation whose derivative is its output.
struct LikeExponential {
  template <class X> LOCUS_FN X operator()(X x) const { return x; }
  template <class X> LOCUS_FN X by_output(X y) const { return y; }
};
/// An epilogue of a type that the library does not know.
template <class T>
struct Checkered {
  bool adds;
  [[nodiscard]] bool accumulates() const { return adds; }
  LOCUS_FN locus::compute_t<T> operator()(locus::compute_t<T> product, locus::compute_t<T> previous, std::int64_t row,
                                          std::int64_t col) const {
    return static_cast<locus::compute_t<T>>(product + previous + static_cast<locus::compute_t<T>>((row * 3 + col) % 4));
  }
};

}  // namespace locus_test
