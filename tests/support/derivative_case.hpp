#pragma once
// Checks of an operation on duals, which every differentiable operation passes. All of them call the operation with
// recorded duals alone, so that it is compiled for one type.

#include <locus/autograd/forward_mode.hpp>

#include <golden/golden.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace locus_test {

using Real = locus::Tensor<double, locus::Cpu>;
using Recorded = locus::Traced<locus::Dual<double>, locus::Cpu>;
using Operands = std::vector<Recorded>;
using Function = std::function<Recorded(const Operands&)>;

/// Numbers between low and high that Python computes, too: see make_forward_mode.py.
inline Real wave(const locus::Shape& shape, int seed, double low = -2, double high = 2) {
  Real x(shape);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.data()[i] = low + (high - low) * (0.5 + 0.5 * std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * seed));
  return x;
}

/// The value and tangent of a function at x + offset v, and the gradient of sum(weights * value).
struct Evaluated {
  Real value, tangent;
  std::vector<Real> gradient, gradient_tangent;
};
inline Evaluated evaluate(const Function& f, const std::vector<Real>& x, const std::vector<Real>& v, double offset,
                          const Real& weights) {
  Operands operands;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real there = x[i] + offset * v[i];
    operands.push_back(frozen(variable(make_dual(there, v[i]))));
  }
  const Recorded y = f(operands);
  const auto parts = locus::detail::split_duals(y.value());
  Evaluated result{parts.value.contiguous(), parts.tangent.contiguous(), {}, {}};
  if (weights.buffer()) {
    y.backward(make_dual(weights, locus::zeros_like(weights)));
    for (const Recorded& operand : operands) {
      const auto gradient = locus::detail::split_duals(locus::detail::taken_gradient(operand));
      result.gradient.push_back(gradient.value.contiguous());
      result.gradient_tangent.push_back(gradient.tangent.contiguous());
    }
  }
  return result;
}

inline void check_all_close(const std::string& what, const Real& found, const Real& expected, double tolerance) {
  REQUIRE_MESSAGE(found.shape() == expected.shape(), what);
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    const double wanted = expected.data()[i], is = found.data()[i];
    const bool close = std::abs(is - wanted) <= tolerance * (1 + std::abs(wanted));
    CHECK_MESSAGE(close, what, ": element ", i, " is ", is, ", expected ", wanted);
    if (!close) return;
  }
}

inline double dot(const Real& a, const Real& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) sum += a.data()[i] * b.data()[i];
  return sum;
}
inline Real slope(const Real& above, const Real& below, double step) { return (above - below) * (0.5 / step); }

/// - The tangent is the central difference of values along v.
/// - Forward and backward mode are transposes of each other: <weights, J v> = <J^T weights, v>.
/// - The tangent of the gradient, a product with second derivatives, is the central difference of gradients along v.
/// Returns the tangent.
inline Real check_derivatives(const std::string& name, const Function& f, const std::vector<Real>& x,
                              double tolerance = 1e-6) {
  constexpr double step = 1e-5;
  std::vector<Real> v;
  for (std::size_t i = 0; i < x.size(); ++i) v.push_back(wave(x[i].shape(), 100 + static_cast<int>(i), -1, 1));
  const Real weights = wave(f([&] {
                              Operands operands;
                              for (const Real& one : x) operands.push_back(Recorded(make_dual(one, one)));
                              return operands;
                            }())
                                .shape(),
                            200, -1, 1);
  const Evaluated here = evaluate(f, x, v, 0, weights);
  const Evaluated above = evaluate(f, x, v, step, weights), below = evaluate(f, x, v, -step, weights);
  check_all_close(name + ": tangent", here.tangent, slope(above.value, below.value, step), tolerance);
  double transposed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    transposed += dot(here.gradient[i], v[i]);
    check_all_close(name + ": tangent of gradient " + std::to_string(i), here.gradient_tangent[i],
                    slope(above.gradient[i], below.gradient[i], step), tolerance);
  }
  const double forward = dot(weights, here.tangent);
  CHECK_MESSAGE(std::abs(forward - transposed) <= 1e-10 * (1 + std::abs(forward)), name, ": forward mode gives ",
                forward, ", backward mode ", transposed);
  return here.tangent;
}

/// The same, and the tangent is that of torch.func.jvp.
inline void check_golden(const std::string& name, const Function& f, const std::vector<Real>& x,
                         double tolerance = 1e-6) {
  const Real tangent = check_derivatives(name, f, x, tolerance);
  const Reference& expected = golden::reference("jvp_" + name);
  Real numbers(*expected.shape);
  for (std::int64_t i = 0; i < numbers.elements(); ++i)
    numbers.data()[i] = expected.values[static_cast<std::size_t>(i)];
  check_all_close(name + ": tangent of PyTorch", tangent, numbers, 1e-9);
}

/// Second derivatives of a function with one result are those of torch.func.hessian.
inline void check_hessian(const std::string& name, const Function& f, const Real& x) {
  const Real found = hessian([&](const Recorded& of) { return f({of}); }, x);
  const Reference& expected = golden::reference("hessian_" + name);
  Real numbers(*expected.shape);
  for (std::int64_t i = 0; i < numbers.elements(); ++i)
    numbers.data()[i] = expected.values[static_cast<std::size_t>(i)];
  check_all_close(name + ": second derivatives", found, numbers, 1e-9);
}

}  // namespace locus_test

// A formula of the operands x, y and z, as a Function.
#define LOCUS_FORMULA(formula)                                                              \
  [&](const locus_test::Operands& in) {                                                     \
    [[maybe_unused]] const locus_test::Recorded &x = in[0], &y = in[in.size() > 1 ? 1 : 0], \
                                                &z = in[in.size() > 2 ? 2 : 0];             \
    return locus_test::Recorded((formula).eval());                                          \
  }
// Operands follow the formula.
#define LOCUS_GOLDEN_CASE(name, formula, ...) \
  locus_test::check_golden(name, LOCUS_FORMULA(formula), std::vector<locus_test::Real>{__VA_ARGS__})
#define LOCUS_HESSIAN_CASE(name, formula, ...) locus_test::check_hessian(name, LOCUS_FORMULA(formula), __VA_ARGS__)
#define LOCUS_CASE(formula, ...) \
  locus_test::check_derivatives(#formula, LOCUS_FORMULA(formula), std::vector<locus_test::Real>{__VA_ARGS__})
