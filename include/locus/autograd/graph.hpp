#pragma once
// The graph that a traced computation records.

#include <locus/autograd/hooks.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/ops/operation.hpp>

namespace locus { inline namespace LOCUS_ABI {

class GraphNode;

namespace detail {
#if LOCUS_DOUBLE_BACKWARD
class GradientRecord;
class GradientsNode;
#endif

/// Nodes are numbered in order of creation, so every node has a higher number than its inputs.
inline Atomic<std::uint64_t> next_node_number{1};

/// The scale that the backward pass of a scaled loss leaves on gradients. Until they are unscaled, other uses throw.
struct GradientScale : Counted {
  const char* reason;  ///< why a gradient with this scale cannot be used, and the remedy
  explicit GradientScale(const char* why) : reason(why) {}
};
/// Scale of the backward pass that this thread runs; null for an ordinary loss.
inline thread_local GradientScale* pass_scale = nullptr;

/// A request of grad(): receives the gradient of one node as soon as it is complete.
class AskedGradient {
 public:
  virtual void take() = 0;

 protected:
  ~AskedGradient() = default;
};
}  // namespace detail

/// A recorded operation, or a leaf that gradients are collected for.
class GraphNode : public Counted {
 public:
  virtual ~GraphNode() = default;

  /// Adds the node's contribution to the gradients of its inputs (vector-Jacobian product).
  virtual void propagate() = 0;
  /// Calls visit(GraphNode&) for every input that wants a gradient.
  virtual void visit_inputs(void (*visit)(GraphNode&, void*), void* state) = 0;
  /// Leaf only: bumps the version of its gradient before the pass, so that saved aliases fail the stale check.
  virtual void announce() {}
  /// Releases the saved tensors, the inputs and the node's own gradient.
  virtual void free() = 0;
  /// throws GraphError or StaleError unless propagate() can run
  virtual void require_ready() const = 0;
  /// Forgets the node's own gradient.
  virtual void clear_gradient() = 0;
  /// Calls the hooks that were made before this pass with the gradient.
  virtual void call_hooks(std::uint64_t pass) = 0;

  /// Whether the pass that runs computes no gradient for the node: it leads to none that grad() was asked for.
  [[nodiscard]] bool is_left_out() const { return is_left_out_; }

#if LOCUS_DOUBLE_BACKWARD
  // For passes with create_graph; see autograd/recorded_gradients.hpp.

  /// Why the gradients of its inputs cannot be recorded; empty if they can.
  [[nodiscard]] virtual std::string refuses_recording() const {
    return "a model that is replicated on several devices, or another node that does not record its gradients";
  }
  /// Whether the gradients of its inputs depend on the inputs' values.
  [[nodiscard]] virtual bool gradients_vary() const { return true; }
  /// Computes the gradients of its inputs, and adds them and the nodes that they are recorded by to the inputs'
  /// records.
  virtual void record_gradients() {}
  /// As require_ready(), for propagate_again().
  virtual void require_ready_again(const detail::GradientsNode&) const {}
  /// Propagates backward through the computation of the gradients of its inputs.
  virtual void propagate_again(detail::GradientsNode&) {}
  /// A node of the same type that hands its gradient on to the targets.
  [[nodiscard]] virtual Shared<GraphNode> relay(std::vector<Shared<GraphNode>> targets, Shared<GraphNode> input) const {
    (void)targets, (void)input;
    return {};
  }
  /// Its gradient in the pass with create_graph that runs; else null.
  [[nodiscard]] detail::GradientRecord* record() const { return record_; }
  void set_record(detail::GradientRecord* record) { record_ = record; }
  /// Whether hooks wait for its gradient, other than those that hand gradients of parameters on.
  [[nodiscard]] bool has_own_hooks() const { return hooks_ && hooks_->any_but_last(); }
#endif

