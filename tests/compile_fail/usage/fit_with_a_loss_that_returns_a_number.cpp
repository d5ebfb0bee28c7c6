// A loss that is a number.
// group: Arguments
// because: gradients come from the recorded computation of the loss, and a number records nothing
// expect-error(gcc): return_a_tensor_that_is_computed_from_the_prediction_as_mean_square_prediction_target
// expect-error(nvcc): return_a_tensor_that_is_computed_from_the_prediction_as_mean_square_prediction_target
// expect-error(clang): return a tensor that is computed from the prediction
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cpu>& model, optim::Sgd<float, Cpu>& optimizer,
             data::Loader<data::TensorDataset<float, float>, Cpu>& train, History& history) {
#ifdef LOCUS_MUST_FAIL
  const auto loss = [](const auto& x, const auto& y) { return mean(square(x - y)).item(); };
#else
  const auto loss = [](const auto& x, const auto& y) { return mean(square(x - y)); };
#endif
  fit(model, optimizer, loss, train, train, history);
}
