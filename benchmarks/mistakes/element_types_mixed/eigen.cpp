// A large integer meets a float.
#include <Eigen/Dense>

#include "verdict.hpp"

int main() {
  Eigen::Array<long, 1, 1> n(16777217L);
  Eigen::Array<float, 1, 1> one(1.f);
#ifdef MISTAKE
  auto y = (n * one).eval();
#else
  auto y = (n.cast<double>() * one.cast<double>()).eval();
#endif
  passed();
  return verdict(static_cast<double>(y(0)) == 16777217.);
}
