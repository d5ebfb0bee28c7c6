#pragma once
// Batch normalization: every channel by the mean and variance of its elements in the batch, or by running ones.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>

#include <optional>

namespace locus::inline LOCUS_ABI {

/// What batch_norm keeps of the batches that it saw, for inference; it changes them in place. Without memory: nothing.
template <class R, class D>
struct RunningStatistics {
  using value_type = R;  ///< the type in which tensors are computed: float for half and bfloat16
  using device_type = D;
  Tensor<R, D> mean, var;           ///< (channels); the variance is the sample's, with n - 1
  Tensor<std::int64_t, D> batches;  ///< (): how many were counted; needed where momentum is absent
};

/// A batch of which batch_norm sees one part, while other ranks see the rest. All of them make the same calls in the
/// same order. R is the type in which tensors are computed.
template <class R, class D>
class SharedBatch : public Counted {
 public:
  virtual ~SharedBatch() = default;
  /// In place: mean and variance (over n) of the `count` elements of each channel in this part become those of the
  /// whole batch. Returns how many elements of each channel that has. shape: all (channels)
  [[nodiscard]] virtual Tensor<R, D> combine(const Tensor<R, D>& mean, const Tensor<R, D>& var,
                                             std::int64_t count) const = 0;
  /// In place: each of two sums over this part becomes that over all parts, divided by the elements of each channel.
  /// shape: all (channels)
  virtual void average(const Tensor<R, D>& a, const Tensor<R, D>& b, const Tensor<R, D>& elements) const = 0;
};

struct BatchNormOptions {
  double eps = 1e-5;
  /// The new batch's share of running statistics; absent: they are the mean over all batches.
  std::optional<double> momentum = 0.1;
};

namespace detail {

/// The reciprocal deviation of a channel, and what becomes of the running statistics.
template <class R>
struct BatchStatistics {
  R eps, momentum;
  R count;  ///< elements of a channel; 0: they are an operand
  bool cumulative;
  LOCUS_FN void operator()(R mean, R var, R old_mean, R old_var, std::int64_t batches, R counted, R& rstd, R& new_mean,
                           R& new_var) const {
    const R n = count > R(0) ? count : counted;
    const R unbiased = n > R(1) ? n / (n - R(1)) : R(1);  // the sample's variance over the population's
    const R share = n > R(0) ? (cumulative ? R(1) / static_cast<R>(batches + 1) : momentum) : R(0);
    rstd = R(1) / math::sqrt(var + eps);
    new_mean = (R(1) - share) * old_mean + share * mean;
    new_var = (R(1) - share) * old_var + share * (var * unbiased);
  }
};
struct SquaredDistance {
  template <class R>
  LOCUS_FN R operator()(R x, R mean) const {
    return (x - mean) * (x - mean);
  }
};
/// (x - mean) * rstd * weight + bias, of which a weight or bias may be absent.
struct NormalizeChannel {
  bool scales, shifts;
  template <class R>
  LOCUS_FN R operator()(R x, R mean, R rstd, R weight, R bias) const {
    const R normalized = (x - mean) * rstd, scaled = scales ? normalized * weight : normalized;
    return shifts ? scaled + bias : scaled;
  }
};
/// What an element adds to the gradient of the weight.
struct TimesNormalizedChannel {
  template <class R>
  LOCUS_FN R operator()(R g, R x, R mean, R rstd) const {
    return times_slope<TimesNormalizedChannel>(g, (x - mean) * rstd);
  }
};
/// The gradient of x; `share` is 1 / elements of a channel, or 0 where the statistics are given.
template <class R>
struct BatchNormSlope {
  R share;
  bool scales;
  LOCUS_FN R operator()(R g, R x, R mean, R rstd, R weight, R sum, R sum_normalized) const {
    const R level = share * (sum + times_slope<BatchNormSlope>(sum_normalized, (x - mean) * rstd));
    return times_slope<BatchNormSlope>(share != R(0) ? g - level : g, scales ? weight * rstd : rstd);
  }
};

}  // namespace detail

namespace operation {

/// A weight or bias without memory is none. `training`: by the statistics of the batch, which the running ones learn.
template <class R, class D>
struct BatchNorm {
  static constexpr const char* name = "batch_norm";
  RunningStatistics<R, D> running;
  BatchNormOptions options;
  bool training;
  Shared<const SharedBatch<R, D>> whole;  ///< in training, what x is a part of; null: x is all

