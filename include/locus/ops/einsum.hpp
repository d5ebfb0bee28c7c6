#pragma once
// Sums of products in Einstein's notation, and products that are such sums: einsum, tensordot, outer, kron, bilinear.
// Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/matmul.hpp>
#include <locus/ops/product/einsum_equation.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A tensor, plain or traced, and the label of each of its dimensions.
template <class Y>
struct Labelled {
  Y value;
  Dims labels;

  [[nodiscard]] int place_of(EinsumLabel label) const {
    for (int d = 0; d < labels.rank(); ++d)
      if (labels[d] == label) return d;
    return -1;
  }
};

/// An operand converted to the common type of the factors: traced if any operand is.
template <class Y, class X>
[[nodiscard]] Y as_factor(const X& x) {
  if constexpr (lifts_to<value_of<X>, value_of<Y>>) return as_factor<Y>(lifted<value_of<Y>, Y::role>(x));
  else if constexpr (IsParameter<X> && Y::role == Role::traced) return trace(x);
  else if constexpr (X::role == Y::role) return x.eval();
  else return Y(x.value());
}

/// The sum over axes in the operand's own type, also for integers.
template <class Y, class X>
[[nodiscard]] Y sum_as(X&& x, const Axes& axes) {
  if constexpr (std::is_same_v<sum_value_t<value_of<X>>, value_of<X>>) return Y(sum(std::forward<X>(x), axes));
  else return Y(sum(std::forward<X>(x), axes).template as<value_of<X>>());
}

/// An operand with each label once: a label given twice takes the diagonal, and dimensions that broadcast to a larger
/// extent elsewhere are dropped.
template <class Y>
[[nodiscard]] Labelled<Y> with_labels_once(Y value, const Dims& labels, const BoundEinsum& bound) {
  Labelled<Y> x{std::move(value), labels};
  for (int d = 0; d < x.labels.rank();) {
    const EinsumLabel label = x.labels[d];
    const int twin = x.place_of(label);
    if (twin < d) {
      x.value = diagonal(x.value, 0, twin, d);
      x.labels.erase(d), x.labels.erase(twin);
      x.labels.push_back(label);
      d = 0;
    } else if (x.value.size(d) != bound.extents[label]) {
      x.value = squeeze(x.value, d);
      x.labels.erase(d);
    } else {
      ++d;
    }
  }
  return x;
}

/// Sums over all dimensions whose label is not kept.
template <class Y>
[[nodiscard]] Labelled<Y> sum_but(const Labelled<Y>& x, EinsumLabels kept) {
  Axes axes;
  Dims labels;
  for (int d = 0; d < x.labels.rank(); ++d) {
    if ((kept & mask_of(x.labels[d])) != 0) labels.push_back(x.labels[d]);
    else axes.push_back(d);
  }
  return axes.empty() ? x : Labelled<Y>{sum_as<Y>(x.value, axes), labels};
}

/// A view of x: its dimensions in the order of these labels, with extent 1 where it has no such label.
template <class Y>
[[nodiscard]] Y in_order(const Labelled<Y>& x, const Dims& labels) {
  Axes order;
  Shape shape;
  for (const auto label : labels) {
    const int d = x.place_of(label);
    if (d >= 0) order.push_back(d);
    shape.push_back(d < 0 ? 1 : x.value.size(d));
  }
  Y ordered = permute(x.value, order);
  return order.rank() == labels.rank() ? ordered : reshape(ordered, shape);
}

/// The labels of x that are in a mask, in the order of x.
[[nodiscard]] inline Dims chosen(const Dims& labels, EinsumLabels mask) {
  Dims result;
  for (const auto label : labels)
    if ((mask & mask_of(label)) != 0) result.push_back(label);
  return result;
}
inline void append(Dims& to, const Dims& values) {
  for (const auto value : values) to.push_back(value);
}

/// x with its dimensions as a batch, rows and columns.
template <class Y>
[[nodiscard]] Y as_matrices(const Labelled<Y>& x, const Dims& batch, const Dims& rows, const Dims& columns) {
  Axes order;
  Shape shape;
  const auto add = [&](const Dims& labels) {
    std::int64_t extent = 1;
    for (const auto label : labels) {
      const int d = x.place_of(label);
      order.push_back(d);
      extent = product_or_most(extent, x.value.size(d));
    }
    return extent;
  };
  for (const auto label : batch) shape.push_back(add({label}));
  shape.push_back(add(rows));
  shape.push_back(add(columns));
  return reshape(permute(x.value, order), shape);
}

