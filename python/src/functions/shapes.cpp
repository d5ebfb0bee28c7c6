// Elements in other places: joined, cut, repeated, turned, triangles.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/flip.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/repeat.hpp>
#include <locus/ops/split.hpp>
#include <locus/ops/triangle.hpp>
#include <locus/ops/unfold.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add_triangle(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name,
      [name, f](Operand x, std::int64_t offset) {
        return differentiable(
            name, Numbers{}, [=](const auto& x) { return f(x, offset); }, Main{x});
      },
      "x"_a, "offset"_a = 0, text);
}
template <class F>
void add_join(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name,
      [name, f](const std::vector<Operand>& tensors, int axis) {
        return differentiable(
            name, Numbers{}, [=](const auto& tensors) { return f(tensors, axis); }, List{tensors});
      },
      "tensors"_a, "axis"_a = 0, text);
}
}  // namespace

void add_shapes(nb::module_& m) {
  add_triangle(
      m, "tril", [](const auto& x, std::int64_t offset) { return tril(x, offset); },
      "The lower triangle of matrices, zeros above.");
  add_triangle(
      m, "triu", [](const auto& x, std::int64_t offset) { return triu(x, offset); },
      "The upper triangle of matrices, zeros below.");
  add_triangle(
      m, "diag", [](const auto& x, std::int64_t offset) { return diag(x, offset); },
      "The diagonal of a matrix, or a matrix with a diagonal.");
  add_join(
      m, "concat", [](const auto& tensors, int axis) { return concat(tensors, axis); },
      "Tensors joined along an axis.");
  add_join(
      m, "stack", [](const auto& tensors, int axis) { return stack(tensors, axis); },
      "Tensors of one shape side by side along a new axis.");
  m.def(
      "flip",
      [](Operand x, std::optional<Numerals> axis) {
        const ReduceAxes axes = axis ? ReduceAxes(axis->dims()) : ReduceAxes();
        return differentiable(
            "flip", Ordered{}, [=](const auto& x) { return flip(x, axes); }, Main{x});
      },
      "x"_a, "axis"_a = nb::none(), "Elements in reverse order along axes, all of them by default.");
  m.def(
      "roll",
      [](Operand x, Numerals shift, std::optional<Numerals> axis) {
        return differentiable(
            "roll", Ordered{},
            [&](const auto& x) {
              if (axis) return roll(x, shift.dims(), axis->dims());
              if (shift.values.size() != 1)
                fail<ArgumentError>({"roll: ", shift.values.size(), " shifts without an axis; expected one"});
              return roll(x, shift.values[0]);
            },
            Main{x});
      },
      "x"_a, "shift"_a, "axis"_a = nb::none(), "Elements moved along axes, from the end to the front.");
  m.def(
      "tile",
      [](Operand x, Numerals times) {
        return differentiable(
            "tile", Ordered{}, [&](const auto& x) { return tile(x, times.dims()); }, Main{x});
      },
      "x"_a, "times"_a, "The tensor repeated along each dimension.");
  m.def(
      "repeat_interleave",
      [](Operand x, std::int64_t times, int axis) {
        return differentiable(
            "repeat_interleave", Ordered{}, [=](const auto& x) { return repeat_interleave(x, times, axis); }, Main{x});
      },
      "x"_a, "times"_a, "axis"_a, "Each slice along an axis several times in a row.");
  m.def(
      "split",
      [](Operand x, std::int64_t size, int axis) {
        return differentiable(
            "split", Every{}, [=](const auto& x) { return split(x, size, axis); }, Main{x});
      },
      "x"_a, "size"_a, "axis"_a = 0, "Parts of a size along an axis, as views; the last one may be smaller.");
  m.def(
      "unfold",
      [](Operand x, int axis, std::int64_t size, std::int64_t step) {
        return differentiable(
            "unfold", Every{}, [=](const auto& x) { return unfold(x, axis, size, step); }, Main{x});
      },
      "x"_a, "axis"_a, "size"_a, "step"_a, "Windows along an axis, as a view: a new last axis holds each window.");
}

}  // namespace locus::python
