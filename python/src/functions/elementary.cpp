// Elementary and special functions of floating-point numbers, each with its derivative.

#include "../functions.hpp"
#include "unary.hpp"

#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add_test(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name, [name, f](Operand x) { return call(name, Floats{}, f, Main{x}); }, "x"_a, text);
}
}  // namespace

void add_elementary(nb::module_& m) {
  add_unary(
      m, "exp", Floats{}, [](const auto& x) { return exp(x); }, "e to the power of x.");
  add_unary(
      m, "exp2", Floats{}, [](const auto& x) { return exp2(x); }, "2 to the power of x.");
  add_unary(
      m, "expm1", Floats{}, [](const auto& x) { return expm1(x); }, "exp(x) - 1, accurate near 0.");
  add_unary(
      m, "log", Floats{}, [](const auto& x) { return log(x); }, "Natural logarithm.");
  add_unary(
      m, "log2", Floats{}, [](const auto& x) { return log2(x); }, "Logarithm of base 2.");
  add_unary(
      m, "log10", Floats{}, [](const auto& x) { return log10(x); }, "Logarithm of base 10.");
  add_unary(
      m, "log1p", Floats{}, [](const auto& x) { return log1p(x); }, "log(1 + x), accurate near 0.");
  add_unary(
      m, "sqrt", Floats{}, [](const auto& x) { return sqrt(x); }, "Square root.");
  add_unary(
      m, "rsqrt", Floats{}, [](const auto& x) { return rsqrt(x); }, "1 / sqrt(x).");
  add_unary(
      m, "cbrt", Floats{}, [](const auto& x) { return cbrt(x); }, "Cube root.");
  add_unary(
      m, "reciprocal", Floats{}, [](const auto& x) { return reciprocal(x); }, "1 / x.");
  add_unary(
      m, "erf", Floats{}, [](const auto& x) { return erf(x); }, "The error function.");
  add_unary(
      m, "erfc", Floats{}, [](const auto& x) { return erfc(x); }, "1 - erf(x), accurate for large x.");
  add_unary(
      m, "erfinv", Floats{}, [](const auto& x) { return erfinv(x); }, "The inverse of erf.");
  add_unary(
      m, "lgamma", Floats{}, [](const auto& x) { return lgamma(x); },
      "Logarithm of the magnitude of the gamma function.");
  add_unary(
      m, "digamma", Floats{}, [](const auto& x) { return digamma(x); }, "Derivative of lgamma.");
  add_unary(
      m, "sin", Floats{}, [](const auto& x) { return sin(x); }, "Sine.");
  add_unary(
      m, "cos", Floats{}, [](const auto& x) { return cos(x); }, "Cosine.");
  add_unary(
      m, "tan", Floats{}, [](const auto& x) { return tan(x); }, "Tangent.");
  add_unary(
      m, "asin", Floats{}, [](const auto& x) { return asin(x); }, "Inverse sine.");
  add_unary(
      m, "acos", Floats{}, [](const auto& x) { return acos(x); }, "Inverse cosine.");
  add_unary(
      m, "atan", Floats{}, [](const auto& x) { return atan(x); }, "Inverse tangent.");
  add_unary(
      m, "sinh", Floats{}, [](const auto& x) { return sinh(x); }, "Hyperbolic sine.");
  add_unary(
      m, "cosh", Floats{}, [](const auto& x) { return cosh(x); }, "Hyperbolic cosine.");
  add_unary(
      m, "tanh", Floats{}, [](const auto& x) { return tanh(x); }, "Hyperbolic tangent.");
  add_unary(
      m, "floor", Floats{}, [](const auto& x) { return floor(x); }, "The largest integer that is at most x.");
  add_unary(
      m, "ceil", Floats{}, [](const auto& x) { return ceil(x); }, "The smallest integer that is at least x.");
  add_unary(
      m, "round", Floats{}, [](const auto& x) { return round(x); }, "The nearest integer, of two the even one.");
  add_unary(
      m, "trunc", Floats{}, [](const auto& x) { return trunc(x); }, "The integer part.");
  add_test(
      m, "isnan", [](const auto& x) { return isnan(x); }, "Whether elements are NaN.");
  add_test(
      m, "isinf", [](const auto& x) { return isinf(x); }, "Whether elements are infinite.");
  add_test(
      m, "isfinite", [](const auto& x) { return isfinite(x); }, "Whether elements are neither NaN nor infinite.");
}

}  // namespace locus::python
