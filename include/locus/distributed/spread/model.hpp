#pragma once
// A model that each rank along an axis has a copy of, called with values that say how they are spread over the ranks.

#include <locus/distributed/model/batch_norm.hpp>
#include <locus/distributed/model/distributed_model.hpp>
#include <locus/distributed/sharded/sharded.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/nn/state_dict.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// Whether a backward pass goes back from the mean of the ranks' losses, shared by the handles of a model.
struct MeanPass : Counted {
  static constexpr const char* handle_name = "SpreadModel";
  bool averages = false;
};

/// The identity behind a model whose gradients are averaged over ranks. In a backward pass from a sum over ranks, the
/// gradient is multiplied by their number, so that the average is the sum.
template <class D>
struct SummedBack {
  static constexpr const char* name = "distributed model";
  int ranks;
  bool is_weighed;  ///< by samples: the average is no multiple of the sum
  Shared<MeanPass> pass;

  template <class T> auto forward(const Tensor<T, D>& y) const { return Forwarded{y, Tuple<>()}; }
  template <class T>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dy) const {
    if (!dy) return;
    if (pass->averages || ranks == 1) return dy.give(g);
    if (is_weighed)
      fail<GraphError>(
          {"loss.backward(): gradients of this model are weighed by the samples of ranks, so that their average is no "
           "sum; say model.backward(loss) of the Varying loss of each rank"});
    dy.give((g * static_cast<compute_t<T>>(ranks)).template as<T>());
  }
};

template <class... X>
concept AreOvers = (IsOver<X> && ...);
template <class... X>
inline constexpr bool has_partial = (Somewhere<X, Spread::partial> || ...);
template <class... X>
inline constexpr bool has_traced = (has_role<X>(Role::traced) || ...);
/// The states of a model's result for these arguments.
template <class... X>
using states_of_result = typename join_t<Linearity::any, X...>::type;

/// Arguments of a model along A: plain ones, or the samples of each rank.
template <class A, class... X>
concept SamplesOfRanks = AreOvers<X...> && Sound<Linearity::any, X...> &&
                         (!has_traced<X...> || say_the_same(states_of_result<X...>(), States<Varying<A>>()));
/// Traced arguments that are the same on all ranks along A.
template <class A, class... X>
concept SameSamples =
    AreOvers<X...> && !has_partial<X...> && has_traced<X...> && ((along_of<A, X> != Spread::varying) && ...);

/// The loss of this rank's samples: Varying along A, whole or Partial along other axes.
template <class A, class X>
concept LossOfSamples =
    SpreadAs<X, A, Spread::varying> && has_role<X>(Role::traced) && std::is_void_v<first_axis<Spread::replicated, X>> &&
    std::is_void_v<first_axis<Spread::varying, labelled_t<int, with_t<states_of<X>, A, Spread::invariant>>>>;

}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// The result of `distributed(model, ranks)`: W, a model that averages gradients over the ranks along A, called with
/// the samples of each rank. A handle: copies share the model. Parameters are the same on all ranks, and their
/// gradients whole, so that any optimizer steps them. `fit` and `evaluate` take it; their batches are this rank's.
///
/// W: `Distributed<M>`, or another model with communicator(), options(), parameters(), no_sync() and a call.
template <class W, class A>
class SpreadModel : public nn::detail::InputTypeOf<W> {
 public:
  using axis = A;
  using value_type = value_of<W>;
  using device_type = device_of<W>;

  explicit SpreadModel(W model) : model_(std::move(model)) {}

  /// Runs the model. Traced arguments are Varying along A, each rank's own samples, and so is the result. Of plain
  /// arguments, the result is spread as a function of kind any says.
  template <class... X>
    requires detail::SamplesOfRanks<A, X...>
  [[nodiscard]] auto operator()(const X&... x) const {
    return detail::through<Linearity::any>([&](const auto&... each) { return called(each...); }, x...);
  }

  /// The backward pass from the mean over ranks of their losses: each rank's gradient of its own is averaged, in
  /// buckets, while the pass goes on. A Partial loss, the sum over ranks, goes back by loss.backward(), and gradients
  /// are summed, also of a loss made of the result's local(). options: of Traced::backward. throws as Distributed;
  /// with weigh_by_samples, loss.backward() throws GraphError
  ///
  ///     const auto loss = mean(square(model(trace(x)) - y));   // Varying
  ///     model.backward(loss);                                  // as of ranks.partial(loss / ranks.size())
  template <class X, class... S, class... O>
    requires detail::LossOfSamples<A, Over<X, S...>>
  void backward(const Over<X, S...>& loss, const O&... options) const {
    const locus::detail::Within averaging(pass_->averages, true);
    loss.local().eval().backward(options...);
  }
#include <locus/refuse/distributed/spread/model_class.inc>

