#pragma once
// The table of scalar functions, each with its derivative beside it. They run in registers on every device.
//
// A scalar function is a class with operator()(x...) and one of
//
//   by_output(y)          dy/dx from the result (unary), which the backward pass computes again
//   by_input(x)           dy/dx from the argument (unary)
//   by_inputs(x...)       Pack of dy/dx_i; `reads(i)` says, as a bit mask, which arguments the i-th one looks at
//   pullback(g, y, x...)  Pack of g * dy/dx_i, for derivatives that select rather than multiply
//
// Where g is exactly 0, what it is multiplied by does not matter: the gradient is 0, also by an infinite slope or NaN.
// `selects = true` says that by itself the derivative gives exactly 0 to what the function leaves out.
//
// A derivative of zero everywhere is by_input returning 0; `differentiable = false` ends the backward pass
// (comparisons). Your own function is one such class and `elementwise(YourFunction{}, x)`.

#include <locus/expr/functors/activation.hpp>
#include <locus/expr/functors/arithmetic.hpp>
#include <locus/expr/functors/comparison.hpp>
#include <locus/expr/functors/elementary.hpp>
