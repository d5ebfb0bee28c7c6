// A model of the host among ranks on GPUs.
// because: ranks reduce gradients in place, and an engine of GPUs reads memory of GPUs
// expect-error: model_is_on<locus::Cpu>.*communicator_is_on<locus::Cuda>|the model is on Cpu, the communicator is on
// expect-error: move_the_model_or_make_the_communicator_for_its_device|move the model, std::move\(model\)\.to<Cuda>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Sequential<float, Cpu>& model, const dist::Communicator<Cuda>& comm) {
#ifdef LOCUS_MUST_FAIL
  return dist::distributed(model, comm);
#else
  return dist::distributed(std::move(model).to<Cuda>(), comm);
#endif
}