  /// The model of this rank, whose values say nothing of other ranks.
  [[nodiscard]] const W& local() const { return model_; }
  [[nodiscard]] const auto& communicator() const { return model_.communicator(); }
  [[nodiscard]] const auto& options() const { return model_.options(); }
  [[nodiscard]] auto parameters() const { return model_.parameters(); }
  [[nodiscard]] auto named_parameters() const { return model_.named_parameters(); }
  [[nodiscard]] auto buffers() const { return model_.buffers(); }
  /// As Distributed::no_sync(), and Distributed::weigh().
  [[nodiscard]] auto no_sync() const { return model_.no_sync(); }
  void weigh(double samples) const { model_.weigh(samples); }

 private:
  template <class... X>
  [[nodiscard]] auto called(const X&... x) const {
    const auto y = locus::detail::evaluated(model_(x.eval()...));
    if constexpr (std::remove_cvref_t<decltype(y)>::role == Role::traced) return apply(summed_back(), y);
    else return y;
  }
  [[nodiscard]] auto summed_back() const {
    bool is_weighed = false;
    if constexpr (requires { model_.options().weigh_by_samples; }) is_weighed = model_.options().weigh_by_samples;
    return detail::SummedBack<device_type>{communicator().size(), is_weighed, pass_};
  }

  W model_;
  Shared<detail::MeanPass> pass_{new detail::MeanPass};
};
LOCUS_REFUSALS_END

/// The model on all ranks along A, as `distributed` of their communicator, called with values that say how they are
/// spread. throws as that
///
///     const auto parallel = dist::distributed(net, data);    // data: mesh.along<Data>()
///     optim::Sgd sgd{parallel.parameters(), {.lr = 0.1}};
///     ...
///     parallel.backward(nn::mse_loss(parallel(trace(x)), y));   // x, y: Varying<Data>
///     sgd.step();
template <class M, class A, class D>
  requires(detail::IsModel<M> &&
           locus::detail::IsWrong<detail::DistributedMistake<M, D>, locus::detail::Wrong::nothing>)
[[nodiscard]] SpreadModel<Distributed<M>, A> distributed(const M& model, const Ranks<A, D>& ranks,
                                                         const DistributedOptions& options = {}) {
  return SpreadModel<Distributed<M>, A>(distributed(model, ranks.communicator(), options));
}

/// The model divided among all ranks along A, as `sharded` of their communicator, called with values that say how they
/// are spread. Optimizers of its parameters step this rank's parts. throws as that
template <class M, class A, class D>
  requires(detail::IsModel<M> &&
           locus::detail::IsWrong<detail::DistributedMistake<M, D>, locus::detail::Wrong::nothing>)
[[nodiscard]] SpreadModel<Sharded<M>, A> sharded(const M& model, const Ranks<A, D>& ranks,
                                                 const ShardedOptions& options = {}) {
  return SpreadModel<Sharded<M>, A>(sharded(model, ranks.communicator(), options));
}

/// synchronize_batch_norm of the communicator of the ranks along A.
template <class M, class A, class D>
  requires locus::detail::IsWrong<detail::SynchronizedMistake<M, D>, locus::detail::Wrong::nothing>
std::int64_t synchronize_batch_norm(const M& model, const Ranks<A, D>& ranks) {
  return synchronize_batch_norm(model, ranks.communicator());
}

/// The parameters and buffers of a model of ranks, which are the same on all of them, as nn::state_dict of the model.
template <class M, class A>
[[nodiscard]] auto state_dict(const SpreadModel<Distributed<M>, A>& model) {
  return nn::state_dict(model.local());
}
/// Copies a state into a model of ranks, as nn::load_state_dict: all ranks load the same.
template <class M, class A, class D>
nn::LoadedState load_state_dict(const SpreadModel<Distributed<M>, A>& model, const nn::StateDict<D>& state,
                                const nn::LoadOptions& options = {}) {
  return nn::load_state_dict(model.local(), state, options);
}

#include <locus/refuse/distributed/spread/model.inc>

}}}  // namespace locus::LOCUS_ABI::dist
