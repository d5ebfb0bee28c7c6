#pragma once
// Batch normalization by the statistics of all ranks' batches.

#include <locus/distributed/communicator/communicator.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// A batch that is split among the ranks of a communicator.
template <class R, class D>
class BatchOfRanks final : public SharedBatch<R, D> {
 public:
  explicit BatchOfRanks(const Communicator<D>& comm) : comm_(comm.with_purpose(Purpose::batch_norm)) {
    comm.expect_calls_in_backward();
  }

  /// Combines moments as Chan, Golub and LeVeque (1979), which loses no digits if means are far from zero. Distances
  /// are divided by the largest one before they are squared, so that no square overflows and not all of them vanish.
  [[nodiscard]] Tensor<R, D> combine(const Tensor<R, D>& mean, const Tensor<R, D>& deviation,
                                     std::int64_t count) const override {
    const Tensor<R, D> own({3, mean.elements()}, mean.device());
    own.select(0, 0).copy_(mean);
    own.select(0, 1).copy_(deviation);
    own.select(0, 2).fill_(static_cast<R>(count));
    const Tensor<R, D> all = comm_.all_gather(own);  // (ranks, 3, channels)
    const Tensor<R, D> means = all.select(1, 0), deviations = all.select(1, 1), counts = all.select(1, 2);
    const Tensor<R, D> elements = locus::sum(counts, 0);
    const Tensor<R, D> shares = counts / at_least_one(elements);
    mean.copy_(locus::sum(means * shares, 0));
    const Tensor<R, D> distances = where(counts > R(0), abs(means - mean), R(0));
    const Tensor<R, D> most = maximum(locus::max(distances, 0), locus::max(deviations, 0));
    const Tensor<R, D> unit = where(most > R(0), most, R(1));
    const Tensor<R, D> squares = locus::sum(shares * (square(distances / unit) + square(deviations / unit)), 0);
    deviation.copy_(unit * sqrt(squares));
    return elements;
  }
  void average(const Tensor<R, D>& a, const Tensor<R, D>& b, const Tensor<R, D>& elements) const override {
    const Tensor<R, D> sums({2, elements.elements()}, elements.device());
    sums.select(0, 0).copy_(a);
    sums.select(0, 1).copy_(b);
    comm_.all_reduce(sums);
    a.copy_(sums.select(0, 0) / at_least_one(elements));
    b.copy_(sums.select(0, 1) / at_least_one(elements));
  }

 private:
  static auto at_least_one(const Tensor<R, D>& elements) { return maximum(elements, R(1)); }

  Communicator<D> comm_;
};

#include <locus/refuse/distributed/batch_norm_mistakes.inc>
}  // namespace detail

/// Batch normalization over all ranks, as PyTorch's convert_sync_batchnorm. From now on, in training, BatchNorm1d,
/// BatchNorm2d and BatchNorm3d of the model, and of models that share its layers, normalize by the mean and variance of
/// the batches of all ranks together. Each element counts once, however many a rank has; a rank may have none. Values,
/// gradients and running statistics are the same as in one process with the whole batch, if the losses of ranks are
/// added (for the mean loss of each rank, `distributed` averages gradients). Inference, plain or frozen, needs no other
/// rank. Returns the number of layers.
///
/// All ranks call it, with communicators of one group, and then run the same layers in the same order. It converts in
/// place. clone() stays synchronized; the models that std::move(model).to<D>() and .as<T>() return do not. On one rank
/// alone, nothing changes. `distributed` of the same communicator then reduces gradients at the end of backward passes,
/// without overlap.
/// cost: in training one all_gather of three numbers per channel forward, and one all_reduce of two backward
///
///     auto comm = dist::mpi<Cuda>();
///     dist::synchronize_batch_norm(model, comm);
template <class M, class D>
  requires locus::detail::IsWrong<detail::SynchronizedMistake<M, D>, locus::detail::Wrong::nothing>
std::int64_t synchronize_batch_norm(const M& model, const Communicator<D>& comm) {
  using T = value_of<M>;
  using R = compute_t<T>;
  Shared<const SharedBatch<R, D>> whole;
  if (comm.size() > 1) whole = Shared<const SharedBatch<R, D>>(new detail::BatchOfRanks<R, D>(comm));
  std::int64_t layers = 0;
  nn::detail::for_each_batch_norm<T, D>(model, [&](const auto& layer) {
    layer.share_batch(whole);
    ++layers;
  });
  return layers;
}

#include <locus/refuse/distributed/batch_norm.inc>

}}}  // namespace locus::LOCUS_ABI::dist
