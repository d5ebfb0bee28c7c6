// `model.train()`
// group: Names of PyTorch's models
// because: a model has no mode: the type of its input says it
// expect-error(gcc): model_trace_x_is_training
// expect-error(nvcc): model_trace_x_is_training
// expect-error(clang): model\(trace\(x\)\) is training
#include <locus/locus.hpp>

using namespace locus;

void mistake(nn::Sequential<float, Cpu>& model, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  model.train(), (void)x;
#else
  (void)model(trace(x));
#endif
}
