#pragma once
// Training with a copy of the model on every rank and gradients averaged over ranks: PyTorch's DistributedDataParallel.

#include <locus/distributed/model/model_wrapper.hpp>
#include <locus/distributed/model/reducer.hpp>
#include <locus/distributed/model/same_model.hpp>
#include <locus/nn/flatten.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

template <class M>
class Distributed;

namespace detail {
#include <locus/refuse/distributed/distributed_mistakes.inc>

/// A guard: while it lives, backward passes accumulate gradients on this rank alone.
template <class R>
class [[nodiscard]] NoSync {
 public:
  explicit NoSync(Shared<R> reducer) : reducer_(std::move(reducer)) { reducer_->begin_no_sync(); }
  NoSync(NoSync&&) noexcept = default;  // into a std::optional, where only some passes are to be reduced
  NoSync& operator=(NoSync&&) = delete;
  ~NoSync() {
    if (reducer_) reducer_->end_no_sync();
  }

 private:
  Shared<R> reducer_;
};
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// The result of `distributed`: the same model, with its names, parameters and buffers, so that optimizers, checkpoints
/// and `fit` treat it as the model. A handle: copies share the model. As long as one of them lives, every backward pass
/// that reaches a parameter reduces gradients, even if the model itself was called.
///
/// Every rank has to make the same number of passes. Each pass averages gradients over ranks, including gradients added
/// before, within no_sync(). A parameter that lacks a gradient on some ranks gets the average there, too; a parameter
/// that lacks one on all ranks stays without. Hooks of a parameter see the gradient of this rank; the averaged one is
/// there once backward() returns.
///
/// backward() throws CollectiveError if another rank did not do the same; in a captured step, CaptureError unless ranks
/// meet over NCCL
template <class M>
class Distributed : public detail::ModelWrapper<Distributed<M>, M> {
  using T = value_of<M>;
  using D = device_of<M>;

 public:
  Distributed(M model, Shared<detail::Reducer<T, D>> reducer)
      : detail::ModelWrapper<Distributed, M>(std::move(model)), reducer_(std::move(reducer)) {}

  /// Runs the model on x. The samples of a traced first argument add to this rank's weight.
  template <class X, class... More>
  [[nodiscard]] auto forward(const X& x, const More&... more) const {
    if constexpr (X::role == Role::traced)
      if (!locus::detail::computes_again) reducer_->begin_pass(x.rank() > 0 ? x.size(0) : 1);
    return this->module()(x, more...);
  }

  [[nodiscard]] const Communicator<D>& communicator() const { return reducer_->communicator(); }
  [[nodiscard]] const DistributedOptions& options() const { return reducer_->options(); }
  /// The number of buckets of gradients.
  [[nodiscard]] std::size_t buckets() const { return reducer_->buckets(); }

  /// Returns a guard. While it lives, backward() adds to the gradients of this rank and sends nothing; the next
  /// backward() afterwards reduces the sum. Until then, optimizers and clipping throw GraphError.
  ///
  ///     for (int i = 0; i < 3; ++i) {
  ///       const auto guard = parallel.no_sync();
  ///       loss_of(i).backward();
  ///     }
  ///     loss_of(3).backward();   // reduces the sum of all four
  ///     optimizer.step();
  [[nodiscard]] auto no_sync() const { return detail::NoSync(reducer_); }

  /// With weigh_by_samples: sets the weight of this rank's gradients in the next reduction, by default the number of
  /// samples that went through the model since the last one. 0 for a rank without samples: it still runs a pass, on any
  /// sample, whose gradients do not count.
  /// throws ArgumentError without weigh_by_samples, and for a weight below 0
  void weigh(double samples) const { reducer_->set_weight(samples); }

  /// A copy of the model, without the wrapper.
  [[nodiscard]] M clone() const { return this->module().clone(); }

 private:
  Shared<detail::Reducer<T, D>> reducer_;
};
LOCUS_REFUSALS_END

/// Keeps the model equal on all ranks: copies parameters and buffers of rank 0 to all ranks now, and averages gradients
/// over ranks in each backward pass from now on. Optimizers are made of the result, or of the model, as usual.
///
///     auto parallel = dist::distributed(model, comm);
///     optim::Sgd optimizer{parallel.parameters(), {.lr = 0.01}};
///     ...
///     loss_of(parallel(trace(x)), y).backward();   // reduces, while it goes back
///     optimizer.step();                            // the same on all ranks
///
/// The average weighs ranks equally. If their batches differ in size, .weigh_by_samples = true gives the result of one
/// process with all samples.
/// cost: of a pass, all_reduce of the gradients in buckets, and, without .static_graph, of one byte for each parameter;
///       a broadcast of buffers
/// throws on all ranks ShapeError or ArgumentError where models differ, by names, shapes, element types or options;
/// DeviceError for a model on another ordinal than the communicator; ArgumentError for one that is distributed already;
/// CollectiveError where a rank does not call it
template <class M, class D>
  requires(detail::IsModel<M> &&
           locus::detail::IsWrong<detail::DistributedMistake<M, D>, locus::detail::Wrong::nothing>)
[[nodiscard]] Distributed<M> distributed(const M& model, const Communicator<D>& comm,
                                         const DistributedOptions& options = {}) {
  using T = value_of<M>;
  detail::require_same_model("distributed", model, comm, detail::text_of(options),
                             detail::complaint_of<M>(options, comm.rank()));
  auto flat = nn::flatten(model);
  comm.broadcast(flat.values());
  const detail::PackedBuffers<D> buffers(model.buffers(), comm.device());
  buffers.finish(buffers.start(comm), comm);
  return {model,
          Shared<detail::Reducer<T, D>>(new detail::Reducer<T, D>(std::move(flat), model.buffers(), comm, options))};
}

#include <locus/refuse/distributed/distributed.inc>

}}}  // namespace locus::LOCUS_ABI::dist
