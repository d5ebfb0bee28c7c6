// Random numbers that would begin anew with each call.
// expect-error(clang): dropout.x, p, numbers.: a draw changes the numbers, and the next draw goes on from them; name them
// expect-error(clang19): dropout.x, p, numbers.: a draw changes the numbers, and the next draw goes on from them; name them
// expect-error(gcc): a_draw_changes_the_numbers.*name_them
// expect-error(nvcc): a_draw_changes_the_numbers.*name_them
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Traced<float>, Replicated<Data>>& x, const dist::Mesh<Cpu, Data>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return dropout(x, 0.1, mesh.generator<Replicated<Data>>(1));
#else
  auto numbers = mesh.generator<Replicated<Data>>(1);
  return dropout(x, 0.1, numbers);
#endif
}
