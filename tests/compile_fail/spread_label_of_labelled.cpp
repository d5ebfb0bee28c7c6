// A label of a value that has one.
// expect-error(clang): x says how it is spread already; use it as it is
// expect-error(clang19): x says how it is spread already; use it as it is
// expect-error(gcc): x_says_how_it_is_spread_already
// expect-error(nvcc): x_says_how_it_is_spread_already
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Both = dist::Mesh<Cpu, Data, Model>;
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(Value<Varying<Data>> v, const Both& mesh) {
#ifdef LOCUS_MUST_FAIL
  return mesh.label<Replicated<Data>, Invariant<Model>>(v);
#else
  return mesh.label<Replicated<Data>, Invariant<Model>>(v.local());
#endif
}
