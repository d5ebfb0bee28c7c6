#pragma once
// grad(y, x): the gradients of a result with respect to given tensors, as values. No .grad() of a variable or parameter
// changes.

#include <locus/autograd/parameter.hpp>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

/// How grad() computes, for a result of T on D.
template <class T, class D>
struct GradOptions {
  Tensor<T, D> grad_outputs{};  ///< the cotangent, of the result's shape; none for a result of one element
  bool retain_graph = false;    ///< keep the saved tensors, so that another pass can run
  bool allow_unused = false;    ///< an input that the result does not depend on gets zeros; else GraphError
};

/// The value true as a type: with it, grad() returns other types.
struct CreateGraph {
  consteval CreateGraph(bool wanted) {
    if (!wanted) throw "grad: leave create_graph out for gradients that are not recorded";
  }
};

/// How grad() computes gradients that are recorded themselves. The graph is retained.
template <class T, class D>
struct RecordedGradOptions {
  Traced<T, D> grad_outputs{};  ///< the cotangent, of the result's shape; none for a result of one element
  CreateGraph create_graph;     ///< true
  bool allow_unused = false;    ///< an input that the result does not depend on gets zeros; else GraphError
};

namespace detail {
/// A traced tensor or expression, or a parameter: its gradient can be asked for.
template <class X>
concept GradInput = TensorLike<X> && bare_t<X>::role != Role::plain && DifferentiableDType<value_of<X>>;
/// Several of them: Tuple or std::tuple, of any types.
template <class X>
inline constexpr bool is_tuple_of_inputs = false;
template <class X>
  requires requires { std::tuple_size<X>::value; }
inline constexpr bool is_tuple_of_inputs<X> = []<std::size_t... i>(std::index_sequence<i...>) {
  return sizeof...(i) > 0 && (GradInput<std::remove_cvref_t<std::tuple_element_t<i, X>>> && ...);
}(std::make_index_sequence<std::tuple_size<X>::value>{});
/// Several of one type, as model.parameters().
template <class X>
concept ListOfInputs = !TensorLike<X> && !is_tuple_of_inputs<X> && requires(const X& x) {
  { x.size() } -> std::convertible_to<std::size_t>;
  requires GradInput<std::remove_cvref_t<decltype(x[0])>>;
};
template <class X>
concept GradInputs = GradInput<X> || is_tuple_of_inputs<X> || ListOfInputs<X>;

template <class T, class D>
[[nodiscard]] Shared<TensorNode<T, D>> typed_node(const Shared<GraphNode>& node) {
  return Shared<TensorNode<T, D>>(static_cast<TensorNode<T, D>*>(node.get()));
}

/// A tensor of which grad() computes the gradient.
template <class T, class D, bool records>
class AskedFor final : public AskedGradient {
 public:
  using Result = std::conditional_t<records, Traced<T, D>, Tensor<T, D>>;

  /// throws GraphError if no gradient is collected for the operand
  template <class X>
  AskedFor(const X& x, int position) : node_(x.eval().node()), position_(position), device_(x.device()) {
    if (!node_)
      fail<GraphError>({"grad: input ", position, ", of shape ", x.shape(), ", collects no gradient; make it a ",
                        "variable(x), or call requires_grad_() of a frozen parameter, before the forward pass"});
  }
  AskedFor(AskedFor&&) noexcept = default;
  AskedFor(const AskedFor&) = delete;
  AskedFor& operator=(const AskedFor&) = delete;
  ~AskedFor() {
    if (is_first_) node_->answered(std::move(kept_));
  }

  /// To be called in the object's final place in memory.
  void ask() {
    first_ = static_cast<AskedFor*>(node_->asked());
    if (first_) return;  // the same tensor is asked for twice
    first_ = this;
    kept_ = node_->ask(*this);
    is_first_ = true;
  }
  void take() override {
    if constexpr (records) {
#if LOCUS_DOUBLE_BACKWARD
      auto& record = *node_->record();
      auto& value = record.template value_on<T, D>();
      is_found_ = value.has_gradient();
      if (is_found_) result_ = Result(value.own(), typed_node<T, D>(record.node()));
#endif
    } else if (node_->has_gradient()) {
      result_ = node_->own();
      is_found_ = true;
    }
  }
  /// throws GraphError if the result does not depend on the input, unless that is allowed
  [[nodiscard]] Result result(bool allow_unused) const {
    if (first_->is_found_) return first_->result_;
    if (!allow_unused)
      fail<GraphError>({"grad: the result does not depend on input ", position_, ", of shape ", node_->shape(),
                        "; leave it out, or get zeros for it with {.allow_unused = true}"});
    Tensor<T, D> zeros(node_->shape(), device_);
    zeros.fill_(T(0));
    return Result(std::move(zeros));
  }

