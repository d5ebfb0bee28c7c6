#pragma once
// Training with a part of each parameter on every rank: PyTorch's FullyShardedDataParallel, and ZeRO.

#include <locus/distributed/model/distributed_model.hpp>
#include <locus/distributed/sharded/sharder.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace dist {

LOCUS_REFUSALS_BEGIN
/// The result of `sharded`: a model of which each rank has a part of the parameters, of their gradients and of the
/// state of their optimizers. Its parameters are one-dimensional: elements of the model's parameters, under their
/// names. A rank may have none of a parameter. A handle: copies share the model.
///
/// The whole values of a unit of layers are gathered before their use, and are there within a pass of this model alone.
/// backward() averages gradients over ranks; each rank receives its part. Every rank makes the same passes. A parameter
/// without a gradient in a unit that has some gets zeros; a unit without a gradient stays without.
///
/// A call throws CollectiveError if another rank did not do the same; CaptureError in a captured step
template <class M>
class Sharded : public nn::Layer<Sharded<M>, value_of<M>, device_of<M>>, public nn::detail::InputTypeOf<M> {
  using T = value_of<M>;
  using D = device_of<M>;

 public:
  using model_type = M;

  Sharded(M model, const Communicator<D>& comm, std::vector<nn::NamedParameter<T, D>> frozen,
          Shared<detail::Sharder<T, D>> sharder)
      : model_(std::move(model)), comm_(comm), frozen_(std::move(frozen)), sharder_(std::move(sharder)) {}

  /// Runs the model on x.
  template <class X, class... More>
  [[nodiscard]] auto forward(const X& x, const More&... more) const {
    return call([&](const M& model) { return model(x, more...); });
  }
  /// f(model), a pass through another function of the model than its forward.
  ///
  ///     auto loss = sharded.call([&](const auto& gpt2) { return gpt2.loss(trace(tokens), next); });
  template <class F>
  [[nodiscard]] auto call(const F& f) const {
    for (const auto& [name, parameter] : frozen_)
      if (parameter.requires_grad())
        fail<GraphError>(
            {"sharded: '", locus::detail::printable(name), "', of shape ", parameter.shape(),
             ", was frozen at dist::sharded, which left it whole, and is trained now; unfreeze it before"});
    const Call call(*sharder_);
    return locus::detail::evaluated(f(model_));
  }

  [[nodiscard]] const Communicator<D>& communicator() const { return comm_; }
  [[nodiscard]] const ShardedOptions& options() const { return sharder_->parts().options(); }
  /// The number of units of parameters.
  [[nodiscard]] std::size_t units() const { return sharder_->parts().units().size(); }
  /// This rank's parts, in the order of its parameters.
  [[nodiscard]] const std::vector<ParameterPart<T, D>>& parts() const { return sharder_->parts().list(); }

  /// Returns a guard. While it lives, backward() adds to whole gradients on this rank, for which it takes memory, and
  /// sends nothing; the next backward() afterwards reduces the sum. Without it, each backward() adds to this rank's
  /// parts, and takes memory for those of two units.
  [[nodiscard]] auto no_sync() const { return detail::NoSync(sharder_); }
  /// Drops the gradients, also of passes within no_sync().
  void zero_grad() const {
    for (const auto& each : parts()) each.part.zero_grad();
    sharder_->drop_local();
  }
  /// Calls f(name, tensor) with the whole value of each parameter, in turn, on all ranks. A collective. The tensor is
  /// valid within the call.
  template <class F> void for_each_whole(const F& f) const { sharder_->parts().for_each_whole(f); }

  void walk_members(nn::detail::Depth depth, const std::string& prefix, nn::detail::MemberWalk<T, D>& walk) const {
    if (depth == nn::detail::Depth::children) return;  // the layers below have no values of their own
    for (const auto& each : parts()) walk.parameter(nn::detail::child_name(prefix, each.name), each.part);
    for (const auto& [name, parameter] : frozen_) walk.parameter(nn::detail::child_name(prefix, name), parameter);
    for (const auto& [name, buffer] : model_.named_buffers()) walk.buffer(nn::detail::child_name(prefix, name), buffer);
  }
  /// Refuses to copy a model of which this is a part.
  [[nodiscard]] Sharded copied(nn::detail::ModelCopy<T, D, T, D>&) const {
    fail<ArgumentError>({"copying a model: a part of it is sharded; build the model anew, and load its weights"});
  }

