// backward() of a loss that is no number.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto w = variable(from({1, 2}));
#ifdef MISTAKE
  square(w).eval().backward();
#else
  sum(square(w)).backward();
#endif
  passed();
  return verdict(w.grad()(1) == 4);
}
