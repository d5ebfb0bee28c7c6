// A column of predictions meets a row of targets in a loss.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> prediction = from({1, 2, 3}).reshape({3, 1});
#ifdef MISTAKE
  const Tensor<float> target = from({1, 2, 3});
#else
  const Tensor<float> target = from({1, 2, 3}).reshape({3, 1});
#endif
  const Tensor loss = nn::mse_loss(prediction, target);
  passed();
  return verdict(loss.item() == 0);
}