  /// For backward: x, the weight, and the mean and reciprocal deviation of each channel. All but x are (1, channels,
  /// 1, ...) or without memory. And of a batch that is shared, the elements of each channel, (channels).
  template <class T>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Tensor<R, D>>;

  template <class T>
  auto forward(const Tensor<T, D>& x) const {
    return forward(x, Tensor<T, D>{}, Tensor<T, D>{});
  }
  template <class T>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& given_weight, const Tensor<T, D>& given_bias) const {
    const Shape channels = require_shapes(x, given_weight, given_bias);
    const auto per_channel = [&](const auto& vector) { return vector.buffer() ? vector.reshape(channels) : vector; };
    const Tensor<T, D> weight = per_channel(given_weight), bias = per_channel(given_bias);
    const Tensor<R, D> rstd(channels, x.device()), y_mean = per_channel(running.mean);
    const Tensor<T, D> y(x.shape(), x.device());
    if (x.size(1) == 0 || (x.empty() && !whole)) return Forwarded{y, Saved<T>(x, weight, rstd, rstd, {})};
    Tensor<R, D> elements;
    const Tensor<R, D> mean = training ? measure(x, rstd, elements) : y_mean;
    if (!training) compute_statistics(rstd, {}, running.var, {}, 1, {});
    const detail::NormalizeChannel f{static_cast<bool>(weight.buffer()), static_cast<bool>(bias.buffer())};
    detail::map_into(y, f, x, mean, rstd, weight, bias);
    return Forwarded{y, Saved<T>(x, weight, mean, rstd, elements)};
  }

  template <class T>
  void backward(const Saved<T>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, none, none);
  }
  template <class T>
  void backward(const Saved<T>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dweight,
                Gradient<T, D>& dbias) const {
    const auto& [x, weight, mean, rstd, elements] = saved;
    const bool through_statistics = training && dx;
    Tensor<R, D> sum(rstd.shape(), g.device()), sum_normalized(rstd.shape(), g.device());
    if (through_statistics || dbias) fold_into<fold::Sum<T>>(sum, functor::Identity{}, {}, g);
    if (through_statistics || dweight)
      fold_into<fold::Sum<T>>(sum_normalized, detail::TimesNormalizedChannel{}, {}, g, x, mean, rstd);
    const auto give = [is_shared = static_cast<bool>(elements.buffer())](auto& gradient, const Tensor<R, D>& sums) {
      const Tensor<R, D> kept = is_shared ? sums.clone() : sums;  // of the whole batch, they become averages below
      gradient.give(kept.reshape(gradient.shape()).template as<T>());
    };
    if (dweight) give(dweight, sum_normalized);
    if (dbias) give(dbias, sum);
    if (!dx) return;
    R share = training && !x.empty() ? R(1) / static_cast<R>(x.elements() / x.size(1)) : R(0);
    if (elements.buffer()) {
      const Shape channels{g.size(1)};
      whole->average(sum.reshape(channels), sum_normalized.reshape(channels), elements);
      share = R(1);
    }
    detail::map_to(dx, detail::BatchNormSlope<R>{share, static_cast<bool>(weight.buffer())}, g, x, mean, rstd, weight,
                   sum, sum_normalized);
  }

