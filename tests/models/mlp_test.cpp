// Runs on: host, cuda (models).
#include <locus/models/mlp.hpp>

#include <locus/nn/loss.hpp>
#include <locus/optim/adam.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("a perceptron is linear layers with activations between them, and trains", D) {
  manual_seed(1);
  const auto model = models::mlp<float, D>({6, 8, 8, 2});
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters()) names += name + " ";
  CHECK(names == "1.weight 1.bias 3.weight 3.bias 5.weight 5.bias ");
  const auto x = sample<float, D>({16, 2, 3});
  const auto p = model.parameters();
  const auto hidden = relu(linear(relu(linear(x.reshape({16, 6}), p[0], p[1])), p[2], p[3]));
  CHECK_CLOSE(model(x), reference(linear(hidden, p[4], p[5])), 1e-5);

  Tensor<std::int64_t, Cpu> labels({16});
  for (std::int64_t i = 0; i < 16; ++i) labels.data()[i] = i % 3 % 2;
  const auto targets = labels.template to<D>();
  optim::Adam optimizer{p, {.lr = 0.02}};
  const double before = nn::cross_entropy(model(x), targets).item();
  for (int step = 0; step < 50; ++step) {
    optimizer.zero_grad();
    nn::cross_entropy(model(trace(x)), targets).backward();
    optimizer.step();
  }
  CHECK(nn::cross_entropy(model(x), targets).item() < before / 4);
}

TEST_CASE("a perceptron of another activation, with dropout") {
  const auto model = models::mlp<float>({3, 4, 4, 2}, {.activation = nn::Tanh{}, .dropout = 0.5});
  CHECK(model.size() == 8);
  CHECK(model[2].activation() == nn::Activation::tanh);
  CHECK(model[3].target<nn::Dropout>() != nullptr);
  const auto x = sample<float, Cpu>({2, 3});
  CHECK_CLOSE(model(x), reference(model(x)));  // plain tensors drop nothing
  CHECK(models::mlp<double>({3, 2}).size() == 2);
}

TEST_CASE("what is wrong with the sizes of a perceptron is said") {
  CHECK_THROWS_WITH_AS((void)models::mlp<float>({3}), "mlp: 1 sizes; expected the inputs' and the outputs'",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)models::mlp<float>({3, 0, 2}), "mlp: a size of 0; expected at least 1", ArgumentError);
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{3, 4, 2}, {3, 2}})
    CHECK_THROWS_AS((void)models::mlp<float>(sizes, {.dropout = 1.5}), ArgumentError);
  CHECK_THROWS_AS((void)models::mlp<float>({3, 2})(zeros({2, 4})), ShapeError);
}
