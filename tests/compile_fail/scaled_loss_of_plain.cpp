// Scaling a loss that is not traced.
// because: it has no gradients that a scale could keep from vanishing
// expect-error: loss_is_not_traced|the loss is not traced
// expect-error: compute_it_of_trace_x|trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::GradScaler<Cpu>& scaler, const nn::Linear<float, Cpu>& model, const Tensor<float>& x,
             const Tensor<float>& y) {
#ifdef LOCUS_MUST_FAIL
  scaler.scale(nn::mse_loss(model(x), y)).backward();
#else
  scaler.scale(nn::mse_loss(model(trace(x)), y)).backward();
#endif
}
