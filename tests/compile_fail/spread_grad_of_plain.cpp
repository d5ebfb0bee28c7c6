// The gradient of a value that collects none.
// expect-error(clang): x.grad..: only a variable.x. or a parameter collects one
// expect-error(clang19): x.grad..: only a variable.x. or a parameter collects one
// expect-error(gcc): only_a_variable_x_or_a_parameter_collects_one
// expect-error(nvcc): only_a_variable_x_or_a_parameter_collects_one
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Tensor<float>, Varying<Data>>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.grad();
#else
  return variable(x).grad();
#endif
}
