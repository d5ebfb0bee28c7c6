#pragma once
// Complex numbers: their parts, as views and as functions; conjugates; norms and variances. Arithmetic, products and
// the functions that real numbers have, too, stand in the headers of those functions.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/expr/functions/trigonometric.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace functor {

/// At 0 the gradient is 0.
template <class R>
struct Angle {
  using gives = R;
  LOCUS_FN R operator()(const Complex<R>& z) const { return math::angle(z); }
  LOCUS_FN Pack<Complex<R>> pullback(R g, R, const Complex<R>& z) const {
    const R size = math::abs(z);
    return {size == R(0) ? Complex<R>(0) : (g / size) * Complex<R>(-z.imag / size, z.real / size)};
  }
};
template <class R>
struct FromParts {
  using gives = Complex<R>;
  static constexpr unsigned reads(int) { return 0; }
  LOCUS_FN Complex<R> operator()(R real, R imag) const { return {real, imag}; }
  LOCUS_FN Pack<R, R> pullback(const Complex<R>& g, const Complex<R>&, R, R) const { return {g.real, g.imag}; }
};
template <class R>
struct FromPolar {
  using gives = Complex<R>;
  LOCUS_FN Complex<R> operator()(R size, R angle) const { return {size * math::cos(angle), size * math::sin(angle)}; }
  LOCUS_FN Pack<R, R> pullback(const Complex<R>& g, const Complex<R>& z, R, R angle) const {
    return {g.real * math::cos(angle) + g.imag * math::sin(angle), g.imag * z.real - g.real * z.imag};
  }
};

}  // namespace functor

namespace detail {

/// The numbers of complex elements as elements of their own: a view whose strides count them.
template <class R, class D>
[[nodiscard]] Tensor<R, D> part_of(const Tensor<Complex<R>, D>& z, bool imaginary) {
  Strides strides = z.strides();
  for (int d = 0; d < strides.rank(); ++d) strides[d] *= 2;
  R* const first = reinterpret_cast<R*>(z.data());
  return {z.buffer(), first && imaginary ? first + 1 : first, z.shape(), strides};
}
template <class R, class D>
[[nodiscard]] Tensor<R, D> as_pairs(const Tensor<Complex<R>, D>& z) {
  Shape shape = z.shape();
  if (shape.rank() == max_rank)
    fail<ShapeError>({"view_as_real: shape ", shape, "; expected at most ", max_rank - 1,
                      " dimensions, since the result has one more"});
  Strides strides = z.strides();
  for (int d = 0; d < strides.rank(); ++d) strides[d] *= 2;
  shape.push_back(2);
  strides.push_back(1);
  return {z.buffer(), reinterpret_cast<R*>(z.data()), shape, strides};
}
/// Whether pairs of elements lie where complex numbers would.
template <class R, class D>
[[nodiscard]] bool holds_pairs(const Tensor<R, D>& x) {
  const Strides& strides = x.strides();
  bool is_even = strides[-1] == 1 && reinterpret_cast<std::uintptr_t>(x.data()) % sizeof(Complex<R>) == 0;
  for (int d = 0; d + 1 < strides.rank(); ++d) is_even &= strides[d] % 2 == 0;
  return is_even;
}
template <class R, class D>
[[nodiscard]] Tensor<Complex<R>, D> from_pairs(const Tensor<R, D>& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  if (shape.rank() == 0 || shape[-1] != 2)
    fail<ShapeError>(
        {"view_as_complex: shape ", shape, "; expected (..., 2), real and imaginary parts in the last dimension"});
  if (!holds_pairs(x))
    fail<ShapeError>({"view_as_complex: strides ", strides, " of shape ", shape,
                      "; expected 1 at the end, even ones before it, and an aligned first element: say x.clone()"});
  shape.erase(shape.rank() - 1);
  strides.erase(strides.rank() - 1);
  for (int d = 0; d < strides.rank(); ++d) strides[d] /= 2;
  return {x.buffer(), reinterpret_cast<Complex<R>*>(x.data()), shape, strides};
}

}  // namespace detail