 private:
  class Call {
   public:
    explicit Call(detail::Sharder<T, D>& sharder) : sharder_(sharder) { sharder_.begin_call(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { sharder_.end_call(); }

   private:
    detail::Sharder<T, D>& sharder_;
  };

  M model_;
  Communicator<D> comm_;
  std::vector<nn::NamedParameter<T, D>> frozen_;
  Shared<detail::Sharder<T, D>> sharder_;
};
LOCUS_REFUSALS_END

}  // namespace dist

namespace nn {
namespace detail {
/// A call is checked as a call of the model.
template <class M, class... X>
struct CallMistake<dist::Sharded<M>, X...> : CallMistake<M, X...> {};
}  // namespace detail
#include <locus/refuse/distributed/sharded.inc>
}  // namespace nn

namespace dist {
namespace detail {
[[nodiscard]] inline std::string text_of(const ShardedOptions& options) {
  return join(".gather_again = ", options.gather_again, ", .ahead = ", options.ahead,
              ", .ranks_of_copy = ", options.ranks_of_copy, ", .least_unit_bytes = ", options.least_unit_bytes,
              ", .unit_of = ", options.unit_of ? "a function" : "null",
              ", .broadcast_buffers = ", options.broadcast_buffers);
}
template <class M>
[[nodiscard]] Complaint complaint_of(const M& model, const ShardedOptions& options, int rank, int size) {
  const auto complaint = [](const auto&... text) { return Complaint(Complaint::argument, join("sharded: ", text...)); };
  if (options.ahead < 0 || options.ahead > 64)
    return complaint(".ahead is ", options.ahead, " on rank ", rank, "; expected 0 to 64 units");
  if (options.ranks_of_copy < 0 || (options.ranks_of_copy > 0 && size % options.ranks_of_copy != 0))
    return complaint(".ranks_of_copy is ", options.ranks_of_copy, " on rank ", rank, " of ", size,
                     "; expected a divisor of the number of ranks, or 0");
  for (const auto& [name, parameter] : model.named_parameters())
    if (!parameter.is_lent() && !parameter.value().is_contiguous())
      return complaint("'", locus::detail::printable(name), "' of rank ", rank,
                       " is laid out with channels last; call dist::sharded on the model as it was built");
  return {};
}
}  // namespace detail

/// Divides the parameters of a model over ranks: each keeps 1 / ranks of the values, gradients and state of optimizers.
/// Values of rank 0 are taken. Units of parameters (see ShardedOptions::unit_of), such as the blocks of a transformer,
/// are gathered ahead of their use in memory that they use in turn, and again in the backward pass; their gradients are
/// reduced while the pass goes on. The optimizer is made of the result's parameters. Frozen parameters stay whole.
///
///     auto model = dist::sharded(models::gpt2<float, D>(options, device), comm);
///     optim::AdamW optimizer{model.parameters(), {.lr = 3e-4}};
///     auto loss = model.call([&](const auto& gpt2) { return gpt2.loss(trace(tokens), next); });
///     optimizer.zero_grad();
///     loss.backward();
///     optim::clip_grad_norm_(model.parameters(), 1);   // the norm of all ranks' parts
///     optimizer.step();
///
/// Memory of a rank, in bytes of all parameters: values, gradients and states / ranks; and, whole, the parameters
/// outside of units, twice, `ahead` + 2 units of values and two of gradients.
/// With a model of bfloat16, gathers and sums move half the bytes; the optimizer keeps float masters of this rank's
/// part.
/// cost: of a pass forward an all_gather of the values; backward another one, and a reduce_scatter of gradients
/// throws on all ranks ShapeError or ArgumentError where models differ, or options are out of range; DeviceError for a
/// model on another ordinal than the communicator; CollectiveError where a rank does not call it
template <class M>
  requires detail::IsModel<M>
[[nodiscard]] Sharded<M> sharded(const M& model, const Communicator<device_of<M>>& comm,
                                 const ShardedOptions& options = {}) {
  using T = value_of<M>;
  using D = device_of<M>;
  detail::require_same_model("sharded", model, comm, detail::text_of(options),
                             detail::complaint_of(model, options, comm.rank(), comm.size()));
  const int ranks = options.ranks_of_copy > 0 ? options.ranks_of_copy : comm.size();
  const bool has_copies = ranks < comm.size();
  const Communicator<D> within = has_copies ? comm.split(comm.rank() / ranks) : comm;
  std::optional<Communicator<D>> between;
  if (has_copies) between = comm.split(comm.rank() % ranks);
  std::vector<nn::NamedParameter<T, D>> trained, frozen;
  for (auto& each : model.named_parameters()) {
    if (!each.parameter.requires_grad()) comm.broadcast(each.parameter.value());
    (each.parameter.requires_grad() ? trained : frozen).push_back(std::move(each));
  }
  if (trained.empty())
    fail<ArgumentError>({"sharded: all parameters of the model are frozen; nothing is to be divided"});
  const detail::PackedBuffers<D> buffers(model.buffers(), comm.device());
  buffers.finish(buffers.start(comm), comm);
  return {model, comm, std::move(frozen),
          Shared<detail::Sharder<T, D>>(new detail::Sharder<T, D>(trained, model.buffers(), within, between, options))};
}

}  // namespace dist
}}  // namespace locus::LOCUS_ABI
