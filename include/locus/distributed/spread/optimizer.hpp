#pragma once
// Optimizers of parameters that are spread over ranks: gradients are summed along the axes along which they are
// Partial.

#include <locus/autograd/flat.hpp>
#include <locus/distributed/spread/same.hpp>
#include <locus/nn/buffer.hpp>
#include <locus/optim/clip.hpp>

#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The first axis of a list of states, other than B..., along which a parameter is not Invariant; void: none.
template <class L, class... B>
struct OtherAxis : std::type_identity<void> {};
template <class F, class... R, class... B>
struct OtherAxis<States<F, R...>, B...>
    : std::conditional_t<F::spread != Spread::invariant && !(std::is_same_v<typename F::axis, B> || ...),
                         std::type_identity<typename F::axis>, OtherAxis<States<R...>, B...>> {};
/// Whether a parameter with these states is spread along B... alone, and is no sum.
template <class L, class... B>
concept SteppedAlong =
    std::is_void_v<typename OtherAxis<L, B...>::type> && std::is_void_v<typename FirstAxis<Spread::partial, L>::type>;

/// A parameter, and for each axis B whether its gradient is Partial along it, and whether the ranks have parts.
template <class T, class D, class... B>
struct SteppedParameter {
  Parameter<T, D> parameter;
  std::array<bool, sizeof...(B)> is_summed, is_part;
};

LOCUS_REFUSALS_BEGIN
/// Visits members(visit) of a model, and of its layers.
template <class T, class D, class... B>
struct CollectStepped {
  std::vector<SteppedParameter<T, D, B...>>& into;

  template <class... S>
    requires SteppedAlong<States<S...>, B...>
  void operator()(std::string_view, const Over<Parameter<T, D>, S...>& w, const auto&... /*parts*/) const {
    if (!w.local().defined()) return;
    using L = States<S...>;
    into.push_back({w.local(),
                    {(detail::along<B>(L()) == Spread::replicated)...},
                    {(detail::along<B>(L()) == Spread::varying)...}});
  }
  template <class M>
    requires requires(const M& layer, const CollectStepped& visit) { layer.members(visit); }
  void operator()(std::string_view, const M& layer) const {
    layer.members(*this);
  }
  template <class U, class... S>
  void operator()(std::string_view, const Over<nn::Buffer<U, D>, S...>&, const auto&... /*parts*/) const {}
#include <locus/refuse/distributed/spread/collect_class.inc>
};
LOCUS_REFUSALS_END

}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// The parameter, for any optimizer of the library, where its gradient is whole: Invariant or Varying along each axis.
template <class T, class D, class... S>
  requires(((S::spread == Spread::varying || S::spread == Spread::invariant) && ...))
[[nodiscard]] Parameter<T, D> stepped(const Over<Parameter<T, D>, S...>& w) {
  return w.local();
}

/// An optimizer O of the library over the parameters of a model, which lists them by members(visit) and whose
/// parameters are spread along the axes B... alone. Gradients of Replicated parameters are Partial: step() sums them
/// first, in one collective for each run of flat memory. Parameters that are Varying are stepped part by part.
///
///     dist::Optimizer<optim::Adam<float, Cpu>, Data, Model> adam(net, optim::AdamOptions{.lr = 1e-3});
///     adam.zero_grad();
///     loss.backward();
///     adam.step(data, model);
///
/// All ranks must have gradients for the same parameters. After step(), and until zero_grad(), each rank has the sums:
/// all_reduce(w.grad()), or another step(), would count them once for each rank.
template <class O, class... B>
class Optimizer {
  using T = typename O::value_type;
  using D = typename O::device_type;
  using R = compute_t<T>;
  using Entry = detail::SteppedParameter<T, D, B...>;
  using Parameters = std::vector<Parameter<T, D>>;

 public:
  /// options: of O
  template <class M, class Options>
  Optimizer(const M& model, const Options& options) : Optimizer(collected(model), options) {}

  void zero_grad() const { optimizer_.zero_grad(); }
  /// The optimizer of this rank, whose step() sums nothing.
  [[nodiscard]] O& local() { return optimizer_; }
  [[nodiscard]] const O& local() const { return optimizer_; }

