#pragma once
// Derivatives of functions of tensors: along a direction (jvp), transposed (vjp), of second order (hvp), and whole
// matrices of them (jacobian, hessian). A function is called with tensors of duals or with traced tensors, so it is
// generic: [](const auto& x) { return sum(exp(x)); }. Its inputs are plain tensors, which mean inference: layers act as
// in evaluation. In vjp and hvp, and functions made of them, parameters that it uses collect no gradients.

#include <locus/autograd/traced.hpp>
#include <locus/expr/dual.hpp>
#include <locus/ops/products_of_others.hpp>
#include <locus/ops/split_duals.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The result of jvp: a tensor each, or a Tuple of them where f returns a Tuple.
template <class Y>
struct ValueAndTangent {
  Y value;
  Y tangent;
};
template <class Y>
ValueAndTangent(Y, Y) -> ValueAndTangent<Y>;

/// The result of hvp. Gradient and product are tensors of the shape of x, or Tuples of them where x is a Tuple.
template <class Y, class X>
struct HessianProduct {
  Y value;
  X gradient;
  X product;  ///< the Hessian of f times v
};
template <class Y, class X>
HessianProduct(Y, X, X) -> HessianProduct<Y, X>;

namespace detail {

/// A plain tensor of numbers or duals.
template <class X>
inline constexpr bool is_input = false;
template <TensorLike X>
inline constexpr bool is_input<X> = X::role == Role::plain && Computes<X> && is_part_of_dual<value_of<X>>;
template <class... X>
inline constexpr bool is_input<Tuple<X...>> = (is_input<X> && ...);
template <class X>
concept TakesInputs = is_input<X>;

template <class X, class V>
inline constexpr bool is_tangent_of = SameDevice<X, V> && std::is_same_v<value_of<X>, value_of<V>>;
template <class... X, class... V>
inline constexpr bool is_tangent_of<Tuple<X...>, Tuple<V...>> =
    sizeof...(X) == sizeof...(V) && (is_tangent_of<X, V> && ...);
template <class X, class V>
concept TakesTangents = is_input<X> && is_input<V> && is_tangent_of<X, V>;

/// throws ShapeError naming the caller
LOCUS_OUT_OF_LINE inline void require_tangent_shape(std::string_view caller, const Shape& x, const Shape& v) {
  if (!(x == v))
    fail<ShapeError>({caller, ": x has shape ", x, ", its tangent v has shape ", v, "; expected one shape"});
}
LOCUS_OUT_OF_LINE inline void require_scalar_result(std::string_view caller, const Shape& shape) {
  if (elements(shape) != 1)
    fail<ShapeError>(
        {caller, ": f returns a tensor of shape ", shape, "; expected one number: reduce it with sum or mean"});
}

/// The inputs of f, plain tensors, with tangents.
template <class X, class V>
[[nodiscard]] auto duals_of(std::string_view caller, const X& x, const V& v) {
  require_tangent_shape(caller, x.shape(), v.shape());
  return make_dual(x, v);
}
/// f with one input, or with the inputs of a Tuple.
template <class F, class X>
[[nodiscard]] decltype(auto) call_with(const F& f, const X& x) {
  return f(x);
}
template <class F, class... X>
[[nodiscard]] decltype(auto) call_with(const F& f, const Tuple<X...>& x) {
  return unpack(x, [&](const auto&... one) -> decltype(auto) { return f(one...); });
}

template <class... X, class... V>
[[nodiscard]] auto duals_of(std::string_view caller, const Tuple<X...>& x, const Tuple<V...>& v) {
  static_assert(sizeof...(X) == sizeof...(V), "x and v are Tuples of as many tensors");
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return Tuple(duals_of(caller, get<i>(x), get<i>(v))...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}

/// What f returns, in parts. Results that are no duals do not depend on x: their tangents are 0.
template <TensorLike Y>
[[nodiscard]] auto parts_of(const Y& result) {
  const auto& y = result.eval();
  if constexpr (!is_dual<value_of<Y>>) {
    const auto& value = y.value();
    return ValueAndTangent{value, Tensor(value.clone()).fill_(convert<value_of<Y>>(0))};
  } else if constexpr (bare_t<decltype(y)>::role == Role::traced) {
    return ValueAndTangent{primal(y).eval(), tangent(y).eval()};
  } else {
    auto [value, tangent] = split_duals(y.value());
    return ValueAndTangent{value, tangent};
  }
}
template <class... Y>
[[nodiscard]] auto parts_of(const Tuple<Y...>& results) {
  return unpack(results, [](const auto&... y) {
    const Tuple parts{parts_of(y)...};
    return unpack(parts, [](const auto&... part) {
      return ValueAndTangent{Tuple(part.value...), Tuple(part.tangent...)};
    });
  });
}

/// Variables of the inputs, in inference.
template <class X>
[[nodiscard]] auto variables_of(const X& x) {
  return frozen(variable(x));
}
template <class... X>
[[nodiscard]] auto variables_of(const Tuple<X...>& inputs) {
  return unpack(inputs, [](const auto&... x) { return Tuple(variables_of(x)...); });
}
/// The gradient that a variable collected since the last call; 0 if none reached it.
template <class T, class D>
[[nodiscard]] Tensor<T, D> taken_gradient(const Traced<T, D>& x) {
  if (!x.node()->has_gradient()) return Tensor<T, D>(x.shape(), x.device()).fill_(convert<T>(0));
  const Tensor<T, D> gradient = x.grad();
  x.zero_grad();
  return gradient.clone();
}
template <class... X>
[[nodiscard]] auto taken_gradient(const Tuple<X...>& variables) {
  return unpack(variables, [](const auto&... x) { return Tuple(taken_gradient(x)...); });
}

/// f of variables, a tensor, recorded without the parameters that f uses.
template <class F, class X>
[[nodiscard]] auto recorded_alone(const F& f, const X& variables) {
  const Within apart(leaves_parameters_out, true);
  return bare_t<decltype(call_with(f, variables).eval())>(call_with(f, variables).eval());
}

}  // namespace detail

/// f(x) and its derivative along v: the Jacobian of f times v, in one forward pass. x is a plain tensor, or a Tuple of
/// the arguments of f; v has the same shapes. f returns a tensor or a Tuple of tensors. Tensors and parameters that f
/// uses beside x are constants. A traced result is recorded: a loss made of its tangent trains parameters.
/// cost:  f on duals, which move twice the bytes of numbers; a matrix product is three; two launches around f
/// throws ShapeError unless x and v have one shape
///
///     const auto [y, slope] = jvp([](const auto& x) { return sin(x); }, from({0., 1.}), from({1., 1.}));
template <class F, class X, class V>
  requires detail::TakesTangents<X, V>
[[nodiscard]] auto jvp(const F& f, const X& x, const V& v) {
  return detail::parts_of(detail::call_with(f, detail::duals_of("jvp", x, v)));
}

/// f(x) and its pullback: pullback(cotangent) is the transposed Jacobian of f times a cotangent of the shape of f(x),
/// by a backward pass. It may be called again; a Tuple x gives a Tuple of gradients.
template <class Y, class X>
class Vjp {
 public:
  Y value;

