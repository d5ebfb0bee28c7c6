#pragma once
// Averages of a model's weights over training steps, which often do better than the last weights: PyTorch's
// AveragedModel.

#include <locus/expr/functions/special.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct AverageOptions {
  double decay = 0.999;          ///< how much of the average an update keeps
  bool equal = false;            ///< all models count alike (stochastic weight averaging), whatever the decay
  bool average_buffers = false;  ///< buffers of float and double, too; by default they are copied
};

namespace detail {
/// Weight of the next model: 1 for the first; then 1 - decay, or, if `equal`, 1 / number of models.
template <class R>
struct WeightOfModel {
  R of_next;
  bool equal;
  LOCUS_FN R operator()(std::int64_t before) const {
    if (before == 0) return R(1);
    return equal ? R(1) / static_cast<R>(before + 1) : of_next;
  }
};
/// PyTorch's lerp; a weight of 1 copies, NaN and infinities included.
template <class R>
struct MoveTowards {
  LOCUS_FN R operator()(R average, R value, R weight) const {
    return weight == R(1) ? value : functor::Lerp{}(average, value, weight);
  }
};
/// MoveTowards for the `exact` average of 16-bit values; continues from `rounded` if that was written from outside
/// since.
template <class T>
struct MoveExact {
  using R = compute_t<T>;
  LOCUS_FN R operator()(R exact, R rounded, R value, R weight) const {
    const bool is_own = load_as_register(from_register<T>(exact)) == rounded;
    return MoveTowards<R>{}(is_own ? exact : rounded, value, weight);
  }
};
}  // namespace detail

/// A copy of a model, module(), whose parameters are the average of the model's at each update(). It starts equal to
/// the model; the first update() copies, as PyTorch's update_parameters(). By default an exponential average:
/// decay * average + (1 - decay) * weights. Its state has PyTorch's names, `module.0.weight` and `n_averaged`, and is
/// saved and loaded like a model's, io::save_training included. A handle: copies are the same average.
///
/// Buffers, such as running statistics, are copied at each update(), or averaged like weights; buffers of integers and
/// of 16-bit numbers are always copied. Averages of 16-bit weights are kept in float, as `exact` of the state, and
/// rounded into the module. Neither copied nor averaged running statistics match the averaged weights; the error grows
/// with the distance that weights move within an average, and with the number of batch norms. nn::update_bn, of
/// training/update_bn.hpp, computes matching ones.
///
///     const nn::AveragedModel average{model, {.decay = 0.999}};
///     ...
///     optimizer.step();
///     average.update();                         // or fit(..., {.after_step = [&] { average.update(); }})
///     ...
///     nn::update_bn(average.module(), train);
///     evaluate(average.module(), test);
template <class M>
  requires detail::ListsMembers<M>
class AveragedModel {
  using Copy = decltype(std::declval<const M&>().clone());

 public:
  using value_type = value_of<M>;
  using device_type = device_of<M>;

  /// Moves the parameters of both to flat memory; the model's only if they are not flat already: see flatten.
  /// throws ArgumentError unless the decay is 0 to 1, and for a model without parameters
  explicit AveragedModel(const M& model, const AverageOptions& options = {})
      : model_(model),
        module_(model.clone()),
        options_(options),
        values_(flatten(model)),
        averages_(locus::flatten(in_the_same_order())),
        count_(Tensor<std::int64_t, D>({}, averages_.values().device()).fill_(0)),
        weight_({}, averages_.values().device()) {
    if (!(options.decay >= 0 && options.decay <= 1))
      fail<ArgumentError>({"AveragedModel: decay is ", options.decay, "; expected a number from 0 to 1"});
    if constexpr (is_rounded) exact_ = Buffer(averages_.values().template as<R>().eval());
  }

  /// Adds the model's current parameters and buffers to the average. Never waits for the device, so it may be part of a
  /// captured step.
  /// cost: three launches, for 16-bit weights four, and one for each buffer
  /// throws ArgumentError where parameters were flattened together with others since
  void update() const {
    presence_.require("AveragedModel");
    const Tensor<T, D> values = values_.values(), averages = averages_.values();
    const Tensor<std::int64_t, D>& count = count_.value();
    const auto of_next = static_cast<R>(1 - options_.decay);
    locus::detail::map_into(weight_, detail::WeightOfModel<R>{of_next, options_.equal}, count);
    count += 1;
    if constexpr (is_rounded) {
      const Tensor<R, D>& exact = exact_.value();
      locus::detail::map_into(exact, detail::MoveExact<T>{}, exact, averages, values, weight_);
      locus::detail::map_into(averages, functor::Identity{}, exact);
    } else {
      locus::detail::map_into(averages, detail::MoveTowards<R>{}, averages, values, weight_);
    }
    update_buffers();
  }

  /// The averaged model.
  [[nodiscard]] const Copy& module() const {
    presence_.require("AveragedModel");
    return module_;
  }
  /// Number of models in the average. Waits for the device.
  [[nodiscard]] std::int64_t updates() const {
    presence_.require("AveragedModel");
    return count_.value().item();
  }

  void members(const auto& visit) const {
    presence_.require("AveragedModel");
    visit("n_averaged", count_);
    visit("module", module_);
    if constexpr (is_rounded) visit("exact", exact_);
  }

 private:
  using T = value_type;
  using D = device_type;
  using R = compute_t<T>;
  static constexpr bool is_rounded = !std::is_same_v<T, R>;

  /// The copy's parameters, ordered so that flatten lays them out like the model's: it places the last of a list first.
  [[nodiscard]] std::vector<Parameter<T, D>> in_the_same_order() const {
    const auto of_model = model_.parameters(), of_copy = module_.parameters();
    std::vector<Parameter<T, D>> list;
    for (std::size_t i = values_.size(); i-- > 0;)
      for (std::size_t j = 0; j < of_model.size(); ++j)
        if (of_model[j] == values_.parameters()[i]) list.push_back(of_copy[j]);
    return list;
  }

  void update_buffers() const {
    const auto sources = model_.buffers(), copies = module_.buffers();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const bool averaged = options_.average_buffers &&
                            (average_as<float>(copies[i], sources[i]) || average_as<double>(copies[i], sources[i]));
      if (!averaged) copies[i].bytes().copy_(sources[i].bytes());
    }
  }
  template <class U>
  [[nodiscard]] bool average_as(const AnyBuffer<D>& copy, const AnyBuffer<D>& source) const {
    if (copy.type() != element_type<U>) return false;
    const Tensor<U, D>& average = copy.template value<U>();
    locus::detail::map_into(average, detail::MoveTowards<U>{}, average, source.template value<U>(),
                            weight_.template as<U>().eval());
    return true;
  }

  locus::detail::Presence presence_;
  M model_;
  Copy module_;
  AverageOptions options_;
  FlatParameters<T, D> values_, averages_;  ///< in one order
  Buffer<std::int64_t, D> count_;
  Tensor<R, D> weight_;  ///< of the next model
  Buffer<R, D> exact_;   ///< of 16-bit averages
};

}}}  // namespace locus::LOCUS_ABI::nn
