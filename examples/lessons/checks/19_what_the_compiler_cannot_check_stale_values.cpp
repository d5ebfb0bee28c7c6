// expect-output: was modified in place after an expression used it and before the expression was computed
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&update<Cpu>),
                             Tensor<float, Cpu> (*)(const Tensor<float, Cpu>&, const Tensor<float, Cpu>&)>,
              "update() takes weights and a change on one device, and returns a tensor there");

int main() try {
  const Tensor<float, Cpu> weights = from({1, 2, 4}), change = from({1, 1, -1});
  const Tensor<float, Cpu> relative = update(weights, change);
  if (weights(0) != 2 || weights(1) != 3 || weights(2) != 3) {
    std::puts("the change was not added to the weights in place");
    return 1;
  }
  if (!(relative.shape() == Shape{3}) || relative(0) != 1 || relative(1) != 0.5f || relative(2) != -0.25f) {
    std::puts("the result is not the change divided by the weights before it");
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
