#pragma once
// The contents of a pending expression, a tree and the handles of its symbols, and the launch that computes it.

#include <locus/core/std/bounds.hpp>
#include <locus/device/trace/expression_text.hpp>
#include <locus/expr/node.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A handle and the version of its elements when it entered the expression.
template <class H>
struct Leaf {
  H handle;
  std::uint32_t version;
  explicit Leaf(const H& h) : handle(h), version(handle.value().version()) {}
  explicit Leaf(H&& h) : handle(std::move(h)), version(handle.value().version()) {}
};

/// A tree with the handles of its symbols, and its broadcast shape.
template <class Tree, class... H>
struct Part {
  Tree tree;
  Tuple<Leaf<H>...> leaves;
  Shape shape;
};

/// A part with these leaves.
template <class Tree, class Leaves>
struct PartWith;
template <class Tree, class... H>
struct PartWith<Tree, Tuple<Leaf<H>...>> {
  using type = Part<Tree, H...>;
};

/// Number of leaves of the first `count` parts.
template <class... P>
[[nodiscard]] constexpr int leaves_before(int count) {
  int sum = 0;
  [[maybe_unused]] int position = 0;
  ((sum += position++ < count ? decltype(P::leaves)::size : 0), ...);
  return sum;
}

/// The broadcast shape of operands. throws ShapeError naming the function, given as type_text
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape joint_shape(const char* function, std::initializer_list<Shape> shapes) {
  Shape shape = *shapes.begin();
  for (const Shape& other : shapes) {
    const auto clash = [&](int, std::int64_t, std::int64_t) {
      (void)broadcast(shape, other, function_text(function).view());
    };
    shape = broadcast_or(clash, shape, other);
  }
  return shape;
}

/// throws ArgumentError naming the function F for a number that T, an integer type, cannot hold
template <class F, class T, class X>
void require_operand_fits([[maybe_unused]] const X& x) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<X>)
    if (!fits<T>(x))
      refuse_to_fit<T>(function_text(type_text<F>()).view(), x, "; convert the tensor first, by x.as<std::int64_t>()");
}

/// f applied to the parts: their leaves one after the other, their trees renumbered.
template <class F, class... P>
[[nodiscard]] auto join_parts(const F& f, P&&... parts) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    using Tree = Apply<F, shifted_t<leaves_before<bare_t<P>...>(i), decltype(parts.tree)>...>;
    using Leaves = bare_t<decltype(join_tuples(std::move(parts.leaves)...))>;
    const Shape shape = joint_shape(type_text<F>(), {parts.shape...});  // throws before the leaves are moved
    return typename PartWith<Tree, Leaves>::type{Tree{f, {shift<leaves_before<bare_t<P>...>(i)>(parts.tree)...}},
                                                 join_tuples(std::move(parts.leaves)...), shape};
  }(std::make_integer_sequence<int, sizeof...(P)>{});
}

/// The functor of an expression's forward pass: output = tree(inputs).
template <class Tree, class Out, class... In>
struct Forward {
  Tree tree;
  LOCUS_FN void operator()(compute_t<In>... in, compute_t<Out>& out) const {
    out = static_cast<compute_t<Out>>(tree(Pack<compute_t<In>...>(in...)));
  }
};

/// Whether an input reads the element's index, which requires a row-major iteration order.
template <class... In>
inline constexpr bool reads_index = (std::is_same_v<decltype(std::declval<const In&>().data()), LinearIndex> || ...);
/// The layout of an input in memory; null for other inputs.
template <class T, class D>
[[nodiscard]] const Layout* layout_of(const Tensor<T, D>& x) {
  return &x.layout();
}
template <class X>
[[nodiscard]] const Layout* layout_of(const X&) {
  return nullptr;
}

/// Computes a tree into `out`, to whose shape the inputs broadcast. One launch.
template <class T, class D, class Tree, class... In>
void compute(const Tree& tree, const Tensor<T, D>& out, const In&... inputs) {
  require_same_ordinal("expression", out, inputs...);
  const auto walk =
      make_plan<static_cast<int>(sizeof...(In)) + 1>(out.shape(), {operand_of(inputs)..., operand_of(out)});
  const auto plan = reads_index<In...> ? walk : in_memory_order(walk);
  Backend<D>::map(out.device(), plan, Forward<Tree, T, value_of<In>...>{tree},
                  Pack<decltype(read_only(inputs.data()))...>(read_only(inputs.data())...), Pack<T*>(out.data()));
}

/// throws StaleError if the elements changed since the handle entered the expression; ArgumentError if the expression
/// was moved from, and its handle with it
template <class H>
void require_fresh(const Leaf<H>& leaf) {
  if (leaf.handle.value().version() == leaf.version) return;
  if (leaf.handle.value().version() == version_of_nothing) fail_moved_from("expression");
  fail<StaleError>({"a tensor of shape ", leaf.handle.value().shape(),
                    " was modified in place after an expression used it and before the expression was computed; "
                    "compute the expression first, by assigning it to a Tensor or with .eval()"});
}

/// Computes a part of the target's shape into the target; through a temporary if a leaf overlaps the target in another
/// layout.
template <class T, class D, class Tree, class... H>
void compute_in_place(std::string_view name, const Part<Tree, H...>& part, const Tensor<T, D>& target) {
  target.layout().require_distinct_elements(name);
  unpack(part.leaves, [&](const auto&... leaf) {
    (require_fresh(leaf), ...);
    bring(leaf.handle.value()...);
    const auto unsafe = [&](const auto& input) {
      return input.buffer() == target.buffer() && conflicts(input.expand(target.shape()), target);
    };
    const bool through_temporary = (unsafe(leaf.handle.value()) || ...);
    const Tensor<T, D> result = through_temporary ? Tensor<T, D>(target.shape(), target.device()) : target;
    target.changed();  // before the launch, which may throw after it has written a part of the target
    compute(part.tree, result, leaf.handle.value()...);
    if (through_temporary) copy_elements(result, target);
  });
}

}}}  // namespace locus::LOCUS_ABI::detail