/// The product of two operands, summed over the labels that are not kept: a matrix product if a common label is summed
/// and one operand has a label of its own, elementwise otherwise.
template <class Y>
[[nodiscard]] Labelled<Y> multiplied(const Labelled<Y>& x, const Labelled<Y>& y, EinsumLabels kept) {
  const EinsumLabels of_x = mask_of(x.labels), of_y = mask_of(y.labels);
  const Labelled<Y> a = sum_but(x, of_y | kept), b = sum_but(y, of_x | kept);
  const EinsumLabels of_a = mask_of(a.labels), of_b = mask_of(b.labels);
  const Dims batch = chosen(a.labels, of_b & kept), folded = chosen(a.labels, of_b & ~kept);
  const Dims rows = chosen(a.labels, ~of_b), columns = chosen(b.labels, ~of_a);
  Dims labels = batch;
  append(labels, rows);
  append(labels, columns);
  if (folded.empty() || (rows.empty() && columns.empty())) {
    Dims all = labels;
    append(all, folded);
    const Y left = in_order(a, all), right = in_order(b, all);
    if (folded.empty()) return {Y(left * right), labels};
    Axes axes;
    for (int d = labels.rank(); d < all.rank(); ++d) axes.push_back(d);
    return {sum_as<Y>(left * right, axes), labels};
  }
  const Y product = matmul(as_matrices(a, batch, rows, folded), as_matrices(b, batch, folded, columns));
  Shape shape;
  for (const auto label : labels) {
    const int d = a.place_of(label);
    shape.push_back(d >= 0 ? a.value.size(d) : b.value.size(b.place_of(label)));
  }
  return {reshape(product, shape), labels};
}

/// Evaluates an equation, bound to the operands' shapes.
template <class Y, std::size_t n>
[[nodiscard]] Y contracted(const BoundEinsum& bound, Y (&operands)[n]) {
  Labelled<Y> factors[n];
  for (std::size_t i = 0; i < n; ++i) factors[i] = with_labels_once(std::move(operands[i]), bound.operands[i], bound);
  const EinsumLabels result = mask_of(bound.result);
  unsigned left = (1u << n) - 1;
  const CheapestPath path(bound, static_cast<int>(n));
  for (const EinsumStep& step : path.steps()) {
    left &= ~(1u << step.right);
    EinsumLabels kept = result;
    for (std::size_t i = 0; i < n; ++i)
      if ((left >> i & 1u) != 0 && static_cast<int>(i) != step.left) kept |= mask_of(factors[i].labels);
    Labelled<Y>&a = factors[step.left], &b = factors[step.right];
    // Exchanges the operands if only the first has the result's last label, so that the product is in the result's
    // order.
    const bool is_turned =
        !bound.result.empty() && a.place_of(bound.result[-1]) >= 0 && b.place_of(bound.result[-1]) < 0;
    a = is_turned ? multiplied(b, a, kept) : multiplied(a, b, kept);
    b = {};
  }
  return in_order(sum_but(factors[0], result), bound.result);
}

#include <locus/refuse/ops/einsum_mistakes.inc>

/// Tensors of one element type in one place, not all of them parameters, that can be multiplied.
template <class... X>
concept Factors = (TensorLike<X> && ...) && IsWrong<FactorsMistake<X...>, Wrong::nothing> &&
                  (!std::is_same_v<value_of<X>, bool> && ...);

/// The type of a product of operands of one element type: traced if any of them is.
template <TensorLike X, TensorLike... Rest>
[[nodiscard]] auto product_type() {
  if constexpr (X::role == Role::traced)
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<const X&>().eval())>>{};
  else if constexpr (joint_role<X::role, Rest::role...> == Role::traced) return product_type<Rest...>();
  else return std::type_identity<Tensor<value_of<X>, device_of<X>>>{};
}
template <class... X>
struct ProductType : decltype(product_type<X...>()) {};
/// Of duals and numbers: of the duals.
template <class... X>
  requires(lifts_to<value_of<X>, dual_of_t<X...>> || ...)
struct ProductType<X...> {
  static constexpr Role role = joint_role<X::role...> == Role::traced ? Role::traced : Role::plain;
  using type = typename Materialize<role, dual_of_t<X...>, device_of<first_with_place_t<X...>>>::type;
};
template <class... X>
using product_t = typename ProductType<X...>::type;

}  // namespace detail

/// The sum of products that an equation names, as in numpy.einsum and torch.einsum. Letters absent from the result are
/// summed over. A letter twice in one operand takes its diagonal. An extent of 1 broadcasts to another operand's
/// extent. Three or more operands are multiplied in pairs, in the order of fewest multiplications. A pair is multiplied
/// as matrices if a common letter is summed and one of them has a letter of its own, elementwise otherwise.
/// shape:    as the letters say; the result of one operand may be a view of it
/// gradient: as of the products it consists of
/// cost:     for each pair of operands one matmul, or one launch; a sum for each operand with letters of its own alone;
///           a copy where dimensions to be merged are not adjacent in memory. A constant equation is not parsed again.
/// throws ArgumentError for an equation that does not parse, naming the place, or that has another number of operands;
/// ShapeError for shapes that do not fit it
///
///     auto scores = einsum("bhld,bhsd->bhls", queries, keys);
///     auto trace = einsum("ii", matrix);
template <class... X>
  requires(sizeof...(X) > 0 && sizeof...(X) <= EinsumEquation::most_operands) && detail::Factors<X...>
