// Elementary and special functions of floating-point numbers, each with its derivative.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name, [name, f](Operand x) { return differentiable(name, Floats{}, f, Main{x}); }, "x"_a, text);
}
template <class F>
void add_test(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name, [name, f](Operand x) { return call(name, Floats{}, f, Main{x}); }, "x"_a, text);
}
}  // namespace

void add_elementary(nb::module_& m) {
  add(
      m, "exp", [](const auto& x) { return exp(x); }, "e to the power of x.");
  add(
      m, "exp2", [](const auto& x) { return exp2(x); }, "2 to the power of x.");
  add(
      m, "expm1", [](const auto& x) { return expm1(x); }, "exp(x) - 1, accurate near 0.");
  add(
      m, "log", [](const auto& x) { return log(x); }, "Natural logarithm.");
  add(
      m, "log2", [](const auto& x) { return log2(x); }, "Logarithm of base 2.");
  add(
      m, "log10", [](const auto& x) { return log10(x); }, "Logarithm of base 10.");
  add(
      m, "log1p", [](const auto& x) { return log1p(x); }, "log(1 + x), accurate near 0.");
  add(
      m, "sqrt", [](const auto& x) { return sqrt(x); }, "Square root.");
  add(
      m, "rsqrt", [](const auto& x) { return rsqrt(x); }, "1 / sqrt(x).");
  add(
      m, "cbrt", [](const auto& x) { return cbrt(x); }, "Cube root.");
  add(
      m, "reciprocal", [](const auto& x) { return reciprocal(x); }, "1 / x.");
  add(
      m, "erf", [](const auto& x) { return erf(x); }, "The error function.");
  add(
      m, "erfc", [](const auto& x) { return erfc(x); }, "1 - erf(x), accurate for large x.");
  add(
      m, "erfinv", [](const auto& x) { return erfinv(x); }, "The inverse of erf.");
  add(
      m, "lgamma", [](const auto& x) { return lgamma(x); }, "Logarithm of the magnitude of the gamma function.");
  add(
      m, "digamma", [](const auto& x) { return digamma(x); }, "Derivative of lgamma.");
  add(
      m, "sin", [](const auto& x) { return sin(x); }, "Sine.");
  add(
      m, "cos", [](const auto& x) { return cos(x); }, "Cosine.");
  add(
      m, "tan", [](const auto& x) { return tan(x); }, "Tangent.");
  add(
      m, "asin", [](const auto& x) { return asin(x); }, "Inverse sine.");
  add(
      m, "acos", [](const auto& x) { return acos(x); }, "Inverse cosine.");
  add(
      m, "atan", [](const auto& x) { return atan(x); }, "Inverse tangent.");
  add(
      m, "sinh", [](const auto& x) { return sinh(x); }, "Hyperbolic sine.");
  add(
      m, "cosh", [](const auto& x) { return cosh(x); }, "Hyperbolic cosine.");
  add(
      m, "tanh", [](const auto& x) { return tanh(x); }, "Hyperbolic tangent.");
  add(
      m, "floor", [](const auto& x) { return floor(x); }, "The largest integer that is at most x.");
  add(
      m, "ceil", [](const auto& x) { return ceil(x); }, "The smallest integer that is at least x.");
  add(
      m, "round", [](const auto& x) { return round(x); }, "The nearest integer, of two the even one.");
  add(
      m, "trunc", [](const auto& x) { return trunc(x); }, "The integer part.");
  add_test(
      m, "isnan", [](const auto& x) { return isnan(x); }, "Whether elements are NaN.");
  add_test(
      m, "isinf", [](const auto& x) { return isinf(x); }, "Whether elements are infinite.");
  add_test(
      m, "isfinite", [](const auto& x) { return isfinite(x); }, "Whether elements are neither NaN nor infinite.");
}

}  // namespace locus::python
