// Elements and rows picked by indices, and written to them.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/index.hpp>
#include <locus/ops/interp.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/scatter.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
void add_reads(nb::module_& m) {
  m.def(
      "index_select",
      [](Operand x, int axis, Operand indices) {
        return differentiable(
            "index_select(x, axis, indices)", Ordered{},
            [=](const auto& x, const auto& indices) { return index_select(x, axis, indices); }, Main{x},
            Indices{indices});
      },
      "x"_a, "axis"_a, "indices"_a, "The slices of x along an axis at a list of indices.");
  m.def(
      "gather",
      [](Operand x, int axis, Operand index) {
        return differentiable(
            "gather(x, axis, index)", Ordered{},
            [=](const auto& x, const auto& index) { return gather(x, axis, index); }, Main{x}, Indices{index});
      },
      "x"_a, "axis"_a, "index"_a, "out[i][j] = x[index[i][j]][j] for axis 0, and likewise for others.");
  m.def(
      "take",
      [](Operand x, Operand indices) {
        return differentiable(
            "take(x, indices)", Ordered{}, [](const auto& x, const auto& indices) { return take(x, indices); }, Main{x},
            Indices{indices});
      },
      "x"_a, "indices"_a, "Elements of x at positions in row-major order.");
  m.def(
      "take_along_axis",
      [](Operand x, Operand index, int axis) {
        return differentiable(
            "take_along_axis(x, index, axis)", Ordered{},
            [=](const auto& x, const auto& index) { return take_along_axis(x, index, axis); }, Main{x}, Indices{index});
      },
      "x"_a, "index"_a, "axis"_a, "Elements along an axis by an index that broadcasts, such as argsort's.");
  m.def(
      "embedding",
      [](Operand table, Operand indices, std::optional<std::int64_t> padding_idx) {
        return differentiable(
            "embedding(table, indices)", Floats{},
            [=](const auto& table, const auto& indices) {
              return embedding(table, indices, {.padding_idx = padding_idx});
            },
            Main{table}, Indices{indices});
      },
      "table"_a, "indices"_a, "padding_idx"_a = nb::none(),
      "Rows of a table by number; the row padding_idx gets no gradient.");
  m.def(
      "masked_select",
      [](Operand x, Operand mask) {
        return differentiable(
            "masked_select(x, mask)", Ordered{}, [](const auto& x, const auto& mask) { return masked_select(x, mask); },
            Main{x}, Mask{mask});
      },
      "x"_a, "mask"_a, "The elements of x where the mask, of bool, holds, in row-major order.");
  m.def(
      "one_hot",
      [](Operand labels, std::int64_t classes) {
        return call(
            "one_hot", Types<std::int64_t>{}, [=](const auto& labels) { return one_hot(labels, classes); },
            Main{labels});
      },
      "labels"_a, "classes"_a, "1 where the last index is the label, 0 elsewhere; of int64.");
  m.def(
      "interp",
      [](Operand x, Operand points, Operand values) {
        return differentiable(
            "interp(x, points, values)", Floats{},
            [](const auto& x, const auto& points, const auto& values) { return interp(x, points.value(), values); },
            Main{x}, Main{points}, Main{values});
      },
      "x"_a, "points"_a, "values"_a, "The piecewise linear function through ascending points, at each x.");
}

template <class F>
void add_write(nb::module_& m, const char* name, const char* formula, F f, const char* text) {
  m.def(
      name,
      [formula, f](Operand x, int axis, Operand index, Operand source) {
        return differentiable(
            formula, Numbers{},
            [=](const auto& x, const auto& index, const auto& source) { return f(x, axis, index, source); }, Main{x},
            Indices{index}, Main{source});
      },
      "x"_a, "axis"_a, "index"_a, "source"_a, text);
}
}  // namespace

void add_lookups(nb::module_& m) {
  add_reads(m);
  add_write(
      m, "index_add", "index_add(x, axis, index, source)",
      [](const auto& x, int axis, const auto& index, const auto& source) { return index_add(x, axis, index, source); },
      "x with slices of the source added along an axis, at a list of indices.");
  add_write(
      m, "index_copy", "index_copy(x, axis, index, source)",
      [](const auto& x, int axis, const auto& index, const auto& source) { return index_copy(x, axis, index, source); },
      "x with the slices along an axis at a list of indices replaced by slices of the source.");
  add_write(
      m, "scatter", "scatter(x, axis, index, source)",
      [](const auto& x, int axis, const auto& index, const auto& source) { return scatter(x, axis, index, source); },
      "x with each element of the source put at its index along an axis; of several the last one stays.");
  add_write(
      m, "scatter_add", "scatter_add(x, axis, index, source)",
      [](const auto& x, int axis, const auto& index, const auto& source) {
        return scatter_add(x, axis, index, source);
      },
      "x with each element of the source added at its index along an axis.");
}

}  // namespace locus::python
