#pragma once
// Powers, exponentials, logarithms, rounding, trigonometry. functors.hpp lists the members of a function.

#include <locus/core/math.hpp>
#include <locus/expr/functors/arithmetic.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

// Powers, exponentials, logarithms.

struct Exp {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::exp(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y;
  }
};
struct Expm1 {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::expm1(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return y + T(1);
  }
};
struct Log {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / x;
  }
};
struct Log1p {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::log1p(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / (T(1) + x);
  }
};
struct Sqrt {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sqrt(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(0.5) / y;
  }
};
struct Rsqrt {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::rsqrt(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(-0.5) * y * y * y;
  }
};
struct Square {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return Multiply{}(x, x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(2) * x;
  }
};
struct Reciprocal {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return T(1) / x;
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return -y * y;
  }
};
struct Erf {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::erf(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1.1283791670955126) * math::exp(-x * x);
  }  // 2 / sqrt(pi)
};

// Signs and rounding.

struct Abs {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return x;
    else return x < T(0) ? Negate{}(x) : x == T(0) ? T(0) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  }
};
struct Sign {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>) return static_cast<T>(x > T(0));
    else return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
struct Floor {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::floor(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
struct Ceil {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::ceil(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};
/// To the nearest integer, halves to the even one.
struct Round {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::round(x);
  }
  template <class T>
  LOCUS_FN T by_input(T) const {
    return T(0);
  }
};

// Trigonometry.

struct Sin {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sin(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::cos(x);
  }
};
struct Cos {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::cos(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return -math::sin(x);
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
