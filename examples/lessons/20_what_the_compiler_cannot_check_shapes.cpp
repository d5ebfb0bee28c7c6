// Lesson 20: what the compiler cannot check: shapes
//
// INTENDED TO FAIL. This file compiles, and its check fails when it runs, until you have solved the lesson; read
// what the check prints.
//
// Goal: hits() returns the share of rows of scores, of shape (n, classes), whose largest score is at the label. The
// labels have the shape (n, 1), as the data set stores them.
//
// In PyTorch scores.argmax(1) == labels is silently wrong in the same way: shape (n,) beside (n, 1) broadcasts to (n,
// n), every row is compared with every label, and the share looks like a poor but possible result. Devices and element
// types are part of the type, shapes are not: they are known at run time, and these two broadcast. So test a function
// like this with numbers whose answer you know, or use Locus's accuracy(), which refuses such labels.
#include <locus/expr/operators.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/reduce.hpp>

using namespace locus;

float hits(const Tensor<float, Cpu>& scores, const Tensor<std::int64_t, Cpu>& labels) {
  const auto chosen = argmax(scores, 1);  // <- mend this
  return mean((chosen == labels).as<float>()).item();
}
