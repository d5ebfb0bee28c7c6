// A program of somebody else that trains; with the compiled library it compiles little of what it uses.
#include <cstdio>
#include <locus/locus.hpp>

using namespace locus;

int main() {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{8, 16}, nn::ReLU{}, nn::Linear<float, Cpu>{16, 3}};
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  const auto images = randn({64, 8});
  const data::Batch<float, Cpu> batch{images, argmax(images.slice(1, 0, 3), 1)};
  float first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    last = train_step(model, optimizer, batch).item();
    if (step == 0) first = last;
  }
  std::printf("loss %.3f, then %.3f\n", static_cast<double>(first), static_cast<double>(last));
  return last < first / 2 ? 0 : 1;
}
