// Training steps of ResNet-18 with the stem for images of 32 x 32, asked for by benchmarks/resnet.py line by line:
//
//   THREADS CLOCK BATCH STEPS TYPE EXACT  ->  milliseconds of the fastest of so many steps of row-major images, and of
//                                             channels-last ones
//
// forward, cross-entropy, backward and SGD with momentum, by the wall's or the processor's clock. TYPE is float32 or
// bfloat16; EXACT turns Winograd's convolutions off.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

/// One model for all lines, as in the peer.
template <class T>
class Training {
 public:
  void answer(int steps, std::int64_t batch, clockid_t clock) {
    const auto images = randn<float>({batch, 3, 32, 32}).as<T>().eval();
    std::cout << fastest_of(steps, images, clock) << ' ' << fastest_of(steps, images.channels_last(), clock)
              << std::endl;
  }

 private:
  /// In milliseconds.
  double fastest_of(int steps, const Tensor<T, Cpu>& images, clockid_t clock) {
    const std::int64_t batch = images.size(0);
    const auto labels = randint(0, 10, {batch});
    double best = 1e9;
    for (int i = 0; i <= steps; ++i) {  // the first run is a warm-up
      const double begin = bench::seconds(clock);
      optimizer_.zero_grad();
      nn::cross_entropy(model_(trace(images)), labels).backward();
      optimizer_.step();
      const double taken = bench::seconds(clock) - begin;
      if (i > 0 && taken < best) best = taken;
    }
    return 1e3 * best;
  }

  models::ResNet<T, Cpu, models::BasicBlock> model_ = models::resnet18<T>({.classes = 10, .small_images = true});
  optim::Sgd<T, Cpu> optimizer_{model_.parameters(), {.lr = 0.01, .momentum = 0.9}};
};

}  // namespace

int main() {
  Training<float> wide;
  Training<bfloat16> narrow;
  int threads = 0, steps = 0;
  std::string clock_name, type;
  std::int64_t batch = 0;
  bool exact = false;
  while (std::cin >> threads >> clock_name >> batch >> steps >> type >> exact) {
    cpu::set_max_threads(threads);
    cpu::allow_winograd(!exact);
    const clockid_t clock = bench::clock_called(clock_name);
    if (type == "float32") wide.answer(steps, batch, clock);
    else narrow.answer(steps, batch, clock);
  }
}
