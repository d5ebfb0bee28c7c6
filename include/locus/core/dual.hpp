#pragma once
// Dual<R>: a number and its derivative along one direction. Arithmetic on duals computes both, so a function that
// computes with duals in place of numbers also gives its derivative (forward mode). Dual<Dual<R>> has second
// derivatives.

#include <locus/core/dtype.hpp>

#include <limits>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class R>
inline constexpr bool is_part_of_dual = std::is_same_v<R, float> || std::is_same_v<R, double>;
template <class R>
inline constexpr bool is_part_of_dual<Dual<R>> = is_part_of_dual<R>;

template <class R>
[[nodiscard]] constexpr std::string_view name_of_dual() {
  if constexpr (std::is_same_v<R, float>) return "dual<float32>";
  else if constexpr (std::is_same_v<R, double>) return "dual<float64>";
  else if constexpr (std::is_same_v<R, Dual<float>>) return "dual<dual<float32>>";
  else if constexpr (std::is_same_v<R, Dual<double>>) return "dual<dual<float64>>";
  else return "dual<dual<dual<...>>>";
}
}  // namespace detail

/// An element type: value + tangent e with e^2 = 0. R is float, double, or a Dual. Comparisons compare values, so that
/// functions branch as they do without tangents. Numbers convert to a Dual with tangent 0; a Dual converts to a number,
/// which has its value, by a cast alone.
template <class R>
struct Dual {
  static_assert(detail::is_part_of_dual<R>, "Dual<R>: R is float, double, or a Dual of these");
  static constexpr std::string_view dtype_name = detail::name_of_dual<R>();

  R value = R(0);
  R tangent = R(0);

  constexpr Dual() = default;
  LOCUS_FN constexpr Dual(const R& v, const R& t) : value(v), tangent(t) {}
  template <Arithmetic N>
  LOCUS_FN constexpr Dual(N number) : value(static_cast<R>(number)) {}
  LOCUS_FN constexpr Dual(const R& number)
    requires is_dual<R>
      : value(number) {}
  template <class S>
    requires(!std::is_same_v<S, R> && !std::is_same_v<Dual<S>, R>)
  LOCUS_FN explicit constexpr Dual(const Dual<S>& other)
      : value(static_cast<R>(other.value)), tangent(static_cast<R>(other.tangent)) {}

  template <class N>
    requires(Arithmetic<N> || is_16_bit_float<N>)
  LOCUS_FN explicit constexpr operator N() const {
    return static_cast<N>(value);
  }

  LOCUS_FN friend constexpr Dual operator+(const Dual& a) { return a; }
  LOCUS_FN friend constexpr Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
  LOCUS_FN friend constexpr Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.tangent + b.tangent};
  }
  LOCUS_FN friend constexpr Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.tangent - b.tangent};
  }
  LOCUS_FN friend constexpr Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.value * b.tangent + a.tangent * b.value};
  }
  LOCUS_FN friend constexpr Dual operator/(const Dual& a, const Dual& b) {
    const R quotient = a.value / b.value;
    return {quotient, (a.tangent - quotient * b.tangent) / b.value};
  }
  LOCUS_FN constexpr Dual& operator+=(const Dual& b) { return *this = *this + b; }
  LOCUS_FN constexpr Dual& operator-=(const Dual& b) { return *this = *this - b; }
  LOCUS_FN constexpr Dual& operator*=(const Dual& b) { return *this = *this * b; }
  LOCUS_FN constexpr Dual& operator/=(const Dual& b) { return *this = *this / b; }

  [[gnu::pure]] LOCUS_FN friend constexpr bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  [[gnu::pure]] LOCUS_FN friend constexpr bool operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }
  [[gnu::pure]] LOCUS_FN friend constexpr bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  [[gnu::pure]] LOCUS_FN friend constexpr bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  [[gnu::pure]] LOCUS_FN friend constexpr bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  [[gnu::pure]] LOCUS_FN friend constexpr bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
};

}}  // namespace locus::LOCUS_ABI

/// The limits of R, with tangent 0.
template <class R>
struct std::numeric_limits<locus::Dual<R>> : std::numeric_limits<R> {
  using Dual = locus::Dual<R>;
  static constexpr Dual min() noexcept { return std::numeric_limits<R>::min(); }
  static constexpr Dual max() noexcept { return std::numeric_limits<R>::max(); }
  static constexpr Dual lowest() noexcept { return std::numeric_limits<R>::lowest(); }
  static constexpr Dual epsilon() noexcept { return std::numeric_limits<R>::epsilon(); }
  static constexpr Dual infinity() noexcept { return std::numeric_limits<R>::infinity(); }
  static constexpr Dual quiet_NaN() noexcept { return std::numeric_limits<R>::quiet_NaN(); }
  static constexpr Dual denorm_min() noexcept { return std::numeric_limits<R>::denorm_min(); }
};