 private:
  /// (1, channels, 1, ...). throws ShapeError, ArgumentError
  template <class T>
  Shape require_shapes(const Tensor<T, D>& x, const Tensor<T, D>& weight, const Tensor<T, D>& bias) const {
    if (x.rank() < 2)
      fail<ShapeError>(
          {name, ": input of shape ", x.shape(), "; expected two dimensions or more, (batch, channels, ...)"});
    const auto require = [&](const char* what, const auto& vector) {
      if (vector.buffer() && !(vector.shape() == Shape{x.size(1)}))
        fail<ShapeError>({name, ": ", what, " of shape ", vector.shape(), " for an input of shape ", x.shape(),
                          "; expected an element for each of ", x.size(1), " channels"});
    };
    require("weight", weight);
    require("bias", bias);
    require("running mean", running.mean);
    require("running variance", running.var);
    detail::require_same_ordinal(name, x, weight, bias, running.mean, running.var, running.batches);
    detail::require_not_negative(name, "eps", options.eps);
    if (training && running.mean.buffer()) require_learnable();
    if (training && !whole && x.size(1) > 0 && x.elements() == x.size(1))
      fail<ArgumentError>({name, ": one value per channel in training, from an input of shape ", x.shape(),
                           "; expected more, since one has no variance: use larger batches or drop_last"});
    Shape channels = Dims::filled(x.rank(), 1);
    channels[1] = x.size(1);
    return channels;
  }

  void require_learnable() const {
    running.mean.layout().require_distinct_elements(name);
    running.var.layout().require_distinct_elements(name);
    if (!options.momentum && !running.batches.buffer())
      fail<ArgumentError>({name, ": no momentum, so the running statistics are the mean over all batches, and no ",
                           "`batches` to count them in; give RunningStatistics a third tensor, "
                           "zeros<std::int64_t, D>({}), or options a momentum"});
  }

  /// op over f(inputs...) in every channel, (1, channels, 1, ...). One launch.
  template <class Op, class F, class T, class... In>
  static void fold_into(const Tensor<R, D>& out, const F&, const Op& op, const Tensor<T, D>& x,
                        const Tensor<In, D>&... others) {
    Axes axes;
    for (int d = 0; d < x.rank(); ++d)
      if (d != 1) axes.push_back(d);
    const detail::FoldedAxes folded(name, x.shape(), axes);
    [&]<int... i>(std::integer_sequence<int, i...>) {
      detail::reduce_into(out, false, x.shape(), folded, Apply<F, Symbol<i>...>{}, op, x, others...);
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(In)) + 1>{});
  }

  /// The means of the channels; writes their reciprocal deviations, and learns the running statistics. Of a batch that
  /// is shared, `elements` become how many each channel has.
  template <class T>
  Tensor<R, D> measure(const Tensor<T, D>& x, const Tensor<R, D>& rstd, Tensor<R, D>& elements) const {
    const std::int64_t count = x.elements() / x.size(1);
    const fold::Mean<T> average(count > 0 ? count : 1);
    const Tensor<R, D> mean(rstd.shape(), x.device()), var(rstd.shape(), x.device());
    fold_into(mean, functor::Identity{}, average, x);
    fold_into(var, detail::SquaredDistance{}, average, x, mean);
    if (whole) elements = whole->combine(mean.reshape({x.size(1)}), var.reshape({x.size(1)}), count);
    compute_statistics(rstd, mean, var, running, whole ? 0 : count, elements);
    running.mean.changed();
    running.var.changed();
    return mean;
  }
  /// One launch over the channels.
  void compute_statistics(const Tensor<R, D>& rstd, const Tensor<R, D>& mean, const Tensor<R, D>& var,
                          const RunningStatistics<R, D>& learning, std::int64_t count,
                          const Tensor<R, D>& elements) const {
    const Shape channels{rstd.elements()};
    const auto flat_rstd = rstd.reshape(channels), flat_var = var.reshape(channels);
    const auto flat_mean = mean.buffer() ? mean.reshape(channels) : mean;
    const detail::BatchStatistics<R> f{detail::finite_as<R>(name, "eps", options.eps),
                                       static_cast<R>(options.momentum.value_or(0)), static_cast<R>(count),
                                       !options.momentum};
    const auto plan = make_plan<9>(
        channels, {detail::operand_of(flat_mean), detail::operand_of(flat_var), detail::operand_of(learning.mean),
                   detail::operand_of(learning.var), detail::operand_of(learning.batches), detail::operand_of(elements),
                   detail::operand_of(flat_rstd), detail::operand_of(learning.mean), detail::operand_of(learning.var)});
    Backend<D>::map(rstd.device(), plan, f,
                    Pack<const R*, const R*, const R*, const R*, const std::int64_t*, const R*>(
                        flat_mean.data(), flat_var.data(), learning.mean.data(), learning.var.data(),
                        learning.batches.data(), elements.data()),
                    Pack<R*, R*, R*>(flat_rstd.data(), learning.mean.data(), learning.var.data()));
  }
};

}  // namespace operation

