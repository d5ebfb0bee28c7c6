// A step of training of a model of half, without a scaler.
// because: gradients below 6e-8 are 0 in half; of bfloat16, which has the range of float, none vanishes
// expect-error: gradients_of_half_need_a_GradScaler|gradients of half need a GradScaler
// expect-error: pass_scaler_with_optimizer|pass scaler\.with\(optimizer\) in place of the optimizer, or
#include <locus/locus.hpp>

using namespace locus;

template <class T>
using Training = std::pair<nn::Sequential<T, Cuda>, optim::Adam<T, Cuda>>;

void mistake(Training<half>& in_half, Training<bfloat16>& in_bfloat16, const data::Batch<half, Cuda>& batch,
             const data::Batch<bfloat16, Cuda>& batch_of_bfloat16) {
#ifdef LOCUS_MUST_FAIL
  (void)train_step(in_half.first, in_half.second, batch);
#else
  (void)train_step(in_bfloat16.first, in_bfloat16.second, batch_of_bfloat16);
#endif
}
