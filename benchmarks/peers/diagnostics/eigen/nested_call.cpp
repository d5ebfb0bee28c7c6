// A vector of double, given to a function template that hands it on to another one, which computes with float.
// both: float.*double|double.*float
// remedy: (?i)cast
#include <Eigen/Core>

template <class X, class M>
Eigen::VectorXf centered(const Eigen::MatrixBase<X>& x, const Eigen::MatrixBase<M>& mean) {
  return x - mean;
}

template <class X, class M, class S>
Eigen::VectorXf standardized(const Eigen::MatrixBase<X>& x, const Eigen::MatrixBase<M>& mean,
                             const Eigen::MatrixBase<S>& deviation) {
  return centered(x, mean).cwiseQuotient(deviation);
}

Eigen::VectorXf prepared(const Eigen::VectorXf& x, const Eigen::VectorXd& mean, const Eigen::VectorXf& deviation) {
#ifdef MISTAKE
  return standardized(x, mean, deviation);
#else
  return standardized(x, mean.cast<float>(), deviation);
#endif
}
