#pragma once
// Folds of squares: norms, moments, variances and deviations, right where squares overflow or vanish, and where numbers
// lie beside an offset or an outlier.

#include <locus/core/std/atomic.hpp>
#include <locus/ops/fold.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace fold {

/// R is float or double. Powers of two that scale numbers whose squares overflow or vanish. The sum of squares tells
/// which: it is infinite, or below `least`, so that squares may be missing from it. Scaled squares are exact, except
/// for those too small to count; the sum over up to 2^32 numbers is finite.
template <class R>
struct SquareScales {
  static constexpr int exponents = std::numeric_limits<R>::max_exponent;  // 128 or 1024
  static constexpr R power(int exponent) {
    R result = 1;
    for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) result *= exponent < 0 ? R(0.5) : R(2);
    return result;
  }
  static constexpr R down = power(-exponents / 8 * 5), up = power(exponents / 8 * 6);
  static constexpr R least = power(-exponents / 16 * 11), most = std::numeric_limits<R>::max();
  static constexpr R least_root = power(-exponents / 32 * 11);
  /// Whether a sum of squares is exact without a scale.
  template <class N>
  static constexpr LOCUS_FN bool fits(N squares) {
    return squares >= N(least) && squares <= N(most);
  }
  /// The scale for numbers with this sum of squares.
  template <class N> static constexpr LOCUS_FN R for_squares(N squares) { return squares < N(least) ? up : down; }
};

/// The scales for numbers in registers of R, a number or a dual.
template <class R>
using ScalesFor = SquareScales<primal_t<R>>;

/// Notes that a fold lost terms to overflow or underflow, for a host that checks.
LOCUS_FN void note_loss([[maybe_unused]] Atomic<bool>* lost) {
#if !LOCUS_ON_DEVICE
  if (lost) [[unlikely]]
    lost->store(true, Order::relaxed);
#endif
}

/// Sums of squares: unscaled, scaled down and scaled up.
template <class R>
struct ScaledSquares {
  R plain, lowered, raised;
};
/// sqrt(sum x^2), also where squares overflow or vanish.
template <class T>
struct ScaledNorm {
  using R = compute_t<T>;
  using Scales = ScalesFor<R>;
  using Accumulator = ScaledSquares<R>;
  LOCUS_FN Accumulator identity() const { return {0, 0, 0}; }
  LOCUS_FN Accumulator lift(R x) const {
    const R lowered = x * R(Scales::down), raised = x * R(Scales::up);
    return {x * x, lowered * lowered, raised * raised};
  }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    return {a.plain + b.plain, a.lowered + b.lowered, a.raised + b.raised};
  }
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    const auto sum = [&](R Accumulator::*of) LOCUS_INLINED {
      return run.fold(Sum<R>{}, [=](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.*of; });
    };
    return {sum(&Accumulator::plain), sum(&Accumulator::lowered), sum(&Accumulator::raised)};
  }
  LOCUS_FN R finish(const Accumulator& a) const {
    if (Scales::fits(a.plain)) return math::sqrt(a.plain);
    return a.plain < R(Scales::least) ? math::sqrt(a.raised) / R(Scales::up) : math::sqrt(a.lowered) / R(Scales::down);
  }
};

/// How often the moments of a run are computed at most. In a short run no element lies 4 deviations from the mean.
template <class Run>
inline constexpr int most_passes = requires { requires Run::is_short; } ? 1 : 2;