  Vjp(Y y, const Traced<value_of<Y>, device_of<Y>>& recorded, X variables)
      : value(std::move(y)), recorded_(recorded), variables_(std::move(variables)) {}

  /// throws ShapeError unless the cotangent has the shape of the value
  [[nodiscard]] auto pullback(const Y& cotangent) const {
    if (!(cotangent.shape() == value.shape()))
      fail<ShapeError>({"vjp: a cotangent of shape ", cotangent.shape(), " for a result of shape ", value.shape(),
                        "; expected one shape"});
    if (recorded_.node()) recorded_.backward(cotangent, {.retain_graph = true});
    return detail::taken_gradient(variables_);
  }

 private:
  Traced<value_of<Y>, device_of<Y>> recorded_;
  X variables_;
};

/// f(x), and a function of cotangents; see Vjp. x is a plain tensor, or a Tuple of the arguments of f.
///
///     const auto at = vjp([&](const auto& x) { return matmul(x, w); }, x);
///     const auto gradient = at.pullback(ones_like(at.value));
template <class F, class X>
  requires detail::TakesInputs<X>
[[nodiscard]] auto vjp(const F& f, const X& x) {
  const auto variables = detail::variables_of(x);
  const auto y = detail::recorded_alone(f, variables);
  return Vjp(Tensor(y.value()), y, variables);
}

/// f(x), the gradient of f, and the Hessian of f times v, for an f that returns one number: a backward pass on duals
/// (forward over reverse). x is a plain tensor, or a Tuple of the arguments of f; v has the same shapes.
/// cost:  a forward and a backward pass on duals
/// throws ShapeError unless x and v have one shape and f returns one number
///
///     const auto [value, gradient, product] = hvp(f, x, v);
template <class F, class X, class V>
  requires detail::TakesTangents<X, V>
[[nodiscard]] auto hvp(const F& f, const X& x, const V& v) {
  const auto variables = detail::variables_of(detail::duals_of("hvp", x, v));
  const auto y = detail::recorded_alone(f, variables);
  detail::require_scalar_result("hvp", y.shape());
  if (y.node()) y.backward();
  const auto gradient = detail::parts_of(detail::taken_gradient(variables));
  return HessianProduct{detail::parts_of(y.value()).value, gradient.value, gradient.tangent};
}

namespace detail {

/// Row i of a matrix whose rows are dense, as a tensor of a shape.
template <class T, class D>
[[nodiscard]] Tensor<T, D> row_as(const Tensor<T, D>& matrix, std::int64_t row, const Shape& shape) {
  return matrix.select(0, row).reshape(shape);
}
/// The shapes one after the other. throws ShapeError for more dimensions than a tensor has
LOCUS_OUT_OF_LINE inline Shape joint_extents(std::string_view caller, const Shape& outer, const Shape& inner) {
  if (outer.rank() + inner.rank() > max_rank)
    fail<ShapeError>({caller, ": derivatives of a result of shape ", outer, " by x of shape ", inner, " have ",
                      outer.rank() + inner.rank(), " dimensions; expected at most ", max_rank,
                      ": flatten one of them"});
  Shape all = outer;
  for (int d = 0; d < inner.rank(); ++d) all.push_back(inner[d]);
  return all;
}

/// A tangent with a 1 at one element after the other.
template <class T, class D>
class UnitTangent {
 public:
  explicit UnitTangent(const Tensor<T, D>& like) : tangent_(Tensor<T, D>(like.shape(), like.device()).fill_(T(0))) {}
  [[nodiscard]] const Tensor<T, D>& at(std::int64_t element) const {
    const auto all = tangent_.reshape({tangent_.elements()});
    if (element > 0) all.slice(0, element - 1, element).fill_(T(0));
    all.slice(0, element, element + 1).fill_(T(1));
    return tangent_;
  }

