#pragma once
// Traced<T, D>: a tensor whose computation is recorded. An operation is recorded if and only if an operand is traced;
// so the type of a model's input decides between training and inference.

#include <locus/autograd/backward_walk.hpp>
#include <locus/autograd/recorded_operation.hpp>
#include <locus/autograd/unrecorded.hpp>
#if LOCUS_DOUBLE_BACKWARD
#include <locus/expr/dual.hpp>
#endif
#include <locus/ops/unfold.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The scalar 1 on a device: the adjoint of a loss. Cached, so that a training step needs no launch for it.
template <class T, class D>
[[nodiscard]] LOCUS_OUT_OF_LINE Tensor<T, D> one(D device) {
  if constexpr (HostAccessible<D>) {
    const Tensor<T, D> value({}, device);
    *value.data() = convert<T>(1);
    return value;
  } else {
    static thread_local auto* const kept = new Tensor<T, D>;  // never destroyed: the device may be gone by then
    if (!kept->buffer() || !(kept->device() == device) || kept->version() != 0)
      *kept = one<T>(Cpu{}).template to<D>(device);
    return *kept;
  }
}
}  // namespace detail

template <class T, class D = Cpu>
class Traced;

namespace detail {
template <class X>
concept PlainExpression = is_expr<X> && bare_t<X>::role != Role::traced;
/// The mistake in making a Traced<T, D> from X without trace(x).
template <class X, class T, class D>
struct TracedSourceMistake : NoMistake {};
template <HasPlace X, class T, class D>
  requires(!std::is_same_v<device_of<X>, D>)
struct TracedSourceMistake<X, T, D> : CopyMistake<X, D> {};
template <class X, class T, class D>
  requires(std::is_same_v<X, Traced<value_of<X>, D>> && !std::is_same_v<value_of<X>, T>)
struct TracedSourceMistake<X, T, D> : TypeMistake<value_of<X>, T> {};
template <class X, class T, class D>
  requires(std::is_same_v<device_of<X>, D> && (IsTensor<X>::value || IsParameter<X> || PlainExpression<X>))
struct TracedSourceMistake<X, T, D>
    : MistakeOf<Wrong::untraced, error::not_possible<error::source_is_not_traced, error::trace_it_with_trace_x>> {};
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A tensor with its place in the graph. Copies share both.
template <class T, class D>
class Traced : public detail::OtherNames<D, 1> {
 public:
  using value_type = T;
  using device_type = D;
  static constexpr Role role = Role::traced;

  Traced() = default;
  explicit Traced(Tensor<T, D> value, Shared<TensorNode<T, D>> node = {}, bool frozen = false)
      : value_(std::move(value)), node_(std::move(node)), frozen_(frozen) {}
  /// Computes an expression of traced operands.
  template <class E>
    requires(detail::is_expr<E> && std::is_same_v<typename E::result_type, Traced>)
  Traced(const E& expression) : Traced(expression.eval()) {}
#include <locus/refuse/autograd/traced_class.inc>

  /// The tensor alone; computations on it are not recorded.
  [[nodiscard]] const Tensor<T, D>& value() const& { return value_; }
  [[nodiscard]] Tensor<T, D> value() && { return std::move(value_); }
  [[nodiscard]] const Traced& eval() const { return *this; }

  [[nodiscard]] const Shape& shape() const { return value_.shape(); }
  [[nodiscard]] int rank() const { return value_.rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return value_.size(dim); }
  [[nodiscard]] bool is_channels_last() const { return value_.is_channels_last(); }
  [[nodiscard]] std::int64_t elements() const { return value_.elements(); }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  [[nodiscard]] D device() const { return value_.device(); }
  [[nodiscard]] T item() const { return value_.item(); }

  /// Whether it is frozen or computed from a frozen tensor: layers then act as in inference, though operations are
  /// recorded.
  [[nodiscard]] bool is_frozen() const { return frozen_; }
  [[nodiscard]] bool requires_gradient() const { return static_cast<bool>(node_); }
  [[nodiscard]] const Shared<TensorNode<T, D>>& node() const { return node_; }