namespace detail {
template <class X, class S>
concept MeasuredBy = std::is_same_v<device_of<X>, device_of<S>> && std::is_same_v<compute_t<value_of<X>>, value_of<S>>;

/// Whether batch_norm goes by the batch: where nothing else is known, and in training.
template <class X, class S>
[[nodiscard]] bool measures_batch(const X& x, const S& running) {
  if (!running.mean.buffer() || !running.var.buffer()) return true;
  if constexpr (X::role == Role::traced) return !x.is_frozen();
  else return false;
}
template <class S>
using SharedBatchOf = Shared<const SharedBatch<value_of<S>, device_of<S>>>;
/// Batch normalization of a computed operand.
template <class X, class S, class... W>
[[nodiscard]] auto normalize_batch(const X& x, const S& running, const BatchNormOptions& options,
                                   const SharedBatchOf<S>& whole, const W&... weights) {
  const bool measures = measures_batch(x, running), learns = measures && !computes_again;
  operation::BatchNorm<value_of<S>, device_of<S>> op{learns == measures ? running : S{}, options, measures, {}};
  if constexpr (X::role == Role::traced)
    if (measures && !x.is_frozen()) op.whole = whole;
  auto y = apply(op, x, weights...);
  if (learns && running.batches.buffer()) running.batches += 1;
  return y;
}
}  // namespace detail

/// (x - mean) / sqrt(var + eps) * weight + bias in every channel (Ioffe and Szegedy, 2015). Where x is traced and not
/// frozen, mean and variance are those of the batch, and the running ones learn them, in place: running = (1 -
/// momentum) running + momentum * new, or, without a momentum, the mean over all batches; `batches` counts. For a plain
/// or frozen x they are the running ones. Without running statistics, always those of the batch. What a checkpoint
/// computes again learns nothing. With `whole`, the batch that counts in training is that of all ranks, of which x is a
/// part, and may be an empty one; gradients are those of the sum of all ranks' losses, of the weight and bias this
/// part's share.
/// shape: x (batch, channels, ...), weight and bias (channels) or empty handles for none -> that of x
/// gradient: with n = (x - mean) rstd: weight rstd (g - mean(g) - n mean(g n)) for x in training, weight rstd g
///        otherwise; sum(g n) for the weight and sum(g) for the bias
/// cost:  training four launches, which read x three times, and one that counts; otherwise two. Backward three at most
/// throws ShapeError; ArgumentError for one value per channel in training, as PyTorch does, an eps below 0, running
///        statistics whose elements share memory, or neither momentum nor `batches`. An empty batch changes no
///        statistics but the count
///
///     auto y = batch_norm(x, RunningStatistics<float, D>{mean, var, {}}, weight, bias, {.momentum = 0.1});
template <class X, class S>
  requires detail::FloatingOperand<X> && detail::MeasuredBy<X, S>
[[nodiscard]] auto batch_norm(const X& x, const S& running, const BatchNormOptions& options = {}) {
  return detail::normalize_batch(x.eval(), running, options, {});
}
template <class X, class S, class W, class B>
  requires detail::NormalizedWith<X, W, B> && detail::MeasuredBy<X, S>
[[nodiscard]] auto batch_norm(const X& x, const S& running, const W& weight, const B& bias,
                              const BatchNormOptions& options = {}, const detail::SharedBatchOf<S>& whole = {}) {
  return detail::normalize_batch(x.eval(), running, options, whole, weight, bias);
}

#include <locus/refuse/ops/batch_norm.inc>

}  // namespace locus::inline LOCUS_ABI
