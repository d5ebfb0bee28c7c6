// Arithmetic, comparisons and choices of two or three operands, each of which may be a number.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/scatter.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
// The class Tensor, for operators.
[[nodiscard]] nb::class_<Array> tensor_class() { return nb::borrow<nb::class_<Array>>(nb::type<Array>()); }

template <class... T, class F>
[[nodiscard]] auto function_of(const char* formula, Types<T...> types, F f) {
  return [formula, types, f](Operand a, Operand b) {
    return differentiable(formula, types, f, NumberOr{a}, NumberOr{b});
  };
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
      .def(join("__", word, "__").c_str(), [function](nb::handle a, Operand b) { return function({a}, b); }, "b"_a, nb::is_operator())
      .def(join("__r", word, "__").c_str(), [function](nb::handle b, Operand a) { return function(a, {b}); }, "a"_a, nb::is_operator());
}
template <class F>
void add_comparison(nb::module_& m, const char* name, const char* word, const char* formula, F f, const char* text) {
  const auto function = [formula, f](Operand a, Operand b) {
    return call(formula, Ordered{}, f, NumberOr{a}, NumberOr{b});
  };
  m.def(name, function, "a"_a, "b"_a, text);
  tensor_class().def(join("__", word, "__").c_str(), [function](nb::handle a, Operand b) { return function({a}, b); },
                     "b"_a, nb::is_operator());
}
template <class... T, class F>
void add_unary(nb::module_& m, const char* name, Types<T...> types, F f, const char* text) {
  m.def(
      name, [name, types, f](Operand x) { return differentiable(name, types, f, Main{x}); }, "x"_a, text);
}

void add_operators(nb::module_& m) {
  add_operator(m, "add", "add", "a + b", Numbers{}, [](const auto& a, const auto& b) { return a + b; }, "a + b, broadcast.");
  add_operator(m, "subtract", "sub", "a - b", Numbers{}, [](const auto& a, const auto& b) { return a - b; }, "a - b, broadcast.");
  add_operator(m, "multiply", "mul", "a * b", Numbers{}, [](const auto& a, const auto& b) { return a * b; }, "a * b, broadcast.");
  add_operator(m, "divide", "truediv", "a / b", Floats{}, [](const auto& a, const auto& b) { return a / b; }, "a / b, broadcast.");
  add_operator(m, "remainder", "mod", "a % b", Numbers{}, [](const auto& a, const auto& b) { return a % b; },
      "The remainder of a / b with the sign of b.");
  add_operator(m, "power", "pow", "pow(a, b)", Floats{}, [](const auto& a, const auto& b) { return pow(a, b); },
      "a to the power of b.");
  add(m, "maximum", "maximum(a, b)", Numbers{}, [](const auto& a, const auto& b) { return maximum(a, b); },
      "The larger of two elements; NaN if one is NaN.");
  add(m, "minimum", "minimum(a, b)", Numbers{}, [](const auto& a, const auto& b) { return minimum(a, b); },
      "The smaller of two elements; NaN if one is NaN.");
  add(m, "atan2", "atan2(a, b)", Floats{}, [](const auto& a, const auto& b) { return atan2(a, b); },
      "The angle of the point (b, a).");
  add(m, "hypot", "hypot(a, b)", Floats{}, [](const auto& a, const auto& b) { return hypot(a, b); },
      "sqrt(a^2 + b^2), without overflow.");
  add(m, "xlogy", "xlogy(a, b)", Floats{}, [](const auto& a, const auto& b) { return xlogy(a, b); },
      "a log(b), and 0 where a is 0.");
  add_comparison(m, "equal", "eq", "a == b", [](const auto& a, const auto& b) { return a == b; }, "Whether a == b.");
  add_comparison(m, "not_equal", "ne", "a != b", [](const auto& a, const auto& b) { return a != b; }, "Whether a != b.");
  add_comparison(m, "less", "lt", "a < b", [](const auto& a, const auto& b) { return a < b; }, "Whether a < b.");
  add_comparison(m, "less_equal", "le", "a <= b", [](const auto& a, const auto& b) { return a <= b; }, "Whether a <= b.");
  add_comparison(m, "greater", "gt", "a > b", [](const auto& a, const auto& b) { return a > b; }, "Whether a > b.");
  add_comparison(m, "greater_equal", "ge", "a >= b", [](const auto& a, const auto& b) { return a >= b; },
                 "Whether a >= b.");
  tensor_class().def("__neg__", [](nb::handle x) {
    return differentiable("-x", Numbers{}, [](const auto& x) { return -x; }, Main{{x}});
  });
  add_unary(m, "negative", Numbers{}, [](const auto& x) { return -x; }, "-x.");
  add_unary(m, "abs", Numbers{}, [](const auto& x) { return abs(x); }, "The magnitude of x.");
  add_unary(m, "sign", Numbers{}, [](const auto& x) { return sign(x); }, "-1, 0 or 1; NaN of NaN.");
  add_unary(m, "square", Numbers{}, [](const auto& x) { return square(x); }, "x * x.");
}
}  // namespace

void add_arithmetic(nb::module_& m) {
  add_operators(m);
  m.def(
      "clamp",
      [](Operand x, Operand low, Operand high) {
        return differentiable("clamp(x, low, high)", Numbers{},
                              [](const auto& x, const auto& low, const auto& high) { return clamp(x, low, high); },
                              Main{x}, NumberOr{low}, NumberOr{high});
      },
      "x"_a, "low"_a, "high"_a, "x limited to [low, high]; each bound is a number or a tensor.");
  m.def(
      "where",
      [](Operand condition, Operand x, Operand y) {
        return differentiable(
            "where(condition, x, y)", Numbers{},
            [](const auto& condition, const auto& x, const auto& y) { return where(condition, x, y); },
            Mask{condition}, NumberOr{x}, NumberOr{y});
      },
      "condition"_a, "x"_a, "y"_a, "x where the condition, of bool, holds, y elsewhere.");
  m.def(
      "masked_fill",
      [](Operand x, Operand mask, double value) {
        return differentiable(
            "masked_fill(x, mask, value)", Floats{},
            [=](const auto& x, const auto& mask) { return masked_fill(x, mask, value); }, Main{x}, Mask{mask});
      },
      "x"_a, "mask"_a, "value"_a, "x with a number where the mask, of bool, holds.");
  m.def(
      "lerp",
      [](Operand a, Operand b, Operand weight) {
        return differentiable("lerp(a, b, weight)", Floats{},
                              [](const auto& a, const auto& b, const auto& weight) { return lerp(a, b, weight); },
                              Main{a}, Main{b}, NumberOr{weight});
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
  m.def(
      "nan_to_num",
      [](Operand x, double nan) {
        return differentiable("nan_to_num", Floats{}, [=](const auto& x) { return nan_to_num(x, {.nan = nan}); },
                              Main{x});
      },
      "x"_a, "nan"_a = 0.0, "x with NaN replaced, and infinities by the largest and the lowest number.");
  m.def(
      "isclose",
      [](Operand x, Operand y, double relative, double absolute, bool equal_nan) {
        return call(
            "isclose(x, y)", Floats{},
            [=](const auto& x, const auto& y) {
              return isclose(x, y, {.relative = relative, .absolute = absolute, .equal_nan = equal_nan});
            },
            Main{x}, Main{y});
      },
      "x"_a, "y"_a, nb::kw_only(), "relative"_a = 1e-5, "absolute"_a = 1e-8, "equal_nan"_a = false,
      "Whether elements are equal up to rounding.");
}

}  // namespace locus::python
