#pragma once
// Compares tensors with float64 results of a simple reference.

#include <locus/core/rng.hpp>
#include <locus/tensor/copy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace locus_test {

/// Expected values in row-major order. A number is a scalar; a bare list is a tensor of one dimension; a vector leaves
/// the shape open.
struct Reference {
  Reference(double number) : shape(locus::Shape{}), values{number} {}
  Reference(std::initializer_list<double> list)
      : shape(locus::Shape{static_cast<std::int64_t>(list.size())}), values(list) {}
  Reference(std::vector<double> numbers) : values(std::move(numbers)) {}
  Reference(const locus::Shape& extents, std::vector<double> numbers) : shape(extents), values(std::move(numbers)) {}

  /// The element that a tensor of shape `target` reads at row-major position `index`, broadcast.
  [[nodiscard]] double at(const locus::Shape& target, std::int64_t index) const {
    std::int64_t offset = 0, stride = 1;
    for (int d = 1; d <= target.rank(); ++d) {
      const std::int64_t position = index % target[-d];
      index /= target[-d];
      if (d > shape->rank()) continue;
      if ((*shape)[-d] != 1) offset += position * stride;
      stride *= (*shape)[-d];
    }
    return values[static_cast<std::size_t>(offset)];
  }

  std::optional<locus::Shape> shape;
  std::vector<double> values;
};

/// The value of anything tensor-like as a dense tensor on the host.
template <class X>
[[nodiscard]] auto host(const X& x) {
  return x.eval().value().template to<locus::Cpu>().contiguous();
}

/// Not named `detail`, which would be ambiguous with `using namespace locus`.
namespace internal {
template <class T, class D>
[[nodiscard]] Reference reference(const locus::Tensor<T, D>& given) {
  const auto tensor = host(given);
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = locus::convert<double>(tensor.data()[i]);
  return {tensor.shape(), std::move(values)};
}
template <class R>
using Number = std::conditional_t<true, double, R>;
}  // namespace internal

/// Shape and values of anything tensor-like.
template <class X>
[[nodiscard]] Reference reference(const X& x) {
  return internal::reference(x.eval().value());
}

/// f of broadcast references.
template <class... R>
[[nodiscard]] Reference reference_map(double (*f)(internal::Number<R>...), const R&... references) {
  locus::Shape shape;
  ((shape = locus::broadcast(shape, *references.shape)), ...);
  std::vector<double> values(static_cast<std::size_t>(locus::elements(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(references.at(shape, static_cast<std::int64_t>(i))...);
  return {shape, std::move(values)};
}

/// Error allowed in one operation on T, relative to the expected number, or to scale_of() where that is larger.
template <class T>
inline constexpr double tolerance = std::is_same_v<T, float>             ? 2e-6
                                    : std::is_same_v<T, double>          ? 1e-14
                                    : std::is_same_v<T, locus::half>     ? 1e-3
                                    : std::is_same_v<T, locus::bfloat16> ? 8e-3
                                                                         : 0;

/// The largest expected magnitude, at most 1; 1 where all are zero. Errors are relative to it where a number is
/// smaller: elements of a sum that cancel have the error of its terms, and numbers of 1e-3 may not be 0.
[[nodiscard]] inline double scale_of(const Reference& expected) {
  double scale = 0;
  for (const double x : expected.values)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  return scale > 0 ? std::min(scale, 1.0) : 1.0;
}

/// Empty if the given shape and values are the expected ones; otherwise the first difference. Errors are relative to
/// the expected number, or to `least` if that is larger; by default to scale_of(expected).
[[nodiscard]] inline std::string difference_of(const Reference& given, const Reference& expected, double allowed,
                                               std::optional<double> given_least = std::nullopt) {
  const double least = given_least ? *given_least : scale_of(expected);
  if (expected.shape && !(*given.shape == *expected.shape)) {
    return locus::join("shape ", *given.shape, " where ", *expected.shape, " was expected");
  }
  if (given.values.size() != expected.values.size()) {
    return locus::join(given.values.size(), " elements where ", expected.values.size(), " were expected");
  }
  for (std::size_t i = 0; i < given.values.size(); ++i) {
    const double a = given.values[i], b = expected.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= allowed * std::max(least, std::abs(b))) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %zu of %zu is %.17g where %.17g was expected (allowed: %g)", i,
                  given.values.size(), a, b, allowed);
    return locus::join(text, " in shape ", *given.shape);
  }
  return {};
}
template <class X>
[[nodiscard]] std::string difference(const X& x, const Reference& expected,
                                     double allowed = tolerance<typename X::value_type>) {
  return difference_of(reference(x), expected, allowed);
}
/// As above, with errors relative to the expected numbers, however small.
template <class X>
[[nodiscard]] std::string relative_difference(const X& x, const Reference& expected,
                                              double allowed = tolerance<typename X::value_type>) {
  return difference_of(reference(x), expected, allowed, 0.0);
}

/// Pseudo-random elements in [low, high]: always the same for the same seed. bool: true or false.
template <class T, class D>
[[nodiscard]] locus::Tensor<T, D> sample(const locus::Shape& shape, std::uint64_t seed = 1, double low = -2,
                                         double high = 2) {
  locus::Tensor<T, locus::Cpu> values(shape);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const double u = locus::uniform_double(seed, static_cast<std::uint64_t>(i));
    if constexpr (std::is_same_v<T, bool>) values.data()[i] = u < 0.5;
    else if constexpr (std::is_integral_v<T>)
      values.data()[i] = static_cast<T>(std::int64_t(std::floor(low + (high - low + 1) * u)));
    else values.data()[i] = locus::convert<T>(low + (high - low) * u);
  }
  return values.template to<D>();
}

/// Elements given one by one.
template <class T, class D>
[[nodiscard]] locus::Tensor<T, D> tensor(const locus::Shape& shape, const std::vector<double>& numbers) {
  locus::Tensor<T, locus::Cpu> values(shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) values.data()[i] = locus::convert<T>(numbers[i]);
  return values.template to<D>();
}

/// Fails the test case at the given line unless the text is empty. Defined in one place, so that checks compile
/// quickly.
[[gnu::noinline]] inline void check_empty(const std::string& problem, const char* file, int line) {
  if (problem.empty()) CHECK(true);
  else ADD_FAIL_CHECK_AT(file, line, problem);
}

}  // namespace locus_test

/// CHECK_CLOSE(x, expected) or CHECK_CLOSE(x, expected, allowed). `expected` is a number for a scalar, {1, 2, 3} for
/// one dimension, {{2, 2}, {1, 2, 3, 4}} with the shape before the elements for more, or a Reference.
#define CHECK_CLOSE(...) locus_test::check_empty(locus_test::difference(__VA_ARGS__), __FILE__, __LINE__)
