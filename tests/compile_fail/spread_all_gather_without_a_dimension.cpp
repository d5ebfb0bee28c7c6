// Parts joined along a dimension that is not named.
// expect-error(clang): ranks.all_gather.x.: along which dimension. Name it, as in ranks.all_gather.x, 0.
// expect-error(clang19): ranks.all_gather.x.: along which dimension. Name it, as in ranks.all_gather.x, 0.
// expect-error(gcc): along_which_dimension.*name_it_as_in_ranks_all_gather_x_0
// expect-error(nvcc): along_which_dimension.*name_it_as_in_ranks_all_gather_x_0
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};

auto f(const Over<Tensor<float>, Varying<Data>>& x, const dist::Ranks<Data, Cpu>& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_gather(x);
#else
  return data.all_gather(x, 0);
#endif
}
