// Logistic regression on handwritten digits: one linear layer and a softmax, trained by fit() and judged by evaluate().
// The same in PyTorch, where fit() and evaluate() are written by hand: pytorch/logistic.py.
//
//     logistic --device cuda --data folder/of/mnist

#include "support/arguments.hpp"

#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

template <Device D>
bool train(const data::Mnist& digits, int epochs, D device) {
  const nn::Sequential<float, D> model{nn::Flatten{}, nn::Linear<float, D>{784, 10, true, device}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.001}};
  auto train = data::loader(digits.train, {.batch_size = 128, .shuffle = true}, device);
  auto valid = data::loader(digits.valid, {.batch_size = 256}, device);

  const Evaluation before = evaluate(model, valid);  // cross-entropy, which has the softmax in it, and accuracy
  std::printf("before training: loss %.4f, accuracy %.2f %%\n", before.loss, 100 * before.accuracy);
  History history;
  fit(model, optimizer, train, valid, history, {.epochs = epochs});
  std::printf("%s", history.table().c_str());

  const Evaluation test = evaluate(model, digits.test, device);
  std::printf("test images: loss %.4f, accuracy %.2f %%\n", test.loss, 100 * test.accuracy);
  return test.accuracy > before.accuracy + 0.3;
}

int main(int argc, char** argv) try {
  const Arguments given(argc, argv, {"--device", "--data", "--epochs"});
  const int epochs = given.number("--epochs", "20", 1);
  const std::string folder = given.text("--data", "");
  manual_seed(0);
  const data::MnistOptions split{.valid_fraction = 1. / 6};  // 50,000 images of MNIST to train with, 10,000 to validate
  const auto digits = folder.empty() ? data::Mnist::draw(24000, split) : data::Mnist::open(folder, split);
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return train(digits, epochs, device); }) ? 0
                                                                                                                 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "logistic: %s\n", error.what());
  return 1;
}
