// A part of a sum called one again.
// expect-error(clang): x is Partial already
// expect-error(clang19): x is Partial already
// expect-error(gcc): x_is_Partial_already
// expect-error(nvcc): x_is_Partial_already
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float>, S...>;
using DataRanks = dist::Ranks<Data, Cpu>;

auto f(Recorded<Varying<Data>> v, const DataRanks& data) {
#ifdef LOCUS_MUST_FAIL
  return data.partial(data.partial(v));
#else
  return data.partial(v);
#endif
}
