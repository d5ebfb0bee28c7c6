#pragma once
// The nodes of recorded operations: where their gradients go, and how a backward pass goes through them.

#include <locus/autograd/saved_values.hpp>
#include <locus/autograd/unrecorded.hpp>
#if LOCUS_DOUBLE_BACKWARD
#include <locus/autograd/kept_operands.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Position of the n-th set bit.
[[nodiscard]] constexpr int set_bit(unsigned mask, int n) {
  int position = 0;
  while ((mask >> position & 1u) == 0 || n-- > 0) ++position;
  return position;
}

template <unsigned mask, int n>
inline constexpr int set_bit_v = set_bit(mask, n);

/// The gradient sink of an operand: null unless it is traced or a parameter, and collects gradients.
template <class X>
[[nodiscard]] GraphNode* gradient_node([[maybe_unused]] const X& x) {
  if constexpr (X::role == Role::plain) return nullptr;
  else if constexpr (X::role == Role::parameter) return leaves_parameters_out ? nullptr : x.node().get();
  else return x.node().get();
}
[[nodiscard]] inline bool wants_gradient(Span<GraphNode* const> inputs) {
  for (GraphNode* input : inputs)
    if (input) return true;
  return false;
}
template <class X>
[[nodiscard]] bool frozen_operand(const X& x) {
  if constexpr (X::role == Role::traced) return x.is_frozen();
  else return false;
}

/// A gradient sink, cast to the type that the operation knows.
template <class T, class D>
[[nodiscard]] Gradient<T, D> gradient_of(GraphNode* sink) {
  return Gradient<T, D>(static_cast<TensorNode<T, D>*>(sink));
}

/// Base of all recorded operations: `n` inputs, null where no gradient is wanted, and whether they were freed.
template <class T, class D, int n>
class RecordedNode : public TensorNode<T, D> {
 public:
  RecordedNode(const Tensor<T, D>& output, GraphNode* const (&inputs)[n]) : TensorNode<T, D>(output) {
    for (int i = 0; i < n; ++i) inputs_[i] = Shared<GraphNode>(inputs[i]);
  }

  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) final {
    for (const auto& input : inputs_)
      if (input) visit(*input, state);
  }

 protected:
  void require_not_freed() const {
    if (freed_) fail_freed();
  }
  void free_inputs() {
    freed_ = true;
    for (auto& input : inputs_) input = {};
    this->clear_gradient();
  }
  /// Where the gradient of an input goes; null: the pass computes none.
  [[nodiscard]] GraphNode* sink(int input) const {
    GraphNode* const node = inputs_[input].get();
    return node && !node->is_left_out() ? node : nullptr;
  }
  Shared<GraphNode> inputs_[n];

#if LOCUS_DOUBLE_BACKWARD
 public:
  void record_gradients() final {
    GradientRecord& own = *this->record();
    const auto& gradient = own.template value_on<T, D>();
    if (!gradient.has_gradient()) return;
    Shared<GraphNode> recorded = own.node();
    const bool varies = recorded || this->gradients_vary();
    propagate_to_records(gradient.gradient());
    if (!varies) return;
    const Shared<GradientsNode> joint(
        new GradientsNode(*this, own.value(), gradient.gradient().version(), std::move(recorded), n));
    for (int i = 0; i < n; ++i) {
      if (!sink(i) || first_alike(i) != i) continue;
      Shared<GraphNode> adjoint = sink(i)->relay({}, {});
      joint->set_adjoint(i, adjoint);
      sink(i)->record()->add(sink(i)->relay({std::move(adjoint)}, Shared<GraphNode>(joint.get())));
    }
  }
  /// throws StaleError if the gradient of the result was modified in place
  void require_ready_again(const GradientsNode& gradients) const override {
    const SavedState now = saved_state(gradients.gradient<T, D>());
    require_unchanged("a recorded gradient", {&now, 1}, &gradients.version());
  }

 protected:
  /// The input that holds the adjoint of an input's gradient: the first that is the same tensor.
  [[nodiscard]] int first_alike(int input) const {
    int first = 0;
    while (inputs_[first].get() != inputs_[input].get()) ++first;
    return first;
  }

 private:
  /// Computes the gradients as an ordinary pass does, into the records of the inputs.
  void propagate_to_records(const Tensor<T, D>& gradient) {
    struct Diverted {
      RecordedNode& node;
      Shared<GraphNode> inputs[n];
      explicit Diverted(RecordedNode& of) : node(of) {
        for (int i = 0; i < n; ++i) {
          GraphNode* const to = node.sink(i);
          inputs[i] = std::exchange(node.inputs_[i], to ? to->record()->value() : Shared<GraphNode>());
        }
      }
      Diverted(const Diverted&) = delete;
      Diverted& operator=(const Diverted&) = delete;
      ~Diverted() {
        node.clear_gradient();
        for (int i = 0; i < n; ++i) node.inputs_[i] = std::move(inputs[i]);
      }
    };
    const Diverted diverted(*this);
    this->give(gradient);
    this->propagate();
  }
