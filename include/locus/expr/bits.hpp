#pragma once
// Bitwise operators, not included by locus.hpp: & | ^ and ~ on integers or bool, << and >> on integers. Pending
// expressions without a gradient; a number beside a tensor has to be an integer that the tensor's type can hold.

#include <locus/expr/operators.hpp>
#include <locus/tensor/host_reads.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Bitwise {
  static constexpr bool differentiable = false;
};
struct BitAnd : Bitwise {
  template <class T> LOCUS_FN T operator()(T x, T y) const { return static_cast<T>(x & y); }
};
struct BitOr : Bitwise {
  template <class T> LOCUS_FN T operator()(T x, T y) const { return static_cast<T>(x | y); }
};
struct BitXor : Bitwise {
  template <class T> LOCUS_FN T operator()(T x, T y) const { return static_cast<T>(x ^ y); }
};
struct BitNot : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>) return !x;
    else return static_cast<T>(~x);
  }
};

/// Counts of 0 to bits - 1. Counts out of range, which only the host can refuse, shift all bits out.
struct ShiftLeft : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x, T count) const {
    using W = math::wrapping_t<T>;
    constexpr W bits = static_cast<W>(8 * sizeof(T));
    const W by = static_cast<W>(count);
    return by < bits ? static_cast<T>(static_cast<W>(x) << (by < bits ? by : W(0))) : T(0);
  }
};
/// Shifts in the sign bit for signed types.
struct ShiftRight : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x, T count) const {
    using W = math::wrapping_t<T>;
    constexpr W last = static_cast<W>(8 * sizeof(T) - 1);
    const W by = static_cast<W>(count), within = by < last ? by : last;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(x >> within);
    else return by <= last ? static_cast<T>(x >> within) : T(0);
  }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class X>
concept HoldsIntegers = TensorLike<X> && IntegerDType<value_of<X>>;
template <class X>
concept HoldsBits = HoldsIntegers<X> || (TensorLike<X> && std::is_same_v<value_of<X>, bool>);
template <class L, class R>
concept CombinableBits = (HoldsBits<L> || HoldsBits<R>)&&Combinable<L, R>;
template <class L, class R>
concept Shiftable = (HoldsIntegers<L> || HoldsIntegers<R>)&&Combinable<L, R>;
}  // namespace detail

template <class L, class R>
  requires detail::CombinableBits<L, R>
[[nodiscard]] auto operator&(L&& left, R&& right) {
  return detail::pending(functor::BitAnd{}, std::forward<L>(left), std::forward<R>(right));
}
template <class L, class R>
  requires detail::CombinableBits<L, R>
[[nodiscard]] auto operator|(L&& left, R&& right) {
  return detail::pending(functor::BitOr{}, std::forward<L>(left), std::forward<R>(right));
}
template <class L, class R>
  requires detail::CombinableBits<L, R>
[[nodiscard]] auto operator^(L&& left, R&& right) {
  return detail::pending(functor::BitXor{}, std::forward<L>(left), std::forward<R>(right));
}
template <detail::HoldsBits X>
  requires detail::Operand<X>
[[nodiscard]] auto operator~(X&& x) {
  return detail::pending(functor::BitNot{}, std::forward<X>(x));
}

namespace detail {
/// Checks the counts of a shift of T. throws ArgumentError for a count out of range, where the host can read it
template <class T, class Count>
[[nodiscard]] decltype(auto) checked_counts(const char* caller, Count&& count) {
  constexpr std::uint64_t bits = 8 * sizeof(T);
  const auto within = [](auto given) { return given >= 0 && static_cast<std::uint64_t>(given) < bits; };
  if constexpr (Scalar<Count>) {
    if (!within(count))
      fail<ArgumentError>(
          {"x ", caller, " ", count, ": expected a count of 0 to ", bits - 1, " for ", dtype_name<T>()});
    return static_cast<bare_t<Count>>(count);
  } else if constexpr (is_symbolic<Count> || !ChecksElements<device_of<Count>>) {
    return std::forward<Count>(count);
  } else {
    const auto counts = std::forward<Count>(count).eval();
    check_elements(counts.value(), [&](auto given, std::int64_t i) {
      if (!within(given))
        fail<ArgumentError>({"x ", caller, " count: ", given, " at position ", i, "; expected counts of 0 to ",
                             bits - 1, " for ", dtype_name<T>()});
    });
    return counts;
  }
}
template <class L, class R>
using shifted_value = typename CommonValue<bare_t<L>, bare_t<R>>::type;
}  // namespace detail

/// x 2^count, truncated to the bits of the type. throws ArgumentError for a count below 0 or not below the type's
/// number of bits: always for a number; for a tensor if the host can read it, after computing a pending count. On a GPU
/// a count out of range gives 0, as in PyTorch and NumPy on any device. C++ and ONNX's BitShift leave it undefined, so
/// Locus refuses it where the check costs nothing.
template <class L, class R>
  requires detail::Shiftable<L, R>
[[nodiscard]] auto operator<<(L&& x, R&& count) {
  using T = detail::shifted_value<L, R>;
  return detail::pending(functor::ShiftLeft{}, std::forward<L>(x),
                         detail::checked_counts<T>("<<", std::forward<R>(count)));
}
/// x / 2^count, rounded towards minus infinity. throws as <<; on a GPU a count out of range gives 0, or -1 for a
/// negative x.
template <class L, class R>
  requires detail::Shiftable<L, R>
[[nodiscard]] auto operator>>(L&& x, R&& count) {
  using T = detail::shifted_value<L, R>;
  return detail::pending(functor::ShiftRight{}, std::forward<L>(x),
                         detail::checked_counts<T>(">>", std::forward<R>(count)));
}

#include <locus/refuse/expr/bits.inc>

}}  // namespace locus::LOCUS_ABI
