// Adding float to double.
// both: float.*double|double.*float
// remedy: (?i)cast
#include <Eigen/Core>

Eigen::VectorXf add(const Eigen::VectorXf& x, const Eigen::VectorXd& y) {
#ifdef MISTAKE
  return x + y;
#else
  return x + y.cast<float>();
#endif
}
