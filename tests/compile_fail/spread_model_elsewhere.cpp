// A model and the ranks of another device.
// expect-error(clang): distributed.model, ranks.: the model is on Cpu, the ranks are on Cuda
// expect-error(clang19): distributed.model, ranks.: the model is on Cpu, the ranks are on Cuda
// expect-error(gcc): device_mismatch<.*model_is_on<.*Cpu>.*communicator_is_on<.*Cuda>
// expect-error(nvcc): device_mismatch<.*model_is_on<.*Cpu>.*communicator_is_on<.*Cuda>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

auto f(const nn::Linear<float, Cpu>& net, const dist::Ranks<Data, Cuda>& data, const dist::Ranks<Data, Cpu>& ranks) {
#ifdef LOCUS_MUST_FAIL
  return (void)ranks, dist::distributed(net, data);
#else
  return (void)data, dist::distributed(net, ranks);
#endif
}
