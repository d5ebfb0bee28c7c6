// Integers are to collect a gradient.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
#ifdef MISTAKE
  const auto w = variable(from<std::int64_t>({2}));
#else
  const auto w = variable(from({2}));
#endif
  passed();
  sum(square(w)).backward();
  return verdict(w.grad().item() == 4);
}
