// A network learns on Cuda what it learns on Cpu, step by step, at the promised cost.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <locus/locus.hpp>
#include <support/skip.hpp>
#include <vector>

namespace {
using namespace locus;

struct Steps {
  std::vector<float> losses;
  std::int64_t most_launches = 0, system_allocations_after_first = 0;
};

template <Device D>
Steps train(const data::Mnist& digits, int count, D device) {
  manual_seed(7);
  const nn::Sequential<float, D> model{nn::Flatten{}, nn::Linear<float, D>{784, 32, true, device}, nn::ReLU{},
                                       nn::Linear<float, D>{32, 10, true, device}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
  Steps steps;
  std::int64_t allocations = 0;
  for (const auto& batch : data::loader(digits.train, {.batch_size = 100, .shuffle = true, .seed = 7}, device)) {
    const LaunchLog log;
    const auto loss = train_step(model, optimizer, batch);
    steps.most_launches = std::max(steps.most_launches, log.launches());
    steps.losses.push_back(loss.item());
    const MemoryStats memory = Backend<D>::memory_stats(device);
    if (steps.losses.size() == 1) allocations = memory.system_allocations;
    steps.system_allocations_after_first = memory.system_allocations - allocations;
    if (static_cast<int>(steps.losses.size()) == count) break;
  }
  return steps;
}

TEST_CASE("100 steps of the digits' perceptron: the losses of Cpu, 12 launches each, no new memory") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const int count = 100;
  const auto digits = data::Mnist::draw(13000, {.seed = 7});
  const Steps cpu = train(digits, count, Cpu{}), gpu = train(digits, count, Cuda{});
  REQUIRE(gpu.losses.size() == static_cast<std::size_t>(count));
  REQUIRE(cpu.losses.size() == gpu.losses.size());
  for (std::size_t i = 0; i < gpu.losses.size(); ++i) {
    INFO("step ", i);
    CHECK(std::abs(gpu.losses[i] - cpu.losses[i]) < 1e-3f);
  }
  CHECK(gpu.losses.back() < 0.5f * gpu.losses.front());
  CHECK(gpu.most_launches <= 12);
  CHECK(gpu.system_allocations_after_first == 0);
}

}  // namespace
