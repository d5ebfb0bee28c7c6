// Parts of a sum, each rounded.
// expect-error(clang): x.as<T>..: x is Partial and each rank would round its part
// expect-error(clang19): x.as<T>..: x is Partial and each rank would round its part
// expect-error(gcc): x_is_Partial_and_each_rank_would_round_its_part
// expect-error(nvcc): x_is_Partial_and_each_rank_would_round_its_part
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
  return p.as<half>();
#else
  return data.all_reduce(p).as<half>();
#endif
}
