// Lesson 17: parameters need an input
//
// Goal: penalty() returns strength times the sum of the squares of a parameter, to be added to a loss, so that large
// weights cost something. Its gradient reaches w.
//
// In PyTorch every operation on a parameter is recorded, so this works, unless it stands under torch.no_grad() or
// says w.data: then the penalty is silently a constant, the loss still grows by it, and the weights are never told.
// Here a parameter acts as what it meets: beside a plain tensor it is one, beside a traced one it is traced. Alone
// it meets nothing, so you say what you mean.
//
// hint: trace(x) makes a model learn from x. The same word makes a penalty tell its parameter.
#include <locus/expr/operators.hpp>

#include <locus/autograd/parameter.hpp>
#include <locus/ops/reduce.hpp>

using namespace locus;

Traced<float, Cpu> penalty(const Parameter<float, Cpu>& w, float strength) { return strength * sum(square(trace(w))); }
