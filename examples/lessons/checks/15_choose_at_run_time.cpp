// expect-error(gcc): left_is_on<locus::Cpu>.*right_is_on<locus::Pinned>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): left operand is on Cpu, right operand is on Pinned; move
// expect-error(nvcc): right_is_on<locus::Pinned>
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

template <class D>
using ProductOn = Tensor<float, D> (*)(D, const Tensor<float, Cpu>&, const Tensor<float, Pinned>&);
static_assert(std::is_same_v<decltype(&product_on<Cpu>), ProductOn<Cpu>>, "product_on() works on Cpu");
static_assert(std::is_same_v<decltype(&product_on<Cuda>), ProductOn<Cuda>>, "product_on() works on Cuda, too");
static_assert(std::is_same_v<decltype(&product), Tensor<float, Cpu> (*)(std::string_view, const Tensor<float, Cpu>&,
                                                                        const Tensor<float, Pinned>&)>,
              "product() takes the name of a device, weights on Cpu and a batch in pinned memory; it returns to Cpu");

int main() try {
  // Without CUDA there is no page-locked memory; ordinary memory stands in for it.
  float memory[] = {5, 6, 7};
  const Tensor<float, Pinned> x({}, memory, {3}, row_major({3}));
  const Tensor<float, Cpu> w = from({1, -2, 3}), result = product("cpu", w, x);
  if (!(result.shape() == Shape{3}) || result(0) != 5 || result(1) != -12 || result(2) != 21) {
    std::puts("{1, -2, 3} times {5, 6, 7} on \"cpu\" is not {5, -12, 21}");
    return 1;
  }
  try {
    const auto none = product("toaster", w, x);
    std::puts("there is no device \"toaster\", but product() used it");
    return 1;
  } catch (const ArgumentError&) {}
  try {
    const auto there = product("cuda", w, x);  // Without CUDA, choosing a GPU throws.
    std::puts("product() on \"cuda\" does not ask for a GPU");
    return 1;
  } catch (const CudaUnavailable&) {}
  const LaunchLog log;
  try {
    const auto there = product_on(Cuda{}, w, x);
    std::puts("product_on() on a GPU does not ask for one");
    return 1;
  } catch (const CudaUnavailable&) {}
  if (log.launches() != 0) {
    std::puts("product_on() computes on Cpu before it moves to the GPU that was chosen");
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
