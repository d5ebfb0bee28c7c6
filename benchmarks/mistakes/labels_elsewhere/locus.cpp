// Labels on another device than the scores.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> scores = ones({2, 3});
  Tensor<std::int64_t, Other> labels = from<std::int64_t>({0, 2}).to<Other>();
  Tensor loss = cross_entropy(scores, labels);
  passed();
  return verdict(loss.item() > 1);
}
