// Scores and labels of a loss are exchanged.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> scores = ones({2, 3});
  const auto labels = from<std::int64_t>({0, 2});
#ifdef MISTAKE
  const Tensor loss = nn::cross_entropy(labels, scores);
#else
  const Tensor loss = nn::cross_entropy(scores, labels);
#endif
  passed();
  return verdict(loss.item() > 1);
}
