#pragma once
// The functors of batch normalization's launches, for elements and for channels.

#include <locus/expr/functors.hpp>
#include <locus/ops/moment_folds.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The reciprocal deviation of a channel, and the updated running statistics.
template <class R>
struct BatchStatistics {
  R eps, momentum;
  R count;  ///< elements of a channel; 0: read from the operand `counted`
  bool cumulative;
  bool measured;  ///< the deviation of the batch is known; otherwise it is an operand without memory
  LOCUS_FN void operator()(R mean, R var, R deviation, R old_mean, R old_var, std::int64_t batches, R counted, R& rstd,
                           R& new_mean, R& new_var) const {
    const R n = count > R(0) ? count : counted;
    const R unbiased = n > R(1) ? n / (n - R(1)) : R(1);  // the sample's variance over the population's
    const R share = n > R(0) ? (cumulative ? R(1) / static_cast<R>(batches + 1) : momentum) : R(0);
    rstd = reciprocal(var + eps, deviation);
    new_mean = (R(1) - share) * old_mean + share * mean;
    new_var = (R(1) - share) * old_var + share * (var * unbiased);
  }

 private:
  /// 1 / sqrt(deviation^2 + eps), also if the square is not representable.
  LOCUS_FN R reciprocal(R variance, R deviation) const {
    using Scales = fold::ScalesFor<R>;
    if (!measured || Scales::fits(variance)) return R(1) / math::sqrt(variance);
    const R scale = Scales::for_squares(variance), scaled = deviation * scale;
    return scale / math::sqrt(scaled * scaled + eps * scale * scale);
  }
};
/// Mean, variance and deviation of `count` elements, from their sum and the sum of their squares. Of 16-bit elements:
/// squares in float have more digits than they, so that the difference loses none that the elements have, unless a mean
/// is hundreds of deviations.
template <class R>
struct MomentsOfSums {
  R count;
  LOCUS_FN void operator()(R sum, R squares, R& mean, R& var, R& deviation) const {
    mean = sum / count;
    const R difference = squares / count - mean * mean;
    var = difference > R(0) ? difference : difference == difference ? R(0) : difference;
    deviation = math::sqrt(var);
  }
};
/// The mean of a channel, and its BatchStatistics, from sums.
template <class R>
struct StatisticsOfSums {
  BatchStatistics<R> statistics;
  LOCUS_FN void operator()(R sum, R squares, R old_mean, R old_var, std::int64_t batches, R& mean, R& rstd, R& new_mean,
                           R& new_var) const {
    R var, deviation;
    MomentsOfSums<R>{statistics.count}(sum, squares, mean, var, deviation);
    statistics(mean, var, deviation, old_mean, old_var, batches, R(0), rstd, new_mean, new_var);
  }
};
/// Two results of one fold.
template <class R>
struct Twofold {
  R first, second;
  friend LOCUS_FN Twofold operator+(const Twofold& a, const Twofold& b) {
    return {a.first + b.first, a.second + b.second};
  }
};
/// Moments of the elements of a channel, as a population; 0 for no elements.
template <class R>
struct ChannelMoments {
  R mean, variance, deviation;
  friend LOCUS_FN ChannelMoments operator+(const ChannelMoments& a, const ChannelMoments& b) {
    return {a.mean + b.mean, a.variance + b.variance, a.deviation + b.deviation};
  }
};
/// ChannelMoments from plain sums of squares; notes a loss where variance + eps overflows or vanishes.
template <class T>
struct FastMoments : fold::Deviation<T> {
  using R = compute_t<T>;
  R eps;
  explicit FastMoments(R added) : fold::Deviation<T>{{R(0)}}, eps(added) {}
  LOCUS_FN ChannelMoments<R> finish(const fold::Moments<R>& a) const {
    const R variance = a.squares / (a.count > R(1) ? a.count : R(1));
    if (!is_whole(variance)) fold::note_loss(this->lost);
    return {a.mean, variance, math::sqrt(variance)};
  }
  /// Whether the variance lost no square, or eps hides the loss. Equal elements have a variance of exactly 0.
  LOCUS_FN bool is_whole(R variance) const { return variance == R(0) || fold::ScalesFor<R>::fits(variance + eps); }
};
/// ChannelMoments from scaled sums of squares; mean and deviation do not overflow.
template <class T>
struct SafeMoments : fold::ScaledVariance<T> {
  using R = compute_t<T>;
  using Base = fold::ScaledVariance<T>;
  SafeMoments() : Base{R(0)} {}
  LOCUS_FN ChannelMoments<R> finish(const fold::ScaledMoments<R>& a) const {
    if (a.count == R(0)) return {R(0), R(0), R(0)};
    return {a.mean * R(4), Base::finish(a), this->deviation(a)};
  }
};
/// The FastMoments of a channel, or the safe ones if they lost terms.
template <class T>
struct UnlessChannelLost {
  using R = compute_t<T>;
  FastMoments<T> moments;
  LOCUS_FN R operator()(R variance, R fast, R safe) const { return moments.is_whole(variance) ? fast : safe; }
};
template <class R>
struct TwoSums {
  using Accumulator = Twofold<R>;
  LOCUS_FN Accumulator identity() const { return {R(0), R(0)}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const { return a + b; }
  template <class Run>
  LOCUS_FN Accumulator of_run(const Run& run) const {
    const auto sum = [&](R Accumulator::*of) LOCUS_INLINED {
      return run.fold(fold::Sum<R>{}, [=](const Accumulator& x, std::int32_t) LOCUS_INLINED { return x.*of; });
    };
    return {sum(&Accumulator::first), sum(&Accumulator::second)};
  }
  LOCUS_FN Accumulator finish(const Accumulator& a) const { return a; }
};

/// An element's contribution to the moments of its channel.
template <class Op>
struct ElementMoments {
  Op op{};
  template <class R> LOCUS_FN auto operator()(R x) const { return op.lift(x); }
};

/// (x - mean) * rstd * weight + bias, and then relu if wanted. An absent weight or bias reads as 0. Without branches,
/// which keep loops from vectorizing where channels lie side by side.
template <class R>
struct NormalizeChannel {
  R unit;   ///< added to the weight: 1 if it is absent
  R floor;  ///< lower bound of results: 0 for relu; NaN: none
  NormalizeChannel(bool has_weight, bool rectifies)
      : unit(has_weight ? R(0) : R(1)), floor(rectifies ? R(0) : std::numeric_limits<R>::quiet_NaN()) {}

