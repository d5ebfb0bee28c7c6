#pragma once
// Complex numbers as elements of tensors, on every device. (The operators of std::complex do not run on a GPU without a
// flag of nvcc, and <complex> costs every program compile time.)

#include <locus/core/config.hpp>

#include <concepts>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI {

template <class R>
struct Complex;

template <class T>
inline constexpr bool is_complex = false;
template <class R>
inline constexpr bool is_complex<Complex<R>> = true;

namespace detail {
/// A class like std::complex<R>: made of two numbers, which member functions return.
template <class Z, class R>
concept StandardComplex = __is_class(Z) && requires(const Z& z) {
  { z.real() } -> std::same_as<R>;
  { z.imag() } -> std::same_as<R>;
};
/// std::complex of any type.
template <class Z>
concept AnyStandardComplex = StandardComplex<Z, float> || StandardComplex<Z, double>;
template <class Z>
concept ComplexNumber = is_complex<Z> || AnyStandardComplex<Z>;
template <class N>
concept RealNumber = !__is_class(N) && !__is_enum(N) && requires(N n) { static_cast<double>(n); };
}  // namespace detail

/// A complex number, laid out as std::complex<R>, to and from which it converts, and aligned to its size, as a GPU
/// reads it. R is float or double. Products and quotients are computed by the textbook formulas, without the checks for
/// infinities of C's Annex G; quotients are scaled, so that they do not overflow before their result does.
template <class R>
struct alignas(2 * sizeof(R)) Complex {
  static_assert(std::is_same_v<R, float> || std::is_same_v<R, double>, "a Complex is made of float or double");
  using value_type = R;
  R real = 0, imag = 0;

  constexpr Complex() = default;
  LOCUS_FN constexpr Complex(R real_part, R imaginary_part) : real(real_part), imag(imaginary_part) {}
  template <detail::RealNumber N>
  LOCUS_FN constexpr Complex(N number) : real(static_cast<R>(number)) {}
  template <class S>
    requires(!std::is_same_v<R, S>)
  LOCUS_FN explicit(sizeof(S) > sizeof(R)) constexpr Complex(const Complex<S>& z)
      : real(static_cast<R>(z.real)), imag(static_cast<R>(z.imag)) {}
  template <detail::AnyStandardComplex Z>
  constexpr Complex(const Z& z) : real(static_cast<R>(z.real())), imag(static_cast<R>(z.imag())) {}
  template <detail::StandardComplex<R> Z> constexpr operator Z() const { return Z(real, imag); }

  LOCUS_FN friend constexpr bool operator==(Complex x, Complex y) { return x.real == y.real && x.imag == y.imag; }
  LOCUS_FN friend constexpr Complex operator+(Complex x) { return x; }
  LOCUS_FN friend constexpr Complex operator-(Complex x) { return {-x.real, -x.imag}; }
  LOCUS_FN friend constexpr Complex operator+(Complex x, Complex y) { return {x.real + y.real, x.imag + y.imag}; }
  LOCUS_FN friend constexpr Complex operator-(Complex x, Complex y) { return {x.real - y.real, x.imag - y.imag}; }
  LOCUS_FN friend constexpr Complex operator*(Complex x, Complex y) {
    return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
  }
  LOCUS_FN friend constexpr Complex operator*(Complex x, R y) { return {x.real * y, x.imag * y}; }
  LOCUS_FN friend constexpr Complex operator*(R x, Complex y) { return {x * y.real, x * y.imag}; }
  LOCUS_FN friend constexpr Complex operator/(Complex x, R y) { return {x.real / y, x.imag / y}; }
  /// Smith's method (1962).
  LOCUS_FN friend constexpr Complex operator/(Complex x, Complex y) {
    if (y.imag == R(0)) return x / y.real;
    const R a = y.real < R(0) ? -y.real : y.real, b = y.imag < R(0) ? -y.imag : y.imag;
    if (a >= b) {
      const R ratio = y.imag / y.real, scale = y.real + y.imag * ratio;
      return {(x.real + x.imag * ratio) / scale, (x.imag - x.real * ratio) / scale};
    }
    const R ratio = y.real / y.imag, scale = y.real * ratio + y.imag;
    return {(x.real * ratio + x.imag) / scale, (x.imag * ratio - x.real) / scale};
  }
  LOCUS_FN constexpr Complex& operator+=(Complex y) { return *this = *this + y; }
  LOCUS_FN constexpr Complex& operator-=(Complex y) { return *this = *this - y; }
  LOCUS_FN constexpr Complex& operator*=(Complex y) { return *this = *this * y; }
  LOCUS_FN constexpr Complex& operator/=(Complex y) { return *this = *this / y; }
};

using complex64 = Complex<float>;
using complex128 = Complex<double>;

namespace detail {
/// A given number; std::complex as a Complex, on the host alone: its members do not run on a GPU.
template <class N>
[[nodiscard]] constexpr auto own_number(const N& number) {
  if constexpr (AnyStandardComplex<N>) return Complex<typename N::value_type>(number);
  else return number;
}

/// The conjugate of a complex number; any other number itself.
template <class T>
[[nodiscard]] LOCUS_FN constexpr T conjugate(const T& x) {
  if constexpr (is_complex<T>) return T(x.real, -x.imag);
  else return x;
}

template <class T>
struct RealType {
  using type = T;
};
template <class R>
struct RealType<Complex<R>> {
  using type = R;
};
}  // namespace detail

/// The type of the parts of T: float for complex64; T itself unless it is complex.
template <class T>
using real_t = typename detail::RealType<T>::type;

}}  // namespace locus::LOCUS_ABI
