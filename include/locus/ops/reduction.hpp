#pragma once
// Shared by reductions and the backward passes of other operations: folding a tree of inputs over axes, and adding to a
// gradient.

#include <locus/core/std/bounds.hpp>
#include <locus/ops/fold.hpp>
#include <locus/ops/operation.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The axes of a reduction: one number, a list such as {0, -1}, or, if none is named, all of them.
class ReduceAxes {
 public:
  ReduceAxes() = default;
  template <std::integral I>
    requires(!std::is_same_v<I, bool>)
  ReduceAxes(I axis) : axes_{static_cast<std::int64_t>(axis)} {}
  ReduceAxes(std::initializer_list<std::int64_t> axes) : axes_(axes) {}
  ReduceAxes(const Axes& axes) : axes_(axes) {}
  template <detail::IntegerList C>
  ReduceAxes(const C& axes) : axes_(axes) {}
  [[nodiscard]] const Axes& list() const { return axes_; }

 private:
  Axes axes_;
};

namespace detail {

/// Folded axes, and the shape that they leave.
struct FoldedAxes {
  unsigned folded = 0;     ///< a bit for each
  Shape kept;              ///< the result with the folded extents as 1
  Shape squeezed;          ///< the result without them
  std::int64_t count = 1;  ///< elements folded into each element of the result

  FoldedAxes(std::string_view name, const Shape& shape, const ReduceAxes& axes) {
    (void)elements(shape);  // throws where operands of a fused expression broadcast to more than there can be
    for (auto axis : axes.list()) {
      const int d = normalize_axis(axis, shape.rank(), name);
      if (folds(d)) fail<ArgumentError>({name, ": axis ", d, " is named twice in ", axes.list()});
      folded |= 1u << d;
    }
    if (axes.list().empty()) folded = ~0u;
    for (int d = 0; d < shape.rank(); ++d) {
      kept.push_back(folds(d) ? 1 : shape[d]);
      if (!folds(d)) squeezed.push_back(shape[d]);
      else count = product_or_most(count, shape[d]);  // INT64_MAX: the result has no elements
    }
  }

  [[nodiscard]] bool folds(int dim) const { return (folded >> dim & 1u) != 0; }

  [[nodiscard]] const Shape& result(bool keepdim) const { return keepdim ? kept : squeezed; }

  /// Strides of the position within the folded axes.
  [[nodiscard]] Strides positions(const Shape& shape) const {
    Strides strides = Dims::filled(shape.rank(), 0);
    std::int64_t next = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (!folds(d)) continue;
      strides[d] = next;
      next = wrapping_product(next, shape[d]);
    }
    return strides;
  }
};

/// The elements of a fold: a tree of its inputs, lifted into the accumulator.
template <class Tree, class Op, class... In>
struct Folded {
  Tree tree;
  Op op;
  LOCUS_FN auto operator()(compute_t<In>... in) const { return op.lift(tree(Pack<compute_t<In>...>(in...))); }
};
/// The same, with the position within the folded axes.
template <class Tree, class Op, class... In>
struct FoldedAt {
  Tree tree;
  Op op;
  LOCUS_FN auto operator()(compute_t<In>... in, std::int64_t position) const {
    return op.lift(tree(Pack<compute_t<In>...>(in...)), position);
  }
};

template <class Op>
concept FoldsPositions = requires { requires Op::indexed; };

/// Folds tree(inputs), read as `shape`, into `out`: dense memory of the shape left by the axes, with or without ones.
/// One launch.
template <class U, class D, class Tree, class Op, class... In>
void reduce_into(const Tensor<U, D>& out, bool accumulate, const Shape& shape, const FoldedAxes& axes, const Tree& tree,
                 const Op& op, const Tensor<In, D>&... inputs) {
  require_same_ordinal("reduction", out, inputs...);
  constexpr int n = static_cast<int>(sizeof...(In));
  const Strides dense = row_major(axes.kept);
  const U* const previous = accumulate ? out.data() : nullptr;
  if constexpr (FoldsPositions<Op>) {
    const Strides positions = axes.positions(shape);
    const auto plan = make_reduce_plan<n + 1>(
        shape, {operand_of(inputs)..., PlanOperand{nullptr, &positions}, PlanOperand{&axes.kept, &dense}}, axes.folded);
    Backend<D>::reduce(out.device(), plan, FoldedAt<Tree, Op, In...>{tree, op}, op,
                       Pack<const In*..., LinearIndex>(inputs.data()..., LinearIndex{}), previous, out.data());
  } else {
    const auto plan = make_reduce_plan<n>(shape, {operand_of(inputs)..., PlanOperand{&axes.kept, &dense}}, axes.folded);
    Backend<D>::reduce(out.device(), plan, Folded<Tree, Op, In...>{tree, op}, op, Pack<const In*...>(inputs.data()...),
                       previous, out.data());
  }
}

