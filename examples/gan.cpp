// A DCGAN draws handwritten digits: a generator of transposed convolutions against a discriminator of convolutions.
// Writes a picture of 64 images before the first epoch and after each.
//
//     gan --device cuda --data folder/of/mnist --output results

#include "support/arguments.hpp"

#include <locus/io/png.hpp>
#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

constexpr std::int64_t latent = 64;

/// shape: (batch, latent, 1, 1) -> (batch, 1, 28, 28), in [-1, 1]
template <Device D>
nn::Sequential<float, D> generator(std::int64_t width, D device) {
  using Up = nn::ConvTranspose2d<float, D>;
  using Norm = nn::BatchNorm2d<float, D>;
  return {Up{latent, 2 * width, 7, {.bias = false}, device},
          Norm{2 * width, {}, device},
          nn::ReLU{},
          Up{2 * width, width, 4, {.stride = 2, .padding = 1, .bias = false}, device},
          Norm{width, {}, device},
          nn::ReLU{},
          Up{width, 1, 4, {.stride = 2, .padding = 1}, device},
          nn::Tanh{}};
}
/// shape: (batch, 1, 28, 28) -> (batch, 1), logits: positive for images taken as real
template <Device D>
nn::Sequential<float, D> discriminator(std::int64_t width, D device) {
  using Down = nn::Conv2d<float, D>;
  return {Down{1, width, 4, {.stride = 2, .padding = 1}, device},
          nn::LeakyReLU{0.2},
          Down{width, 2 * width, 4, {.stride = 2, .padding = 1, .bias = false}, device},
          nn::BatchNorm2d<float, D>{2 * width, {}, device},
          nn::LeakyReLU{0.2},
          Down{2 * width, 1, 7, {}, device},
          nn::Flatten{}};
}

/// 64 images in [-1, 1] as one picture of 8 rows.
template <Device D>
void write_picture(const std::string& path, const Tensor<float, D>& images) {
  const Tensor rows = images.reshape({8, 8, 28, 28}).permute({0, 2, 1, 3}).reshape({1, 224, 224});
  io::write_png(path, ((rows + 1.f) * 127.5f).template as<std::uint8_t>().template to<Cpu>());
}

template <Device D>
void train(const data::LabelledImages& digits, int epochs, int width, const std::string& folder, D device) {
  const auto g = generator(width, device), d = discriminator(width, device);
  for (const auto& model : {g, d})  // DCGAN's weights of convolutions
    for (const auto& [name, parameter] : model.named_parameters())
      if (parameter.rank() == 4) nn::init::normal_(parameter, 0, 0.02);
  const optim::AdamOptions options{.lr = 0.0002, .beta1 = 0.5};
  optim::Adam g_optimizer{g.parameters(), options}, d_optimizer{d.parameters(), options};
  auto batches = data::loader(digits, {.batch_size = 64, .shuffle = true, .drop_last = true}, device);
  const nn::BCEWithLogitsLoss criterion;
  const Tensor real = ones({64, 1}, device), fake = zeros({64, 1}, device);
  const Tensor fixed = randn({64, latent, 1, 1}, device);  // the same points for each picture
  write_picture(folder + "/epoch0.png", g(fixed));         // and a folder that is missing is an error now

  for (int epoch = 1; epoch <= epochs; ++epoch) {
    Tensor d_loss = zeros({}, device), g_loss = zeros({}, device);
    for (const auto& [images, labels] : batches) {
      const auto drawn = g(trace(randn({64, latent, 1, 1}, device)));
      d_optimizer.zero_grad();
      auto of_d = criterion(d(trace(images * 2.f - 1.f)), real) +
                  criterion(d(trace(drawn.value())), fake);  // PyTorch's detach(): the plain values, traced anew
      of_d.backward();
      d_optimizer.step();
      g_optimizer.zero_grad();
      auto of_g = criterion(d(drawn), real);
      of_g.backward();  // through the discriminator; its own gradients are dropped by zero_grad()
      g_optimizer.step();
      d_loss += of_d.value();
      g_loss += of_g.value();
    }
    const auto count = static_cast<double>(batches.size());
    std::printf("epoch %d: loss of the discriminator %.4f, of the generator %.4f\n", epoch,
                static_cast<double>(d_loss.item()) / count, static_cast<double>(g_loss.item()) / count);
    write_picture(join(folder, "/epoch", epoch, ".png"), g(fixed));
  }
}

int main(int argc, char** argv) try {
  const Arguments given(argc, argv, {"--device", "--data", "--epochs", "--width", "--images", "--output"});
  const int epochs = given.number("--epochs", "10", 1), width = given.number("--width", "64", 1),
            images = given.number("--images", "20000", 64);  // drawn ones
  const std::string folder = given.text("--data", ""), output = given.text("--output", ".");
  manual_seed(0);
  const data::MnistOptions all{.valid_fraction = 0};
  const auto digits = folder.empty() ? data::Mnist::draw(images, all) : data::Mnist::open(folder, all);
  with_device(device_from(argc, argv), [&]<Device D>(D device) { train(digits.train, epochs, width, output, device); });
} catch (const Error& error) {
  std::fprintf(stderr, "gan: %s\n", error.what());
  return 1;
}