  /// Deletes a node without owners. Long chains are deleted in a loop, not by recursion.
  static void dispose(GraphNode* node) noexcept {
    static thread_local GraphNode* waiting = nullptr;
    static thread_local bool disposing = false;
    node->next_disposed_ = waiting;
    waiting = node;
    if (disposing) return;
    disposing = true;
    while (waiting) {
      GraphNode* const last = waiting;
      waiting = last->next_disposed_;
      delete last;
    }
    disposing = false;
  }

 protected:
  /// Whether a backward pass adds to the node's gradient at most once.
  [[nodiscard]] bool is_used_once() const { return uses_ == 1; }
  /// Whether the gradient has hooks.
  [[nodiscard]] bool is_hooked() const { return hooks_ && !hooks_->empty(); }
  [[nodiscard]] GradientHook hook(Shared<detail::HookFunction> function, bool last) {
    if (!hooks_) hooks_ = Shared<detail::Hooks>(new detail::Hooks);
    hooks_->add(function, detail::next_node_number.fetch_add(1, Order::relaxed), last);
    return GradientHook(hooks_, std::move(function));
  }
  [[nodiscard]] const Shared<detail::Hooks>& hooks() const { return hooks_; }
  /// Marks the gradient as reached by the walk.
  void contributed() { is_reached_ = true; }

  detail::AskedGradient* asked_ = nullptr;  ///< while grad() computes the gradient of this node
  bool is_leaf_ = false;                    ///< it has no inputs, also before it is freed

 private:
  friend class BackwardWalk;

  std::uint64_t number_ = detail::next_node_number.fetch_add(1, Order::relaxed);
  std::uint64_t visited_ = 0;
  std::uint64_t uses_ = 0;  ///< edges over which the latest walk reached the node: at most as many gradients are added
  /// How many of these edges are still to be processed. Counted only if a gradient of the walk has hooks.
  std::uint64_t awaits_ = 0;
  bool is_reached_ = false;   ///< the latest walk added to the gradient
  bool is_left_out_ = false;  ///< the walk that runs computes no gradient for the node
  bool passes_on_ = true;     ///< the walk that runs computes a gradient for one of the inputs
  Shared<detail::Hooks> hooks_;
  GraphNode* next_disposed_ = nullptr;
#if LOCUS_DOUBLE_BACKWARD
  detail::GradientRecord* record_ = nullptr;
#endif
};

/// A node whose result is a tensor of T on D: shape, device and format of its gradient, and the gradient so far.
template <class T, class D>
class TensorNode : public GraphNode {
 public:
  /// `keeps`: the gradient outlives the backward pass, so replays of a captured step have to write it too.
  LOCUS_OUT_OF_LINE TensorNode(const Shape& shape, D device, bool keeps = false,
                               MemoryFormat format = MemoryFormat::row_major)
      : shape_(shape), device_(device), format_(format), keeps_(keeps) {}
  /// The node of `result`; its gradient has the same format.
  explicit TensorNode(const Tensor<T, D>& result, bool keeps = false)
      : TensorNode(result.shape(), result.device(), keeps, result.layout().format()) {}

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] D device() const { return device_; }
  [[nodiscard]] MemoryFormat format() const { return format_; }
  [[nodiscard]] bool has_gradient() const { return has_gradient_; }
  [[nodiscard]] const Tensor<T, D>& gradient() const { return gradient_; }
  LOCUS_OUT_OF_LINE void clear_gradient() override {
    before_change();
    if (!place_.buffer()) gradient_ = {};
    has_gradient_ = false;
    scale_ = {};
    if (is_captured()) at_replay([](TensorNode& node) { node.clear_gradient(); });
  }
  /// The scale of the gradient; null if it is not scaled.
  [[nodiscard]] const Shared<detail::GradientScale>& scale() const { return scale_; }
  LOCUS_OUT_OF_LINE void set_scale(const Shared<detail::GradientScale>& scale) {
    before_change();
    scale_ = scale;
    if (is_captured()) at_replay([scale](TensorNode& node) { node.scale_ = scale; });
  }
  /// The format of gradients from now on. There is none now.
  void set_format(MemoryFormat format) { format_ = format; }
  /// Keeps the gradient in this memory, of the node's shape, from now on. If it throws, nothing changed.
  void place_gradient(Tensor<T, D> place) {
    if (has_gradient_) place.copy_(gradient_);
    place_ = place;
    gradient_ = std::move(place);
    owned_ = true;
  }