 private:
  Shared<TensorNode<T, D>> node_;
  int position_;
  D device_;
  typename TensorNode<T, D>::KeptGradient kept_;
  AskedFor* first_ = nullptr;
  bool is_first_ = false, is_found_ = false;
  Result result_;
};

/// Calls f() with the gradients of these inputs asked for, and returns the answers in the inputs' form.
template <bool records, GradInput X, class F>
[[nodiscard]] auto answers(const X& x, bool allow_unused, const F& f) {
  AskedFor<value_of<X>, device_of<X>, records> asked(x, 0);
  asked.ask();
  f();
  return asked.result(allow_unused);
}
template <bool records, class F, int... position, class... X>
[[nodiscard]] auto answers_of_each(bool allow_unused, const F& f, std::integer_sequence<int, position...>,
                                   const X&... x) {
  Tuple<AskedFor<value_of<X>, device_of<X>, records>...> asked{
      AskedFor<value_of<X>, device_of<X>, records>(x, position)...};
  static_for<sizeof...(X)>([&]<int i>() { locus::get<i>(asked).ask(); });
  f();
  return unpack(asked, [&](const auto&... one) { return Tuple(one.result(allow_unused)...); });
}
template <bool records, class X, class F, std::size_t... i>
[[nodiscard]] auto answers_of_items(const X& x, bool allow_unused, const F& f, std::index_sequence<i...>) {
  using std::get;
  return answers_of_each<records>(allow_unused, f, std::make_integer_sequence<int, sizeof...(i)>{}, get<i>(x)...);
}
template <bool records, class X, class F>
  requires is_tuple_of_inputs<X>
[[nodiscard]] auto answers(const X& x, bool allow_unused, const F& f) {
  return answers_of_items<records>(x, allow_unused, f, std::make_index_sequence<std::tuple_size<X>::value>{});
}
template <bool records, ListOfInputs X, class F>
[[nodiscard]] auto answers(const X& x, bool allow_unused, const F& f) {
  using Input = std::remove_cvref_t<decltype(x[0])>;
  std::vector<AskedFor<value_of<Input>, device_of<Input>, records>> asked;
  asked.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) asked.emplace_back(x[i], static_cast<int>(i));
  for (auto& one : asked) one.ask();
  f();
  std::vector<typename AskedFor<value_of<Input>, device_of<Input>, records>::Result> results;
  results.reserve(asked.size());
  for (const auto& one : asked) results.push_back(one.result(allow_unused));
  return results;
}

/// The cotangent of a pass: the given one, or 1.
template <class T, class D>
[[nodiscard]] Tensor<T, D> grad_seed(const Traced<T, D>& y, const Tensor<T, D>& given) {
  if (given.buffer()) {
    if (!(given.shape() == y.shape()))
      fail<ShapeError>({"grad: grad_outputs of shape ", given.shape(), " for a result of shape ", y.shape()});
    return given;
  }
  if (y.elements() != 1)
    fail<ShapeError>({"grad: expected a scalar, got shape ", y.shape(),
                      "; reduce it with sum or mean, or give its cotangent, {.grad_outputs = v}"});
  return one<T>(y.device()).reshape(y.shape());
}
/// throws GraphError if nothing that y was computed from collects gradients
template <class T, class D>
[[nodiscard]] TensorNode<T, D>& grad_root(const Traced<T, D>& y) {
  if (!y.node()) {
    fail<GraphError>({"grad: ", unrecorded ? "called by the function of a checkpoint, which is not recorded in the "
                                             "forward pass; call it on the result of the checkpoint"
                                           : "nothing this was computed from collects gradients; make the input a "
                                             "variable(x), or use parameters that are not frozen"});
  }
  return *y.node();
}
}  // namespace detail

/// The gradients of y with respect to `inputs`, as tensors; .grad() of no variable or parameter changes. The pass goes
/// only through operations that lead to the inputs. As torch.autograd.grad.
/// inputs: a traced tensor or parameter, which gives a tensor; Tuple or std::tuple of them, which gives a Tuple; a list
///         of one type, as model.parameters(), which gives a std::vector. Intermediate results may be among them.
/// cost:  the launches of y.backward() without those for other gradients
/// throws ShapeError unless y has one element or grad_outputs has its shape; GraphError if y does not depend on an
/// input, if an input collects no gradient, or if the graph was freed; StaleError if a tensor it needs was modified in
/// place
///
///     auto slope = grad(sum(y), x);                                    // x = variable(...)
///     auto [dw, db] = grad(loss, std::tie(w, b), {.retain_graph = true});
///
/// Hooks of intermediate results and inputs are called. Those of distributed training are not: gradients are this
/// rank's own.
template <class Y, detail::GradInputs X>
  requires(detail::bare_t<Y>::role == Role::traced && FloatingDType<value_of<Y>>)
[[nodiscard]] auto grad(const Y& y, const X& inputs, const GradOptions<value_of<Y>, device_of<Y>>& options = {}) {
  const auto& result = y.eval();
  const BackwardOptions pass{.retain_graph = options.retain_graph};
  return detail::answers<false>(inputs, options.allow_unused, [&] {
    auto& root = detail::grad_root(result);
    const auto seed = detail::grad_seed(result, options.grad_outputs);
    BackwardWalk walk(root, 0, true);
    if (root.is_left_out()) return;  // it depends on no input
    root.give(seed);
    walk.run(pass);
  });
}

#if LOCUS_DOUBLE_BACKWARD
/// As above, with {.create_graph = true}, in programs that are compiled with -DLOCUS_DOUBLE_BACKWARD=1: the gradients
/// are traced, so that a loss may be computed from them and differentiated again.
template <class Y, detail::GradInputs X, class Options = RecordedGradOptions<value_of<Y>, device_of<Y>>>
  requires(detail::bare_t<Y>::role == Role::traced && FloatingDType<value_of<Y>>)
[[nodiscard]] auto grad(const Y& y, const X& inputs, const Options& options) {
  using T = value_of<Y>;
  using D = device_of<Y>;
  const auto& result = y.eval();
  return detail::answers<true>(inputs, options.allow_unused, [&] {
    auto& root = detail::grad_root(result);
    const auto seed = detail::grad_seed(result, options.grad_outputs.value());
    BackwardWalk walk(root, 0, true);
    if (root.is_left_out()) return;  // it depends on no input
    walk.record([&] {
      auto& record = *root.record();
      record.template value_on<T, D>().give(seed);
      if (options.grad_outputs.node()) record.add(Shared<GraphNode>(options.grad_outputs.node().get()));
    });
  });
}
#endif

#include <locus/refuse/autograd/grad.inc>

}}  // namespace locus::LOCUS_ABI
