// backward() runs twice over one graph.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto w = variable(from({2}));
  const auto loss = sum(square(w));
  loss.backward();
#ifdef MISTAKE
  loss.backward();
#endif
  passed();
  return verdict(w.grad().item() == 4);
}
