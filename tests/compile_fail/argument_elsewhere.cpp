// Calling a function of your own with a tensor of another device.
// because: a parameter of type Tensor<float, Cuda> promises the function where its argument is
// expect-error: source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>|the source is on Cpu, the target is on Cuda
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void train_on(const Tensor<float, Cuda>& x);

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  train_on(x);
#else
  train_on(x.to<Cuda>());
#endif
}