/// high + low: a number with twice the digits of T.
template <class T>
struct DoubleWord {
  T high, low;
  friend LOCUS_FN DoubleWord operator+(const DoubleWord& a, const DoubleWord& b) {
    return {from_register<T>(load_as_register(a.high) + load_as_register(b.high)),
            from_register<T>(load_as_register(a.low) + load_as_register(b.low))};
  }
};
/// a + b, rounded, and the rounding error: TwoSum (Knuth, 1969).
template <class R>
[[nodiscard]] LOCUS_FN DoubleWord<R> exact_sum(R a, R b) {
  const R sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// A mean with twice the digits of T: distances from it lose no digits beside an offset or an outlier.
template <class T>
struct ExactMean {
  using R = compute_t<T>;
  using Accumulator = DoubleWord<R>;
  R scale = R(1);  ///< of elements: a power of two that keeps every sum from overflowing
  R count = R(0);  ///< of scaled elements
  explicit ExactMean(std::int64_t elements) {
    for (std::int64_t n = 1; n < elements; n *= 2) scale *= R(0.5);
    count = static_cast<R>(elements) * scale;
  }
  LOCUS_FN Accumulator identity() const { return {R(0), R(0)}; }
  LOCUS_FN Accumulator lift(R x) const { return {x * scale, R(0)}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    const Accumulator sum = exact_sum(a.high, b.high);
    return {sum.high, sum.low + (a.low + b.low)};
  }
  /// In double if that has more digits; else by distances from one of a few elements, or from near the mean of many.
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    if constexpr (sizeof(R) < sizeof(double) && most_passes<Run> > 1) {
      const auto wide = [](const Accumulator& x, std::int32_t) LOCUS_INLINED { return static_cast<double>(x.high); };
      const double sum = run.fold(Sum<double>{}, wide);
      const R high = static_cast<R>(sum);
      return {high, static_cast<R>(sum - static_cast<double>(high))};
    } else {
      const R n = static_cast<R>(run.size()), near = level_of(run);
      const R rest =
          run.fold(Sum<R>{}, [=](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.high - near; });
      const R product = math::fma(near, n, R(0));  // a plain product would be contracted with the next addition
      return exact_sum(product, math::fma(near, n, -product) + rest);
    }
  }
  LOCUS_FN DoubleWord<T> finish(const Accumulator& sum) const {
    const T high = from_register<T>(sum.high / count);
    const R rest = math::fma(-load_as_register(high), count, sum.high) + sum.low;
    return {high, from_register<T>(rest / count)};
  }

 private:
  /// Of few elements, the first or second, whichever is smaller in magnitude: one of them may be an outlier.
  template <class Run>
  LOCUS_FN static R level_of(const Run& run) {
    if constexpr (most_passes<Run> > 1) {
      const auto self = [](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.high; };
      return run.fold(Sum<R>{}, self) / static_cast<R>(run.size());
    } else {
      const R first = run[0].high, second = run[1].high;
      return second * second < first * first ? second : first;
    }
  }
};

