// Encodes images of digits in sixteen numbers, and reconstructs them.
//
//     autoencoder --device cpu

#include "support/arguments.hpp"

#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

/// The images as rows, without labels: a batch of one tensor is both the input and the target.
template <data::Dataset S>
auto images_of(const S& digits) {
  return data::map(digits, [](const auto& image, const auto&) { return image.reshape({784}); });
}

template <Device D>
bool train(const data::Mnist& digits, D device) {
  const auto linear = [&](std::int64_t in, std::int64_t out) { return nn::Linear<float, D>{in, out, true, device}; };
  nn::Sequential<float, D> model{linear(784, 64), nn::ReLU{}, linear(64, 16),  // the code
                                 linear(16, 64),  nn::ReLU{}, linear(64, 784)};
  optim::Adam optimizer{model.parameters(), {.lr = 0.003}};
  auto train = data::loader(images_of(digits.train), {.batch_size = 50, .shuffle = true}, device);
  auto valid = data::loader(images_of(digits.valid), {.batch_size = 500}, device);

  const nn::BCEWithLogitsLoss loss;
  const Metric error{"mean error", [](const auto& logits, const auto& x) { return mean(abs(sigmoid(logits) - x)); }};
  History history;
  const auto clip = [&] { optim::clip_grad_norm_(model.parameters(), 1.0); };
  fit(model, optimizer, loss, train, valid, history, {.epochs = 8, .before_step = clip}, error);
  std::printf("%s", history.table().c_str());
  return history.last().metric("mean error") < 0.12;
}

int main(int argc, char** argv) try {
  const Arguments checked(argc, argv, {"--device"});
  manual_seed(0);
  const auto digits = data::Mnist::draw(2500);
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return train(digits, device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "autoencoder: %s\n", error.what());
  return 1;
}
