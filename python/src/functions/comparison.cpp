// Comparisons, and choices between elements.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/expr/functions/special.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/scatter.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add(nb::module_& m, const char* name, const char* word, const char* formula, F f, const char* text) {
  const auto function = [formula, f](Operand a, Operand b) {
    return call(formula, Ordered{}, f, NumberOr{a}, NumberOr{b});
  };
  m.def(name, function, "a"_a, "b"_a, text);
  tensor_class().def(
      join("__", word, "__").c_str(), [function](nb::handle a, Operand b) { return function({a}, b); }, "b"_a,
      nb::is_operator());
}
}  // namespace

void add_comparison(nb::module_& m) {
  add(
      m, "equal", "eq", "a == b", [](const auto& a, const auto& b) { return a == b; }, "Whether a == b.");
  add(
      m, "not_equal", "ne", "a != b", [](const auto& a, const auto& b) { return a != b; }, "Whether a != b.");
  add(
      m, "less", "lt", "a < b", [](const auto& a, const auto& b) { return a < b; }, "Whether a < b.");
  add(
      m, "less_equal", "le", "a <= b", [](const auto& a, const auto& b) { return a <= b; }, "Whether a <= b.");
  add(
      m, "greater", "gt", "a > b", [](const auto& a, const auto& b) { return a > b; }, "Whether a > b.");
  add(
      m, "greater_equal", "ge", "a >= b", [](const auto& a, const auto& b) { return a >= b; }, "Whether a >= b.");
  m.def(
      "clamp",
      [](Operand x, Operand low, Operand high) {
        return differentiable(
            "clamp(x, low, high)", Numbers{},
            [](const auto& x, const auto& low, const auto& high) { return clamp(x, low, high); }, Main{x},
            NumberOr{low}, NumberOr{high});
      },
      "x"_a, "low"_a, "high"_a, "x limited to [low, high]; each bound is a number or a tensor.");
  m.def(
      "where",
      [](Operand condition, Operand x, Operand y) {
        return differentiable(
            "where(condition, x, y)", Numbers{},
            [](const auto& condition, const auto& x, const auto& y) { return where(condition, x, y); }, Mask{condition},
            NumberOr{x}, NumberOr{y});
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
      "nan_to_num",
      [](Operand x, double nan) {
        return differentiable(
            "nan_to_num", Floats{}, [=](const auto& x) { return nan_to_num(x, {.nan = nan}); }, Main{x});
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
