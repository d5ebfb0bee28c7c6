#pragma once
// Parameter<T, D>: a tensor that an optimizer changes. In an operation with a traced operand it is traced and collects
// its gradient; beside plain tensors it is a plain tensor. An operation on parameters alone needs trace or seen_by.

#include <locus/autograd/expression.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace nn::detail {
template <class T, class D, class U, class E, class... Own>
class ModelCopy;
}  // namespace nn::detail

namespace detail {
[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_moved(const char* what) {
  fail<ArgumentError>({"this ", what, " belonged to a model that was moved, by std::move(model).to<D>() or .as<T>(); ",
                       "use the model that the move returned, and make its optimizer from that one's parameters()"});
}
[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_lent(std::string_view who) {
  fail<GraphError>({who, ": the parameter belongs to a sharded model, in which each rank has a part of it; take the ",
                    "parameters of that one, sharded.parameters()"});
}

/// State of gradients that are reduced over ranks, shared by several parameters and set by the reducer.
struct GradientHold : Counted {
  const char* reason = nullptr;  ///< why the gradients must not be used yet, and the remedy; null: they may be used
  bool is_in_use = true;         ///< whether the reducer is alive
  bool holds_missing = false;    ///< whether the reason counts for parameters without a gradient, too
  std::int64_t kept = 0;         ///< number of local gradients, not reduced yet, that zero_grad() did not drop

  void drop_one() {
    at_abandon([hold = Shared<GradientHold>(this), before = kept] { hold->kept = before; });
    --kept;
  }
};

/// The other ranks' parts of parameters of which this rank has parts: for a norm or a flag of all gradients.
template <class T, class D>
struct OtherParts : Counted {
  virtual ~OtherParts() = default;
  /// The numbers of all ranks, (ranks,). Each rank calls it.
  [[nodiscard]] virtual Tensor<compute_t<T>, D> gathered(const Tensor<compute_t<T>, D>& number) const = 0;
  /// Sets the flag of each rank if that of any rank is set. Each rank calls it.
  virtual void set_if_any(const Tensor<bool, D>& flag) const = 0;
};
/// One dense block for the values of several parameters and one for their gradients. Each parameter has a slot.
template <class T, class D>
struct FlatMemory : Counted {
  Tensor<T, D> values, gradients;
  std::vector<std::int64_t> begins;       ///< first element of each slot; then the end of the last slot
  std::vector<std::uint32_t> zeroed;      ///< version of each slot's gradient when it was last zeroed
  Shared<const OtherParts<T, D>> others;  ///< null: the parameters are whole
};
/// A slot of a flat memory; none where `memory` is null.
template <class T, class D>
struct FlatPlace {
  Shared<FlatMemory<T, D>> memory;
  std::size_t slot = 0;

  [[nodiscard]] friend bool operator==(const FlatPlace& a, const FlatPlace& b) {
    return a.memory == b.memory && a.slot == b.slot;
  }
  /// The slot's elements in `block` (values or gradients), with their own version counter.
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor<T, D> part(const Tensor<T, D>& block, const Shape& shape,
                                                    MemoryFormat format) const {
    T* const data = block.data() + memory->begins[slot];
    const auto bytes = static_cast<std::size_t>(elements(shape)) * sizeof(T);
    return Tensor<T, D>(block.buffer().part(data, bytes), data, shape, strides_of(shape, format));
  }
};

/// The order of a parameter's elements in flat memory, where its gradient and an optimizer's state have the same one.
[[nodiscard]] inline MemoryFormat dense_format(const Layout& layout) {
  return !layout.is_contiguous() && layout.is_dense(MemoryFormat::channels_last) ? MemoryFormat::channels_last
                                                                                 : MemoryFormat::row_major;
}
/// A copy of a parameter's value, in the same order if dense.
template <class T, class D>
[[nodiscard]] Tensor<T, D> cloned_in_format(const Tensor<T, D>& value) {
  const Tensor<T, D> copy(value.shape(), dense_format(value.layout()), value.device());
  copy_elements(value, copy);
  return copy;
}
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A shared handle: copies of a module share their parameters, as in PyTorch. clone() gives an independent parameter.
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
  // The members below throw ArgumentError once the model was moved to another place or element type.

  /// The current tensor. `flatten`, or an optimizer made later, moves the value to flat memory.
  /// Of a sharded model, the whole tensor is there within a pass of the model alone.
  [[nodiscard]] const Tensor<T, D>& value() const { return used().value; }
  [[nodiscard]] const Parameter& eval() const { return *this; }
  /// The node that collects its gradient; null for a frozen parameter, whose operations are not recorded.
  [[nodiscard]] const Shared<TensorNode<T, D>>& node() const { return state().node; }
  /// The node that holds its hooks and the memory of its gradient, also while it is frozen.
  [[nodiscard]] const Shared<TensorNode<T, D>>& leaf() const { return state().leaf; }
  [[nodiscard]] const Shape& shape() const { return state().value.shape(); }
  [[nodiscard]] int rank() const { return state().value.rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return state().value.size(dim); }
  [[nodiscard]] std::int64_t elements() const { return state().value.elements(); }
  [[nodiscard]] D device() const { return state().value.device(); }

  /// Whether gradients are collected for it: unless it is frozen, or an empty handle.
  [[nodiscard]] bool requires_grad() const { return static_cast<bool>(node()); }
  /// Freezes the parameter (false), or trains it again. Operations treat a frozen parameter as a plain tensor. Backward
  /// passes stop where all earlier parameters are frozen. Optimizers, clipping and ranks skip it: its value, its
  /// optimizer's state and its count of steps stay. All handles share the flag; clone() and moved or converted models
  /// keep it, files of weights do not. Either call drops the gradient; hooks stay. The change takes effect with the
  /// next forward pass: a backward pass through an earlier graph computes the gradient and drops it.
  /// throws ArgumentError for an empty handle, CaptureError where the change would be part of a captured step
  ///
  ///     model.fc.weight.requires_grad_(false);
  LOCUS_OUT_OF_LINE void requires_grad_(bool wanted = true) const {
    if (!leaf()) fail<ArgumentError>({"requires_grad_: the parameter is empty, so no gradient is collected for it"});
    if (wanted == requires_grad()) return;
    if (detail::is_capturing())
      fail<CaptureError>(
          {"capture: requires_grad_ within the step: replays repeat its launches and cannot freeze or "
           "train a parameter; call it before, and capture anew"});
    zero_grad();
    leaf()->clear_gradient();
    state_->node = wanted ? state_->leaf : Shared<TensorNode<T, D>>();
  }

  [[nodiscard]] bool has_grad() const { return node() && node()->has_gradient(); }
  /// The gradient collected since zero_grad(). In flat memory, the next backward pass writes to the same elements:
  /// clone() it to keep it. throws GraphError if there is no gradient, or it has the scale of a GradScaler
  [[nodiscard]] const Tensor<T, D>& grad() const {
    if (!has_grad()) {
      if (defined() && !requires_grad())
        fail<GraphError>({"grad: this parameter of shape ", shape(),
                          " is frozen and has no gradient; call requires_grad_() before the forward pass"});
      fail<GraphError>({"grad: this parameter of shape ", shape(),
                        " has no gradient; call backward() on a loss computed "
                        "from trace(input)"});
    }
    detail::require_unscaled("grad", *node());
    return node()->own();
  }
  /// Forgets the gradient. cost: nothing; the next backward pass writes instead of adding
  void zero_grad() const {
    if (!node()) return;
    if (gradient_hold() && gradient_hold()->kept > 0 && has_grad()) gradient_hold()->drop_one();
    node()->clear_gradient();
  }

  /// Calls f(gradient) in every backward pass that reaches this parameter, right after the last contribution of the
  /// pass, as long as the handle lives. f takes a const Tensor<T, D>& and returns nothing. It may change the gradient
  /// in place, clear it, and launch into the current stream, but not call backward() on a result of the pass. A
  /// captured step calls f when it is captured and replays the launches of f. clone() has no hooks.
  /// cost: none in passes without hooks; a copy where the gradient shares its memory with another tensor
  /// throws ArgumentError for an empty handle
  ///
  ///     auto hook = w.on_gradient([&](const auto& gradient) { norms.push_back(norm(gradient).item()); });
  template <detail::GradientFunction<T, D> F>
  [[nodiscard]] GradientHook on_gradient(F f) const {
    require_defined("on_gradient");
    return leaf()->on_gradient(std::move(f));
  }
#include <locus/refuse/autograd/hooks_class.inc>

  /// Lays out the elements with the channels of images side by side: the value, later its gradient and the state of
  /// optimizers. shape(), names and files stay. See nn::channels_last_, which does it for a model.
  /// throws ArgumentError once it has a gradient, or lies in flat memory, where optimizers put it; ShapeError unless it
  /// has four or five dimensions; CaptureError within a captured step
  LOCUS_OUT_OF_LINE void channels_last_() const {
    require_defined("channels_last_");
    if (detail::is_capturing())
      fail<CaptureError>({"channels_last_: within a captured step; call it before the capture"});
    if (flat_place().memory || has_grad())
      fail<ArgumentError>({"channels_last_: the parameter of shape ", shape(),
                           has_grad() ? " has a gradient" : " lies in the memory of an optimizer or of flatten",
                           "; call it before the first backward pass and before making the optimizer"});
    state_->value = state_->value.channels_last();
    leaf()->set_format(detail::dense_format(state_->value.layout()));
  }

  /// The slot of value and gradient in flat memory; see flatten.
  [[nodiscard]] const detail::FlatPlace<T, D>& flat_place() const { return state().place; }
  /// Moves value and gradient, with their contents, to a slot of the parameter's size. If it throws, nothing changed.
  LOCUS_OUT_OF_LINE void move_to(const detail::FlatPlace<T, D>& place) const {
    require_defined("move_to");
    const MemoryFormat format = detail::dense_format(state_->value.layout());
    Tensor<T, D> value = place.part(place.memory->values, shape(), format);
    Tensor<T, D> gradient = place.part(place.memory->gradients, shape(), format);
    value.copy_(state_->value);
    leaf()->place_gradient(std::move(gradient));  // the last statement that may throw
    state_->value = std::move(value);
    state_->place = place;
  }

  /// Puts the value, of this shape, in memory of an owner that brings the elements before each use: see
  /// MemoryOwner::before_use. The elements so far are forgotten, and so is a gradient.
  void lend(Tensor<T, D> value) const {
    require_defined("lend");
    leaf()->clear_gradient();
    state_->value = std::move(value);
    state_->place = {};
    state_->is_lent = true;
  }
  /// Whether value and gradient are in memory that is lent: see lend().
  [[nodiscard]] bool is_lent() const { return state().is_lent; }

  /// Null unless gradients are reduced over ranks.
  [[nodiscard]] const Shared<detail::GradientHold>& gradient_hold() const { return state().hold; }
  void hold_gradient(const Shared<detail::GradientHold>& hold) const {
    require_defined("hold_gradient");
    state_->hold = hold;
  }

  [[nodiscard]] Parameter clone() const {
    if (!defined()) return {};
    const Parameter copy(detail::cloned_in_format(value()));
    if (!requires_grad()) copy.state_->node = {};  // not by requires_grad_, which a captured step may not call
    return copy;
  }
  [[nodiscard]] friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

 private:
  struct State : Counted {
    Tensor<T, D> value;
    Shared<TensorNode<T, D>> leaf;
    Shared<TensorNode<T, D>> node;  ///< the leaf, or null while the parameter is frozen
    detail::FlatPlace<T, D> place;
    Shared<detail::GradientHold> hold;
    bool moved = false, is_lent = false;
    State() = default;
    explicit State(Tensor<T, D> initial) : value(std::move(initial)), leaf(new LeafNode<T, D>(value)), node(leaf) {}
  };
  void require_defined(const char* what) const {
    if (!defined())
      fail<ArgumentError>({what, ": the parameter is empty, so no gradient is collected for it; it was made without a ",
                           "tensor, or moved from"});
  }
  /// An empty handle has no elements and collects no gradient.
  [[nodiscard]] LOCUS_OUT_OF_LINE const State& state() const {
    static const State empty;
    if (!state_) return empty;
    if (state_->moved) [[unlikely]]
      detail::fail_moved("parameter");
    return *state_;
  }
  /// The state, for a use of the value.
  [[nodiscard]] LOCUS_OUT_OF_LINE const State& used() const {
    const State& its = state();
    if (its.is_lent) [[unlikely]]
      (void)its.value.buffer().before_use();
    return its;
  }
  /// Marks the parameter as moved, its value having gone to another model: the next use of any handle throws.
  void retire() const {
    state_->moved = true;
    state_->value = {};
    state_->leaf = {};
    state_->node = {};
    state_->place = {};
    state_->hold = {};
  }
  template <class, class, class, class, class...>
  friend class nn::detail::ModelCopy;
  Shared<State> state_;
};
LOCUS_REFUSALS_END

/// w as a traced tensor whose gradient is collected, unless it is frozen: for a penalty on weights.
template <class T, class D>
[[nodiscard]] Traced<T, D> trace(const Parameter<T, D>& w) {
  if (detail::unrecorded) [[unlikely]]
    detail::unrecorded->note(w);  // noted now: later, a frozen parameter without a node looks like a result
  return Traced<T, D>(w.value(), w.node());
}

/// w as a layer uses it on x: traced if x is, else the plain tensor. For operations on parameters alone.
template <TensorLike X, class T, class D>
  requires std::is_same_v<device_of<X>, D>
[[nodiscard]] auto seen_by(const X&, const Parameter<T, D>& w) {
  if constexpr (X::role == Role::traced) return trace(w);
  else return w.value();
}

#include <locus/refuse/autograd/parameter.inc>

}}  // namespace locus::LOCUS_ABI

#include <locus/instances/autograd/parameter.inc>
