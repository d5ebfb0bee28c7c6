// Replicas on GPUs of a model on the host.
// because: replicas copy a model from one ordinal to another, not from the host to a GPU
// expect-error: model_is_on.*Cpu.*replica_is_on.*Cuda|the model is on Cpu, a replica is on Cuda
// expect-error: move_the_model_with_std_move_model_to_D|std::move\(model\)\.to<Cuda>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Sequential<float, Cpu> model) {
#ifdef LOCUS_MUST_FAIL
  return dist::DataParallel(model, {Cuda{0}, Cuda{1}});
#else
  return dist::DataParallel(std::move(model).to<Cuda>(), {Cuda{0}, Cuda{1}});
#endif
}
