// A model is used after it was moved from.
#include <Eigen/Dense>

#include <utility>

#include "verdict.hpp"

int main() {
  Eigen::MatrixXf w = Eigen::MatrixXf::Ones(2, 3);
  Eigen::MatrixXf moved = std::move(w);
#ifdef MISTAKE
  const Eigen::MatrixXf y = Eigen::MatrixXf::Ones(4, 2) * w;
#else
  const Eigen::MatrixXf y = Eigen::MatrixXf::Ones(4, 2) * moved;
#endif
  passed();
  return verdict(y.cols() == 3);
}
