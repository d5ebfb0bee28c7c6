// Lesson 28: masks that are alike
//
// Goal: a Dropout drops half of the elements of x, other ones in each step. Along Data the ranks have other samples,
// and drop other elements. Along Model they have the same x, Invariant, and still have the same after dropout.
//
// In PyTorch a script for DistributedDataParallel calls torch.manual_seed(seed + rank), so that the ranks' masks
// differ. Beside layers that are divided among ranks, the same line is wrong without an error: ranks that have the same
// activations drop different elements, go on with different values, and take parts of different products for parts of
// one sum. Megatron-LM keeps several generators for that. Here the random numbers have states, too: they are alike
// along some axes, and differ along others.
//
// hint: Along which axis must the numbers of a mask be alike, and along which should they differ?
// hint: mesh.generator<Varying<...>, Invariant<...>>(seed) makes numbers with a state along each axis. Name them with
//   auto: dropout() draws from them.
#include <locus/distributed/spread/mesh.hpp>
#include <locus/ops/dropout.hpp>

using namespace locus;

struct Grid;                    // names a mesh of ranks
struct Data : Along<Grid> {};   // an axis of it: the ranks along it have other samples
struct Model : Along<Grid> {};  // another one: the ranks along it have the same samples, and parts of the weights

using Hidden = Over<Traced<float>, Varying<Data>>;

struct Dropout {
  const dist::Mesh<Cpu, Data, Model>& mesh;
  std::uint64_t step = 0;

  auto operator()(const Hidden& x) {
    ++step;
    auto numbers = mesh.generator<Varying<Data>, Invariant<Model>>(step);
    return dropout(x, 0.5, numbers);
  }
};
