#pragma once
// The nodes that a pass with create_graph records: included by autograd/graph.hpp with LOCUS_DOUBLE_BACKWARD.
//
// The pass goes through an operation y = f(x...) whose gradient is g. It computes the gradients of x..., as an ordinary
// pass does, and records them as the results of one GradientsNode, a function of x... and g, whose own gradients
// GraphNode::propagate_again() computes. A node has one result, so each gradient has a RelayNode, which hands its
// gradient to the GradientsNode:
//
//     RelayNode of x0's gradient -> GradientsNode -> nodes of x0, x1, and of g
//     RelayNode of x1's gradient ->
//
// A gradient that several operations contribute to is recorded by a RelayNode, too, which hands its gradient to the
// node of each contribution.

#include <locus/autograd/graph.hpp>

#if LOCUS_DOUBLE_BACKWARD
namespace locus { inline namespace LOCUS_ABI {
namespace detail {

inline constexpr const char* third_order =
    "a gradient that was recorded itself: third derivatives are not recorded; compute higher ones with dual numbers";

/// Collects a gradient, and hands it on to the targets.
template <class T, class D>
class RelayNode final : public TensorNode<T, D> {
 public:
  /// `input`: the node that is next in the graph; null: the targets are.
  RelayNode(const Shape& shape, D device, MemoryFormat format, std::vector<Shared<GraphNode>> targets,
            Shared<GraphNode> input)
      : TensorNode<T, D>(shape, device, false, format), targets_(std::move(targets)), input_(std::move(input)) {}

  void propagate() override {
    if (!this->has_gradient()) return;
    for (const auto& target : targets_)
      if (!target->is_left_out()) static_cast<TensorNode<T, D>&>(*target).give(this->gradient());
    this->clear_gradient();
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override {
    if (input_) return visit(*input_, state);
    for (const auto& target : targets_) visit(*target, state);
  }
  void free() override {
    targets_.clear();
    input_ = {};
    this->clear_gradient();
  }
  void require_ready() const override {
    if (targets_.empty()) fail_freed();
  }
  [[nodiscard]] std::string refuses_recording() const override { return third_order; }

 private:
  std::vector<Shared<GraphNode>> targets_;
  Shared<GraphNode> input_;
};

/// The gradients of the inputs of an operation, as a function of the inputs and of the gradient of its result.
class GradientsNode final : public GraphNode {
 public:
  /// `gradient` holds the gradient of the result; `recorded` is the node that recorded it, null for a constant.
  GradientsNode(GraphNode& operation, Shared<GraphNode> gradient, std::uint32_t version, Shared<GraphNode> recorded,
                int inputs)
      : operation_(&operation),
        gradient_(std::move(gradient)),
        recorded_(std::move(recorded)),
        adjoints_(static_cast<std::size_t>(inputs)),
        version_(version) {}

  void propagate() override {
    operation_->propagate_again(*this);
    clear_gradient();
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override {
    if (operation_ && operation_->gradients_vary()) operation_->visit_inputs(visit, state);
    if (recorded_) visit(*recorded_, state);
  }
  void free() override {
    operation_ = gradient_ = recorded_ = {};
    adjoints_.clear();
  }
  void require_ready() const override {
    if (!operation_) fail_freed();
    operation_->require_ready();
    operation_->require_ready_again(*this);
  }
  void clear_gradient() override {
    for (const auto& adjoint : adjoints_)
      if (adjoint) adjoint->clear_gradient();
  }
  void call_hooks(std::uint64_t) override {}
  [[nodiscard]] std::string refuses_recording() const override { return third_order; }

  /// The node that collects the adjoint of the gradient of an input.
  void set_adjoint(int input, Shared<GraphNode> node) { adjoints_[static_cast<std::size_t>(input)] = std::move(node); }

  /// The gradient of the operation's result.
  template <class T, class D>
  [[nodiscard]] const Tensor<T, D>& gradient() const {
    return static_cast<const TensorNode<T, D>&>(*gradient_).gradient();
  }
  /// The version of its elements when the operation's gradients were computed.
  [[nodiscard]] const std::uint32_t& version() const { return version_; }
  /// Where the gradient of this gradient goes.
  template <class T, class D>
  [[nodiscard]] Gradient<T, D> of_gradient() const {
    GraphNode* const node = recorded_ && !recorded_->is_left_out() ? recorded_.get() : nullptr;
    return Gradient<T, D>(static_cast<TensorNode<T, D>*>(node));
  }
  /// The adjoint of the gradient of an input; null if it is zero.
  template <class T, class D>
  [[nodiscard]] const Tensor<T, D>* adjoint(int input) const {
    const auto& collects = adjoints_[static_cast<std::size_t>(input)];
    const auto* const node = static_cast<const TensorNode<T, D>*>(collects.get());
    return node && node->has_gradient() ? &node->gradient() : nullptr;
  }

 private:
  Shared<GraphNode> operation_, gradient_, recorded_;
  std::vector<Shared<GraphNode>> adjoints_;  ///< one for each input; null where no gradient was recorded
  std::uint32_t version_;
};

/// The gradient of a node in a pass with create_graph: the value so far, and the nodes of its recorded contributions.
class GradientRecord : public Counted {
 public:
  explicit GradientRecord(GraphNode& of) : of_(of), value_(of.relay({}, {})) { of.set_record(this); }
  ~GradientRecord() { of_.set_record(nullptr); }

  /// Collects the value.
  [[nodiscard]] const Shared<GraphNode>& value() const { return value_; }
  template <class T, class D>
  [[nodiscard]] TensorNode<T, D>& value_on() const {
    return static_cast<TensorNode<T, D>&>(*value_);
  }
  void add(Shared<GraphNode> contribution) { contributions_.push_back(std::move(contribution)); }
  /// The node that recorded the complete gradient; null for a constant.
  [[nodiscard]] Shared<GraphNode> node() {
    if (contributions_.size() > 1) {
      auto sum = of_.relay(std::move(contributions_), {});
      contributions_.assign(1, std::move(sum));
    }
    return contributions_.empty() ? Shared<GraphNode>() : contributions_[0];
  }

 private:
  GraphNode& of_;
  Shared<GraphNode> value_;
  std::vector<Shared<GraphNode>> contributions_;
};

/// Records gradients for the nodes of a pass. They end with it.
class GradientRecords {
 public:
  void add(GraphNode& node) { records_.emplace_back(new GradientRecord(node)); }

 private:
  std::vector<Shared<GradientRecord>> records_;
};

/// throws GraphError if the pass cannot record the node's gradient, or, where it goes on, the gradients of the inputs
LOCUS_OUT_OF_LINE inline void require_recordable(const GraphNode& node, bool goes_on) {
  if (node.has_own_hooks())
    fail<GraphError>(
        {"grad: create_graph: the pass would call a hook, whose changes of the gradient are not recorded; ",
         "remove it, by unhook(), before"});
  if (!goes_on) return;
  const std::string reason = node.refuses_recording();
  if (!reason.empty()) fail<GraphError>({"grad: create_graph: the graph holds ", reason});
}

}  // namespace detail

template <class T, class D>
Shared<GraphNode> TensorNode<T, D>::relay(std::vector<Shared<GraphNode>> targets, Shared<GraphNode> input) const {
  return Shared<GraphNode>(new detail::RelayNode<T, D>(shape_, device_, format_, std::move(targets), std::move(input)));
}

}}  // namespace locus::LOCUS_ABI
#endif