#endif

 private:
  bool freed_ = false;
};

/// An operation that fuses pending gradients of its result: see PendingGradient.
template <class Op>
concept FusesGradients = requires { typename Op::Accepted; };
struct NothingAccepted {
  using Accepted = NothingAccepted;
};
template <class Op>
using Accepted = typename std::conditional_t<FusesGradients<Op>, Op, NothingAccepted>::Accepted;

/// A recorded library operation.
template <class Op, class T, class D, class Saved, class... X>
class OperationNode;
template <class Op, class T, class D, class... S, class... X>
class OperationNode<Op, T, D, Tuple<S...>, X...> final : public RecordedNode<T, D, sizeof...(X)> {
 public:
  OperationNode(const Op& op, const Tensor<T, D>& output, Tuple<S...> saved, GraphNode* const (&inputs)[sizeof...(X)])
      : RecordedNode<T, D, sizeof...(X)>(output, inputs), op_(op), saved_(std::move(saved)) {}

  void propagate() override {
    if (!this->has_gradient()) return;
    go(std::make_integer_sequence<int, sizeof...(X)>{});
    this->clear_gradient();
  }
  void free() override {
    this->free_inputs();
    saved_.free();
  }
  void require_ready() const override {
    this->require_not_freed();
    saved_.require_unchanged(Op::name);
  }
  void clear_gradient() override {
    accepted_ = {};
    TensorNode<T, D>::clear_gradient();
  }
#if LOCUS_DOUBLE_BACKWARD
  using Operands = KeptOperands<Op, Tensor<value_of<X>, device_of<X>>...>;
  void keep(const Tensor<value_of<X>, device_of<X>>&... x) { operands_.keep(x...); }
  [[nodiscard]] std::string refuses_recording() const override { return Operands::refusal(op_); }
  [[nodiscard]] bool gradients_vary() const override { return !Operands::is_linear; }
  void require_ready_again(const GradientsNode& gradients) const override {
    RecordedNode<T, D, sizeof...(X)>::require_ready_again(gradients);
    operands_.require_unchanged(Op::name);
  }
  void propagate_again(GradientsNode& gradients) override {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      operands_.propagate(op_, gradients.template gradient<T, D>(), gradients.template of_gradient<T, D>(),
                          {gradients.template adjoint<value_of<X>, device_of<X>>(this->first_alike(i))...},
                          gradient_of<value_of<X>, device_of<X>>(this->sink(i))...);
    }(std::make_integer_sequence<int, sizeof...(X)>{});
  }
#endif

 private:
  template <int... i>
  void go(std::integer_sequence<int, i...>) {
    go(gradient_of<value_of<X>, device_of<X>>(this->sink(i))...);
  }
  void go(Gradient<value_of<X>, device_of<X>>... gradients) {
    if constexpr (FusesGradients<Op>) {
      if (accepted_ != Accepted<Op>{})
        return op_.backward_from(accepted_, saved_.used(), this->gradient(), gradients...);
    }
    op_.backward(saved_.used(), this->gradient(), gradients...);
  }
  bool accept([[maybe_unused]] const PendingGradient<T, D>& pending) override {
    if constexpr (FusesGradients<Op>) {
      accepted_ = [&]<int... i>(std::integer_sequence<int, i...>) {
        return op_.accept(saved_.used(), pending, Gradient<T, D>(this),
                          gradient_of<value_of<X>, device_of<X>>(this->sink(i))...);
      }(std::make_integer_sequence<int, sizeof...(X)>{});
      return accepted_ != Accepted<Op>{};
    } else {
      return false;
    }
  }

  Op op_;
  SavedValues<S...> saved_;
  Accepted<Op> accepted_{};
#if LOCUS_DOUBLE_BACKWARD
  Operands operands_;
#endif
};

}}}  // namespace locus::LOCUS_ABI::detail
