// `model.eval()`
// group: Names of PyTorch's models
// because: a model has no mode: the type of its input says it
// expect-error(gcc): model_x_is_inference_where_x_is_a_plain_tensor
// expect-error(nvcc): model_x_is_inference_where_x_is_a_plain_tensor
// expect-error(clang): model\(x\) is inference where x is a plain tensor
#include <locus/locus.hpp>

using namespace locus;

void mistake(nn::Sequential<float, Cpu>& model, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  model.eval(), (void)x;
#else
  (void)model(x);
#endif
}
