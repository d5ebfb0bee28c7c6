// Scaling a loss that was computed in half.
// because: half ends at 65504, and the scale begins with 65536; losses are computed in float
// expect-error: loss_of_16_bits_has_no_room_for_the_scale|a loss of 16 bits has no room for the scale
// expect-error: compute_it_in_float_of_model_x_as_float|compute it in float
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::GradScaler<Cuda>& scaler, const Traced<half, Cuda>& scores, const Tensor<std::int64_t, Cuda>& y) {
#ifdef LOCUS_MUST_FAIL
  scaler.scale(nn::cross_entropy(scores, y)).backward();
#else
  scaler.scale(nn::cross_entropy(scores.as<float>(), y)).backward();
#endif
}
