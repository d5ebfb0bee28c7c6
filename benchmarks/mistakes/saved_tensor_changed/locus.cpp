// A tensor is changed that the backward pass needs.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto w = variable(from({2}));
  Tensor<float> x = from({3});
  const auto loss = sum(w * x);
#ifdef MISTAKE
  x.fill_(0);
#endif
  passed();
  loss.backward();
  return verdict(w.grad().item() == 3);
}