  /// The gradient collected for a variable. throws GraphError if there is none, or it has the scale of a GradScaler
  [[nodiscard]] const Tensor<T, D>& grad() const {
    if (!node_) fail<GraphError>({"grad: trace(x) collects no gradient for x itself; make it a variable(x)"});
    if (!node_->has_gradient()) {
      fail<GraphError>(
          {"grad: no gradient has been collected; call backward() on what was computed from this variable "
           "(intermediate results keep none)"});
    }
    detail::require_unscaled("grad", *node_);
    return node_->own();
  }
  void zero_grad() const {
    if (node_) node_->clear_gradient();
  }

  /// As Parameter::on_gradient, for a variable or an intermediate result; the pass frees an intermediate gradient once
  /// it is used. A hook keeps the product for that gradient from being fused with the next derivative. In the forward
  /// pass of a checkpoint, which is not recorded, the handle is empty.
  /// throws GraphError where no gradient is collected, as for trace(x)
  template <detail::GradientFunction<T, D> F>
  [[nodiscard]] GradientHook on_gradient(F f) const {
    if (!node_ && detail::unrecorded) return {};
    if (!node_) fail<GraphError>({"on_gradient: no gradient is collected for this; make it a variable(x)"});
    return node_->on_gradient(std::move(f));
  }
#include <locus/refuse/autograd/hooks_class.inc>

  /// Adds the gradients of this scalar to every variable and unfrozen parameter that it was computed from.
  /// Frees the graph unless `retain_graph` is set. Two threads must not run it at once on graphs that share parameters.
  /// throws ShapeError unless there is one element; GraphError if the graph was freed or nothing in it collects
  /// gradients; StaleError if a tensor it needs was modified in place, or is a gradient that it writes
  void backward(const BackwardOptions& options = {}) const
    requires FloatingDType<T>
  {
    if (elements() != 1) {
      fail<ShapeError>({"backward: expected a scalar, got shape ", shape(),
                        "; reduce it with sum or mean, or call backward(cotangent)"});
    }
    backward(detail::one<T>(device()).reshape(shape()), options);
  }

  /// As above for a tensor, weighted by a cotangent of its shape.
  void backward(const Tensor<T, D>& cotangent, const BackwardOptions& options = {}) const
    requires DifferentiableDType<T>
  {
    if (!(cotangent.shape() == shape())) {
      fail<ShapeError>({"backward: cotangent of shape ", cotangent.shape(), " for a result of shape ", shape()});
    }
    if (!node_ && detail::unrecorded) {
      fail<GraphError>(
          {"backward: called by the function of a checkpoint, which is not recorded in the forward pass; call it on "
           "what the checkpoint returns"});
    }
    if (!node_) {
      fail<GraphError>(
          {"backward: nothing this was computed from collects gradients; trace the input of the model rather than "
           "its result, call requires_grad_() of a model that is frozen, or, for the gradient of x itself, write "
           "variable(x) in place of trace(x)"});
    }
    const auto version = cotangent.version();
    BackwardWalk walk(*node_);
    node_->give(cotangent.version() == version ? cotangent : cotangent.clone());  // the pass writes this memory
    walk.run(options);
  }

  // Views, recorded.
  [[nodiscard]] Traced reshape(const Shape& shape) const { return locus::reshape(*this, shape); }
  [[nodiscard]] Traced flatten(int first = 0, int last = -1) const { return locus::flatten(*this, first, last); }
  [[nodiscard]] Traced transpose(int a = -2, int b = -1) const { return locus::transpose(*this, a, b); }
  [[nodiscard]] Traced permute(const Axes& order) const { return locus::permute(*this, order); }
  [[nodiscard]] Traced expand(const Shape& shape) const { return locus::expand(*this, shape); }
  [[nodiscard]] Traced channels_last() const { return locus::channels_last(*this); }
  [[nodiscard]] Traced squeeze() const { return locus::squeeze(*this); }
  [[nodiscard]] Traced squeeze(int dim) const { return locus::squeeze(*this, dim); }
  [[nodiscard]] Traced unsqueeze(int dim) const { return locus::unsqueeze(*this, dim); }
  [[nodiscard]] Traced select(int dim, std::int64_t index) const { return locus::select(*this, dim, index); }
  [[nodiscard]] Traced slice(int dim, std::int64_t start, std::int64_t end = to_end, std::int64_t step = 1) const {
    return locus::slice(*this, dim, start, end, step);
  }
  [[nodiscard]] Traced at(const Subscript& a, const Subscript& b = {}, const Subscript& c = {}, const Subscript& d = {},
                          const Subscript& e = {}, const Subscript& f = {}, const Subscript& g = {},
                          const Subscript& h = {}) const {
    return detail::subscripted(*this, {a, b, c, d, e, f, g, h});
  }
  [[nodiscard]] Traced diagonal(std::int64_t offset = 0, int first = 0, int second = 1) const {
    return locus::diagonal(*this, offset, first, second);
  }
  [[nodiscard]] Traced unfold(int dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1) const {
    return locus::unfold(*this, dim, size, step, dilation);
  }
  /// Converted element by element, pending; the gradient is converted back.
  template <ConvertibleFrom<T> U>
  [[nodiscard]] auto as() const {
    return detail::pending(functor::Convert<U>{}, *this);
  }
  /// A copy on another device; the gradient comes back.
  template <MemorySpace E>
  [[nodiscard]] Traced<T, E> to(E target = {}) const {
    return apply(operation::MoveTo<E>{target}, *this);
  }
#include <locus/refuse/conversion.inc>
#include <locus/refuse/extents.inc>
#include <locus/refuse/to.inc>

