// Arithmetic of operands that broadcast, each of which may be a number, and the operators of Tensor.

#include "../functions.hpp"
#include "unary.hpp"

#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class... T, class F>
[[nodiscard]] auto function_of(const char* formula, Types<T...> types, F f) {
  return
      [formula, types, f](Operand a, Operand b) { return differentiable(formula, types, f, NumberOr{a}, NumberOr{b}); };
}
template <class... T, class F>
void add(nb::module_& m, const char* name, const char* formula, Types<T...> types, F f, const char* text) {
  m.def(name, function_of(formula, types, f), "a"_a, "b"_a, text);
}
// Also as an operator of Tensor: __name__, and __rname__ for a number or an array of another library on the left.
template <class... T, class F>
void add_operator(nb::module_& m, const char* name, const char* word, const char* formula, Types<T...> types, F f,
                  const char* text) {
  const auto function = function_of(formula, types, f);
  m.def(name, function, "a"_a, "b"_a, text);
  tensor_class()
      .def(
          join("__", word, "__").c_str(), [function](nb::handle a, Operand b) { return function({a}, b); }, "b"_a,
          nb::is_operator())
      .def(
          join("__r", word, "__").c_str(), [function](nb::handle b, Operand a) { return function(a, {b}); }, "a"_a,
          nb::is_operator());
}

void add_operators(nb::module_& m) {
  add_operator(
      m, "add", "add", "a + b", Numbers{}, [](const auto& a, const auto& b) { return a + b; }, "a + b, broadcast.");
  add_operator(
      m, "subtract", "sub", "a - b", Numbers{}, [](const auto& a, const auto& b) { return a - b; },
      "a - b, broadcast.");
  add_operator(
      m, "multiply", "mul", "a * b", Numbers{}, [](const auto& a, const auto& b) { return a * b; },
      "a * b, broadcast.");
  add_operator(
      m, "divide", "truediv", "a / b", Floats{}, [](const auto& a, const auto& b) { return a / b; },
      "a / b, broadcast.");
  add_operator(
      m, "remainder", "mod", "a % b", Numbers{}, [](const auto& a, const auto& b) { return a % b; },
      "The remainder of a / b with the sign of b.");
  add_operator(
      m, "power", "pow", "pow(a, b)", Floats{}, [](const auto& a, const auto& b) { return pow(a, b); },
      "a to the power of b.");
  add(
      m, "maximum", "maximum(a, b)", Numbers{}, [](const auto& a, const auto& b) { return maximum(a, b); },
      "The larger of two elements; NaN if one is NaN.");
  add(
      m, "minimum", "minimum(a, b)", Numbers{}, [](const auto& a, const auto& b) { return minimum(a, b); },
      "The smaller of two elements; NaN if one is NaN.");
  add(
      m, "atan2", "atan2(a, b)", Floats{}, [](const auto& a, const auto& b) { return atan2(a, b); },
      "The angle of the point (b, a).");
  add(
      m, "hypot", "hypot(a, b)", Floats{}, [](const auto& a, const auto& b) { return hypot(a, b); },
      "sqrt(a^2 + b^2), without overflow.");
  add(
      m, "xlogy", "xlogy(a, b)", Floats{}, [](const auto& a, const auto& b) { return xlogy(a, b); },
      "a log(b), and 0 where a is 0.");
  tensor_class().def("__neg__", [](nb::handle x) {
    return differentiable(
        "-x", Numbers{}, [](const auto& x) { return -x; }, Main{{x}});
  });
  add_unary(
      m, "negative", Numbers{}, [](const auto& x) { return -x; }, "-x.");
  add_unary(
      m, "abs", Numbers{}, [](const auto& x) { return abs(x); }, "The magnitude of x.");
  add_unary(
      m, "sign", Numbers{}, [](const auto& x) { return sign(x); }, "-1, 0 or 1; NaN of NaN.");
  add_unary(
      m, "square", Numbers{}, [](const auto& x) { return square(x); }, "x * x.");
}
}  // namespace

void add_arithmetic(nb::module_& m) {
  add_operators(m);
  m.def(
      "lerp",
      [](Operand a, Operand b, Operand weight) {
        return differentiable(
            "lerp(a, b, weight)", Floats{},
            [](const auto& a, const auto& b, const auto& weight) { return lerp(a, b, weight); }, Main{a}, Main{b},
            NumberOr{weight});
      },
      "a"_a, "b"_a, "weight"_a, "a + weight (b - a), in one pass.");
  m.def(
      "addcmul",
      [](Operand x, Operand a, Operand b, double value) {
        return differentiable(
            "addcmul(x, a, b)", Floats{},
            [=](const auto& x, const auto& a, const auto& b) { return addcmul(x, a, b, value); }, Main{x}, Main{a},
            Main{b});
      },
      "x"_a, "a"_a, "b"_a, "value"_a = 1.0, "x + value a b, in one pass.");
  m.def(
      "addcdiv",
      [](Operand x, Operand a, Operand b, double value) {
        return differentiable(
            "addcdiv(x, a, b)", Floats{},
            [=](const auto& x, const auto& a, const auto& b) { return addcdiv(x, a, b, value); }, Main{x}, Main{a},
            Main{b});
      },
      "x"_a, "a"_a, "b"_a, "value"_a = 1.0, "x + value a / b, in one pass.");
}

}  // namespace locus::python
