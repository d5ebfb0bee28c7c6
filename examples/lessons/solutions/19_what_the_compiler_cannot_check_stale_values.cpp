// Lesson 19: what the compiler cannot check: stale values
//
// Goal: update() adds a change to weights in place and returns how large the change was relative to the weights
// before it: change / weights, with the old weights.
//
// In PyTorch this is correct: every line is computed eagerly, with a kernel and memory of its own. Here an expression
// bound to auto is pending until it is used, so that it can become part of a larger expression. The type of weights is
// the same before and after the change, so the compiler cannot see the change in between. The program detects it: it
// throws StaleError when the expression is used, and never computes with wrong values.
//
// hint: An expression is computed when it becomes a Tensor. Which line should be computed before the weights change?
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

template <Device D>
Tensor<float, D> update(const Tensor<float, D>& weights, const Tensor<float, D>& change) {
  const Tensor relative = change / weights;
  weights += change;
  return relative;
}
