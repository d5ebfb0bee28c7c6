// A flag on the host that says whether a step on the GPU is skipped.
// because: the launch of the step reads the flag, and nothing waits for it
// expect-error: optimizer_is_on<locus::Cuda>.*flag_is_on<locus::Cpu>|the optimizer is on Cuda, the flag is on Cpu
// expect-error: compute_the_flag_where_the_gradients_are|compute the flag where the gradients are
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<float, Cuda>& optimizer, const Tensor<bool, Cpu>& on_host, const Tensor<bool, Cuda>& on_gpu) {
#ifdef LOCUS_MUST_FAIL
  optimizer.step(on_host);
#else
  optimizer.step(on_gpu);
#endif
}
