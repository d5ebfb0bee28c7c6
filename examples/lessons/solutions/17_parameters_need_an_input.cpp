// Lesson 17: parameters need an input
//
// Goal: penalty() returns strength times the sum of the squares of a parameter, to be added to a loss as weight decay.
// Its gradient reaches w.
//
// In PyTorch every operation on a parameter is recorded, so this works, except inside torch.no_grad() or with w.data:
// then the penalty is silently a constant, which is added to the loss but gives the weights no gradient. Here a
// parameter follows the other operands: beside a plain tensor it is plain, beside a traced tensor it is traced. Without
// other operands, you choose one of the two.
//
// hint: trace(x) makes a model learn from x. The same function records a penalty for its parameter.
#include <locus/expr/operators.hpp>

#include <locus/autograd/parameter.hpp>
#include <locus/ops/reduce.hpp>

using namespace locus;

Traced<float, Cpu> penalty(const Parameter<float, Cpu>& w, float strength) { return strength * sum(square(trace(w))); }
