#pragma once
// Batch normalization of batches that are divided among ranks, with running statistics that say how they are spread.

#include <locus/distributed/model/batch_norm.hpp>
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Buffers as the running statistics of batch_norm, which updates them in training. They are Varying where its batches
/// are: each rank measures its own samples, and dist::state_dict refuses the parts as the model's.
///
///     const auto y = batch_norm(x, dist::running_statistics(mean, var, batches), weight, bias);
template <class R, class D, class... S>
[[nodiscard]] auto running_statistics(const Over<nn::Buffer<R, D>, S...>& running_mean,
                                      const Over<nn::Buffer<R, D>, S...>& running_var,
                                      const Over<nn::Buffer<std::int64_t, D>, S...>& batches) {
  return detail::labelled<detail::States<S...>>(
      RunningStatistics<R, D>{running_mean.local().value(), running_var.local().value(), batches.local().value()});
}

/// Batch normalization by the statistics of a batch that is divided among the ranks along A, as
/// synchronize_batch_norm does it. Running statistics are those of the whole batch, the same on all ranks. S...: how
/// the weight and bias are spread. Made of a layer that is the same on all ranks.
/// shape: as nn::BatchNorm1d and nn::BatchNorm2d, with this rank's samples     cost: as synchronize_batch_norm
template <class T, class D, class A, class... S>
struct SynchronizedBatchNorm {
  using R = compute_t<T>;
  Over<Parameter<T, D>, S...> weight, bias;
  Over<nn::Buffer<R, D>> running_mean, running_var;
  Over<nn::Buffer<std::int64_t, D>> num_batches_tracked;

  /// whole: nn::BatchNorm1d or nn::BatchNorm2d, of which the layer has copies. throws ArgumentError for one without
  /// weight, bias or running statistics
  template <class L>
    requires std::is_base_of_v<nn::detail::BatchNorm<L, T, D>, L>
  SynchronizedBatchNorm(const L& whole, const Ranks<A, D>& ranks)
      : weight(spread<S...>(Parameter<T, D>(complete(whole).weight.value().clone()))),
        bias(spread<S...>(Parameter<T, D>(whole.bias.value().clone()))),
        running_mean(spread<>(whole.running_mean.clone())),
        running_var(spread<>(whole.running_var.clone())),
        num_batches_tracked(spread<>(whole.num_batches_tracked.clone())),
        options_{.eps = whole.options().eps, .momentum = whole.options().momentum} {
    if (ranks.size() > 1)
      batch_ = Shared<const SharedBatch<R, D>>(new detail::BatchOfRanks<R, D>(ranks.communicator()));
  }

  /// x: Varying along A. In training, gradients of a weight and bias that are Invariant along A are summed.
  template <class X>
    requires detail::SpreadAs<X, A, Spread::varying>
  [[nodiscard]] auto forward(const Ranks<A, D>& ranks, const X& x) const {
    const auto normalize = [&](const auto& own, const auto& w, const auto& b) {
      const RunningStatistics<R, D> running{running_mean.local().value(), running_var.local().value(),
                                            num_batches_tracked.local().value()};
      return batch_norm(own, running, w, b, options_, batch_);
    };
    return detail::through<Linearity::any>(normalize, x, seen(ranks, x, weight), seen(ranks, x, bias));
  }
  void members(const auto& visit) const {
    visit("weight", weight), visit("bias", bias);
    visit("running_mean", running_mean), visit("running_var", running_var);
    visit("num_batches_tracked", num_batches_tracked);
  }

 private:
  template <class... Q, class P>
  [[nodiscard]] static auto spread(P&& member) {
    return detail::labelled<detail::States<Q...>>(static_cast<P&&>(member));
  }
  template <class L>
  [[nodiscard]] static const L& complete(const L& whole) {
    if (!whole.options().affine || !whole.options().track_running_stats)
      fail<ArgumentError>({"SynchronizedBatchNorm: a layer without ",
                           whole.options().affine ? "running statistics" : "weight and bias",
                           "; expected .affine and .track_running_stats of true"});
    return whole;
  }
  template <class X, class P>
  [[nodiscard]] static auto seen(const Ranks<A, D>& ranks, const X&, const P& w) {
    if constexpr (detail::has_role<X>(Role::traced) && detail::SpreadAs<P, A, Spread::invariant>)
      return ranks.replicated(w);
    else return w;
  }

  locus::BatchNormOptions options_;
  Shared<const SharedBatch<R, D>> batch_;
};

}}}  // namespace locus::LOCUS_ABI::dist
