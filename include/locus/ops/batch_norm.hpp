#pragma once
// Batch normalization: normalizes each channel by the mean and variance of the batch, or by running ones.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/fold_safely.hpp>
#include <locus/ops/normalize/batch_norm_elements.hpp>
#include <locus/ops/reduction.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI {

/// The running statistics of batch_norm, for inference; it updates them in place. Without memory: none are kept.
template <class R, class D>
struct RunningStatistics {
  using value_type = R;  ///< the type in which tensors are computed: float for half and bfloat16
  using device_type = D;
  Tensor<R, D> mean, var;           ///< (channels); the variance is the sample's, with n - 1
  Tensor<std::int64_t, D> batches;  ///< (): batches counted so far; needed if momentum is absent
};

/// A batch that is divided among ranks: batch_norm sees one part here. All ranks make the same calls in the same order.
/// R is the type in which tensors are computed.
template <class R, class D>
class SharedBatch : public Counted {
 public:
  virtual ~SharedBatch() = default;
  /// In place: turns mean and standard deviation (over n) of this part's `count` elements of each channel into the mean
  /// and deviation of the whole batch. Returns the whole batch's number of elements of each channel. shape: all
  /// (channels)
  [[nodiscard]] virtual Tensor<R, D> combine(const Tensor<R, D>& mean, const Tensor<R, D>& deviation,
                                             std::int64_t count) const = 0;
  /// In place: sums each of two partial sums over all parts, and divides by the elements of each channel.
  /// shape: all (channels)
  virtual void average(const Tensor<R, D>& a, const Tensor<R, D>& b, const Tensor<R, D>& elements) const = 0;
};

struct BatchNormOptions {
  double eps = 1e-5;
  /// The weight of the new batch in running statistics; absent: they are the mean over all batches.
  std::optional<double> momentum = 0.1;
  bool relu = false;  ///< max(0, the result), computed with it
};

namespace operation {

/// A weight or bias without memory is absent. `training`: uses the batch's statistics and updates the running ones.
template <class R, class D>
struct BatchNorm {
  static constexpr const char* name = "batch_norm";
  static constexpr bool runs_on_duals = true;
  RunningStatistics<R, D> running;
  BatchNormOptions options;
  bool training;
  Shared<const SharedBatch<R, D>> whole;  ///< in training, the batch of which x is a part; null: x is the batch
  /// The sum of each channel of x and then of its squares, if x was computed with them. shape: (2, channels)
  Tensor<R, D> channel_sums{};

  /// The operation on duals. Running statistics are constants, which it does not update.
  [[nodiscard]] BatchNorm<Dual<R>, D> on_duals() const {
    const auto constant = [this](const Tensor<R, D>& x) {
      return training || !x.buffer() ? Tensor<Dual<R>, D>() : x.template as<Dual<R>>().eval();
    };
    return {{constant(running.mean), constant(running.var), {}}, options, training, {}};
  }
  [[nodiscard]] const char* refuses_duals() const {
    return whole ? "the operation batch_norm of a batch that is divided among ranks" : nullptr;
  }

  /// For backward: x, the weight, the bias, and the mean and reciprocal deviation of each channel. For a shared batch,
  /// the elements of each channel, (channels). If a residual was added before relu, y.
  template <class T>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Tensor<R, D>, Tensor<T, D>>;

