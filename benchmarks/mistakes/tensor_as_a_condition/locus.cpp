// Two tensors are compared in an if.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const auto a = from({1, 2}), b = from({1, 3});
  bool equal = false;
#ifdef MISTAKE
  if (a == b) equal = true;
#else
  if (all(a == b).item()) equal = true;
#endif
  passed();
  return verdict(!equal);
}
