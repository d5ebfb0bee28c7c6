#pragma once
// Functions of one tensor.

#include "../call.hpp"

namespace locus::python {

/// Adds f, which has a gradient, for tensors of these element types.
template <class... T, class F>
void add_unary(nb::module_& m, const char* name, Types<T...> types, F f, const char* text) {
  m.def(
      name, [name, types, f](Operand x) { return differentiable(name, types, f, Main{x}); }, nb::arg("x"), text);
}

}  // namespace locus::python
