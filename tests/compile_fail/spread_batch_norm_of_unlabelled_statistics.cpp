// Running statistics without a label.
// expect-error(clang): batch_norm: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(clang19): batch_norm: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(gcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*say_mesh_label
// expect-error(nvcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*say_mesh_label
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float, Cpu>, S...>;
template <class... S>
using Running = Over<RunningStatistics<float, Cpu>, S...>;

auto f(Recorded<Varying<Data>> x, [[maybe_unused]] RunningStatistics<float, Cpu> bare,
       [[maybe_unused]] Running<Varying<Data>> own) {
#ifdef LOCUS_MUST_FAIL
  return batch_norm(x, bare);
#else
  return batch_norm(x, own);
#endif
}
