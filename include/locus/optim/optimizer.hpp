#pragma once
// What all optimizers share: parameters and gradients in flat arenas, so that a step is one launch.

#include <locus/autograd/parameter.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI::optim {

/// Values, gradients and state of a list of parameters, each in one dense block of memory.
template <class T, class D>
class Arena {
 public:
  /// Moves the parameters and their gradients into the arena; what they hold is kept.
  /// throws ArgumentError if there are none or one is named twice; DeviceError if they are on several ordinals
  explicit Arena(std::vector<Parameter<T, D>> parameters) : parameters_(std::move(parameters)) {
    if (parameters_.empty()) fail<ArgumentError>({"optimizer: no parameters were given; pass model.parameters()"});
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].defined()) fail<ArgumentError>({"optimizer: parameter ", i, " is empty"});
      detail::require_same_ordinal("optimizer", parameters_[0].value(), parameters_[i].value());
      for (std::size_t j = 0; j < i; ++j) {
        if (parameters_[i] == parameters_[j])
          fail<ArgumentError>({"optimizer: parameters ", j, " and ", i, " are the same"});
      }
      offsets_.push_back(size_);
      size_ += (parameters_[i].elements() + alignment - 1) / alignment * alignment;
    }
    steps_.resize(parameters_.size());
    values_ = Tensor<T, D>({size_}, parameters_[0].device()).fill_(T(0));
    gradients_ = filled_with_zeros();
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].place(part(values_, i), part(gradients_, i));
  }
  // Copies would share the values and count the steps apart.
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&&) noexcept = default;
  Arena& operator=(Arena&&) noexcept = default;
  ~Arena() = default;

  [[nodiscard]] const std::vector<Parameter<T, D>>& parameters() const { return parameters_; }
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor<T, D> filled_with_zeros() const {
    return Tensor<T, D>(values_.shape(), values_.device()).fill_(T(0));
  }

  /// Applies make(t)(value, gradient, state..., value&, state&...) to every parameter that has a gradient, where this
  /// is its t-th step: one launch per stretch of neighbours with equal t, a single one where all get gradients always.
  /// An empty state reads as zero and is not written. Replays of a captured step call make again. throws ArgumentError
  /// if another optimizer took a parameter over
  template <class Make, class... State>
  void update(const Make& make, const State&... state) {
    std::size_t first = 0;
    while (first < parameters_.size()) {
      if (!parameters_[first].has_grad()) {
        ++first;
        continue;
      }
      std::size_t last = first + 1;
      while (last < parameters_.size() && parameters_[last].has_grad() && steps_[last] == steps_[first]) ++last;
      const auto next_step = [this, make, first, last] {
        require_placed();
        for (std::size_t i = first; i < last; ++i) {
          if (steps_[i] == steps_[first]) continue;
          fail<CaptureError>({"capture: the optimizer made ", steps_[first], " steps with parameter ", first, " and ",
                              steps_[i], " with parameter ", i, ", whose updates were captured as one; capture anew"});
        }
        locus::detail::restore_if_abandoned(steps_);
        for (std::size_t i = first; i < last; ++i) {
          ++steps_[i];
          parameters_[i].value().buffer().changed();
        }
        return make(steps_[first]);
      };
      const std::int64_t begin = offsets_[first];
      launch(next_step, begin, (last < parameters_.size() ? offsets_[last] : size_) - begin, state...);
      first = last;
    }
  }

 private:
  static constexpr std::int64_t alignment = 64 / sizeof(T);  ///< parameters begin at 64-byte boundaries

  void require_placed() const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].value().data() == values_.data() + offsets_[i]) continue;
      fail<ArgumentError>({"optimizer: parameter ", i, " of shape ", parameters_[i].shape(),
                           " was taken over by an optimizer that was made later; step with that one"});
    }
  }

  /// The place of a parameter, which changes by itself.
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor<T, D> part(const Tensor<T, D>& block, std::size_t i) const {
    const Shape& shape = parameters_[i].shape();
    T* const data = block.data() + offsets_[i];
    const auto bytes = static_cast<std::size_t>(elements(shape)) * sizeof(T);
    return Tensor<T, D>(block.buffer().part(data, bytes), data, shape, row_major(shape));
  }

  template <class Make, class... State>
  void launch(const Make& make, std::int64_t begin, std::int64_t count, const State&... state) {
    constexpr int operands = 3 + 2 * static_cast<int>(sizeof...(State));
    static constexpr Strides dense{1};
    std::array<PlanOperand, operands> dense_operands;
    dense_operands.fill({nullptr, &dense});
    const auto at = [begin](const Tensor<T, D>& tensor) { return tensor.buffer() ? tensor.data() + begin : nullptr; };
    locus::detail::map_anew(
        values_.device(), make_plan<operands>({count}, dense_operands), make,
        Pack<const T*, const T*, const typename State::value_type*...>(at(values_), at(gradients_), at(state)...),
        Pack<T*, typename State::value_type*...>(at(values_), at(state)...));
  }

  std::vector<Parameter<T, D>> parameters_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> steps_;  ///< made by each parameter
  std::int64_t size_ = 0;
  Tensor<T, D> values_, gradients_;
};

namespace detail {
/// throws ArgumentError naming the option and what was given
LOCUS_OUT_OF_LINE inline void require_option(bool valid, const char* option, double given, const char* expected) {
  if (!valid) fail<ArgumentError>({"optimizer: ", option, " is ", given, "; expected ", expected});
}
inline void require_not_negative(const char* option, double given) {
  locus::detail::require_not_negative("optimizer", option, given);
}

template <class D, class E>
using other_device = error::device_mismatch<error::optimizer_is_on<D>, error::parameters_are_on<E>,
                                            error::make_the_optimizer_for_the_device_of_the_parameters>;

/// A model, rather than a list of its parameters. (An optimizer has parameters() too.)
template <class M>
concept HasParameters = requires(const M& model) {
  model.parameters();
  model.zero_grad();
} && !requires(M& optimizer) { optimizer.step(); };
}  // namespace detail

/// Base of the optimizers. They take the parameters' values and gradients over into memory of their own: handles taken
/// from value() before no longer reach the model, and those of grad() see the next gradient; clone() what is to stay.
/// The learning rate may change between steps: optimizer.set_lr(0.1).
template <class T, class D>
class Optimizer {
 public:
  using value_type = T;
  using device_type = D;

  [[nodiscard]] const std::vector<Parameter<T, D>>& parameters() const { return arena_.parameters(); }
  /// Forgets all gradients. cost: no launch; the next backward pass writes instead of adding
  void zero_grad() const {
    for (const auto& parameter : parameters()) parameter.zero_grad();
  }
  [[nodiscard]] double lr() const { return lr_; }
  void set_lr(double lr) {
    detail::require_not_negative("learning rate", lr);
    lr_ = lr;
  }

 protected:
  /// `lr` was checked: from here on, the parameters belong to this optimizer.
  Optimizer(std::vector<Parameter<T, D>> parameters, double lr) : arena_(std::move(parameters)), lr_(lr) {}
  Arena<T, D> arena_;

 private:
  double lr_;
};

}  // namespace locus::inline LOCUS_ABI::optim

#include <locus/instances/optim/optimizer.inc>
