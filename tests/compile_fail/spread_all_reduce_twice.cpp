// A sum made twice.
// expect-error(clang): x is Replicated, the same on all ranks
// expect-error(clang19): x is Replicated, the same on all ranks
// expect-error(gcc): x_is_Replicated_the_same_on_all_ranks
// expect-error(nvcc): x_is_Replicated_the_same_on_all_ranks
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Value<Partial<Data>> p, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_reduce(data.all_reduce(p));
#else
  return data.all_reduce(p);
#endif
}
