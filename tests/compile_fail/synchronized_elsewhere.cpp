// Batch normalization of a model on the host over a communicator of GPUs.
// because: its statistics are tensors of the host
// expect-error: model_is_on.*Cpu.*communicator_is_on.*Cuda|the model is on Cpu, the communicator is on Cuda
// expect-error: move_the_model_or_make_the_communicator_for_its_device|make a Communicator<Cpu>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const dist::Communicator<Cuda>& gpus,
             [[maybe_unused]] const dist::Communicator<Cpu>& hosts) {
#ifdef LOCUS_MUST_FAIL
  dist::synchronize_batch_norm(model, gpus);
#else
  dist::synchronize_batch_norm(model, hosts);
  (void)gpus;
#endif
}