namespace operation {

/// The real or the imaginary parts, as a view.
struct PartOfComplex {
  static constexpr const char* name = "real or imag";
  static constexpr bool linear = true;
  bool imaginary;
  template <class R, class D>
  auto forward(const Tensor<Complex<R>, D>& z) const {
    return Forwarded{detail::part_of(z, imaginary), Tuple<>()};
  }
  template <class R, class D>
  void backward(const Tuple<>&, const Tensor<R, D>& g, Gradient<Complex<R>, D>& dz) const {
    const auto target = dz.open_in_format();
    if (!target.accumulate) target.out.fill_(0);
    detail::part_of(target.out, imaginary) += g;
  }
};
struct ViewAsReal {
  static constexpr const char* name = "view_as_real";
  static constexpr bool linear = true;
  template <class R, class D>
  auto forward(const Tensor<Complex<R>, D>& z) const {
    return Forwarded{detail::as_pairs(z), Tuple<>()};
  }
  template <class R, class D>
  void backward(const Tuple<>&, const Tensor<R, D>& g, Gradient<Complex<R>, D>& dz) const {
    dz.give(detail::from_pairs(detail::holds_pairs(g) ? g : g.clone()));
  }
};
struct ViewAsComplex {
  static constexpr const char* name = "view_as_complex";
  static constexpr bool linear = true;
  template <class R, class D>
  auto forward(const Tensor<R, D>& x) const {
    return Forwarded{detail::from_pairs(x), Tuple<>()};
  }
  template <class R, class D>
  void backward(const Tuple<>&, const Tensor<Complex<R>, D>& g, Gradient<R, D>& dx) const {
    dx.give(detail::as_pairs(g));
  }
};

}  // namespace operation

namespace detail {
template <class X>
concept ViewableComplex = Viewable<X> && ComplexDType<value_of<X>>;
/// Real numbers that are parts of complex ones.
template <class X>
concept ViewableParts = Viewable<X> && (std::is_same_v<value_of<X>, float> || std::is_same_v<value_of<X>, double>);
template <class X>
concept PartOrNumber =
    Scalar<X> || (TensorLike<X> && (std::is_same_v<value_of<X>, float> || std::is_same_v<value_of<X>, double>));
/// Numbers that are no parts of complex ones: of 16 bits, and duals.
template <class X>
struct PartTypeMistake : NoMistake {};
template <TensorLike X>
  requires(FloatingDType<value_of<X>> && !PartOrNumber<X>)
struct PartTypeMistake<X>
    : MistakeOf<Wrong::types, error::dtype_mismatch<error::tensor_holds<value_of<X>>, error::convert_with_as_float>,
                value_of<X>, float> {};
template <class L, class R>
struct PartsMistake : FirstMistake<PowerMistake<L, R>, PartTypeMistake<L>, PartTypeMistake<R>> {};
template <class L, class R>
concept CombinableParts = Combinable<L, R> && PartOrNumber<L> && PartOrNumber<R>;
template <class L, class R>
using part_t = typename CommonValue<bare_t<L>, bare_t<R>>::type;
}  // namespace detail

/// The real parts: a view, through which they are written, as in real(z) += 1.
/// gradient: g, with an imaginary part of 0     cost: none; backward two launches
template <detail::ViewableComplex X>
[[nodiscard]] auto real(const X& z) {
  return apply(operation::PartOfComplex{false}, z);
}
/// The imaginary parts, as real.
/// gradient: i g
template <detail::ViewableComplex X>
[[nodiscard]] auto imag(const X& z) {
  return apply(operation::PartOfComplex{true}, z);
}

