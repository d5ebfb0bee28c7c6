// Two tensors of other extents are added.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::VectorXf x = Eigen::VectorXf::Ones(3);
#ifdef MISTAKE
  Eigen::VectorXf y = Eigen::VectorXf::Ones(4);
#else
  Eigen::VectorXf y = Eigen::VectorXf::Ones(3);
#endif
  Eigen::VectorXf z = x + y;
  passed();
  return verdict(z.sum() == 6);
}