  /// Prepares gradient() for the caller, who adds to it if this returns true, and else writes it. It is row-major; with
  /// `any_strides`, a new one has the format of the node's result, unless place_gradient() gave it memory.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool open(bool any_strides = false) {
    before_change();
    const bool accumulate = has_gradient_;
    (void)place_.buffer().before_use();
    if (!accumulate)
      gradient_ = place_.buffer() ? place_
                  : any_strides   ? Tensor<T, D>(shape_, format_, device_)
                                  : Tensor<T, D>(shape_, device_);
    else if (!owned_ || !(any_strides || gradient_.is_contiguous()))
      make_own(any_strides ? format_ : MemoryFormat::row_major);
    owned_ = has_gradient_ = true;
    gradient_.buffer().changed();
    this->contributed();
    if (is_captured()) replays_open(accumulate);
    return accumulate;
  }

  /// Makes the gradient a dense tensor with no other owner: row-major, or in the format of the node's result.
  void own_gradient() {
    if (!has_gradient_) return;
    before_change();
    if (!owned_) make_own(format_);
    owned_ = true;
    if (is_captured()) at_replay([gradient = gradient_](TensorNode& node) { node.gradient_ = gradient; });
  }

  /// The gradient in memory with no other owner, so that it may be changed in place, also during a pass. cost: a copy
  /// where another gradient or the caller's cotangent shares it
  [[nodiscard]] const Tensor<T, D>& own() {
    if (!owned_) own_gradient();
    return gradient_;
  }

  /// Offers a pending gradient to be fused. True if the node computed it in its own form, from which propagate()
  /// continues. False, without effect, if other uses add to the gradient, it has hooks, or the node does not fuse this
  /// kind.
  [[nodiscard]] bool takes(const PendingGradient<T, D>& pending) {
    return this->is_used_once() && !has_gradient_ && !this->is_hooked() && !this->asked_ && accept(pending);
  }

  /// Calls f(gradient) in every backward pass, right after the last contribution. `last` hooks run after all others:
  /// they hand the gradient on.
  template <class F>
  [[nodiscard]] GradientHook on_gradient(F f, bool last = false) {
    return this->hook(Shared<detail::HookFunction>(new detail::HookFunctionOf<F, T, D>(std::move(f))), last);
  }
  LOCUS_OUT_OF_LINE void call_hooks(std::uint64_t pass) final {
    if (!has_gradient_) return;
    own_gradient();
    const Tensor<T, D> gradient = gradient_;  // a hook may clear it
    this->hooks()->call(&gradient, pass, !this->asked_);
  }

  LOCUS_OUT_OF_LINE void give(Tensor<T, D> g) {
    if (has_gradient_ || place_.buffer()) {
      if (open(true)) gradient_ += g;
      else gradient_.copy_(g);
    } else {
      before_change();
      gradient_ = std::move(g);
      owned_ = false;
      has_gradient_ = true;
      this->contributed();
      if (is_captured()) replays_open(false);
    }
  }

