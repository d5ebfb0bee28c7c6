// Parts of a sum joined as parts of a tensor.
// expect-error(clang): ranks.all_gather.x.: x is Partial, a part of a sum and not of a tensor; say ranks.all_reduce
// expect-error(clang19): ranks.all_gather.x.: x is Partial, a part of a sum and not of a tensor; say ranks.all_reduce
// expect-error(gcc): x_is_Partial_a_part_of_a_sum_and_not_of_a_tensor
// expect-error(nvcc): x_is_Partial_a_part_of_a_sum_and_not_of_a_tensor
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f([[maybe_unused]] Value<Partial<Data>> p, [[maybe_unused]] Value<Varying<Data>> v, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.all_gather(p, 0);
#else
  return data.all_gather(v, 0);
#endif
}
