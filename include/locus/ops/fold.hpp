#pragma once
// Folds: the ways of combining elements, for reductions and row operations.

#include <locus/expr/functors.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

/// The interface of a fold: an Accumulator, identity(), lift(value), combine(a, b) and finish(a). If the Accumulator is
/// a struct, the fold may have of_run(run), which folds lifted elements by loops over numbers: run[k] is element k of
/// run.size(), and run.fold(op, map) folds map(element k, k). A device may use of_run in place of combine; their
/// results differ by rounding alone. A run that is_short has at most 16 elements, in registers, so that loops over it
/// are unrolled. A fold that `adds_slow_terms` needs no parallel sums to hide the latency of additions. A fold that
/// `commutes` gives the same bits for combine(a, b) and combine(b, a).
namespace fold {

/// Integers are added in 64 bits, 16-bit floats in float.
template <class T>
using sum_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, compute_t<T>>;

template <class T>
struct Sum {
  static constexpr bool commutes = true;
  using Accumulator = sum_t<T>;
  LOCUS_FN Accumulator identity() const { return 0; }
  LOCUS_FN Accumulator lift(compute_t<T> x) const { return static_cast<Accumulator>(x); }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return functor::Add{}(a, b); }
  LOCUS_FN Accumulator finish(Accumulator a) const { return a; }
};
/// Sums of terms that take longer to compute than to add: several accumulators would hide no latency.
template <class T>
struct SumOfSlow : Sum<T> {
  static constexpr bool adds_slow_terms = true;
};
template <class T>
struct Mean : Sum<T> {
  compute_t<T> count;
  explicit Mean(std::int64_t elements) : count(static_cast<compute_t<T>>(elements)) {}
  LOCUS_FN compute_t<T> finish(compute_t<T> a) const { return a / count; }
};
template <class T>
struct Product {
  using Accumulator = sum_t<T>;
  LOCUS_FN Accumulator identity() const { return 1; }
  LOCUS_FN Accumulator lift(compute_t<T> x) const { return static_cast<Accumulator>(x); }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return functor::Multiply{}(a, b); }
  LOCUS_FN Accumulator finish(Accumulator a) const { return a; }
};
template <class T>
[[nodiscard]] constexpr compute_t<T> lowest() {
  using R = compute_t<T>;
  if constexpr (std::is_integral_v<R>) return std::numeric_limits<R>::lowest();
  else return -std::numeric_limits<R>::infinity();
}
template <class T>
[[nodiscard]] constexpr compute_t<T> highest() {
  using R = compute_t<T>;
  if constexpr (std::is_integral_v<R>) return std::numeric_limits<R>::max();
  else return std::numeric_limits<R>::infinity();
}
template <class T>
struct Max {
  using Accumulator = compute_t<T>;
  compute_t<T> start = lowest<T>();
  LOCUS_FN Accumulator identity() const { return start; }
  LOCUS_FN Accumulator lift(compute_t<T> x) const { return x; }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return functor::Maximum{}(a, b); }
  LOCUS_FN Accumulator finish(Accumulator a) const { return a; }
};
template <class T>
struct Min {
  using Accumulator = compute_t<T>;
  compute_t<T> start = highest<T>();
  LOCUS_FN Accumulator identity() const { return start; }
  LOCUS_FN Accumulator lift(compute_t<T> x) const { return x; }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return functor::Minimum{}(a, b); }
  LOCUS_FN Accumulator finish(Accumulator a) const { return a; }
};
/// The largest number; NaN is skipped: one instruction.
template <class T>
struct LargestNumber : Max<T> {
  static constexpr bool commutes = true;
  using Accumulator = compute_t<T>;
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const {
#if LOCUS_ON_DEVICE
    if constexpr (std::is_same_v<Accumulator, float>) return ::fmaxf(a, b);
#endif
    return b > a ? b : a;
  }
};
/// Whether all elements, or any, are not zero: 1 or 0, since compilers do not vectorize bool.
struct All {
  using Accumulator = std::int32_t;
  LOCUS_FN Accumulator identity() const { return 1; }
  template <class R> LOCUS_FN Accumulator lift(R x) const { return x != R(0); }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return a & b; }
  LOCUS_FN bool finish(Accumulator a) const { return a != 0; }
};
struct Any {
  using Accumulator = std::int32_t;
  LOCUS_FN Accumulator identity() const { return 0; }
  template <class R> LOCUS_FN Accumulator lift(R x) const { return x != R(0); }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return a | b; }
  LOCUS_FN bool finish(Accumulator a) const { return a != 0; }
};
/// The bitwise or of all elements.
template <class Bits>
struct BitOr {
  using Accumulator = Bits;
  LOCUS_FN Accumulator identity() const { return 0; }
  LOCUS_FN Accumulator combine(Accumulator a, Accumulator b) const { return a | b; }
};
/// How many elements are not zero.
struct CountNonzero : Sum<std::int64_t> {
  template <class R> LOCUS_FN std::int64_t lift(R x) const { return x != R(0); }
};

/// A value and its position; among equal values the first wins, and NaN wins over all, as in NumPy.
template <class T>
struct Located {
  compute_t<T> value;
  std::int64_t index;
};
template <class T, bool largest>
struct ArgExtreme {
  static constexpr bool indexed = true;  ///< lift also takes the position within the folded axes
  using Accumulator = Located<T>;
  LOCUS_FN Accumulator identity() const { return {compute_t<T>(0), -1}; }
  LOCUS_FN Accumulator lift(compute_t<T> x, std::int64_t index) const { return {x, index}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    if (is_ahead(b.value, a.value)) return b;
    return is_ahead(a.value, b.value) || a.index < b.index ? a : b;
  }
  /// Finds the extreme, then its first position. If the extreme is NaN, or no element equals it because a fused formula
  /// is recomputed and rounds otherwise, elements are compared one by one.
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    using Extreme = std::conditional_t<largest, Max<T>, Min<T>>;
    const auto value = run.fold(Extreme{}, [](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.value; });
    std::int32_t k = 0;
    while (k < run.size() && (largest ? run[k].value < value : run[k].value > value)) ++k;
    if (k < run.size() && value == value) return run[k];
    Accumulator found = run[0];
    for (k = 1; k < run.size(); ++k) {
      if (is_ahead(run[k].value, found.value)) found = run[k];
    }
    return found;
  }
  LOCUS_FN std::int64_t finish(const Accumulator& a) const { return a.index; }

 private:
  /// Whether x wins over y whatever their positions.
  LOCUS_FN static bool is_ahead(compute_t<T> x, compute_t<T> y) { return y == y && !(largest ? x <= y : x >= y); }
};

/// The largest of some numbers, and the sum of e^(x - largest).
template <class R>
struct Exponentials {
  R largest, sum;
};
/// Both in one pass: a larger number rescales the sum so far (Milakov and Gimelshein, 2018).
template <class T>
struct SumExponentials {
  using R = compute_t<T>;
  using Accumulator = Exponentials<R>;
  R start = lowest<T>();
  LOCUS_FN Accumulator identity() const { return {start, R(0)}; }
  LOCUS_FN Accumulator lift(R x) const { return {x, x == start ? R(0) : x - x + R(1)}; }  // NaN for infinity
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    const R largest = functor::Maximum{}(a.largest, b.largest);
    return {largest, scaled(a, largest) + scaled(b, largest)};
  }

 private:
  LOCUS_FN static R scaled(const Accumulator& a, R largest) {
    return a.largest == largest ? a.sum : a.sum * math::exp(a.largest - largest);
  }
};

}  // namespace fold

}}  // namespace locus::LOCUS_ABI