  /// A gradient with its memory and its scale.
  struct KeptGradient {
    Tensor<T, D> gradient, place;
    Shared<detail::GradientScale> scale;
    bool has = false, owned = false, keeps = false;
  };
  /// Lets `asked` receive the gradient of a pass. The gradient so far is returned, for answered().
  [[nodiscard]] KeptGradient ask(detail::AskedGradient& asked) {
    this->asked_ = &asked;
    KeptGradient kept;
    swap_gradient(kept);
    return kept;
  }
  /// Puts the gradient back that was there before ask().
  void answered(KeptGradient kept) {
    this->asked_ = nullptr;
    swap_gradient(kept);
  }
  /// Who receives the gradient of the pass; null unless grad() asked.
  [[nodiscard]] detail::AskedGradient* asked() const { return this->asked_; }
#if LOCUS_DOUBLE_BACKWARD
  [[nodiscard]] Shared<GraphNode> relay(std::vector<Shared<GraphNode>> targets, Shared<GraphNode> input) const override;
#endif

 protected:
  /// See takes(). A node that fuses pending gradients with its own derivative overrides accept() and clear_gradient().
  [[nodiscard]] virtual bool accept(const PendingGradient<T, D>&) { return false; }
  /// throws GraphError if the pass would add to a gradient of another scale
  LOCUS_OUT_OF_LINE void require_same_scale() const {
    if (!has_gradient_ || scale_.get() == detail::pass_scale) return;
    fail<GraphError>({"backward: a gradient of shape ", shape_, " that the pass would add to ",
                      scale_ ? scale_->reason
                             : "is not scaled, and the loss is; call zero_grad() first, or scale every loss of the "
                               "step"});
  }

 private:
  void swap_gradient(KeptGradient& other) {
    std::swap(gradient_, other.gradient);
    std::swap(place_, other.place);
    std::swap(scale_, other.scale);
    std::swap(has_gradient_, other.has);
    std::swap(owned_, other.owned);
    std::swap(keeps_, other.keeps);
  }
  /// Makes the gradient dense, in `wanted` or row-major order, in memory that no other handle refers to. cost: a copy,
  /// unless it is so already
  void make_own(MemoryFormat wanted) {
    const MemoryFormat kept = gradient_.layout().is_dense(wanted) ? wanted : MemoryFormat::row_major;
    if (gradient_.buffer().unique() && gradient_.layout().is_dense(kept)) {  // extents of 1 may have any strides
      gradient_ = Tensor<T, D>(gradient_.buffer(), gradient_.data(), shape_, detail::strides_of(shape_, kept));
    } else {
      const Tensor<T, D> copy(shape_, wanted, device_);
      detail::copy_elements(gradient_, copy);
      gradient_ = copy;
    }
  }
  [[nodiscard]] bool is_captured() const { return keeps_ && detail::is_capturing(); }
  /// To be called before a change of the gradient, which is undone if a capture that it is part of is abandoned.
  void before_change() {
    if (is_captured()) [[unlikely]]
      restore_if_abandoned();
  }
  LOCUS_COLD void restore_if_abandoned() {
    const std::uint64_t capture = detail::step_capture->number();
    if (capture == saved_in_) return;
    detail::at_abandon([node = Shared<TensorNode>(this), gradient = gradient_, scale = scale_, has = has_gradient_,
                        owned = owned_]() mutable {
      node->gradient_ = std::move(gradient);
      node->scale_ = std::move(scale);
      node->has_gradient_ = has;
      node->owned_ = owned;
    });
    saved_in_ = capture;
  }
  /// Calls f(*this) before each replay of the step that is being captured.
  template <class F>
  void at_replay(const F& f) {
    detail::at_replay([node = Shared<TensorNode>(this), f] { f(*node); });
  }
  /// Makes replays write the gradient, or add to it, as the captured backward pass does. They throw CaptureError if
  /// there is no gradient to add to, or a gradient would be overwritten.
  LOCUS_COLD void replays_open(bool accumulate) {
    at_replay([accumulate](TensorNode& node) {
      if (node.has_gradient_ != accumulate) {
        fail<CaptureError>({"capture: the step was captured when it ",
                            accumulate ? "added to a gradient, and now there is none"
                                       : "wrote a gradient, and now there is one that would be lost",
                            "; call zero_grad() within the step, or never between its calls"});
      }
      node.owned_ = node.has_gradient_ = true;
      node.gradient_.buffer().changed();
    });
  }

