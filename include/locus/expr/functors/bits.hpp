#pragma once
// Operations on the bits of integers, and on bool. They have no derivative. functors.hpp lists the members of a
// function.

#include <locus/core/math.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Bitwise {
  static constexpr bool differentiable = false;
};
struct BitAnd : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return static_cast<T>(x & y);
  }
};
struct BitOr : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return static_cast<T>(x | y);
  }
};
struct BitXor : Bitwise {
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return static_cast<T>(x ^ y);
  }
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
