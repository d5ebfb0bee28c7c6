// expect-error(gcc): left_holds<double>.*right_holds<float>
// expect-error(nvcc): left_holds<double>.*right_holds<float>
// expect-error(clang): different element types
// expect-error: convert_one_with_as_T|convert one with \.as<T>\(\)
#include LESSON

#include <locus/tensor/from.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&::add), Tensor<double> (*)(const Tensor<double>&, const Tensor<float>&)>,
              "add takes doubles and floats and returns doubles");

int main() {
  const Tensor<double> sum = add(from<double>({100000000.5, 0.25}), from({0.25, 2}));
  if (sum.shape() == Shape{2} && sum(0) == 100000000.75 && sum(1) == 2.25) return 0;
  std::puts("add(total, losses) is not their sum in double");
  return 1;
}
