// A value printed that differs between ranks.
// expect-error(clang): printing x: each rank has another
// expect-error(clang19): printing x: each rank has another
// expect-error(gcc): each_rank_has_another
// expect-error(nvcc): each_rank_has_another
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

#include <ostream>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Value = Over<Tensor<float>, S...>;

void f(Value<Varying<Data>> v, std::ostream& out) {
#ifdef LOCUS_MUST_FAIL
  out << v;
#else
  out << v.local();
#endif
}
