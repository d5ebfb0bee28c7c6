// Sums of exponentials over rows that no block holds: one reduction gives the result of two.

#include <locus/autograd/traced.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/softmax.hpp>

#include <support/reference.hpp>

#include <limits>

using namespace locus;
using locus_test::reference;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t rows = 7, labels[rows] = {0, 5, 100, 3, 2, 1, 0};

/// Rows that grow, that shrink, that are equal; with infinities, with NaN, with none but -infinity.
Tensor<float> logits(std::int64_t cols) {
  const auto x = locus_test::sample<float, Cpu>({rows, cols}, 3, -3, 3);
  for (std::int64_t c = 0; c < cols; ++c) {
    x(1, c) += static_cast<float>(c) * 0.01f;
    x(2, c) -= static_cast<float>(c) * 0.01f;
    x(3, c) = 1e6f;
    x(6, c) = -infinity;
  }
  x(1, 7) = x(1, cols - 1) = -infinity;
  x(4, cols / 2) = infinity;
  x(5, 9) = std::numeric_limits<float>::quiet_NaN();
  return x;
}

/// softmax, its logarithm, logsumexp and the losses of the rows.
template <class T, class D>
std::vector<locus_test::Reference> results(const Tensor<T, D>& x) {
  const Tensor<std::int64_t> classes({rows});
  std::copy(labels, labels + rows, classes.data());
  const auto loss = cross_entropy(x, classes.to<D>(), {.reduction = Reduction::none});
  return {reference(softmax(x, 1)), reference(log_softmax(x, 1)), reference(logsumexp(x, 1)), reference(loss)};
}

template <class T>
void check(std::int64_t cols, double tolerance) {
  const Tensor<T> x = logits(cols).template as<T>();
  const auto expected = results<double, Cpu>(x.template as<double>()), found = results<T, Cuda>(x.template to<Cuda>());
  for (std::size_t i = 0; i < expected.size(); ++i)
    locus_test::check_empty(locus_test::difference_of(found[i], expected[i], tolerance), __FILE__, __LINE__);
}

long barriers_of_softmax(std::int64_t cols) {
  const auto x = locus_test::sample<float, Cuda>({2, cols}, 1);
  const long before = simulated::block_barriers;
  (void)softmax(x, 1);
  return simulated::block_barriers - before;
}
}  // namespace

TEST_CASE("softmax, logsumexp and cross_entropy of rows in the workspace are those of float64 on Cpu") {
  simulated::architecture = 80;  // a block per row, however long
  check<float>(70003, 2e-5);
  check<double>(40003, 1e-10);
  check<half>(70000, 2e-2);
  CHECK(barriers_of_softmax(40000) == 2 * 2);
  CHECK(barriers_of_softmax(70000) == 2 * 1);
}

TEST_CASE("and those of long rows on chip") {
  simulated::architecture = 80;
  check<float>(8192, 2e-5);
  check<float>(6004, 2e-5);
  check<float>(8191, 2e-5);  // in memory; rows begin between vectors, which some have room for
  check<double>(4100, 1e-10);
  check<half>(5000, 2e-2);
  check<half>(1000, 2e-3);  // in registers
  check<bfloat16>(9000, 2e-2);
  check<bfloat16>(300, 1e-2);
  CHECK(barriers_of_softmax(8192) == 2 * 2);
}