  template <class T> auto forward(const Tensor<T, D>& x) const { return forward(x, Tensor<T, D>{}, Tensor<T, D>{}); }
  template <class T>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& given_weight, const Tensor<T, D>& given_bias) const {
    return forward(x, given_weight, given_bias, Tensor<T, D>{});
  }
  template <class T>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& given_weight, const Tensor<T, D>& given_bias,
               const Tensor<T, D>& residual) const {
    const Shape channels = require_shapes(x, given_weight, given_bias, residual);
    const auto per_channel = [&](const auto& vector) { return vector.buffer() ? vector.reshape(channels) : vector; };
    const Tensor<T, D> weight = per_channel(given_weight), bias = per_channel(given_bias);
    const Tensor<R, D> rstd(channels, x.device());
    const Tensor<T, D> y(x.shape(), x.layout().format(), x.device());
    if (x.size(1) == 0 || (x.empty() && !whole))
      return Forwarded{y, Saved<T>(x, weight, bias, rstd, rstd, {}, saved_output(y, residual))};
    Tensor<R, D> mean = per_channel(running.mean), elements;
    if (training) mean = measure(x, rstd, elements);
    else compute_statistics(rstd, {}, running.var, {}, {}, 1, {});
    const detail::NormalizeChannel<R> channel = channel_of(weight, options.relu);
    if (residual.buffer()) map(detail::NormalizeAndAdd<R>{channel}, y, x, mean, rstd, weight, bias, residual);
    else map(detail::NormalizeElement<R>{channel}, y, x, mean, rstd, weight, bias);
    return Forwarded{y, Saved<T>(x, weight, bias, mean, rstd, elements, saved_output(y, residual))};
  }

  template <class T>
  void backward(const Saved<T>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, none, none, none);
  }
  template <class T>
  void backward(const Saved<T>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dweight,
                Gradient<T, D>& dbias) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, dweight, dbias, none);
  }
  template <class T>
  void backward(const Saved<T>& saved, const Tensor<T, D>& given, Gradient<T, D>& dx, Gradient<T, D>& dweight,
                Gradient<T, D>& dbias, Gradient<T, D>& dresidual) const {
    const auto& [x, weight, bias, mean, rstd, elements, y] = saved;
    const bool is_written = y.buffer() && dresidual && !dresidual.has_value();  // to the residual's gradient
    const Tensor<T, D> g = is_written   ? dresidual.open_in_format().out
                           : y.buffer() ? Tensor<T, D>(y.shape(), y.layout().format(), y.device())
                                        : given;
    if (y.buffer()) detail::map_into(g, detail::RectifiedSlope{}, given, y);
    const detail::NormalizeChannel<R> channel = channel_of(weight, options.relu && !y.buffer());
    const Tensor<R, D> sums({g.size(1), 2}, g.device()), sum = sums.select(1, 0), sum_normalized = sums.select(1, 1);
    if ((training && dx) || dweight || dbias)
      fold_channels<detail::TwoSums<R>>(sums, {}, detail::ElementSums<R>{channel}, g, x, mean, rstd, weight, bias);
    give_sums(sum, sum_normalized, dweight, dbias);
    if (dx) give_input(saved, g, sum, sum_normalized, channel, dx);
    if (dresidual && !is_written) dresidual.give(g);  // last, since it may be added to from then on
  }

 private:
  /// The gradient of x. If x is also the residual, the gradient may share the memory of g.
  template <class T>
  void give_input(const Saved<T>& saved, const Tensor<T, D>& g, const Tensor<R, D>& sum,
                  const Tensor<R, D>& sum_normalized, const detail::NormalizeChannel<R>& channel,
                  Gradient<T, D>& dx) const {
    const auto& x = get<0>(saved);
    const auto &mean = get<3>(saved), &rstd = get<4>(saved), &elements = get<5>(saved);
    R share = training && !x.empty() ? R(1) / static_cast<R>(x.elements() / x.size(1)) : R(0);
    if (elements.buffer()) {
      whole->average(sum, sum_normalized, elements);
      share = R(1);
    }
    const auto target = dx.open_in_format();
    const auto learned = [&](const Tensor<R, D>& of) {
      return share != R(0) ? of.reshape(rstd.shape()) : Tensor<R, D>{};
    };
    map(detail::BatchNormSlope<R>(channel, share), target.out, g, x, mean, rstd, get<1>(saved), get<2>(saved),
        learned(sum), learned(sum_normalized), target.accumulate ? target.out : Tensor<T, D>{});
  }

  /// (1, channels, 1, ...). throws ShapeError, ArgumentError
  template <class T>
  Shape require_shapes(const Tensor<T, D>& x, const Tensor<T, D>& weight, const Tensor<T, D>& bias,
                       const Tensor<T, D>& residual) const {
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
    if (residual.buffer() && !(residual.shape() == x.shape()))
      fail<ShapeError>({name, ": residual of shape ", residual.shape(), " for an input of shape ", x.shape(),
                        "; expected the same shape"});
    detail::require_same_ordinal(name, x, weight, bias, residual, running.mean, running.var, running.batches);
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

  template <class T>
  [[nodiscard]] static detail::NormalizeChannel<R> channel_of(const Tensor<T, D>& weight, bool rectifies) {
    return {static_cast<bool>(weight.buffer()), rectifies};
  }
  /// y, if backward needs it to locate where relu passed the gradient: x does not tell beside a residual.
  template <class T>
  [[nodiscard]] Tensor<T, D> saved_output(const Tensor<T, D>& y, const Tensor<T, D>& residual) const {
    return options.relu && residual.buffer() ? y : Tensor<T, D>{};
  }

  /// out = f(inputs...). One launch.
  template <class F, class T, class... In>
  static void map(const F& f, const Tensor<T, D>& out, const Tensor<In, D>&... in) {
    const auto plan = in_memory_order(make_plan<static_cast<int>(sizeof...(In)) + 1>(
        out.shape(), {detail::operand_of(in)..., detail::operand_of(out)}));
    Backend<D>::map(out.device(), plan, f, Pack<const In*...>(in.data()...), Pack<T*>(out.data()));
  }
  /// The results of op over f(inputs...) in every channel: out is (channels, results). One launch.
  template <class Op, class F, class T, class... In>
  static void fold_channels(const Tensor<R, D>& out, const Op& op, const F& f, const Tensor<T, D>& x,
                            const Tensor<In, D>&... others) {
    Shape kept = Dims::filled(x.rank(), 1);
    kept[1] = x.size(1);
    const Strides strides = row_major(kept);
    const auto plan = make_reduce_plan<static_cast<int>(sizeof...(In)) + 1>(
        x.shape(), {detail::operand_of(x), detail::operand_of(others)..., PlanOperand{&kept, &strides}}, ~2u);
    using Results = decltype(op.finish(op.identity()));
    auto* const results = reinterpret_cast<Results*>(out.data());
    Backend<D>::reduce(out.device(), plan, f, op, Pack<const T*, const In*...>(x.data(), others.data()...),
                       static_cast<const Results*>(nullptr), results);
  }

  /// One launch; two if weight and bias are one tensor; none if no gradient is wanted.
  /// shape: sums (channels)
  template <class T>
  static void give_sums(const Tensor<R, D>& sum, const Tensor<R, D>& sum_normalized, Gradient<T, D>& dweight,
                        Gradient<T, D>& dbias) {
    typename Gradient<T, D>::Target weight, bias;
    if (dweight) weight = dweight.open();
    if (dbias) bias = dbias.open();
    if (weight.out.data() && weight.out.data() == bias.out.data()) {
      add_sums<T>(sum, sum_normalized, weight, {});
      add_sums<T>(sum, sum_normalized, {}, bias);
    } else if (dweight || dbias) {
      add_sums<T>(sum, sum_normalized, weight, bias);
    }
  }
  template <class T>
  static void add_sums(const Tensor<R, D>& sum, const Tensor<R, D>& sum_normalized,
                       const typename Gradient<T, D>::Target& weight, const typename Gradient<T, D>::Target& bias) {
    const auto plan = make_plan<6>(
        sum.shape(), {detail::operand_of(sum), detail::operand_of(sum_normalized), detail::operand_of(weight.out),
                      detail::operand_of(bias.out), detail::operand_of(weight.out), detail::operand_of(bias.out)});
    const auto previous = [](const auto& target) -> const T* {
      return target.accumulate ? target.out.data() : nullptr;
    };
    Backend<D>::map(sum.device(), plan, detail::AddSums{},
                    Pack<const R*, const R*, const T*, const T*>(sum.data(), sum_normalized.data(), previous(weight),
                                                                 previous(bias)),
                    Pack<T*, T*>(weight.out.data(), bias.out.data()));
  }

  /// The means of the channels; writes their reciprocal deviations and updates the running statistics. For a shared
  /// batch, sets `elements` to the number of elements of each channel.
  template <class T>
  Tensor<R, D> measure(const Tensor<T, D>& x, const Tensor<R, D>& rstd, Tensor<R, D>& elements) const {
    const std::int64_t count = x.elements() / x.size(1);
    if (channel_sums.buffer() && !whole) return statistics_of_sums(rstd, count);
    const Tensor<R, D> moments = channel_sums.buffer() ? moments_of_sums(count) : moments_of(x),
                       mean = moments.select(1, 0), var = moments.select(1, 1), deviation = moments.select(1, 2);
    if (whole) {
      elements = whole->combine(mean, deviation, count);
      detail::map_into(var, functor::Multiply{}, deviation, deviation);
    }
    compute_statistics(rstd, mean, var, deviation, running, whole ? 0 : count, elements);
    running.mean.changed();
    running.var.changed();
    return mean.reshape(rstd.shape());
  }
  [[nodiscard]] detail::BatchStatistics<R> statistics(std::int64_t count, bool measured) const {
    return {detail::finite_as<R>(name, "eps", options.eps), static_cast<R>(options.momentum.value_or(0)),
            static_cast<R>(count), !options.momentum, measured};
  }
  /// The means, as measure(), from the sums over so many elements of each channel. One launch over the channels.
  [[nodiscard]] Tensor<R, D> statistics_of_sums(const Tensor<R, D>& rstd, std::int64_t count) const {
    const Tensor<R, D> sum = channel_sums.select(0, 0), squares = channel_sums.select(0, 1),
                       mean(sum.shape(), sum.device());
    const auto flat_rstd = rstd.reshape(sum.shape());
    const auto plan = make_plan<9>(
        sum.shape(),
        {detail::operand_of(sum), detail::operand_of(squares), detail::operand_of(running.mean),
         detail::operand_of(running.var), detail::operand_of(running.batches), detail::operand_of(mean),
         detail::operand_of(flat_rstd), detail::operand_of(running.mean), detail::operand_of(running.var)});
    Backend<D>::map(sum.device(), plan, detail::StatisticsOfSums<R>{statistics(count, true)},
                    Pack<const R*, const R*, const R*, const R*, const std::int64_t*>(
                        sum.data(), squares.data(), running.mean.data(), running.var.data(), running.batches.data()),
                    Pack<R*, R*, R*, R*>(mean.data(), flat_rstd.data(), running.mean.data(), running.var.data()));
    running.mean.changed();
    running.var.changed();
    return mean.reshape(rstd.shape());
  }
  /// Mean, variance and deviation of each channel, from the sums over so many elements. One launch over the channels.
  [[nodiscard]] Tensor<R, D> moments_of_sums(std::int64_t count) const {
    const Tensor<R, D> moments({channel_sums.size(1), 3}, channel_sums.device()), sum = channel_sums.select(0, 0),
                                                                                  squares = channel_sums.select(0, 1);
    const Tensor<R, D> mean = moments.select(1, 0), var = moments.select(1, 1), deviation = moments.select(1, 2);
    const auto plan =
        make_plan<5>(sum.shape(), {detail::operand_of(sum), detail::operand_of(squares), detail::operand_of(mean),
                                   detail::operand_of(var), detail::operand_of(deviation)});
    Backend<D>::map(sum.device(), plan, detail::MomentsOfSums<R>{static_cast<R>(count)},
                    Pack<const R*, const R*>(sum.data(), squares.data()),
                    Pack<R*, R*, R*>(mean.data(), var.data(), deviation.data()));
    return moments;
  }

 public:
  /// Mean, variance and deviation of each channel. One launch; two more if the first loses terms to overflow or
  /// underflow on a device that folds_again. shape: (channels, 3)
  template <class T>
  [[nodiscard]] Tensor<R, D> moments_of(const Tensor<T, D>& x) const {
    const Tensor<R, D> moments({x.size(1), 3}, x.device());
    const auto fold_into = [&](const Tensor<R, D>& out, const auto& fold) -> Tensor<R, D> {
      fold_channels(out, fold, detail::ElementMoments<std::remove_cvref_t<decltype(fold)>>{fold}, x);
      return out;
    };
    const R eps = detail::finite_as<R>(name, "eps", options.eps);
    const detail::FastMoments<T> fast(whole ? R(0) : eps);  // of a part, deviations are handed on
    return detail::fold_again_if_lost<D>(
        fast, [&](const auto& f) -> Tensor<R, D> { return fold_into(moments, f); },
        [&](const auto& found) -> Tensor<R, D> {
          const Tensor<R, D> result(moments.shape(), x.device());
          const Tensor<R, D> safe = fold_into(Tensor<R, D>(moments.shape(), x.device()), detail::SafeMoments<T>{});
          detail::map_into(result, detail::UnlessChannelLost<T>{fast}, found.slice(1, 1, 2), found, safe);
          return result;
        },
        [&] { return fold_into(moments, detail::SafeMoments<T>{}); });
  }

 private:
  /// One launch over the channels. shape: all but rstd (channels)
  void compute_statistics(const Tensor<R, D>& rstd, const Tensor<R, D>& mean, const Tensor<R, D>& var,
                          const Tensor<R, D>& deviation, const RunningStatistics<R, D>& learning, std::int64_t count,
                          const Tensor<R, D>& elements) const {
    const Shape channels{rstd.elements()};
    const auto flat_rstd = rstd.reshape(channels);
    const auto f = statistics(count, static_cast<bool>(deviation.buffer()));
    const auto plan = make_plan<10>(
        channels, {detail::operand_of(mean), detail::operand_of(var), detail::operand_of(deviation),
                   detail::operand_of(learning.mean), detail::operand_of(learning.var),
                   detail::operand_of(learning.batches), detail::operand_of(elements), detail::operand_of(flat_rstd),
                   detail::operand_of(learning.mean), detail::operand_of(learning.var)});
    Backend<D>::map(rstd.device(), plan, f,
                    Pack<const R*, const R*, const R*, const R*, const R*, const std::int64_t*, const R*>(
                        mean.data(), var.data(), deviation.data(), learning.mean.data(), learning.var.data(),
                        learning.batches.data(), elements.data()),
                    Pack<R*, R*, R*>(flat_rstd.data(), learning.mean.data(), learning.var.data()));
  }
};

}  // namespace operation

