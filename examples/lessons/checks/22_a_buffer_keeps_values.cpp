// expect-error: the_operand_is_traced_and_its_gradient_would_be_lost|the operand is traced, and its gradient would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include LESSON

#include <cstdio>

static_assert(
    std::is_same_v<decltype(&train), Traced<float, Cuda> (*)(const Centered<Cuda>&, const Traced<float, Cuda>&)>,
    "train() calls a layer on Cuda with a traced input on Cuda");

int main() try {
  const Centered<Cpu> layer{2};
  if (layer.buffers().size() != 1 || !layer.parameters().empty()) {
    std::puts("the layer lists other members than its average, a buffer");
    return 1;
  }
  const auto x = variable(from({{1, 3}, {3, 5}}));
  const Traced<float, Cpu> y = layer(x);
  const Tensor<float, Cpu> average = layer.average.value();
  if (average(0) != 0.1f * 2 || average(1) != 0.1f * 4) {
    std::printf("after a batch with the means 2 and 4 the average is %g, %g; expected 0.2, 0.4\n", average(0),
                average(1));
    return 1;
  }
  sum(y).backward();
  const Tensor<float, Cpu> gradient = x.grad();
  if (y.value()(0, 0) != 1 - average(0) || gradient(0, 0) != 1 || gradient(1, 1) != 1) {
    std::puts("what the layer returns is not its input less the average, or its gradient is not 1");
    return 1;
  }
  (void)layer(x.value());
  if (average(0) != 0.1f * 2) {
    std::puts("an input that is not traced moves the average");
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
