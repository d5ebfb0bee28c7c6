// Doubles are assigned to floats.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Matrix<double, 1, 1> x(1e-50);
#ifdef MISTAKE
  Eigen::Matrix<float, 1, 1> y = x;
#else
  Eigen::Matrix<double, 1, 1> y = x;
#endif
  passed();
  return verdict(y(0) > 0);
}
