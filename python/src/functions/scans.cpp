// Running sums, products and extremes; softmax along an axis.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/cumulative.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/softmax.hpp>

namespace locus::python {

using namespace nb::literals;

void add_scans(nb::module_& m) {
  add_with_method(
      m, "cumsum",
      [](Operand x, int axis, bool exclusive, bool reverse) {
        return differentiable(
            "cumsum", Numbers{},
            [=](const auto& x) { return cumsum(x, axis, {.exclusive = exclusive, .reverse = reverse}); }, Main{x});
      },
      "axis"_a, nb::kw_only(), "exclusive"_a = false, "reverse"_a = false,
      "Running sums along an axis; exclusive, without the element itself; in reverse, from the end. Integers give "
      "int64.");
  add_with_method(
      m, "cumprod",
      [](Operand x, int axis) {
        return differentiable(
            "cumprod", Numbers{}, [=](const auto& x) { return cumprod(x, axis); }, Main{x});
      },
      "axis"_a, "Running products along an axis. Integers give int64.");
  add_with_method(
      m, "logcumsumexp",
      [](Operand x, int axis) {
        return differentiable(
            "logcumsumexp", Floats{}, [=](const auto& x) { return logcumsumexp(x, axis); }, Main{x});
      },
      "axis"_a, "Logarithms of running sums of exponentials along an axis, stable for large inputs.");
  add_with_method(
      m, "cummax",
      [](Operand x, int axis) {
        return named<"ValuesAndIndices">(differentiable(
            "cummax", Numbers{}, [=](const auto& x) { return both(cummax(x, axis)); }, Main{x}));
      },
      "axis"_a, "The largest element so far along an axis, and its position: the last of equals.");
  add_with_method(
      m, "cummin",
      [](Operand x, int axis) {
        return named<"ValuesAndIndices">(differentiable(
            "cummin", Numbers{}, [=](const auto& x) { return both(cummin(x, axis)); }, Main{x}));
      },
      "axis"_a, "The smallest element so far along an axis, and its position: the last of equals.");
  add_with_method(
      m, "softmax",
      [](Operand x, Numerals axis) {
        return differentiable(
            "softmax", Floats{}, [&](const auto& x) { return softmax(x, axis.dims()); }, Main{x});
      },
      "axis"_a, "exp(x) / sum(exp(x)) along an axis, or several, stable for large inputs.");
  add_with_method(
      m, "log_softmax",
      [](Operand x, Numerals axis) {
        return differentiable(
            "log_softmax", Floats{}, [&](const auto& x) { return log_softmax(x, axis.dims()); }, Main{x});
      },
      "axis"_a, "x - logsumexp(x) along an axis, or several.");
  add_with_method(
      m, "logsumexp",
      [](Operand x, Numerals axis, bool keepdim) {
        return differentiable(
            "logsumexp", Floats{}, [&](const auto& x) { return logsumexp(x, axis.dims(), keepdim); }, Main{x});
      },
      "axis"_a, "keepdim"_a = false,
      "log(sum(exp(x))) along an axis, or several, stable for large inputs; -infinity over no elements.");
}

}  // namespace locus::python
