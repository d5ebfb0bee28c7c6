// Labels are floats.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> scores = ones({2, 3});
#ifdef MISTAKE
  const auto labels = from({0, 2});
#else
  const auto labels = from<std::int64_t>({0, 2});
#endif
  const Tensor loss = cross_entropy(scores, labels);
  passed();
  return verdict(loss.item() > 1);
}
