// weight_norm of a layer that has no weight.
// because: the weight is computed from its length and its direction, and the layer computes with the result
// group: Arguments
// expect-error(gcc): layer_has_no_weight|pass_nn_Linear
// expect-error(clang): weight_norm\(layer\): this layer has no weight
// expect-error(nvcc): layer_has_no_weight|pass_nn_Linear
#include <locus/locus.hpp>
#include <locus/nn/parametrize.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::weight_norm(nn::ReLU{});
#else
  return nn::weight_norm(nn::Linear<float, Cpu>{4, 2});
#endif
}
