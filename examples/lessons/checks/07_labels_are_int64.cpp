// expect-error(gcc): labels_hold<int>.*convert_with_as_std_int64_t
// expect-error(clang): the labels are not int64; convert with \.as<std::int64_t>\(\)
// expect-error(nvcc): convert_with_as_std_int64_t
#include LESSON

#include <locus/tensor/from.hpp>

#include <cmath>
#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(std::is_same_v<decltype(&::validation_loss),
                             Tensor<float, Cuda> (*)(const Tensor<float, Cuda>&, const Tensor<std::int32_t, Cuda>&)>,
              "validation_loss takes logits and labels of int32 on Cuda and returns a tensor on Cuda");

int main() {
  const Tensor<float> logits = from({{1, 2, 3}, {3, 1, 0}});
  const Tensor<float> right = cross_entropy(logits, from<std::int64_t>({2, 1}));
  const Tensor<float> loss = on_host::validation_loss(logits, from<std::int32_t>({2, 1}));
  if (loss.shape() == Shape{} && std::abs(loss.item() - right.item()) < 1e-5f) return 0;
  std::puts("validation_loss(logits, labels) is not the cross-entropy of these labels");
  return 1;
}