  LOCUS_FN R normalized(R x, R mean, R rstd, R weight, R bias) const {
    return (x - mean) * rstd * (weight + unit) + bias;
  }
  LOCUS_FN R rectified(R y) const { return y < floor ? floor : y; }
  /// The adjoint of y, given g, the adjoint of rectified(y).
  LOCUS_FN R passed(R g, R y) const { return kept_if(!(y <= floor), g); }
};
template <class R>
struct NormalizeElement : NormalizeChannel<R> {
  static constexpr unsigned repeated = 0b11110;
  LOCUS_FN void operator()(R x, R mean, R rstd, R weight, R bias, R& y) const {
    y = this->rectified(this->normalized(x, mean, rstd, weight, bias));
  }
};
/// The same beside a residual connection.
template <class R>
struct NormalizeAndAdd : NormalizeChannel<R> {
  static constexpr unsigned repeated = 0b11110;
  LOCUS_FN void operator()(R x, R mean, R rstd, R weight, R bias, R residual, R& y) const {
    y = this->rectified(this->normalized(x, mean, rstd, weight, bias) + residual);
  }
};
/// The adjoint of relu's input, given the result y.
struct RectifiedSlope {
  template <class R> LOCUS_FN R operator()(R g, R y) const { return kept_if(!(y <= R(0)), g); }
};
/// An element's contribution to the gradients of the bias and the weight.
template <class R>
struct ElementSums : NormalizeChannel<R> {
  static constexpr unsigned repeated = 0b111100;
  LOCUS_FN Twofold<R> operator()(R g, R x, R mean, R rstd, R weight, R bias) const {
    const R passed = this->passed(g, this->normalized(x, mean, rstd, weight, bias));
    return {passed, times_slope<ElementSums>(passed, (x - mean) * rstd)};
  }
};
/// Adds a channel's sums to the gradients of the bias and the weight.
struct AddSums {
  template <class R>
  LOCUS_FN void operator()(R sum, R sum_normalized, R old_weight, R old_bias, R& weight, R& bias) const {
    weight = old_weight + sum_normalized;
    bias = old_bias + sum;
  }
};
/// The gradient of x; `share` is 1 / elements of a channel, or 0 where the statistics are given.
template <class R>
struct BatchNormSlope : NormalizeChannel<R> {
  static constexpr unsigned repeated = 0b11111100;
  R share;
  BatchNormSlope(const NormalizeChannel<R>& channel, R share_of_element)
      : NormalizeChannel<R>(channel), share(share_of_element) {}
  LOCUS_FN void operator()(R g, R x, R mean, R rstd, R weight, R bias, R sum, R sum_normalized, R previous,
                           R& dx) const {
    const R passed = this->passed(g, this->normalized(x, mean, rstd, weight, bias));
    const R level = share * (sum + times_slope<BatchNormSlope>(sum_normalized, (x - mean) * rstd));
    dx = times_slope<BatchNormSlope>(passed - level, (weight + this->unit) * rstd) + previous;
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
