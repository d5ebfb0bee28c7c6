#pragma once
// The table of scalar functions, each with its derivative beside it. They run in registers on every device.
//
// A scalar function is a class with operator()(x...) and one of
//
//   by_output(y)          dy/dx from the result (unary), which the backward pass recomputes
//   by_input(x)           dy/dx from the argument (unary)
//   by_inputs(x...)       Pack of dy/dx_i; `reads(i)`: bit mask of the arguments that the i-th reads
//   pullback(g, y, x...)  Pack of g * dy/dx_i, for derivatives that select rather than multiply
//
// Where g is exactly 0, the gradient is 0, even if the slope is infinite or NaN. `selects = true`: the derivative
// itself gives exactly 0 for arguments that the function does not select, so no such check is made.
//
// For a derivative of zero everywhere, by_input returns 0; `differentiable = false` ends the backward pass
// (comparisons). To add a function, write such a class and call `elementwise(YourFunction{}, x)`.

#include <locus/expr/functors/activation.hpp>
#include <locus/expr/functors/arithmetic.hpp>
#include <locus/expr/functors/comparison.hpp>
#include <locus/expr/functors/elementary.hpp>