/// Folds a part, which is placed on a device.
template <class U, class Op, class D, class Tree, class... H>
Tensor<U, D> reduce_part(std::string_view name, const Op& op, const Part<Tree, H...>& part, D device,
                         const ReduceAxes& axes, bool keepdim) {
  const FoldedAxes folded(name, part.shape, axes);
  return unpack(part.leaves, [&](const auto&... leaf) {
    (require_fresh(leaf), ...);
    bring(leaf.handle.value()...);
    Tensor<U, D> out(folded.result(keepdim), device);
    reduce_into(out, false, part.shape, folded, part.tree, op, leaf.handle.value()...);
    return out;
  });
}

/// Folds a tensor-like operand that is not traced. A temporary expression is fused; a named one is computed and
/// remembered, as everywhere. U is the result's element type.
template <class U, class Op, class X>
auto reduce(std::string_view name, const Op& op, X&& x, const ReduceAxes& axes, bool keepdim) {
  using T = value_of<X>;
  constexpr bool fused = is_expr<X> && !std::is_lvalue_reference_v<X> && bare_t<X>::role != Role::traced;
  if constexpr (fused) {
    if (!x.computed()) return reduce_part<U>(name, op, x.part(), x.device(), axes, keepdim);
  }
  return reduce_part<U>(name, op, as_part<T>(x.value()), x.device(), axes, keepdim);
}

/// How many elements of two tensors of one shape are equal, as a scalar. One launch. The same as sum(a == b), which
/// costs a program that counts nothing else 0.3 s more with g++ -O2, 1.8 s with nvcc.
template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> count_equal(const Tensor<T, D>& a, const Tensor<T, D>& b) {
  const Tensor<std::int64_t, D> count(Shape{}, a.device());
  reduce_into(count, false, a.shape(), FoldedAxes("count_equal", a.shape(), {}),
              Apply<functor::Equal, Symbol<0>, Symbol<1>>{}, fold::Sum<bool>{}, a, b);
  return count;
}

/// Whether `shape` broadcasts to `target`.
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool broadcasts_to(const Shape& shape, const Shape& target) {
  if (shape.rank() > target.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i)
    if (shape[-i] != target[-i] && shape[-i] != 1) return false;
  return true;
}

/// Adds `g`, of a broadcast shape, to the gradient of the tensor that was broadcast.
template <class T, class D>
void sum_to(const Tensor<T, D>& g, Gradient<T, D>& gradient) {
  if (g.shape() == gradient.shape()) return gradient.give(g);
  Axes axes;
  const int added = g.rank() - gradient.shape().rank();
  for (int d = 0; d < g.rank(); ++d)
    if (d < added || (gradient.shape()[d - added] == 1 && g.size(d) != 1)) axes.push_back(d);
  if (axes.empty()) return gradient.give(g.reshape(gradient.shape()));
  const auto target = gradient.open();
  reduce_into(target.out, target.accumulate, g.shape(), FoldedAxes("sum", g.shape(), axes), Symbol<0>{}, fold::Sum<T>{},
              g);
}

/// out = f(inputs...), which broadcast to its shape. One launch.
template <class F, class T, class D, class... In>
void map_into(const Tensor<T, D>& out, const F& f, const Tensor<In, D>&... inputs) {
  compute(
      [&]<int... i>(std::integer_sequence<int, i...>) {
        return Apply<F, Symbol<i>...>{f, {Symbol<i>{}...}};
      }(std::make_integer_sequence<int, static_cast<int>(sizeof...(In))>{}),
      out, inputs...);
}

/// f(inputs...) + previous
template <class F, class T, class... In>
struct AddTo {
  static constexpr unsigned repeated = repeated_inputs<F>;
  F f;
  LOCUS_FN void operator()(compute_t<In>... in, compute_t<T> previous, compute_t<T>& out) const {
    out = static_cast<compute_t<T>>(f(in...)) + previous;
  }
};

/// Adds f(inputs...) to a gradient, to whose shape the inputs broadcast. One launch.
template <class F, class T, class D, class... In>
void map_to(Gradient<T, D>& gradient, const F& f, const Tensor<In, D>&... inputs) {
  const auto target = gradient.open_in_format();
  const Tensor<T, D>& out = target.out;
  const auto plan = in_memory_order(make_plan<static_cast<int>(sizeof...(In)) + 2>(
      out.shape(), {operand_of(inputs)..., operand_of(out), operand_of(out)}));
  Backend<D>::map(out.device(), plan, AddTo<F, T, In...>{f},
                  Pack<const In*..., const T*>(inputs.data()..., target.accumulate ? out.data() : nullptr),
                  Pack<T*>(out.data()));
}

/// Element type of a sum: int64 for integers and bool, as in PyTorch.
template <class T>
using sum_value_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;

/// Op::compute of x on plain operands, which may be pending; recorded as Op otherwise.
template <class Op, class X>
auto reduce_or_record(const Op& op, X&& x) {
  if constexpr (bare_t<X>::role == Role::traced) return apply(op, x);
  else return op.compute(std::forward<X>(x));
}

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
