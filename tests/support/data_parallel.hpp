#pragma once
// Compares a model on several places with the same model on one.

#include <locus/distributed/model/data_parallel.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <support/synchronized.hpp>

namespace locus_test {

template <class D>
[[nodiscard]] nn::Sequential<float, D> perceptron(D device) {
  manual_seed(3);
  nn::Sequential<float, D> model{nn::Linear<float, D>{4, 6}, nn::Tanh{}, nn::Linear<float, D>{6, 3}};
  return std::move(model).to(device);
}

/// Training steps with batches of several sizes, and predictions, equal a single model's up to rounding.
template <class D>
void check_data_parallel(const std::vector<D>& places) {
  const D device = places[0];
  const auto model = perceptron(device), alone = model.clone();
  const dist::DataParallel parallel(model, places);
  optim::Sgd optimizer(parallel.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::Sgd other(alone.parameters(), {.lr = 0.1, .momentum = 0.9});
  int step = 0;
  for (const std::int64_t rows : {8, 7, 3, 1, 2, 0, 9}) {
    const auto input = of_rank<float, D>(++step, {rows, 4}, device),
               target = of_rank<float, D>(-step, {rows, 3}, device);
    const auto x = variable(input), y = variable(input);
    const auto result = parallel(x), wanted = alone(y);
    require_near("result", result.value(), wanted.value(), 1e-6);
    optimizer.zero_grad();
    other.zero_grad();
    const auto scale = 0.1f / static_cast<float>(rows + 1);
    (sum(square(result - target)) * scale).backward();
    (sum(square(wanted - target)) * scale).backward();
    if (rows > 0) require_near("gradient of the input", x.grad(), y.grad(), 1e-5);
    for (std::size_t i = 0; i < alone.parameters().size(); ++i)
      require_near("gradient", parallel.parameters()[i].grad(), alone.parameters()[i].grad(), 1e-5);
    optimizer.step();
    other.step();
    require_near("prediction", parallel(input), alone(input), 1e-5);
  }
}

}  // namespace locus_test