/// Count, mean and sum of squared deviations of some elements. The mean is mean + rest: rounded to one number, it would
/// lose the digits that matter beside an offset common to all.
template <class R>
struct Moments {
  R count, mean, rest, squares;
};
/// The count and mean of two sets together, by Chan, Golub and LeVeque (1979).
template <class R>
struct JointMean {
  R count, mean, rest;
  R delta;   ///< the mean of b less the mean of a
  R weight;  ///< the squares of both together exceed the two sums by weight * delta * delta
  template <class M>
  LOCUS_FN JointMean(const M& a, const M& b) : count(a.count + b.count) {
    const R share = b.count / (count > R(1) ? count : R(1));  // 0 or 1 if one set is empty
    const R mean_of_a = a.count > R(0) ? a.mean : b.mean;
    delta = (b.mean - mean_of_a) + (b.rest - a.rest);
    const auto sum = exact_sum(mean_of_a, a.rest + delta * share);
    mean = sum.high;
    rest = sum.low;
    weight = share * a.count;
  }
};
/// Whether the first of `count` elements lies 4 deviations from their mean: distances from this element then lose
/// digits of the others.
template <class R>
[[nodiscard]] LOCUS_FN bool is_outlier(R distance, R count, R squares) {
  return distance * distance * count > R(16) * squares;
}
template <class T>
struct Variance {
  using R = compute_t<T>;
  using Accumulator = Moments<R>;
  R correction;                  ///< 1 for the sample variance, 0 for the population's
  Atomic<bool>* lost = nullptr;  ///< set if a sum overflows, unless it is null
  LOCUS_FN Accumulator identity() const { return {0, 0, 0, 0}; }
  LOCUS_FN Accumulator lift(R x) const { return {1, x, 0, 0}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    const JointMean<R> joint(a, b);
    return {joint.count, joint.mean, joint.rest, a.squares + b.squares + joint.weight * joint.delta * joint.delta};
  }
  /// The mean, and then the squared distances from it. Both relative to the first element, or to a point near the mean.
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    const R count = static_cast<R>(run.size());
    R first = run[0].mean, offset = 0, squares = 0;
    for (int pass = 0; pass < most_passes<Run>; ++pass) {
      const R from = first;
      offset =
          run.fold(Sum<R>{}, [=](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.mean - from; }) / count;
      const R mean = offset;
      squares = run.fold(Sum<R>{}, [=](const Accumulator& x, std::int32_t) LOCUS_INLINED {
        const R distance = (x.mean - from) - mean;
        return distance * distance;
      });
      if (pass + 1 == most_passes<Run> || !is_outlier(offset, count, squares)) break;
      first += offset;
    }
    const auto mean = exact_sum(first, offset);
    return {count, mean.high, mean.low, squares};
  }
  LOCUS_FN R finish(const Accumulator& a) const {
    if (!is_whole(a.squares)) note_loss(lost);
    return a.squares / degrees_of_freedom(a.count, correction);
  }
  /// Whether neither the sum of squares nor the variance is infinite or NaN.
  LOCUS_FN static bool is_whole(R squares) { return squares <= R(ScalesFor<R>::most); }
  LOCUS_FN static R degrees_of_freedom(R count, R correction) { return count > correction ? count - correction : R(0); }
};
/// The root of the variance. Where squares vanish, the sum is at least `noted`, unless all elements are equal: a sum of
/// 0 is exact, so that equal elements do not count as a loss.
template <class T>
struct Deviation : Variance<T> {
  using R = compute_t<T>;
  using Scales = ScalesFor<R>;
  using Number = primal_t<R>;
  using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
  using Accumulator = Moments<R>;
  static constexpr Number noted = Scales::power(-Scales::exponents / 32 * 29);
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    const JointMean<R> joint(a, b);
    const R moved = joint.weight * joint.delta, squares = a.squares + b.squares + moved * joint.delta;
    return {joint.count, joint.mean, joint.rest, squares + R(detail::kept_if(moved != R(0), noted))};
  }
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    const Accumulator moments = Variance<T>::of_run(run);
    R least = 0;
    if (most_passes<Run> == 1 || moments.squares < R(noted)) {
      const R first = run[0].mean;
      const auto distance = [=](const Accumulator& x, std::int32_t)
                                LOCUS_INLINED { return __builtin_bit_cast(Bits, static_cast<Number>(x.mean - first)); };
      least = R(detail::kept_if(run.fold(BitOr<Bits>{}, distance) != 0, noted));
    }
    return {moments.count, moments.mean, moments.rest, moments.squares + least};
  }
  LOCUS_FN R finish(const Accumulator& a) const {
    const R deviation = math::sqrt(a.squares / this->degrees_of_freedom(a.count, this->correction));
    if (!is_whole(deviation)) note_loss(this->lost);
    return deviation;
  }
  /// Whether the deviation lost no square.
  LOCUS_FN static bool is_whole(R deviation) {
    return deviation == R(0) || (deviation >= R(ScalesFor<R>::least_root) && deviation <= R(ScalesFor<R>::most));
  }
};

