#pragma once
// checkpoint(f, x...): the backward pass computes f again, so that its intermediate results need not be kept.

#include <locus/autograd/expression.hpp>
#include <locus/core/generator.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Type in which the function of a checkpoint receives an operand: a tensor, traced tensor or parameter.
template <class X>
using evaluated_t = std::remove_cvref_t<decltype(evaluated(std::declval<const X&>()))>;
template <class F, class... X>
concept TakesOperands = std::is_invocable_v<F&, const evaluated_t<X>&...>;
template <class F, class... X>
concept ComputesTensor = TakesOperands<F, X...> && TensorLike<std::invoke_result_t<F&, const evaluated_t<X>&...>>;

/// The mistake in the operands of a checkpoint of F.
template <class F, class... X>
struct CheckpointMistake
    : FirstMistake<std::conditional_t<InFlight<X>, InFlightMistake, NoMistake>...,
                   PlaceMistake<F, X, error::model_is_on, error::input_is_on, error::move_the_input_with_to_D>...> {};

/// A set of places.
template <class... E>
struct Places {
  template <class D>
  using with = std::conditional_t<(std::is_same_v<D, E> || ...), Places, Places<E..., D>>;
};
template <class P, class... D>
struct PlacesWith : std::type_identity<P> {};
template <class P, class D, class... Rest>
struct PlacesWith<P, D, Rest...> : PlacesWith<typename P::template with<D>, Rest...> {};

/// Remembers the states of the default generators of all places and repeats their draws, also in replays of a captured
/// step.
template <class P>
class DrawsOn;
template <class... E>
class DrawsOn<Places<E...>> : public Counted, private RepeatedDraws<E>... {
 public:
  void remember() { (RepeatedDraws<E>::remember(), ...); }
  void start() { (RepeatedDraws<E>::start(), ...); }
  void stop() { (RepeatedDraws<E>::stop(), ...); }
};

/// A function with its arguments: computed once, and later again with the same random numbers.
template <class F, class... X>
class RepeatedCall : public Counted {
 public:
  using Result = evaluated_t<std::invoke_result_t<F&, const X&...>>;

  explicit RepeatedCall(F f, const X&... x) : f_(std::move(f)), x_(x...) {}

  [[nodiscard]] Result operator()() {
    return unpack(x_, [&](const auto&... x) -> Result { return evaluated(f_(x...)); });
  }
  [[nodiscard]] Result remembered() {
    draws_->remember();
    at_replay([draws = draws_] { draws->remember(); });
    return (*this)();
  }
  [[nodiscard]] Result again() {
    const Within known(computes_again, true);
    const Repeating repeating(*draws_);
    at_replay([draws = draws_] { draws->start(); });
    Result result = (*this)();
    at_replay([draws = draws_] { draws->stop(); });
    return result;
  }

 private:
  using Draws = DrawsOn<typename PlacesWith<Places<Cpu>, device_of<Result>, device_of<X>...>::type>;
  struct Repeating {
    Draws& draws;
    explicit Repeating(Draws& of) : draws(of) { draws.start(); }
    Repeating(const Repeating&) = delete;
    Repeating& operator=(const Repeating&) = delete;
    ~Repeating() { draws.stop(); }
  };

  F f_;
  Tuple<X...> x_;
  Shared<Draws> draws_{new Draws};
};

/// The node of a function that the backward pass computes again. Its inputs are all operands that the function used and
/// that collect gradients, captured parameters and tensors included.
template <class Call, class T, class D>
class CheckpointNode final : public TensorNode<T, D> {
 public:
  CheckpointNode(const Tensor<T, D>& output, Shared<Call> call, OutsideOperands operands)
      : TensorNode<T, D>(output), call_(std::move(call)), operands_(std::move(operands)) {}

