// A sum goes along the wrong axis.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Matrix2f x;
  x << 1, 2, 3, 4;
#ifdef MISTAKE
  Eigen::Vector2f columns = x.rowwise().sum();
#else
  Eigen::Vector2f columns = x.colwise().sum();
#endif
  passed();
  return verdict(columns(0) == 4);
}
