#pragma once
// Parameters of distributions: tensors, traced tensors, parameters of a layer and numbers become handles of one type.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/autograd/expression.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/special.hpp>
#include <locus/ops/random.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

/// Whether a distribution checks its parameters and the values of log_prob. It reads elements on the host only where
/// the device's memory is the host's: on a GPU invalid numbers give NaN.
struct Validation {
  bool validate = true;
};

/// Probabilities in [0, 1] as the parameter of a distribution: Bernoulli(Probs{p}).
template <class X>
struct Probs {
  X x;
  explicit Probs(X given) : x(std::move(given)) {}
};
/// Logits, log(p / (1 - p)), or, of categories, logarithms of probabilities up to a constant: Categorical(Logits{x}).
template <class X>
struct Logits {
  X x;
  explicit Logits(X given) : x(std::move(given)) {}
};

namespace detail {

using locus::detail::bare_t;

/// The first of several parameters that has another element type than the first tensor.
template <class... X>
struct TypesAmong : locus::detail::NoMistake {};
template <class X, class... Rest>
struct TypesAmong<X, Rest...> : TypesAmong<Rest...> {};
template <TensorLike X, class... Rest>
struct TypesAmong<X, Rest...> : locus::detail::FirstMistake<locus::detail::PairMistake<X, Rest>...> {};

/// A tensor of floating-point numbers or a number.
template <class X>
concept ParameterLike = (TensorLike<X> || Scalar<X>)&&locus::detail::FloatingOrNumber<X>;

/// The mistake in parameters of one distribution.
template <class... X>
struct ParametersMistake
    : locus::detail::FirstMistake<locus::detail::PlacesAmong<X...>, locus::detail::MemoryMistake<X>...,
                                  locus::detail::ParametersMistake<X...>, locus::detail::IntegerMistake<X>...,
                                  TypesAmong<X...>> {};
/// The operand of Probs{x} and the like.
template <class X>
struct Unwrapped {
  using type = X;
};
template <template <class> class Wrapper, class X>
  requires(!TensorLike<Wrapper<X>>)
struct Unwrapped<Wrapper<X>> {
  using type = X;
};

/// Parameters of one distribution, in one place and of one element type; not of a layer alone.
template <class... X>
concept Parameters = (ParameterLike<X> && ...) && !ParametersMistake<bare_t<X>...>::refuses;

/// The handle that holds each of these parameters: Traced if one is traced, else Tensor; of float on Cpu for numbers.
template <class... X>
struct HandleOf {
  using T = std::conditional_t<(TensorLike<X> || ...), typename locus::detail::CommonValue<X...>::type, float>;
  using D = typename decltype([] {
    if constexpr ((TensorLike<X> || ...))
      return std::type_identity<device_of<locus::detail::first_with_place_t<X...>>>{};
    else return std::type_identity<Cpu>{};
  }())::type;
  static constexpr bool is_traced = (locus::detail::brings_traced<X> || ...);
  using type = std::conditional_t<is_traced, Traced<T, D>, Tensor<T, D>>;
};
template <class... X>
using handle_t = typename HandleOf<bare_t<X>...>::type;
/// Whether a distribution with handles H can be made of these parameters: numbers alone suit every plain handle.
template <class H, class... X>
concept MadeOf =
    Parameters<X...> && (std::is_same_v<handle_t<X...>, H> || (H::role == Role::plain && (Scalar<bare_t<X>> && ...)));

/// The device of the first parameter that is no number.
template <class H>
[[nodiscard]] device_of<H> common_device() {
  return {};
}
template <class H, class First, class... Rest>
[[nodiscard]] device_of<H> common_device(const First& first, const Rest&... rest) {
  if constexpr (TensorLike<First>) return first.device();
  else return common_device<H>(rest...);
}

/// One parameter as a handle of type H.
template <class H, class X>
[[nodiscard]] H as_handle(const X& x, [[maybe_unused]] device_of<H> device) {
  if constexpr (Scalar<X>) {
    return as_handle<H>(locus::full<value_of<H>>({}, x, device), device);
  } else if constexpr (std::is_same_v<X, H>) {
    return x;
  } else if constexpr (locus::detail::is_expr<X>) {
    return as_handle<H>(x.eval(), device);
  } else if constexpr (H::role == Role::traced) {
    return trace(x);
  } else {
    return x.value();
  }
}

[[nodiscard]] inline Shape joined(const Shape& first, const Shape& second) {
  Shape result = first;
  for (int i = 0; i < second.rank(); ++i) result.push_back(second[i]);
  return result;
}
/// A shape without its last `count` extents, and these.
[[nodiscard]] inline Shape without_last(const Shape& shape, int count) {
  Shape result;
  for (int i = 0; i < shape.rank() - count; ++i) result.push_back(shape[i]);
  return result;
}
[[nodiscard]] inline Shape last(const Shape& shape, int count) {
  Shape result;
  for (int i = shape.rank() - count; i < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}
/// The sum over the last `count` dimensions; x itself if there are none.
template <class X>
[[nodiscard]] auto sum_of_last(const X& x, int count) {
  Axes axes;
  for (int i = 1; i <= count; ++i) axes.push_back(-i);
  const auto whole = x.eval();
  return count == 0 ? whole : locus::sum(whole, ReduceAxes(axes)).eval();
}

template <class H>
[[nodiscard]] H expanded(const H& x, const Shape& shape) {
  return x.shape() == shape ? x : H(x.expand(shape));
}

/// Parameters that broadcast together, as handles of one shape.
template <class H, int n>
class Joint {
 public:
  /// throws ShapeError naming the distribution unless they broadcast
  template <class... X>
  explicit Joint(const char* distribution, const X&... x) : handles_{as_handle<H>(x, common_device<H>(x...))...} {
    for (const H& each : handles_) shape_ = broadcast(shape_, each.shape(), distribution);
    for (H& each : handles_) each = expanded(each, shape_);
  }
  [[nodiscard]] const H& operator[](int i) const { return handles_[i]; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  H handles_[n];
  Shape shape_;
};

/// throws ArgumentError naming the first element that `valid` rejects, on devices whose elements the host checks
template <class H, class Valid>
void require(const char* distribution, const char* subject, const H& given, const char* expected, const Valid& valid) {
  locus::detail::require_parameter(distribution, subject, given.value(), expected, valid);
}
/// throws ArgumentError naming the first elements of two tensors, which broadcast, that `valid` rejects together, on
/// devices whose elements the host checks
template <class T, class D, class Valid>
void require_pair([[maybe_unused]] const char* distribution, [[maybe_unused]] const char* first,
                  [[maybe_unused]] const Tensor<T, D>& x, [[maybe_unused]] const char* second,
                  [[maybe_unused]] const Tensor<T, D>& y, [[maybe_unused]] const char* expected,
                  [[maybe_unused]] const Valid& valid) {
  if constexpr (locus::detail::ChecksElements<D>) {
    const Shape shape = broadcast(x.shape(), y.shape(), distribution);
    const Tensor<T, D> others = y.expand(shape).contiguous();
    const T* const other = others.data();
    locus::detail::check_elements(Tensor<T, D>(x.expand(shape)), [&](T element, std::int64_t position) {
      const auto a = static_cast<double>(load_as_register(element));
      const auto b = static_cast<double>(load_as_register(other[position]));
      if (!valid(a, b))
        fail<ArgumentError>({distribution, ": ", first, " is ", a, " and ", second, " is ", b, " at element ", position,
                             " of shape ", shape, "; expected ", expected});
    });
  }
}

/// throws ArgumentError unless the elements along the last dimension are 0 or more and sum to 1, to about the square
/// root of the precision, on devices whose elements the host checks
template <class H>
void require_simplex(const char* distribution, const char* subject, const H& given) {
  using T = value_of<H>;
  constexpr double allowed = std::is_same_v<T, double> ? 1e-8 : std::is_same_v<T, float> ? 1e-4 : 2e-2;
  require(distribution, subject, given, "0 to 1", [](double x) { return x >= 0 && x <= 1 + allowed; });
  const std::int64_t categories = given.size(-1);
  double sum = 0;
  locus::detail::check_elements(given.value(), [&](T element, std::int64_t position) {
    sum += static_cast<double>(load_as_register(element));
    if ((position + 1) % categories != 0) return;
    if (!(sum >= 1 - allowed && sum <= 1 + allowed))
      fail<ArgumentError>({distribution, ": row ", position / categories, " of ", subject, ", of shape ", given.shape(),
                           ", sums to ", sum, "; expected 1"});
    sum = 0;
  });
}
/// throws ShapeError for fewer dimensions
inline void require_rank(const char* distribution, const char* subject, const Shape& shape, int least,
                         const char* expected) {
  if (shape.rank() < least)
    fail<ShapeError>({distribution, ": ", subject, " of shape ", shape, "; expected ", expected});
}

[[nodiscard]] constexpr bool is_number(double x) { return x == x; }
[[nodiscard]] constexpr bool is_count(double x) { return x >= 0 && x < __builtin_inf() && __builtin_floor(x) == x; }
[[nodiscard]] constexpr bool is_positive(double x) { return x > 0 && x < __builtin_inf(); }

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::distributions
