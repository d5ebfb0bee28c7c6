// The input of a model that is still being copied.
// because: its elements may not have arrived yet
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|say std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Linear<float, Cuda>& model, Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return model(x);
#else
  return model(std::move(x).ordered());
#endif
}
