// A checkpoint of a tensor that is still being copied.
// because: the layer would read elements that have not arrived yet
// expect-error: tensor_is_still_being_copied|the tensor is still being copied
// expect-error: say_std_move_x_ordered_or_wait|std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto forward(const nn::Linear<float, Cuda>& layer, Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return checkpoint(layer, x);
#else
  return checkpoint(layer, std::move(x).ordered());
#endif
}
