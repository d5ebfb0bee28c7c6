// The inner extents of a matrix product differ.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Matrix<float, 2, 3> a = Eigen::Matrix<float, 2, 3>::Ones();
#ifdef MISTAKE
  Eigen::Matrix<float, 4, 5> b = Eigen::Matrix<float, 4, 5>::Ones();
#else
  Eigen::Matrix<float, 3, 5> b = Eigen::Matrix<float, 3, 5>::Ones();
#endif
  Eigen::Matrix<float, 2, 5> y = a * b;
  passed();
  return verdict(y.sum() == 30);
}