 private:
  Tensor<T, D> tangent_;
};

}  // namespace detail

/// The derivatives of all elements of f(x) by all elements of x, by a forward pass for each element of x: for an x with
/// few elements. x is a plain tensor, and f returns a tensor.
/// shape: x (in...) -> (out..., in...)
/// throws ShapeError for more dimensions than a tensor has
template <class F, detail::TakesInputs X>
  requires TensorLike<X>
[[nodiscard]] auto jacobian_forward(const F& f, const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> at = x.eval();
  const detail::UnitTangent<T, D> unit(at);
  Tensor<T, D> columns;  // (in, out)
  Shape shape;
  for (std::int64_t i = 0; i < at.elements(); ++i) {
    const auto tangent = jvp(f, at, unit.at(i)).tangent;
    if (i == 0) {
      shape = detail::joint_extents("jacobian_forward", tangent.shape(), at.shape());
      columns = Tensor<T, D>({at.elements(), tangent.elements()}, at.device());
    }
    detail::row_as(columns, i, tangent.shape()).copy_(tangent);
  }
  if (at.empty())
    return Tensor<T, D>(detail::joint_extents("jacobian_forward", f(at).shape(), at.shape()), at.device());
  return columns.transpose().contiguous().reshape(shape);
}

/// The same by a backward pass for each element of f(x): for an f(x) with few elements.
template <class F, detail::TakesInputs X>
  requires TensorLike<X>
[[nodiscard]] auto jacobian_reverse(const F& f, const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> at = x.eval();
  const auto linear = vjp(f, at);
  const detail::UnitTangent<T, D> unit(linear.value);
  const std::int64_t results = linear.value.elements();
  const Tensor<T, D> rows({results, at.elements()}, at.device());
  for (std::int64_t i = 0; i < results; ++i) detail::row_as(rows, i, at.shape()).copy_(linear.pullback(unit.at(i)));
  return rows.reshape(detail::joint_extents("jacobian_reverse", linear.value.shape(), at.shape()));
}

/// The derivatives of all elements of f(x) by all elements of x, in forward or backward mode, whichever needs fewer
/// passes. f is called once more to learn the shape of its result.
/// shape: x (in...) -> (out..., in...)     cost: as jacobian_forward or jacobian_reverse
///
///     const auto slopes = jacobian([](const auto& x) { return softmax(x, -1); }, x);
template <class F, detail::TakesInputs X>
  requires TensorLike<X>
[[nodiscard]] auto jacobian(const F& f, const X& x) {
  const auto at = Tensor(x.eval());
  const std::int64_t results = Tensor(f(at).eval().value()).elements();
  return at.elements() <= results ? jacobian_forward(f, at) : jacobian_reverse(f, at);
}

/// The second derivatives of an f that returns one number, by hvp for each element of x.
/// shape: x (in...) -> (in..., in...)
/// throws ShapeError unless f returns one number, and for more dimensions than a tensor has
template <class F, detail::TakesInputs X>
  requires TensorLike<X>
[[nodiscard]] auto hessian(const F& f, const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> at = x.eval();
  const detail::UnitTangent<T, D> unit(at);
  const Tensor<T, D> rows({at.elements(), at.elements()}, at.device());
  for (std::int64_t i = 0; i < at.elements(); ++i)
    detail::row_as(rows, i, at.shape()).copy_(hvp(f, at, unit.at(i)).product);
  return rows.reshape(detail::joint_extents("hessian", at.shape(), at.shape()));
}

#include <locus/refuse/autograd/forward_mode.inc>

}}  // namespace locus::LOCUS_ABI
