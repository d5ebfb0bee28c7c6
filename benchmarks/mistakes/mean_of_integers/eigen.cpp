// The mean of integers.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Vector2i n(1, 2);
#ifdef MISTAKE
  auto y = n.mean();
#else
  auto y = n.cast<float>().mean();
#endif
  passed();
  return verdict(static_cast<double>(y) == 1.5);
}