 private:
  Tensor<T, D> value_;
  Shared<TensorNode<T, D>> node_;
  bool frozen_ = false;
};
LOCUS_REFUSALS_END

template <class E>
  requires detail::is_expr<E>
Traced(const E&) -> Traced<typename E::value_type, typename E::device_type>;

/// Records computations on x, but collects no gradient for x itself: the input of a model in training.
template <class X>
  requires(TensorLike<X> && detail::bare_t<X>::role == Role::plain)
[[nodiscard]] auto trace(const X& x) {
  return Traced<value_of<X>, device_of<X>>(x.eval());
}

/// Records computations on x and collects its gradient: x.grad() after backward().
template <class X>
  requires(TensorLike<X> && detail::bare_t<X>::role == Role::plain && DifferentiableDType<value_of<X>>)
[[nodiscard]] auto variable(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D>& value = x.eval();
  return Traced<T, D>(value, Shared<TensorNode<T, D>>(new LeafNode<T, D>(value)));
}

/// x, marked so that layers that differ in training and inference act as in inference.
template <class X>
  requires(TensorLike<X> && detail::bare_t<X>::role == Role::traced)
[[nodiscard]] auto frozen(const X& x) {
  const auto& traced = x.eval();
  return Traced<value_of<X>, device_of<X>>(traced.value(), traced.node(), true);
}
#include <locus/refuse/autograd/traced.inc>

namespace detail {

template <class D>
struct Record<Role::traced, D> {
  template <class Op, class... X>
  static auto run(const Op& given, const X&... x) {
    const Op op = wanting(given, x...);
    bring(x.value()...);
    auto result = op.forward(x.value()...);
    using T = value_of<decltype(result.output)>;
    using E = device_of<decltype(result.output)>;  // D, but for a move
    const bool frozen = (frozen_operand(x) || ...);
    constexpr bool has_gradients = DifferentiableDType<T> && is_present<E>;
    [[maybe_unused]] const bool records = is_recorded(has_gradients, x...);
    if constexpr (has_gradients) {
      GraphNode* const inputs[] = {gradient_node(x)...};
      if (records && wants_gradient(inputs)) {
        using Node = OperationNode<Op, T, E, decltype(result.saved), X...>;
        Node* const made = new Node(op, result.output, std::move(result.saved), inputs);
        Shared<TensorNode<T, E>> node(made);
#if LOCUS_DOUBLE_BACKWARD
        made->keep(x.value()...);
#endif
        return Traced<T, E>(std::move(result.output), std::move(node), frozen);
      }
    }
    return Traced<T, E>(std::move(result.output), {}, frozen);
  }

 private:
  /// The operation, told which gradients are wanted if its forward pass computes them.
  template <class Op, class... X>
  static decltype(auto) wanting(const Op& op, [[maybe_unused]] const X&... x) {
    if constexpr (DifferentiatesForward<Op, X...>) return unrecorded ? op : op.wanting(gradient_node(x) != nullptr...);
    else return op;
  }
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI

#include <locus/instances/autograd/traced.inc>
