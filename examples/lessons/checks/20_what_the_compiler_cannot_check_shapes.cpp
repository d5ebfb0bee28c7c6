// expect-output: 3 of 4 rows are right, but the share is 0\.\d+; expected 0\.75
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&hits), float (*)(const Tensor<float>&, const Tensor<std::int64_t>&)>,
              "hits() takes scores and labels on Cpu, and returns a number");

int main() try {
  const Tensor<float> scores = from({{9, 1, 0}, {1, 9, 0}, {0, 9, 1}, {9, 1, 0}});
  const Tensor<std::int64_t> labels = from<std::int64_t>({{0}, {1}, {1}, {2}}),
                             none = from<std::int64_t>({{1}, {2}, {0}, {2}});
  if (const float share = hits(scores, labels); share != 0.75f) {
    std::printf("3 of 4 rows are right, but the share is %g; expected 0.75\n", share);
    return 1;
  }
  if (const float share = hits(scores, none); share != 0) {
    std::printf("no row is right, but the share is %g; expected 0\n", share);
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
