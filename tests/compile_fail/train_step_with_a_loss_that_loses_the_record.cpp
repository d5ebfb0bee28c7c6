// A step of training by a loss that returns a number.
// because: a number has no gradient
// expect-error: the_loss_returns_a_number_or_a_plain_tensor_from_which|the loss returns a number or a plain tensor
// expect-error: return_a_tensor_that_is_computed_from_the_prediction|return a tensor that is computed from the prediction
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             const Tuple<Tensor<float>, Tensor<float>>& batch) {
#ifdef LOCUS_MUST_FAIL
  const auto loss = [](const auto& p, const auto& y) { return mean(square(p.value() - y)).item(); };
#else
  const auto loss = [](const auto& p, const auto& y) { return mean(square(p - y)); };
#endif
  (void)train_step(model, optimizer, loss, batch);
}