[[nodiscard]] auto einsum(const EinsumEquation& equation, const X&... x) {
  using Y = detail::product_t<X...>;
  if (equation.operands() != static_cast<int>(sizeof...(X)))
    fail<ArgumentError>(
        {"einsum(\"", to_string(equation), "\"): given ", sizeof...(X), " operands; expected ", equation.operands()});
  Y operands[] = {detail::as_factor<Y>(x)...};
  Shape shapes[sizeof...(X)];
  for (std::size_t i = 0; i < sizeof...(X); ++i) shapes[i] = operands[i].shape();
  return detail::contracted(detail::BoundEinsum(equation, shapes), operands);
}

/// The sum of products over pairs of dimensions of a and of b: numpy.tensordot and torch.tensordot.
/// shape: the remaining dimensions of a, then of b     gradient: as the matrix product
/// cost:  one matmul, and a copy where dimensions to be merged are not adjacent in memory
/// throws ArgumentError unless both name as many dimensions, none twice; IndexError; ShapeError
///
///     auto y = tensordot(a, b, {2, 0}, {0, 1});   // (4, 5, 3) and (3, 4, 2) -> (5, 2)
template <class A, class B>
  requires detail::Factors<A, B>
[[nodiscard]] detail::product_t<A, B> tensordot(const A& a, const B& b, const Axes& of_a, const Axes& of_b) {
  using Y = detail::product_t<A, B>;
  Y operands[] = {detail::as_factor<Y>(a), detail::as_factor<Y>(b)};
  return detail::contracted(detail::BoundEinsum("tensordot", operands[0].shape(), operands[1].shape(), of_a, of_b),
                            operands);
}

/// The same over the last `count` dimensions of a and the first of b.
/// throws ArgumentError unless both have as many
///
///     auto y = tensordot(a, b, 1);   // (..., k) and (k, ...)
template <class A, class B>
  requires detail::Factors<A, B>
[[nodiscard]] detail::product_t<A, B> tensordot(const A& a, const B& b, int count = 2) {
  const int rank = a.value().rank(), other = b.value().rank();
  if (count < 0 || count > rank || count > other)
    fail<ArgumentError>({"tensordot: sums over ", count, " dimensions of operands of ", rank, " and ", other,
                         "; expected 0 to ", rank < other ? rank : other});
  Axes of_a, of_b;
  for (int i = 0; i < count; ++i) of_a.push_back(rank - count + i), of_b.push_back(i);
  return tensordot(a, b, of_a, of_b);
}

/// The outer product: every element of one vector times every element of another.
/// shape: (m), (n) -> (m, n)     gradient: g b and a g     cost: one launch     throws ShapeError for other ranks
template <class A, class B>
  requires detail::Factors<A, B>
[[nodiscard]] detail::product_t<A, B> outer(const A& a, const B& b) {
  if (a.value().rank() != 1 || b.value().rank() != 1)
    fail<ShapeError>(
        {"outer: operands of shapes ", a.value().shape(), " and ", b.value().shape(), "; expected two vectors"});
  return tensordot(a, b, 0);
}

/// The Kronecker product: each element of a times the whole of b.
/// shape: (m, n), (p, q) -> (m p, n q), and so for any rank; the shorter shape gets ones in front
/// gradient: sums of g b and of g a     cost: one launch     throws ShapeError for more than four dimensions
template <class A, class B>
  requires detail::Factors<A, B>
[[nodiscard]] detail::product_t<A, B> kron(const A& a, const B& b) {
  using Y = detail::product_t<A, B>;
  const Y x = detail::as_factor<Y>(a), y = detail::as_factor<Y>(b);
  const int rank = x.rank() > y.rank() ? x.rank() : y.rank();
  if (2 * rank > max_rank)
    fail<ShapeError>({"kron: operands of shapes ", x.shape(), " and ", y.shape(), "; expected at most ", max_rank / 2,
                      " dimensions"});
  Shape of_x, of_y, result;
  for (int d = -rank; d < 0; ++d) {
    const std::int64_t m = d < -x.rank() ? 1 : x.size(d), n = d < -y.rank() ? 1 : y.size(d);
    of_x.push_back(m), of_x.push_back(1);
    of_y.push_back(1), of_y.push_back(n);
    result.push_back(detail::product_or_most(m, n));
  }
  return reshape(Y(reshape(x, of_x) * reshape(y, of_y)), result);
}

/// A bilinear form of two inputs, with a weight for each pair of their features: torch.nn.functional.bilinear.
/// shape: x (..., m), y (..., n), weight (out, m, n) -> (..., out)
/// cost:  two products, in the order of fewer multiplications     throws ShapeError naming the shapes
template <class X, class Y, class W>
  requires detail::Factors<X, Y, W>
[[nodiscard]] detail::product_t<X, Y, W> bilinear(const X& x, const Y& y, const W& weight) {
  static constexpr EinsumEquation equation = "...i,...j,oij->...o";
  return einsum(equation, x, y, weight);
}

#include <locus/refuse/ops/einsum.inc>

}}  // namespace locus::LOCUS_ABI
