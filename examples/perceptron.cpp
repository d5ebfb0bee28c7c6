// A perceptron of 784-128-10 units learns handwritten digits in a training loop that is written out. The same in
// PyTorch: pytorch/perceptron.py.
//
//     perceptron --device cuda --data folder/of/mnist

#include "support/arguments.hpp"

#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

/// Share of the images that the model reads correctly: plain tensors, so nothing is recorded.
template <Device D>
double accuracy_of(const nn::Sequential<float, D>& model, const data::LabelledImages& digits, D device) {
  double hits = 0;
  for (const auto& [images, labels] : data::loader(digits, {.batch_size = 1000}, device))
    hits += static_cast<double>(correct(model(images), labels).item());
  return hits / static_cast<double>(digits.size());
}

template <Device D>
bool train(const data::Mnist& digits, int epochs, D device) {
  std::printf("training on %s\n", to_string(device).c_str());
  const nn::Sequential<float, D> model{nn::Flatten{}, nn::Linear<float, D>{784, 128, true, device}, nn::ReLU{},
                                       nn::Linear<float, D>{128, 10, true, device}};
  const nn::CrossEntropyLoss criterion;
  optim::Adam optimizer{model.parameters(), {.lr = 0.001}};
  auto batches = data::loader(digits.train, {.batch_size = 64, .shuffle = true}, device);  // images and labels on D

  double reached = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    Tensor<float, D> sum = zeros({}, device);  // of losses; stays on the device, so that no step waits for it
    int batch = 0;
    for (const auto& [images, labels] : batches) {
      optimizer.zero_grad();
      auto loss = criterion(model(trace(images)), labels);
      loss.backward();
      optimizer.step();
      sum += loss.value();
      if (++batch % 100 != 0) continue;
      std::printf("epoch %d, batch %4d: loss %.4f\n", epoch, batch, static_cast<double>(sum.item()) / 100);
      sum.fill_(0);
    }
    reached = accuracy_of(model, digits.test, device);
    std::printf("epoch %d: test accuracy %.2f %%\n", epoch, 100 * reached);
  }
  return reached > 0.85;
}

int main(int argc, char** argv) try {
  const Arguments given(argc, argv, {"--device", "--data", "--epochs"});
  const int epochs = given.number("--epochs", "5", 1);
  const std::string folder = given.text("--data", "");
  manual_seed(0);
  const data::MnistOptions all{.valid_fraction = 0};  // nothing is held out for validation
  const auto digits = folder.empty() ? data::Mnist::draw(20000, all) : data::Mnist::open(folder, all);
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return train(digits, epochs, device); }) ? 0
                                                                                                                 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "perceptron: %s\n", error.what());
  return 1;
}
