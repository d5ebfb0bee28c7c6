// Lesson 6: element types do not mix
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: add() adds losses, which are floats, to a total of doubles. No digit of the total is lost.
//
// In PyTorch this would work: `total + losses` is promoted to float64. `losses += total` works too, and silently rounds
// to float32. Here the element type is part of the tensor's type, and you choose which of the two is converted.
#include <locus/expr/operators.hpp>

using namespace locus;

Tensor<double> add(const Tensor<double>& total, const Tensor<float>& losses) {
  return total + losses;  // <- mend this
}
