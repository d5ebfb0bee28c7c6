// A model is used after it was moved from.
#include <locus/locus.hpp>

#include <utility>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{2, 3}};
  auto moved = std::move(model);
#ifdef MISTAKE
  const Tensor y = model(ones({4, 2}));
#else
  const Tensor y = moved(ones({4, 2}));
#endif
  passed();
  return verdict(y.size(-1) == 3);
}
