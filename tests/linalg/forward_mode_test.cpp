// Runs on: host; alone.
// Functions of matrices on duals.
#include <locus/linalg/forward_mode.hpp>
#include <locus/locus.hpp>

#include <support/derivative_case.hpp>

using namespace locus;
using locus_test::wave, locus_test::Real;

namespace {
/// Not singular: 3 more on the diagonal.
Real regular() {
  const Real a = wave({3, 3}, 1);
  a.diagonal() += 3;
  return a;
}
}  // namespace

TEST_CASE("functions of matrices of duals") {
  LOCUS_GOLDEN_CASE("solve", linalg::solve(x, y), regular(), wave({3, 2}, 2));
  LOCUS_CASE(linalg::solve(x, y), regular(), wave({3}, 2));
  LOCUS_GOLDEN_CASE("inv", linalg::inv(x), regular());
  LOCUS_GOLDEN_CASE("det", linalg::det(x), regular());
  LOCUS_GOLDEN_CASE("cholesky", linalg::cholesky(matmul(x, x.transpose())), regular());
}
