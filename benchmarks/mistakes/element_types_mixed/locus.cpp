// A large integer meets a float.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto n = from<std::int64_t>({16777217});
  const auto one = from({1});
#ifdef MISTAKE
  const Tensor y = n * one;
#else
  const Tensor y = n.as<double>() * one.as<double>();
#endif
  passed();
  return verdict(static_cast<double>(y.item()) == 16777217.);
}
