// The mean of integers.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto n = from<std::int32_t>({1, 2});
#ifdef MISTAKE
  const Tensor y = mean(n);
#else
  const Tensor y = mean(n.as<float>());
#endif
  passed();
  return verdict(static_cast<double>(y.item()) == 1.5);
}