/// The moments of the elements divided by four, no two of which are too far apart for the type, with the sum of squares
/// unscaled, scaled down and scaled up.
template <class R>
struct ScaledMoments {
  R count, mean, rest, plain, lowered, raised;
};
/// Variance, also where squares overflow.
template <class T>
struct ScaledVariance {
  using R = compute_t<T>;
  using Scales = ScalesFor<R>;
  using Accumulator = ScaledMoments<R>;
  R correction;
  LOCUS_FN Accumulator identity() const { return {0, 0, 0, 0, 0, 0}; }
  LOCUS_FN Accumulator lift(R x) const { return {1, x * R(0.25), 0, 0, 0, 0}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    const JointMean<R> joint(a, b);
    const R lowered = joint.delta * Scales::down, raised = joint.delta * Scales::up;
    return {joint.count,
            joint.mean,
            joint.rest,
            a.plain + b.plain + joint.weight * joint.delta * joint.delta,
            a.lowered + b.lowered + joint.weight * lowered * lowered,
            a.raised + b.raised + joint.weight * raised * raised};
  }
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    Accumulator result{static_cast<R>(run.size()), run[0].mean, R(0), R(0), R(0), R(0)};
    for (int pass = 0; pass < most_passes<Run>; ++pass) {
      const R from = result.mean + result.rest, mean = mean_of(run, from);
      const auto squares = [&](R scale) LOCUS_INLINED {
        const auto square = [=](const Accumulator& x, std::int32_t) LOCUS_INLINED {
          const R distance = ((x.mean - from) - mean) * scale;
          return distance * distance;
        };
        return run.fold(Sum<R>{}, square);
      };
      const R plain = squares(R(1));
      result = {result.count, from, mean, plain, plain * Scales::down * Scales::down, plain * Scales::up * Scales::up};
      if (!Scales::fits(plain)) {
        result.lowered = squares(Scales::down);
        result.raised = squares(Scales::up);
      }
      if (pass + 1 == most_passes<Run> || !is_outlier(mean * scale_of(result), result.count, squares_of(result))) break;
    }
    const auto mean = exact_sum(result.mean, result.rest);
    result.mean = mean.high;
    result.rest = mean.low;
    return result;
  }
  LOCUS_FN R finish(const Accumulator& a) const {
    const R scale = scale_of(a) * R(0.25);
    return squares_of(a) / Variance<T>::degrees_of_freedom(a.count, correction) / scale / scale + nothing(a);
  }
  /// The root of the variance, also if the variance is not representable.
  LOCUS_FN R deviation(const Accumulator& a) const {
    const R of_scaled = math::sqrt(squares_of(a) / Variance<T>::degrees_of_freedom(a.count, correction));
    return of_scaled / (scale_of(a) * R(0.25)) + nothing(a);
  }

 private:
  /// 0, or NaN beside an infinite element.
  LOCUS_FN static R nothing(const Accumulator& a) { return a.mean - a.mean; }
  /// The mean of the distances from `from`; their sum may overflow.
  template <class Run>
  LOCUS_FN static R mean_of(const Run& run, R from) {
    const R count = static_cast<R>(run.size());
    const auto scaled = [&](R scale) LOCUS_INLINED {
      const auto distance = [=](const Accumulator& x, std::int32_t) LOCUS_INLINED { return (x.mean - from) * scale; };
      return run.fold(Sum<R>{}, distance) / count;
    };
    const R mean = scaled(R(1));
    return mean - mean == R(0) ? mean : scaled(Scales::down) / Scales::down;
  }
  /// The exact one of the three sums of squares; scale_of gives its scale.
  LOCUS_FN static R squares_of(const Accumulator& a) {
    return Scales::fits(a.plain) ? a.plain : a.plain < Scales::least ? a.raised : a.lowered;
  }
  LOCUS_FN static R scale_of(const Accumulator& a) {
    return Scales::fits(a.plain) ? R(1) : Scales::for_squares(a.plain);
  }
};
template <class T>
struct ScaledDeviation : ScaledVariance<T> {
  LOCUS_FN compute_t<T> finish(const ScaledMoments<compute_t<T>>& a) const { return this->deviation(a); }
};

}}}  // namespace locus::LOCUS_ABI::fold
