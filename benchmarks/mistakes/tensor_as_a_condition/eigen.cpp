// Two tensors are compared in an if.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Vector2f a(1, 2), b(1, 3);
  bool equal = false;
#ifdef MISTAKE
  if (a == b) equal = true;
#else
  if (a.isApprox(b)) equal = true;
#endif
  passed();
  return verdict(!equal);
}