/// Real and imaginary parts as a last dimension: a view.
/// shape: (...) -> (..., 2)     gradient: that of the parts, as complex numbers     cost: none
/// throws ShapeError for a tensor of eight dimensions
template <detail::ViewableComplex X>
[[nodiscard]] auto view_as_real(const X& z) {
  return apply(operation::ViewAsReal{}, z);
}
/// The complex numbers whose parts stand in the last dimension: a view, of float or double.
/// shape: (..., 2) -> (...)     gradient: its parts     cost: none
/// throws ShapeError unless the last extent is 2, its stride 1, all other strides are even, and the first element lies
/// where a complex number may
template <detail::ViewableParts X>
[[nodiscard]] auto view_as_complex(const X& x) {
  return apply(operation::ViewAsComplex{}, x);
}

/// real + i imag, pending; one of them may be a number.
/// gradient: the real part of g, and its imaginary part
template <class L, class R>
  requires detail::CombinableParts<L, R>
[[nodiscard]] auto complex(L&& real, R&& imag) {
  return detail::pending(functor::FromParts<detail::part_t<L, R>>{}, std::forward<L>(real), std::forward<R>(imag));
}
/// size (cos(angle) + i sin(angle)), pending.
template <class L, class R>
  requires detail::CombinableParts<L, R>
[[nodiscard]] auto polar(L&& size, R&& angle) {
  return detail::pending(functor::FromPolar<detail::part_t<L, R>>{}, std::forward<L>(size), std::forward<R>(angle));
}

/// The angle from the positive real axis, from -pi to pi, pending.
/// gradient: i z g / |z|^2, and 0 at 0
template <detail::ComplexOperand X>
[[nodiscard]] auto angle(X&& z) {
  return detail::pending(functor::Angle<real_t<value_of<X>>>{}, std::forward<X>(z));
}

/// The conjugates, pending; real numbers are their own.
/// gradient: the conjugate of g
template <detail::DifferentiableOperand X>
[[nodiscard]] auto conj(X&& z) {
  return detail::pending(functor::Conjugate{}, std::forward<X>(z));
}

/// The conjugate transpose of matrices: PyTorch's x.mH. Of real numbers the transpose.
/// shape: (..., m, n) -> (..., n, m)     cost: one launch; none for real numbers
template <detail::DifferentiableOperand X>
[[nodiscard]] auto adjoint(const X& x) {
  if constexpr (ComplexDType<value_of<X>>) return transpose(conj(x));
  else return transpose(x);
}

/// The inner product of vectors, linear in the second: sum(conj(a) * b).
/// throws ShapeError unless a and b are vectors of one length
template <class A, class B>
  requires(TensorLike<A> && TensorLike<B> && Combinable<A, B> && DifferentiableDType<value_of<A>>)
[[nodiscard]] auto vdot(const A& a, const B& b) {
  if (a.shape().rank() != 1 || !(a.shape() == b.shape()))
    fail<ShapeError>({"vdot: ", a.shape(), " and ", b.shape(), "; expected two vectors of one length"});
  return sum(conj(a) * b);
}

/// The norm of magnitudes, real: norm(abs(x), p). cost: as of norm
template <detail::ComplexOperand X>
[[nodiscard]] auto norm(X&& x, double p = 2, const ReduceAxes& axes = {}, bool keepdim = false) {
  return norm(abs(std::forward<X>(x)), p, axes, keepdim);
}
/// The variance of the distances from the mean, real: the sum of both parts' variances.
/// cost: two launches, and one for the sum
template <detail::ComplexOperand X>
[[nodiscard]] auto var(const X& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  const auto& z = x.eval();
  return var(real(z), axes, options) + var(imag(z), axes, options);
}
/// The root of var. cost: as of var
template <detail::ComplexOperand X>
[[nodiscard]] auto stddev(const X& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  return sqrt(var(x, axes, options));
}

#include <locus/refuse/ops/complex.inc>

}}  // namespace locus::LOCUS_ABI
