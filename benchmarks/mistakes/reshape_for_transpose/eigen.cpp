// A matrix is reshaped where it should be transposed.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Matrix<float, 2, 3> x;
  x << 1, 2, 3, 4, 5, 6;
#ifdef MISTAKE
  Eigen::Matrix<float, 3, 2> y = x.reshaped(3, 2);
#else
  Eigen::Matrix<float, 3, 2> y = x.transpose();
#endif
  passed();
  return verdict(y(0, 1) == 4);
}
