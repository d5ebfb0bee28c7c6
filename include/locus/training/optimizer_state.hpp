#pragma once
// The state of an optimizer by name, which resuming a saved training needs besides the weights.

#include <locus/nn/state_dict.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/optimizer_step.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

namespace detail {
/// An optimizer whose state has names.
template <class O>
concept HasState = requires(const O& optimizer) {
  optimizer.state_name(0);
  optimizer.state(std::size_t{}, 0);
  optimizer.steps();
};
template <class O>
inline constexpr bool has_masters = !std::is_same_v<value_of<O>, compute_t<value_of<O>>>;

/// Calls visit(name, tensor) for all state of an optimizer. The tensors are its own memory.
template <class O, class Visit>
void visit_state(const O& optimizer, const Visit& visit) {
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
    for (int k = 0; k < optimizer.states(); ++k)
      visit(join("state.", i, ".", optimizer.state_name(k)), optimizer.state(i, k));
    if constexpr (has_masters<O>) visit(join("state.", i, ".master"), optimizer.state(i, optimizer.states()));
  }
}

/// The one element that a state has under a name, on the host. throws ArgumentError or ShapeError
template <class N, class D>
[[nodiscard]] N number_of(const nn::StateDict<D>& state, const std::string& name) {
  const auto x = state.template get<N>(name).template to<Cpu>();
  if (x.elements() != 1) fail<ShapeError>({"load_state_dict: '", name, "' has shape ", x.shape(), "; expected ()"});
  return x.reshape({}).item();
}

#include <locus/refuse/training/optimizer_state_mistakes.inc>
}  // namespace detail

/// The state of an optimizer: `state.0.exp_avg` and its like of each parameter, in the order of parameters(), with
/// PyTorch's names, `state.0.master` of a 16-bit one, `state.0.step`, and the rates of the groups,
/// `param_groups.0.lr` and `.weight_decay`. Tensors share the optimizer's memory: save them, or clone() the state,
/// before it changes.
///
///     io::save("training.safetensors", optim::state_dict(optimizer));
template <detail::HasState O>
[[nodiscard]] auto state_dict(const O& optimizer) {
  using D = device_of<O>;
  nn::StateDict<D> state;
  detail::visit_state(optimizer, [&](const std::string& name, const auto& x) { state.add(name, x); });
  if (optimizer.parameters().empty()) return state;
  const D device = optimizer.parameters()[0].device();
  const auto steps = optimizer.steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    state.add(join("state.", i, ".step"), Tensor<std::int64_t, D>({}, device).fill_(steps[i]));
  std::size_t g = 0;
  state.add("lr", Tensor<double, D>({}, device).fill_(optimizer.lr()));
  for (const auto& group : optimizer.groups()) {
    state.add(join("param_groups.", g, ".lr"), Tensor<double, D>({}, device).fill_(group.lr()));
    state.add(join("param_groups.", g++, ".weight_decay"), Tensor<double, D>({}, device).fill_(group.weight_decay()));
  }
  return state;
}

namespace detail {
/// A state that fits an optimizer, to be copied into it.
template <class O>
struct OptimizerLoad {
  using Tensors = Tensor<compute_t<value_of<O>>, device_of<O>>;
  O& optimizer;
  std::vector<std::pair<Tensors, Tensors>> copies{};  ///< from, to
  std::vector<std::int64_t> steps{};
  double lr = 0;
  std::vector<GroupRates> rates{};

