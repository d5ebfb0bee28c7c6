// A loss between two element types.
// because: there is no implicit promotion
// expect-error: left_holds<float>.*right_holds<(long|int64)|element types, float and int64
// expect-error: mse_loss.*(convert_one_with_as_T|convert one with \.as<T>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& prediction, const Tensor<std::int64_t>& target) {
#ifdef LOCUS_MUST_FAIL
  (void)nn::mse_loss(prediction, target);
#else
  (void)nn::mse_loss(prediction, target.as<float>());
#endif
}
