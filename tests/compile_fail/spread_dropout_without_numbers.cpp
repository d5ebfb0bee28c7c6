// Dropout whose masks would differ between ranks that have the same value.
// expect-error(clang): dropout.x.: each rank would draw its own numbers; say dropout.x, p, numbers
// expect-error(clang19): dropout.x.: each rank would draw its own numbers
// expect-error(gcc): each_rank_would_draw_its_own_numbers
// expect-error(nvcc): each_rank_would_draw_its_own_numbers
// because: a Replicated value would become another one on each rank
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Traced<float>, Replicated<Data>>& x, [[maybe_unused]] const dist::Mesh<Cpu, Data>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return dropout(x, 0.1);
#else
  auto numbers = mesh.generator<Replicated<Data>>(1);
  return dropout(x, 0.1, numbers);
#endif
}