  /// Records the function again and walks the new nodes backward, up to the nodes that existed before.
  void propagate() override {
    if (!this->has_gradient()) return;
    Tensor<T, D> gradient = this->gradient();
    this->clear_gradient();
    const std::uint64_t first = next_node_number.fetch_add(1, Order::relaxed);
    const auto node = recorded_again();
    if (!node) return;
    BackwardWalk walk(*node, first);
    node->give(std::move(gradient));
    walk.run({});
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override { operands_.visit_nodes(visit, state); }
  void free() override {
    call_ = {};
    operands_ = {};
    this->clear_gradient();
  }
#if LOCUS_DOUBLE_BACKWARD
  [[nodiscard]] std::string refuses_recording() const override {
    return "a checkpoint, whose second computation is not recorded; call its function directly";
  }
#endif
  void require_ready() const override {
    if (!call_) fail_freed();
    operands_.require_unchanged("checkpoint");
  }

 private:
  [[nodiscard]] Shared<TensorNode<T, D>> recorded_again() const {
    const Within recording(unrecorded, static_cast<OutsideOperands*>(nullptr));
    const auto result = call_->again();
    if (!(result.shape() == this->shape())) {
      fail<ShapeError>({"checkpoint: computed again, the function gave shape ", result.shape(), " in place of ",
                        this->shape(), "; it has to do the same each time"});
    }
    return result.node();
  }

  Shared<Call> call_;
  OutsideOperands operands_;
};

template <class F, class... X>
[[nodiscard]] auto computed_again(F f, const X&... x) {
  using Call = RepeatedCall<F, X...>;
  using Result = typename Call::Result;
  const Shared<Call> call(new Call(std::move(f), x...));
  if (unrecorded) return (*call)();  // the checkpoint around this one computes it again
  OutsideOperands operands;
  (operands.keep(x), ...);
  Result result = [&] {
    const Within noting(unrecorded, &operands);
    return call->remembered();
  }();
  if constexpr (Result::role == Role::traced) {
    using T = value_of<Result>;
    using D = device_of<Result>;
    if constexpr (DifferentiableDType<T> && is_present<D>) {
      if (operands.collect_gradients() && !result.node()) {
        using Node = CheckpointNode<Call, T, D>;
        Shared<TensorNode<T, D>> node(new Node(result.value(), call, std::move(operands)));
        return Result(result.value(), std::move(node), result.is_frozen());
      }
    }
  }
  return result;
}

}  // namespace detail

/// f(x...), keeping the operands alone for the backward pass, which computes f again, recorded, and then differentiates
/// it. Saves the memory of the activations within f for one more forward pass.
///
///     for (const auto& block : blocks) h = checkpoint(block, h);   // keeps h between blocks, not their activations
///
/// f is a layer or any function of the operands that returns one tensor. It is copied, and objects that it refers to
/// must live until the backward pass. It has to compute the same each time, and must not call backward(). Draws from
/// the default generators are repeated (a Generator that f owns moves on and gives other numbers), and running
/// statistics are updated in the forward pass alone. Parameters that f uses, and traced tensors and named expressions
/// that it captured, get their gradients, and their hooks are called once, after the last contribution of the whole
/// pass. Checkpoints may be nested. Without a traced operand the result is f(x...).
/// gradient: as of f
/// cost:  the launches of f forward, and again in the backward pass, before the launches of its gradients
/// throws as f does; in the backward pass StaleError if an operand or parameter, frozen or not, was changed in place,
/// GraphError or ShapeError if f computes anything else than before
template <class F, TensorLike... X>
  requires detail::ComputesTensor<F, X...>
[[nodiscard]] auto checkpoint(F f, const X&... x) {
  if constexpr (detail::joint_role<detail::bare_t<X>::role...> == Role::traced) {
    return detail::computed_again(std::move(f), detail::evaluated(x)...);
  } else {
    return detail::evaluated_t<std::invoke_result_t<F&, const detail::evaluated_t<X>&...>>(
        detail::evaluated(f(detail::evaluated(x)...)));
  }
}

#include <locus/refuse/autograd/checkpoint.inc>

}}  // namespace locus::LOCUS_ABI
