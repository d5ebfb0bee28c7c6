// A column is subtracted from a row.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::RowVector3f x(1, 2, 3);
#ifdef MISTAKE
  Eigen::Vector3f y(1, 2, 3);
#else
  Eigen::RowVector3f y(1, 2, 3);
#endif
  const float distance = (x - y).squaredNorm();
  passed();
  return verdict(distance == 0);
}