  /// Allocates nothing.
  void apply() const {
    optimizer.set_steps(steps);
    optimizer.set_lr(lr);
    for (std::size_t g = 0; g < rates.size(); ++g) {
      optimizer.groups()[g].set_lr(rates[g].lr());
      optimizer.groups()[g].set_weight_decay(rates[g].weight_decay());
    }
    for (const auto& [source, target] : copies) (void)target.copy_(source);
  }
};
/// throws ArgumentError for a parameter's state or a group that the optimizer does not have: the state is another
/// optimizer's. Additional master weights are accepted, so that float32 parameters can resume from 16-bit ones.
template <HasState O, class D>
void require_known_state(const O& optimizer, const nn::StateDict<D>& state) {
  std::set<std::string> known;
  visit_state(optimizer, [&](const std::string& name, const auto&) { known.insert(name); });
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
    for (const char* const name : {".step", ".master"}) known.insert(join("state.", i, name));
  for (std::size_t g = 0; g < optimizer.groups().size(); ++g)
    for (const char* const name : {".lr", ".weight_decay"}) known.insert(join("param_groups.", g, name));
  for (const auto& entry : state) {
    const bool is_state = entry.name.starts_with("state.") || entry.name.starts_with("param_groups.");
    if (is_state && !known.contains(entry.name))
      fail<ArgumentError>({"load_state_dict: the state has '", locus::detail::printable(entry.name),
                           "', which this optimizer of ", optimizer.parameters().size(), " parameters in ",
                           optimizer.groups().size(), " groups lacks; expected the state of an optimizer of the same ",
                           "class, options and groups"});
  }
}
/// throws as load_state_dict()
template <HasState O, class D>
[[nodiscard]] OptimizerLoad<O> load_of(O& optimizer, const nn::StateDict<D>& state) {
  OptimizerLoad<O> load{optimizer};
  visit_state(optimizer, [&](const std::string& name, const auto& target) {
    const auto source = state.template get<compute_t<value_of<O>>>(name);
    if (!(source.shape() == target.shape()))
      fail<ShapeError>(
          {"load_state_dict: '", name, "' has shape ", source.shape(), ", but ", target.shape(), " in the optimizer"});
    // Memory of this optimizer is read before it changes.
    load.copies.emplace_back(source.buffer().whole() == target.buffer().whole() ? source.clone() : source, target);
  });
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const std::string name = join("state.", i, ".step");
    load.steps.push_back(number_of<std::int64_t>(state, name));
    if (load.steps.back() < 0)
      fail<ArgumentError>({"load_state_dict: '", name, "' is ", load.steps.back(), "; expected 0 or more"});
  }
  load.lr = number_of<double>(state, "lr");
  (void)GroupRates(load.lr, 0);  // throws for a rate out of range
  for (std::size_t g = 0; g < optimizer.groups().size(); ++g)
    load.rates.push_back({number_of<double>(state, join("param_groups.", g, ".lr")),
                          number_of<double>(state, join("param_groups.", g, ".weight_decay"))});
  require_known_state(optimizer, state);
  return load;
}
}  // namespace detail

/// Copies a state into an optimizer of the same class, options and groups, which then continues like the saved
/// optimizer. Waits for the device. throws ArgumentError for a name that is missing, state of a parameter or group that
/// the optimizer does not have, another element type, or a number out of range; ShapeError for another shape. Then
/// nothing was changed
template <detail::HasState O, class D>
  requires locus::detail::IsWrong<detail::OptimizerStateMistake<O, D>, locus::detail::Wrong::nothing>
void load_state_dict(O& optimizer, const nn::StateDict<D>& state) {
  detail::load_of(optimizer, state).apply();
}

namespace detail {
/// Calls visit(name, number) for each number of a scaler's state, by PyTorch's names, and `skipped_steps`.
template <class State, class Visit>
void visit_scaler(State& state, const Visit& visit) {
  visit("scale", state.options.init_scale);
  visit("growth_factor", state.options.growth_factor);
  visit("backoff_factor", state.options.backoff_factor);
  visit("growth_interval", state.options.growth_interval);
  visit("_growth_tracker", state.growth_tracker);
  visit("skipped_steps", state.skipped_steps);
}
}  // namespace detail

/// The state of a scaler: `scale`, `growth_factor`, `backoff_factor`, `growth_interval` and `_growth_tracker`, as
/// PyTorch's, and `skipped_steps`. cost: copies to the host, which wait
template <class D>
[[nodiscard]] nn::StateDict<D> state_dict(const GradScaler<D>& scaler) {
  nn::StateDict<D> state;
  const GradScalerState from = scaler.state();
  detail::visit_scaler(from, [&]<class N>(const char* name, const N& number) {
    state.add(name, Tensor<N, D>({}, scaler.device()).fill_(number));
  });
  return state;
}
namespace detail {
/// A state that fits a scaler, to be copied into it.
template <class D>
struct ScalerLoad {
  GradScaler<D>& scaler;
  GradScalerState state{};
  /// Allocates nothing.
  void apply() const { scaler.set_state(state); }
};
/// throws as load_state_dict()
template <class D>
[[nodiscard]] ScalerLoad<D> load_of(GradScaler<D>& scaler, const nn::StateDict<D>& state) {
  ScalerLoad<D> load{scaler};
  visit_scaler(load.state, [&]<class N>(const char* name, N& number) { number = number_of<N>(state, name); });
  (void)checked(load.state);
  return load;
}
}  // namespace detail

/// Resumes a scaler from a saved state. throws as load_state_dict() of an optimizer; then nothing was changed
template <class D>
void load_state_dict(GradScaler<D>& scaler, const nn::StateDict<D>& state) {
  detail::load_of(scaler, state).apply();
}

#include <locus/refuse/training/optimizer_state.inc>

}}}  // namespace locus::LOCUS_ABI::optim
