// An operand changes before a lazy result is read.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Matrix<float, 1, 1> x(1.f);
#ifdef MISTAKE
  const auto y = 1.f * x + x;
#else
  const Eigen::Matrix<float, 1, 1> y = 1.f * x + x;
#endif
  x(0) = 5;
  passed();
  return verdict(y(0) == 2);
}
