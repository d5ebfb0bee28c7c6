// The backward pass of a loss that nothing was recorded for.
// expect-error(clang): loss.backward..: nothing was recorded; trace the input first, with trace
// expect-error(clang19): loss.backward..: nothing was recorded; trace the input first, with trace
// expect-error(gcc): nothing_was_recorded.*trace_the_input_first
// expect-error(nvcc): nothing_was_recorded.*trace_the_input_first
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

void f(const Over<Tensor<float>, Varying<Data>>& x, const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  data.partial(sum(x)).backward();
#else
  data.partial(sum(variable(x))).backward();
#endif
}