  Shape shape_;
  D device_;
  MemoryFormat format_;
  Tensor<T, D> gradient_;
  Tensor<T, D> place_;
  Shared<detail::GradientScale> scale_;
  bool has_gradient_ = false;
  bool owned_ = false;
  bool keeps_;
  std::uint64_t saved_in_ = 0;  ///< the last capture that saved the gradient for the case that it is abandoned
};

template <class T, class D>
class Gradient {
 public:
  struct Target {
    Tensor<T, D> out;         ///< memory of the input's shape
    bool accumulate = false;  ///< add to it rather than write it
  };

  explicit Gradient(TensorNode<T, D>* node) : node_(node) {}

  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  [[nodiscard]] const Shape& shape() const { return node_->shape(); }
  /// Dense memory in row-major order.
  [[nodiscard]] Target open() {
    const bool accumulate = node_->open();
    return {node_->gradient(), accumulate};
  }
  /// As open(), with any strides; a new gradient has the input's format.
  [[nodiscard]] Target open_in_format() {
    const bool accumulate = node_->open(true);
    return {node_->gradient(), accumulate};
  }
  /// Adds a tensor to the gradient; the first is shared, not copied.
  LOCUS_OUT_OF_LINE void give(Tensor<T, D> g) {
    if (!(g.shape() == shape())) {
      fail<ShapeError>({"backward: a gradient of shape ", g.shape(), " for an input of shape ", shape()});
    }
    node_->give(std::move(g));
  }
  /// Adds a gradient that is not computed yet. The input's node computes it fused with its own derivative if it can;
  /// otherwise it is computed here.
  template <std::derived_from<PendingGradient<T, D>> P>
  void give(const P& pending) {
    if (!node_->takes(pending)) pending.compute(open());
  }
  /// Whether another use has contributed already.
  [[nodiscard]] bool has_value() const { return node_->has_gradient(); }
  /// Takes back an open() of a gradient that had no value: nothing was written.
  void withdraw() { node_->clear_gradient(); }
  [[nodiscard]] const TensorNode<T, D>* node() const { return node_; }

 private:
  TensorNode<T, D>* node_;
};

/// A leaf: collects its gradient and keeps it. A backward pass reaches it last, when nodes that shared the gradient
/// tensor have released it.
template <class T, class D>
class LeafNode final : public TensorNode<T, D> {
 public:
  LeafNode(const Shape& shape, D device) : TensorNode<T, D>(shape, device, true) { this->is_leaf_ = true; }
  explicit LeafNode(const Tensor<T, D>& value) : TensorNode<T, D>(value, true) { this->is_leaf_ = true; }
  void propagate() override {
    this->own_gradient();
    if (detail::pass_scale && this->has_gradient()) this->set_scale(Shared<detail::GradientScale>(detail::pass_scale));
  }
  void visit_inputs(void (*)(GraphNode&, void*), void*) override {}
  void announce() override { this->gradient().buffer().changed(); }
  void free() override {}
  void require_ready() const override { this->require_same_scale(); }
};

namespace detail {
/// throws GraphError for a gradient that is scaled
template <class T, class D>
void require_unscaled(std::string_view who, const TensorNode<T, D>& node) {
  if (node.scale()) [[unlikely]]
    fail<GraphError>({who, ": the gradient of shape ", node.shape(), " ", node.scale()->reason});
}

[[noreturn]] LOCUS_COLD inline void fail_freed() {
  fail<GraphError>(
      {"backward: this graph was already freed by an earlier backward(); run the forward pass again, or "
       "call the first one as backward({.retain_graph = true})"});
}
}  // namespace detail

}}  // namespace locus::LOCUS_ABI

#if LOCUS_DOUBLE_BACKWARD
#include <locus/autograd/recorded_gradients.hpp>
#endif

#include <locus/instances/autograd/graph.inc>