  /// Sums gradients, and steps. With Options::debug, first compares parameters that are said to be the same on all
  /// ranks. throws CollectiveError; ArgumentError on all ranks where they are not
  void step(const Ranks<B, D>&... ranks) {
    sum_gradients(ranks...);
    optimizer_.step();
  }
  /// Sums gradients, scales them so that the norm of the whole model's is at most max_norm, and steps. Parts count
  /// once, and values that are the same on several ranks once. Returns the norm before.
  /// cost: beside step(), a collective of one number for each set of axes along which parameters are Varying, and the
  ///       launches of optim::clip_grad_norm_
  /// throws ArgumentError unless max_norm >= 0; CollectiveError
  Tensor<R, D> clip_and_step(double max_norm, const Ranks<B, D>&... ranks) {
    if (!(max_norm >= 0)) fail<ArgumentError>({"clip_and_step: max_norm is ", max_norm, "; expected 0 or more"});
    sum_gradients(ranks...);
    const Tensor<R, D> norm = sqrt(squares_of_all(ranks...)).eval().template as<R>();
    locus::detail::scale_to_norm(locus::detail::gradient_runs(parameters_), static_cast<R>(max_norm), norm);
    locus::detail::gradients_changed(parameters_);
    optimizer_.step();
    return norm;
  }
#include <locus/refuse/distributed/spread/optimizer_class.inc>

 private:
  template <class Options>
  Optimizer(std::vector<Entry> entries, const Options& options)
      : entries_(std::move(entries)),
        parameters_(those([](const Entry&) { return true; })),
        optimizer_(parameters_, options) {}
  template <class M>
  [[nodiscard]] static std::vector<Entry> collected(const M& model) {
    std::vector<Entry> entries;
    model.members(detail::CollectStepped<T, D, B...>{entries});
    return entries;
  }
  template <class F>
  [[nodiscard]] Parameters those(const F& are_wanted) const {
    Parameters result;
    for (const Entry& entry : entries_)
      if (are_wanted(entry)) result.push_back(entry.parameter);
    return result;
  }

  void sum_gradients(const Ranks<B, D>&... ranks) const {
    [[maybe_unused]] std::size_t axis = 0, number = 0;
    (require_same_along(ranks, axis++), ...);
    (sum_along(ranks.communicator(), number++), ...);
  }
  template <class A>
  void require_same_along(const Ranks<A, D>& ranks, std::size_t axis) const {
    for (const Entry& entry : entries_)
      if (!entry.is_part[axis]) detail::require_same(ranks, entry.parameter.value(), "optimizer.step(): a parameter");
  }
  void sum_along(const Communicator<D>& comm, std::size_t axis) const {
    const Parameters summed = those([&](const Entry& entry) { return entry.is_summed[axis]; });
    for (const auto& run : locus::detail::gradient_runs(summed)) comm.all_reduce(run);
    locus::detail::gradients_changed(summed);
  }
  /// The sum of the squares of all gradients, a scalar. Each set of parameters that are Varying along the same axes is
  /// summed along these.
  [[nodiscard]] Tensor<double, D> squares_of_all(const Ranks<B, D>&... ranks) const {
    const Tensor<double, D> all = zeros<double>({}, parameters_[0].device());
    for (unsigned axes = 0; axes < 1u << sizeof...(B); ++axes) {
      const Parameters parts = those([&](const Entry& entry) {
        for (std::size_t b = 0; b < sizeof...(B); ++b)
          if (entry.is_part[b] != ((axes >> b & 1) != 0)) return false;
        return true;
      });
      if (parts.empty()) continue;
      const auto runs = locus::detail::gradient_runs(parts);
      const Tensor<double, D> squares = zeros<double>({}, parameters_[0].device());
      if (!runs.empty()) squares.copy_(square(locus::detail::joint_norm(runs, 2).template as<double>()));
      [[maybe_unused]] std::size_t b = 0;
      ((axes >> b++ & 1 ? ranks.communicator().all_reduce(squares) : void()), ...);
      all += squares;
    }
    return all;
  }

  std::vector<Entry> entries_;
  Parameters parameters_;
  O optimizer_;
};

#include <locus/refuse/distributed/spread/optimizer.inc>
LOCUS_REFUSALS_END

}}}  // namespace locus::LOCUS_ABI::dist
