// Lesson 6: element types do not mix
//
// Goal: add() adds losses, which are floats, to a total of doubles. No digit of the total is lost.
//
// In PyTorch this would work: `total + losses` is promoted to float64. `losses += total` works too, and silently rounds
// to float32. Here the element type is part of the tensor's type, and you choose which of the two is converted.
//
// hint: A float fits into a double, a double does not fit into a float.
// hint: The error names the member function that converts.
#include <locus/expr/operators.hpp>

using namespace locus;

Tensor<double> add(const Tensor<double>& total, const Tensor<float>& losses) { return total + losses.as<double>(); }
