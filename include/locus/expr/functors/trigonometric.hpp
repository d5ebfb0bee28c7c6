#pragma once
// The tangent, inverse trigonometric and hyperbolic functions. functors.hpp lists the members of a function.

#include <locus/core/math/hyperbolic.hpp>
#include <locus/core/math/inverse_trigonometric.hpp>
#include <locus/core/math/logarithms.hpp>
#include <locus/core/std/pack.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Tan {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::tan(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    return T(1) + y * y;
  }
};
struct Asin {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::asin(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / math::sqrt((T(1) - x) * (T(1) + x));
  }
};
struct Acos {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::acos(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(-1) / math::sqrt((T(1) - x) * (T(1) + x));
  }
};
struct Atan {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::atan(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / (T(1) + x * x);
  }
};
/// The angle of (x, y). At the origin the gradient is 0.
struct Atan2 {
  template <class T>
  LOCUS_FN T operator()(T y, T x) const {
    return math::atan2(y, x);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T y, T x) const {
    const T r = math::hypot(y, x), by_y = x / r / r, by_x = -y / r / r;
    return {r == T(0) ? T(0) : by_y, r == T(0) ? T(0) : by_x};
  }
};

struct Sinh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::sinh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::cosh(x);
  }
};
struct Cosh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::cosh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return math::sinh(x);
  }
};
struct Asinh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::asinh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / math::hypot(x, T(1));
  }
};
struct Acosh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::acosh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / (math::sqrt(x - T(1)) * math::sqrt(x + T(1)));
  }
};
struct Atanh {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return math::atanh(x);
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return T(1) / ((T(1) - x) * (T(1) + x));
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
