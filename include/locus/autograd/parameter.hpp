#pragma once
// Parameter<T, D>: a tensor that an optimizer changes. It acts as what it meets: where an operand is traced, whichever,
// its gradient is collected; otherwise it is a plain tensor. Parameters alone meet nothing: see trace and seen_by.

#include <locus/autograd/expression.hpp>

namespace locus::inline LOCUS_ABI {

namespace nn::detail {
template <class T, class D, class U, class E, class... Own>
class ModelCopy;
}  // namespace nn::detail

namespace detail {
[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_moved(const char* what) {
  fail<ArgumentError>({"this ", what, " belonged to a model that was moved, by std::move(model).to<D>() or .as<T>(); ",
                       "use the model that the move returned, and make its optimizer from that one's parameters()"});
}
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A shared handle: copies of a module share their parameters, as in PyTorch. clone() gives one of its own.
template <class T, class D = Cpu>
class Parameter {
 public:
  using value_type = T;
  using device_type = D;
  static constexpr Role role = Role::parameter;

  Parameter() = default;
  LOCUS_OUT_OF_LINE explicit Parameter(Tensor<T, D> value) : state_(new State(std::move(value))) {}

#include <locus/refuse/autograd/parameter_class.inc>

  /// False for an empty handle, such as the bias of a layer without one.
  [[nodiscard]] bool defined() const { return static_cast<bool>(state_); }
  // All that follows throws ArgumentError once the model was moved to another place or element type.

  /// The tensor as it is now: an optimizer that is made later moves the value to memory of its own.
  [[nodiscard]] const Tensor<T, D>& value() const { return state().value; }
  [[nodiscard]] const Parameter& eval() const { return *this; }
  [[nodiscard]] const Shared<TensorNode<T, D>>& node() const { return state().node; }
  [[nodiscard]] const Shape& shape() const { return value().shape(); }
  [[nodiscard]] int rank() const { return value().rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return value().size(dim); }
  [[nodiscard]] std::int64_t elements() const { return value().elements(); }
  [[nodiscard]] D device() const { return value().device(); }

  [[nodiscard]] bool has_grad() const { return node() && node()->has_gradient(); }
  /// The gradient collected since zero_grad(). Where an optimizer keeps it, the next backward pass writes to the same
  /// memory: clone() it to keep it. throws GraphError if there is none
  [[nodiscard]] const Tensor<T, D>& grad() const {
    if (!has_grad()) {
      fail<GraphError>({"grad: this parameter of shape ", shape(),
                        " has no gradient; call backward() on a loss computed "
                        "from trace(input)"});
    }
    return node()->gradient();
  }
  /// Forgets the gradient. cost: nothing; the next backward pass writes instead of adding
  void zero_grad() const {
    if (node()) node()->clear_gradient();
  }

  /// Moves value and gradient into memory of these tensors, of the same shape; what they hold is kept.
  /// throws ArgumentError for an empty handle, or a gradient that is not dense; ShapeError for another shape
  void place(const Tensor<T, D>& value, const Tensor<T, D>& gradient) const {
    if (!defined()) fail<ArgumentError>({"Parameter::place: the parameter is empty"});
    if (!(value.shape() == shape()) || !(gradient.shape() == shape())) {
      fail<ShapeError>({"Parameter::place: a parameter of shape ", shape(), " in memory of shapes ", value.shape(),
                        " and ", gradient.shape()});
    }
    if (!gradient.is_contiguous())
      fail<ArgumentError>({"Parameter::place: memory for a gradient of shape ", gradient.shape(), " with strides ",
                           gradient.strides(), "; expected dense memory, as zeros(shape) has"});
    value.copy_(state_->value);
    state_->value = value;
    node()->place_gradient(gradient);
  }

  [[nodiscard]] Parameter clone() const { return defined() ? Parameter(value().clone()) : Parameter(); }
  [[nodiscard]] friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

 private:
  struct State : Counted {
    Tensor<T, D> value;
    Shared<TensorNode<T, D>> node;
    bool moved = false;
    State() = default;
    explicit State(Tensor<T, D> initial)
        : value(std::move(initial)), node(new LeafNode<T, D>(value.shape(), value.device())) {}
  };
  /// An empty handle has no elements and collects no gradient.
  [[nodiscard]] LOCUS_OUT_OF_LINE const State& state() const {
    static const State empty;
    if (!state_) return empty;
    if (state_->moved) [[unlikely]]
      detail::fail_moved("parameter");
    return *state_;
  }
  /// The value lives on elsewhere: of every handle to this one, the next use throws.
  void retire() const {
    state_->moved = true;
    state_->value = {};
    state_->node = {};
  }
  template <class, class, class, class, class...>
  friend class nn::detail::ModelCopy;
  Shared<State> state_;
};
LOCUS_REFUSALS_END

/// w as a layer should use it on x: traced if x is, the plain tensor otherwise. For operations on parameters alone.
template <TensorLike X, class T, class D>
  requires std::is_same_v<device_of<X>, D>
[[nodiscard]] auto seen_by(const X&, const Parameter<T, D>& w) {
  if constexpr (X::role == Role::traced) return Traced<T, D>(w.value(), w.node());
  else return w.value();
}

#include <locus/refuse/autograd/parameter.inc>

/// w as a traced tensor whose gradient is collected: for a penalty on weights.
template <class T, class D>
[[nodiscard]] Traced<T, D> trace(const Parameter<T, D>& w) {
  return Traced<T, D>(w.value(), w.node());
}

}  // namespace locus::inline LOCUS_ABI
