// A mask of each rank's own over a value that is the same on all ranks and collects a gradient.
// expect-error(clang): dropout: an Invariant operand, such as a parameter w, meets one that is not
// expect-error(clang19): dropout: an Invariant operand, such as a parameter w, meets one that is not
// expect-error(gcc): an_Invariant_operand_such_as_a_parameter_w
// expect-error(nvcc): an_Invariant_operand_such_as_a_parameter_w
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Traced<float>>& x, dist::SpreadGenerator<Cpu, Varying<Data>>& numbers,
       [[maybe_unused]] const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  return dropout(x, 0.1, numbers);
#else
  return dropout(data.replicated(x), 0.1, numbers);
#endif
}
