// A new shape has another number of elements.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::MatrixXf x = Eigen::MatrixXf::Ones(2, 3);
#ifdef MISTAKE
  Eigen::MatrixXf y = x.reshaped(4, 2);
#else
  Eigen::MatrixXf y = x.reshaped(3, 2);
#endif
  passed();
  return verdict(y.size() == 6);
}
