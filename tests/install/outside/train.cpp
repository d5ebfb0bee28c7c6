// A user's program that trains a model and saves it to a file; with the compiled library, it instantiates few of the
// templates that it uses.
#include <cstdio>
#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>

using namespace locus;

int main(int, char** arguments) {
  const char* const file = arguments[1];
  const auto make = [] {
    return nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{8, 16}, nn::ReLU{}, nn::Linear<float, Cpu>{16, 3}};
  };
  const auto model = make(), loaded = make();
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  const auto images = randn({64, 8});
  const data::Batch<float, Cpu> batch{images, argmax(images.slice(1, 0, 3), 1)};
  float first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    last = train_step(model, optimizer, batch).item();
    if (step == 0) first = last;
  }
  std::printf("loss %.3f, then %.3f\n", static_cast<double>(first), static_cast<double>(last));
  io::save(file, nn::state_dict(model));
  nn::load_state_dict(loaded, io::load(file));
  const bool same = sum(abs(loaded(images) - model(images))).item() == 0;
  return same && last < first / 2 ? 0 : 1;
}
