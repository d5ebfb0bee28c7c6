// A step of training by a loss, on the input of a model alone.
// expect-error: train_step_model_optimizer_loss_batch_on_something_else|on something else than a batch
// expect-error: take_one_from_a_loader_or_pass_Tuple_input_target|take one from a loader, or pass Tuple\(input, target\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)train_step(model, optimizer, nn::MSELoss{}, x);
#else
  (void)train_step(model, optimizer, nn::MSELoss{}, Tuple(x, x));
#endif
}
