// expect-error(gcc): operation_on_parameters_alone.*say_trace_w_or_w_value_or_seen_by_x_w
// expect-error(clang): parameter.*say trace\(w\), w\.value\(\) or seen_by\(x, w\)
// expect-error(nvcc): say_trace_w_or_w_value_or_seen_by_x_w
// lines: 14
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&penalty), Traced<float, Cpu> (*)(const Parameter<float, Cpu>&, float)>,
              "penalty() takes a parameter and a number, and returns a traced tensor");

int main() try {
  const Parameter w{from({1, -2, 3})};
  const Traced<float, Cpu> cost = penalty(w, 0.5f);
  if (cost.elements() != 1 || cost.item() != 7) {
    std::puts("half of the sum of the squares of 1, -2 and 3 is not 7");
    return 1;
  }
  if (!cost.requires_gradient()) {
    std::puts("the penalty has the right value, but no gradient comes back from it");
    return 1;
  }
  cost.backward();
  for (int i = 0; i < 3; ++i) {
    if (w.grad()(i) == w.value()(i)) continue;
    std::printf("the gradient of weight %d is %g; expected %g\n", i, w.grad()(i), w.value()(i));
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
