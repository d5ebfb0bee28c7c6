// An element is read past the end.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Vector3f x(1, 2, 3);
#ifdef MISTAKE
  const float last = x(3);
#else
  const float last = x(2);
#endif
  passed();
  return verdict(last == 3);
}
