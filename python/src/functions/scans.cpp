// Running sums, products and extremes; softmax along an axis.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/cumulative.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/softmax.hpp>

namespace locus::python {

using namespace nb::literals;

void add_scans(nb::module_& m) {
  m.def(
      "cumsum",
      [](Operand x, int axis, bool exclusive, bool reverse) {
        return differentiable(
            "cumsum", Numbers{},
            [=](const auto& x) { return cumsum(x, axis, {.exclusive = exclusive, .reverse = reverse}); }, Main{x});
      },
      "x"_a, "axis"_a, nb::kw_only(), "exclusive"_a = false, "reverse"_a = false,
      "Running sums along an axis; exclusive, without the element itself; in reverse, from the end. Integers give "
      "int64.");
  m.def(
      "cumprod",
      [](Operand x, int axis) {
        return differentiable(
            "cumprod", Numbers{}, [=](const auto& x) { return cumprod(x, axis); }, Main{x});
      },
      "x"_a, "axis"_a, "Running products along an axis. Integers give int64.");
  m.def(
      "logcumsumexp",
      [](Operand x, int axis) {
        return differentiable(
            "logcumsumexp", Floats{}, [=](const auto& x) { return logcumsumexp(x, axis); }, Main{x});
      },
      "x"_a, "axis"_a, "Logarithms of running sums of exponentials along an axis, stable for large inputs.");
  m.def(
      "cummax",
      [](Operand x, int axis) {
        return named<"ValuesAndIndices">(differentiable(
            "cummax", Numbers{}, [=](const auto& x) { return both(cummax(x, axis)); }, Main{x}));
      },
      "x"_a, "axis"_a, "The largest element so far along an axis, and its position: the last of equals.");
  m.def(
      "cummin",
      [](Operand x, int axis) {
        return named<"ValuesAndIndices">(differentiable(
            "cummin", Numbers{}, [=](const auto& x) { return both(cummin(x, axis)); }, Main{x}));
      },
      "x"_a, "axis"_a, "The smallest element so far along an axis, and its position: the last of equals.");
  m.def(
      "softmax",
      [](Operand x, Numerals axis) {
        return differentiable(
            "softmax", Floats{}, [&](const auto& x) { return softmax(x, axis.dims()); }, Main{x});
      },
      "x"_a, "axis"_a, "exp(x) / sum(exp(x)) along an axis, or several, stable for large inputs.");
  m.def(
      "log_softmax",
      [](Operand x, Numerals axis) {
        return differentiable(
            "log_softmax", Floats{}, [&](const auto& x) { return log_softmax(x, axis.dims()); }, Main{x});
      },
      "x"_a, "axis"_a, "x - logsumexp(x) along an axis, or several.");
  m.def(
      "logsumexp",
      [](Operand x, Numerals axis, bool keepdim) {
        return differentiable(
            "logsumexp", Floats{}, [&](const auto& x) { return logsumexp(x, axis.dims(), keepdim); }, Main{x});
      },
      "x"_a, "axis"_a, "keepdim"_a = false,
      "log(sum(exp(x))) along an axis, or several, stable for large inputs; -infinity over no elements.");
}

}  // namespace locus::python