namespace detail {
template <class X, class S>
concept MeasuredBy = std::is_same_v<device_of<X>, device_of<S>> &&
                     (std::is_same_v<compute_t<value_of<X>>, value_of<S>> || lifts_to<value_of<S>, value_of<X>>);

template <class S>
using SharedBatchOf = Shared<const SharedBatch<value_of<S>, device_of<S>>>;
/// Batch normalization of a computed operand, which may have been computed with the sums of its channels.
template <class X, class S, class... W>
[[nodiscard]] auto normalize_measured(const X& x, const Tensor<value_of<S>, device_of<S>>& sums, const S& running,
                                      const BatchNormOptions& options, const SharedBatchOf<S>& whole,
                                      const W&... weights) {
  const bool trains = in_training(x, weights...);
  const bool measures = trains || !running.mean.buffer() || !running.var.buffer();  // of the batch, if nothing else
  const bool learns = measures && !computes_again;
  operation::BatchNorm<value_of<S>, device_of<S>> op{learns == measures ? running : S{}, options, measures, {}};
  if (trains) op.whole = whole, op.channel_sums = sums;
  auto y = apply(op, x, weights...);
  if (learns && running.batches.buffer()) running.batches += 1;
  return y;
}
/// Statistics in another type; none stay none.
template <class U, class R, class D>
[[nodiscard]] RunningStatistics<U, D> statistics_as(const RunningStatistics<R, D>& running) {
  const auto converted = [](const Tensor<R, D>& x) { return x.buffer() ? x.template as<U>() : Tensor<U, D>{}; };
  return {converted(running.mean), converted(running.var), running.batches};
}
template <class X, class S, class... W>
[[nodiscard]] auto normalize_batch(const X& x, const S& running, const BatchNormOptions& options,
                                   const SharedBatchOf<S>& whole, const W&... weights) {
  if constexpr (lifts_to<value_of<S>, value_of<X>>) {  // duals: their values are what is measured
    const auto duals = statistics_as<value_of<X>>(running);
    const auto y = normalize_batch(x, duals, options, {}, weights...);
    const auto measured = statistics_as<value_of<S>>(duals);
    if (running.mean.buffer()) running.mean.copy_(measured.mean);
    if (running.var.buffer()) running.var.copy_(measured.var);
    return y;
  } else return normalize_measured(x, Tensor<value_of<S>, device_of<S>>{}, running, options, whole, weights...);
}
}  // namespace detail

