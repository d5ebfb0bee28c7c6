// A tensor without a label, as a batch of a model of ranks.
// expect-error(clang): model.x.: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(clang19): model.x.: a tensor does not say how it is spread over ranks; say mesh.label
// expect-error(gcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*say_mesh_label
// expect-error(nvcc): a_tensor_does_not_say_how_it_is_spread_over_ranks.*say_mesh_label
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Parallel = dist::SpreadModel<dist::Distributed<nn::Linear<float, Cpu>>, Data>;
template <class... S>
using Value = Over<Tensor<float>, S...>;

auto f(const Parallel& net, Tensor<float> x, const dist::Mesh<Cpu, Data>& mesh) {
#ifdef LOCUS_MUST_FAIL
  return net(trace(x));
#else
  return net(trace(mesh.label<Varying<Data>>(x)));
#endif
}
