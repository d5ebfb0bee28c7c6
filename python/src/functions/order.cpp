// Elements in order: sorting, order statistics, distinct elements, searches, histograms.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/histogram.hpp>
#include <locus/ops/isin.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/search.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>

#include <nanobind/stl/variant.h>

namespace locus::python {

using namespace nb::literals;

namespace {
[[nodiscard]] Interpolation interpolation_of(const std::string& name) {
  if (name == "linear") return Interpolation::linear;
  if (name == "lower") return Interpolation::lower;
  if (name == "higher") return Interpolation::higher;
  if (name == "nearest") return Interpolation::nearest;
  if (name == "midpoint") return Interpolation::midpoint;
  fail<ArgumentError>({"quantile: interpolation is \"", name,
                       "\"; expected \"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\""});
}

void add_sorting(nb::module_& m) {
  m.def(
      "sort",
      [](Operand x, int axis, bool descending) {
        return named<"ValuesAndIndices">(differentiable(
            "sort", Ordered{}, [=](const auto& x) { return both(sort(x, axis, descending)); }, Main{x}));
      },
      "x"_a, "axis"_a = -1, "descending"_a = false,
      "The elements along an axis in order, and their original positions. Stable; NaN counts as largest.");
  m.def(
      "argsort",
      [](Operand x, int axis, bool descending) {
        return call(
            "argsort", Ordered{}, [=](const auto& x) { return argsort(x, axis, descending); }, Main{x});
      },
      "x"_a, "axis"_a = -1, "descending"_a = false, "The positions of the elements along an axis in order.");
  m.def(
      "topk",
      [](Operand x, std::int64_t k, int axis, bool largest) {
        return named<"ValuesAndIndices">(differentiable(
            "topk", Ordered{}, [=](const auto& x) { return both(topk(x, k, axis, largest)); }, Main{x}));
      },
      "x"_a, "k"_a, "axis"_a = -1, "largest"_a = true,
      "The k largest elements along an axis, the largest first (or the k smallest), and their positions.");
  m.def(
      "kthvalue",
      [](Operand x, std::int64_t k, int axis, bool keepdim) {
        return named<"ValuesAndIndices">(differentiable(
            "kthvalue", Ordered{}, [=](const auto& x) { return both(kthvalue(x, k, axis, keepdim)); }, Main{x}));
      },
      "x"_a, "k"_a, "axis"_a = -1, "keepdim"_a = false,
      "The k-th smallest element along an axis, the first for k = 1, and its position.");
  m.def(
      "median",
      [](Operand x, int axis, bool keepdim) {
        return named<"ValuesAndIndices">(differentiable(
            "median", Ordered{}, [=](const auto& x) { return both(median(x, axis, keepdim)); }, Main{x}));
      },
      "x"_a, "axis"_a = -1, "keepdim"_a = false,
      "The median along an axis, of two the lower, and its position. quantile(x, 0.5, axis) is their mean.");
  m.def(
      "mode",
      [](Operand x, int axis, bool keepdim) {
        return named<"ValuesAndIndices">(differentiable(
            "mode", Ordered{}, [=](const auto& x) { return both(mode(x, axis, keepdim)); }, Main{x}));
      },
      "x"_a, "axis"_a = -1, "keepdim"_a = false,
      "The most frequent element along an axis, of several the smallest, and its last position.");
  m.def(
      "quantile",
      [](Operand x, std::variant<double, std::vector<double>> q, std::optional<int> axis, bool keepdim,
         const std::string& interpolation) {
        const Interpolation how = interpolation_of(interpolation);
        return differentiable(
            "quantile", Floats{},
            [&](const auto& x) {
              const auto& over = axis ? x : x.flatten();
              const auto* const one = std::get_if<double>(&q);
              const int along = axis.value_or(0);
              return one ? quantile(over, *one, along, keepdim, how)
                         : quantile(over, std::get<std::vector<double>>(q), along, keepdim, how);
            },
            Main{x});
      },
      "x"_a, "q"_a, "axis"_a = nb::none(), "keepdim"_a = false, "interpolation"_a = "linear",
      "The q-quantile along an axis, or of all elements, for q from 0 to 1; NaN if any element is NaN. A list of q "
      "adds "
      "a first axis.");
}

void add_sets(nb::module_& m) {
  m.def(
      "unique",
      [](Operand x) {
        return call(
            "unique", Ordered{}, [](const auto& x) { return unique(x).values; }, Main{x});
      },
      "x"_a, "The distinct elements in ascending order; all NaN are one.");
  m.def(
      "unique_with_counts",
      [](Operand x) {
        return named<"Unique">(call(
            "unique_with_counts", Ordered{},
            [](const auto& x) {
              const auto found = unique(x, {.return_inverse = true, .return_counts = true});
              return std::tuple(found.values, found.inverse, found.counts);
            },
            Main{x}));
      },
      "x"_a,
      "The distinct elements in ascending order, the number of each element's value, and how often each occurs.");
  m.def(
      "nonzero",
      [](Operand x) {
        return call(
            "nonzero", Every{}, [](const auto& x) { return nonzero(x); }, Main{x});
      },
      "x"_a, "The positions of the nonzero elements in row-major order, of shape (count, rank).");
  m.def(
      "isin",
      [](Operand x, Operand values, bool invert) {
        return call(
            "isin(x, values)", Ordered{}, [=](const auto& x, const auto& values) { return isin(x, values, invert); },
            Main{x}, Main{values});
      },
      "x"_a, "values"_a, "invert"_a = false, "Whether each element is among some values, or with invert is not.");
}

void add_searches(nb::module_& m) {
  m.def(
      "searchsorted",
      [](Operand sorted, Operand values, bool right) {
        return call(
            "searchsorted(sorted, values)", Ordered{},
            [=](const auto& sorted, const auto& values) { return searchsorted(sorted, values, right); }, Main{sorted},
            Main{values});
      },
      "sorted"_a, "values"_a, "right"_a = false,
      "For each value its insertion point among numbers in ascending order: before equal ones, or after them.");
  m.def(
      "bucketize",
      [](Operand values, Operand boundaries, bool right) {
        return call(
            "bucketize(values, boundaries)", Ordered{},
            [=](const auto& values, const auto& boundaries) { return bucketize(values, boundaries, right); },
            Main{values}, Main{boundaries});
      },
      "values"_a, "boundaries"_a, "right"_a = false, "Which bucket each value is in, given their sorted boundaries.");
  m.def(
      "histogram",
      [](Operand x, std::int64_t bins, double low, double high) {
        return call(
            "histogram", Numbers{}, [=](const auto& x) { return histogram(x, bins, low, high); }, Main{x});
      },
      "x"_a, "bins"_a, "low"_a, "high"_a,
      "Counts the elements in each of some equal parts of low ... high; others are not counted.");
  m.def(
      "bincount",
      [](Operand x, std::int64_t minlength) {
        return call(
            "bincount", Integers{}, [=](const auto& x) { return bincount(x, minlength); }, Main{x});
      },
      "x"_a, "minlength"_a = 0, "Counts each of the integers 0, 1, ... up to the largest element.");
}
}  // namespace

void add_order(nb::module_& m) {
  add_sorting(m);
  add_sets(m);
  add_searches(m);
}

}  // namespace locus::python