/// y = (x - mean) / sqrt(var + eps) * weight + bias in every channel (Ioffe and Szegedy, 2015). In training (an operand
/// is traced and none is frozen()), mean and variance are the batch's, and the running ones are updated in place:
/// running = (1 - momentum) running + momentum * new, or, without a momentum, the mean over all batches; `batches`
/// counts. Otherwise the running ones apply, or the batch's if there are none. Freezing parameters by
/// requires_grad_(false) changes none of this. Recomputation for a checkpoint updates nothing. With `whole`, the batch
/// in training spans all ranks; x is this rank's part and may be empty. Gradients then belong to the sum of all ranks'
/// losses; the weight and bias get this part's share.
/// shape: x and residual (batch, channels, ...), weight and bias (channels) or empty handles for none -> the shape of x
/// gradient: with n = (x - mean) rstd: weight rstd (g - mean(g) - n mean(g n)) for x in training, weight rstd g
///        otherwise; sum(g n) for the weight, sum(g) for the bias and g for the residual; g counts as 0 where relu
///        gives 0
/// Option `relu` gives max(0, y), with the numbers of relu(batch_norm(...)). A residual gives y + residual, or with
/// relu max(0, y + residual), which 16-bit types round once.
/// cost:  training three launches, which read x twice, and one that counts, on Cpu two more where squares overflow or
///        vanish; otherwise two. Backward at most three, which read x and g twice, and one more if relu follows a
///        residual. Saves x, and y if relu follows a residual
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
template <class X, class S, class W, class B, class A>
  requires detail::NormalizedWith<X, W, B, A> && detail::MeasuredBy<X, S>
[[nodiscard]] auto batch_norm(const X& x, const S& running, const W& weight, const B& bias, const A& residual,
                              const BatchNormOptions& options = {}, const detail::SharedBatchOf<S>& whole = {}) {
  return detail::normalize_batch(x.eval(), running, options, whole, weight, bias, residual);
}

#include <locus/refuse/ops/batch_norm.inc>

}}  // namespace locus::LOCUS_ABI
