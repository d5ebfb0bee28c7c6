// Runs on: host, cuda (linalg).
// Linear algebra against PyTorch, products of factors, and finite differences.

#if LOCUS_WITHOUT_LAPACK
#include <doctest/doctest.h>

#include <support/skip.hpp>

TEST_CASE("linear algebra") { SKIP_TEST("needs LAPACK: the library was not found (liblapack-dev)"); }
#else

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/linalg/linalg.hpp>
#include <locus/tensor/factory.hpp>

#include <limits>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

using namespace locus;
using locus_test::contains;
using locus_test::message_of;
using locus_test::reference;
using locus_test::sample;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinite = std::numeric_limits<double>::infinity();
}  // namespace

namespace {

template <class D>
auto leaf(const char* name) {
  return variable(golden::tensor<double, D>(std::string("linalg_") + name));
}

/// The largest magnitude, as a number of the host.
template <class T, class D>
double largest(const Tensor<T, D>& x) {
  return x.empty() ? 0 : static_cast<double>(max(abs(x)).item());
}
template <class T, class D>
Tensor<T, D> identity(std::int64_t n) {
  return eye<T>(n, D{});
}

/// Views of some shape: dense, with exchanged dimensions, and of every other row and column.
template <class T, class D>
std::vector<Tensor<T, D>> views(std::int64_t m, std::int64_t n) {
  return {sample<T, D>({2, m, n}, 1), sample<T, D>({n, m}, 2).transpose(),
          sample<T, D>({3, 2 * m, 2 * n}, 3).slice(-2, 1, to_end, 2).slice(-1, 0, to_end, 2)};
}

template <class T>
constexpr double allowed = std::is_same_v<T, float> ? 5e-6 : 1e-13;

template <class T, class D>
void check_factors(std::int64_t m, std::int64_t n) {
  const std::int64_t k = std::min(m, n);
  for (const auto& x : views<T, D>(m, n)) {
    CAPTURE(to_string(x.shape()));
    const auto [q, r] = linalg::qr(x);
    CHECK(largest(Tensor<T, D>(matmul(q, r) - x)) < allowed<T>);
    CHECK(largest(Tensor<T, D>(matmul(q.transpose(), q) - identity<T, D>(k))) < allowed<T>);
    CHECK(largest(tril(r, -1)) == 0);
    const auto [u, s, vh] = linalg::svd(x);
    CHECK(largest(Tensor<T, D>(matmul(u * s.unsqueeze(-2), vh) - x)) < allowed<T>);
    CHECK(largest(Tensor<T, D>(matmul(vh, vh.transpose()) - identity<T, D>(k))) < allowed<T>);
    CHECK_CLOSE(linalg::svdvals(x), reference(s));
    const auto full = linalg::svd(x, {.full_matrices = true});
    CHECK(largest(Tensor<T, D>(matmul(full.u.transpose(), full.u) - identity<T, D>(m))) < allowed<T>);
    CHECK(largest(Tensor<T, D>(matmul(full.vh, full.vh.transpose()) - identity<T, D>(n))) < allowed<T>);
    const Tensor<T, D> part = matmul(full.u.slice(-1, 0, k) * full.s.unsqueeze(-2), full.vh.slice(-2, 0, k));
    CHECK(largest(Tensor<T, D>(part - x)) < allowed<T>);
  }
}

template <class T, class D>
void check_square(std::int64_t n) {
  for (const auto& x : views<T, D>(n, n)) {
    CAPTURE(to_string(x.strides()));
    const Tensor<T, D> regular = x + identity<T, D>(n) * T(3), b = sample<T, D>({n, 2}, 4);
    const Tensor<T, D> view = regular.transpose();  // rows and columns exchanged in memory
    CHECK(largest(Tensor<T, D>(matmul(view, linalg::solve(view, b)) - b)) < allowed<T>);
    CHECK(largest(Tensor<T, D>(matmul(linalg::inv(view), view) - identity<T, D>(n))) < allowed<T>);
    const Tensor<T, D> positive = matmul(regular, view), l = linalg::cholesky(positive);
    CHECK(largest(Tensor<T, D>(matmul(l, l.transpose()) - positive)) < 30 * allowed<T>);
    CHECK(largest(triu(l, 1)) == 0);
    const Tensor<T, D> symmetric = x + x.transpose();
    const auto [values, vectors] = linalg::eigh(symmetric);
    CHECK(largest(Tensor<T, D>(matmul(symmetric, vectors) - vectors * values.unsqueeze(-2))) < allowed<T>);
    CHECK(largest(Tensor<T, D>(matmul(vectors.transpose(), vectors) - identity<T, D>(n))) < allowed<T>);
    CHECK(all(values.slice(-1, 1) >= values.slice(-1, 0, -1)).item());
    CHECK_CLOSE(linalg::eigvalsh(tril(symmetric)), reference(values));  // the upper triangle is not read
  }
}

}  // namespace

LOCUS_DEVICE_TEST("solve, inv, det and cholesky and their gradients agree with PyTorch", D) {
  const auto a = leaf<D>("a"), b = leaf<D>("b");
  CHECK_GOLDEN("linalg_solve", linalg::solve(a, b), ({"a", "b"}), a, b);
  const auto one = leaf<D>("one"), many = leaf<D>("many");
  CHECK_GOLDEN("linalg_solve_many", linalg::solve(one, many), ({"a", "b"}), one, many);
  const auto again = leaf<D>("one"), v = leaf<D>("v");
  CHECK_GOLDEN("linalg_solve_vector", linalg::solve(again, v), ({"a", "b"}), again, v);
  const auto x = leaf<D>("a"), y = leaf<D>("a"), z = leaf<D>("a"), positive = leaf<D>("positive");
  CHECK_GOLDEN("linalg_inv", linalg::inv(x), ({"x"}), x);
  CHECK_GOLDEN("linalg_det", linalg::det(y), ({"x"}), y);
  const auto [sign, log] = linalg::slogdet(z);
  CHECK_CLOSE(sign, golden::reference("linalg_slogdet_sign"));
  CHECK_GOLDEN("linalg_slogdet", log, ({"x"}), z);
  CHECK_GOLDEN("linalg_cholesky", linalg::cholesky(positive), ({"x"}), positive);
}

LOCUS_DEVICE_TEST("matrix_norm and its gradients agree with PyTorch", D) {
  const std::pair<const char*, linalg::MatrixNorm> norms[] = {
      {"fro", "fro"}, {"nuc", "nuc"}, {"1", 1}, {"2", 2}, {"inf", infinite}, {"least_2", -2}, {"least_1", -1}};
  for (const auto& each : norms) {
    CAPTURE(each.first);
    const auto x = leaf<D>("wide");
    CHECK_GOLDEN(std::string("linalg_norm_") + each.first, linalg::matrix_norm(x, each.second), ({"x"}), x);
  }
  CHECK_THROWS_WITH_AS((void)linalg::matrix_norm(ones<double, D>({2, 2}), 3), doctest::Contains("order 3"),
                       ArgumentError);
  CHECK_THROWS_AS((void)linalg::matrix_norm(ones<double, D>({2, 2}), "two"), ArgumentError);
  CHECK_THROWS_AS((void)linalg::matrix_norm(ones<double, D>({2})), ShapeError);
}

LOCUS_DEVICE_TEST("factors of matrices of any stride multiply to them", D) {
  check_factors<double, D>(3, 5);
  check_factors<double, D>(5, 3);
  check_square<double, D>(4);
  check_square<double, D>(1);
#if !LOCUS_SIMULATED_CUDA  // which would only compile the same again
  check_factors<float, D>(4, 2);
  check_square<float, D>(4);
#endif
  const auto wide = golden::tensor<double, D>("linalg_wide"), positive = golden::tensor<double, D>("linalg_positive");
  CHECK_CLOSE(linalg::qr(wide).r, golden::reference("linalg_r"), 1e-10);
  CHECK_CLOSE(linalg::svdvals(wide), golden::reference("linalg_singular_values"), 1e-10);
  CHECK_CLOSE(linalg::eigvalsh(positive), golden::reference("linalg_eigenvalues"), 1e-10);
}

LOCUS_DEVICE_TEST("many small matrices are factored as each alone", D) {
  const auto x = sample<double, D>({300, 3, 3}, 5);
  const Tensor<double, D> inverses = linalg::inv(x);
  for (const std::int64_t i : {0, 123, 299})
    CHECK_CLOSE(inverses.select(0, i), reference(linalg::inv(x.select(0, i))), 0);
}

LOCUS_DEVICE_TEST("lstsq is NumPy's, also of matrices without full rank", D) {
  const auto a = golden::tensor<double, D>("linalg_wide").transpose(), b = golden::tensor<double, D>("linalg_right");
  const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
  CHECK_CLOSE(x, golden::reference("linalg_solution"), 1e-10);
  CHECK_CLOSE(s, golden::reference("linalg_singular_values"), 1e-10);
  CHECK_CLOSE(rank, {3, 3});
  const Tensor<double, D> rest = matmul(a, x) - b;
  CHECK_CLOSE(residuals, reference(sum(rest * rest, -2)), 1e-12);
  // Of x + 2 y = 5, twice, the least solution is (1, 2).
  const auto repeated = locus_test::tensor<double, D>({2, 2}, {1, 2, 1, 2}),
             five = locus_test::tensor<double, D>({2}, {5, 5});
  const auto least = linalg::lstsq(repeated, five);
  CHECK_CLOSE(least.solution, {1, 2}, 1e-12);
  CHECK_CLOSE(least.rank, 1);
  CHECK(least.residuals.item() < 1e-18);
  CHECK_CLOSE(linalg::lstsq(locus_test::tensor<double, D>({2, 2}, {1, 0, 0, 0.5}), five, {.rcond = 0.6}).solution,
              {5, 0}, 1e-12);
  CHECK_THROWS_AS((void)linalg::lstsq(repeated, five, {.rcond = not_a_number}), ArgumentError);
  CHECK_THROWS_AS((void)linalg::lstsq(repeated, ones<double, D>({3})), ShapeError);
}

LOCUS_DEVICE_TEST("determinants of singular matrices are 0, and their gradients the cofactors", D) {
  // The third row is twice the second minus the first: a matrix of rank 2 and its cofactors.
  const auto x = variable(locus_test::tensor<double, D>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto d = linalg::det(x);
  CHECK(std::abs(d.item()) < 1e-14);
  d.backward();
  CHECK_CLOSE(x.grad(), {{3, 3}, {-3, 6, -3, 6, -12, 6, -3, 6, -3}}, 1e-12);
  // Pivots that are 0 exactly: one, and all of them.
  const auto one = variable(locus_test::tensor<double, D>({2, 2, 2}, {1, 2, 2, 4, 0, 0, 0, 0}));
  linalg::det(one).backward(ones<double, D>({2}));
  CHECK_CLOSE(one.grad(), {{2, 2, 2}, {4, -2, -2, 1, 0, 0, 0, 0}}, 1e-15);
  const auto exchanged = locus_test::tensor<double, D>({2, 2}, {0, 1, 1, 0});
  CHECK_CLOSE(linalg::det(exchanged), -1);
  CHECK_CLOSE(linalg::slogdet(exchanged).sign, -1);
  const auto none = linalg::slogdet(zeros<double, D>({2, 2}));
  CHECK_CLOSE(none.sign, 0);
  CHECK(none.logabsdet.item() == -std::numeric_limits<double>::infinity());
}

LOCUS_DEVICE_TEST("empty matrices and batches are those of NumPy", D) {
  const auto none = ones<double, D>({0, 0}), batch = ones<double, D>({0, 3, 3}), flat = ones<double, D>({2, 0, 3});
  CHECK_CLOSE(linalg::det(none), 1);
  CHECK_CLOSE(linalg::slogdet(none).logabsdet, 0);
  CHECK(linalg::inv(none).shape() == Shape{0, 0});
  CHECK(linalg::solve(none, ones<double, D>({0, 2})).shape() == Shape{0, 2});
  CHECK(linalg::solve(batch, ones<double, D>({3, 2})).shape() == Shape{0, 3, 2});
  CHECK(linalg::solve(ones<double, D>({2, 0, 0}), ones<double, D>({0})).shape() == Shape{2, 0});
  CHECK(linalg::det(batch).shape() == Shape{0});
  CHECK(linalg::cholesky(batch).shape() == Shape{0, 3, 3});
  CHECK(linalg::eigh(none).values.shape() == Shape{0});
  CHECK(linalg::qr(flat).q.shape() == Shape{2, 0, 0});
  CHECK(linalg::qr(flat).r.shape() == Shape{2, 0, 3});
  const auto [u, s, vh] = linalg::svd(flat, {.full_matrices = true});
  CHECK(u.shape() == Shape{2, 0, 0});
  CHECK(s.shape() == Shape{2, 0});
  CHECK_CLOSE(vh, reference(Tensor<double, D>(eye<double>(3, D{}).expand({2, 3, 3}))));
  CHECK_CLOSE(linalg::lstsq(flat, ones<double, D>({2, 0, 1})).solution, reference(zeros<double, D>({2, 3, 1})));
  CHECK_CLOSE(linalg::matrix_norm(flat), {0, 0});
  CHECK_CLOSE(linalg::matrix_norm(flat, "nuc"), {0, 0});
  CHECK_THROWS_AS((void)linalg::matrix_norm(flat, 2), ShapeError);
  const auto x = variable(none);
  linalg::det(x).backward();
  CHECK(x.grad().shape() == Shape{0, 0});
}

LOCUS_DEVICE_TEST("what cannot be computed is refused by name, matrix and pivot", D) {
  const Tensor<double, D> x = eye<double>(3, D{}).expand({2, 2, 3, 3}).clone();
  x.select(0, 1).select(0, 0).select(0, 2).copy_(x.select(0, 1).select(0, 0).select(0, 1));
  const auto singular = message_of<NumericError>([&] { (void)linalg::inv(x); });
  CHECK(contains(singular, "linalg::inv: matrix (1, 0) of the batch of shape (2, 2, 3, 3) is singular: pivot 2 is 0"));
  CHECK(contains(singular, "linalg::lstsq"));
  CHECK_THROWS_WITH_AS((void)linalg::solve(zeros<double, D>({2, 2}), ones<double, D>({2})),
                       doctest::Contains("linalg::solve: the matrix of shape (2, 2) is singular: pivot 0"),
                       NumericError);
  const auto indefinite = locus_test::tensor<double, D>({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 1});
  CHECK_THROWS_WITH_AS(
      (void)linalg::cholesky(indefinite),
      doctest::Contains("matrix (1,) of the batch of shape (2, 2, 2) is not positive definite: pivot 1"), NumericError);

  const auto unknown = full<double, D>({2, 2}, not_a_number), endless = full<double, D>({2, 2}, infinite);
  CHECK_THROWS_WITH_AS((void)linalg::eigh(unknown), doctest::Contains("linalg::eigh: the matrix"), NumericError);
  CHECK_THROWS_WITH_AS((void)linalg::svd(endless), doctest::Contains("NaN or infinity"), NumericError);
  CHECK_THROWS_AS((void)linalg::lstsq(unknown, ones<double, D>({2})), NumericError);
  CHECK_THROWS_AS((void)linalg::matrix_norm(unknown, "nuc"), NumericError);
  // Where nothing iterates, NaN goes through, and a matrix that holds some is not positive definite.
  const auto partly = locus_test::tensor<double, D>({2, 2, 2}, {1, 0, 0, not_a_number, 1, 0, 0, 1});
  for (const auto& y : {unknown, partly}) {
    CHECK(std::isnan(sum(linalg::det(y)).item()));
    CHECK(std::isnan(sum(linalg::slogdet(y).sign).item()));
    CHECK(std::isnan(sum(linalg::inv(y)).item()));
    CHECK(std::isnan(sum(linalg::solve(y, ones<double, D>({2}))).item()));
    CHECK(std::isnan(sum(linalg::qr(y).r).item()));
    CHECK_THROWS_WITH_AS((void)linalg::cholesky(y), doctest::Contains("is not positive definite"), NumericError);
  }
  CHECK_CLOSE(linalg::det(partly).select(0, 1), 1);

  const auto wide = ones<double, D>({2, 3});
  CHECK_THROWS_WITH_AS((void)linalg::det(wide), doctest::Contains("shape (2, 3); expected square"), ShapeError);
  CHECK_THROWS_AS((void)linalg::slogdet(wide), ShapeError);
  CHECK_THROWS_AS((void)linalg::cholesky(ones<double, D>({3})), ShapeError);
  CHECK_THROWS_AS((void)linalg::eigh(wide), ShapeError);
  CHECK_THROWS_AS((void)linalg::qr(ones<double, D>({3})), ShapeError);
  CHECK_THROWS_AS((void)linalg::svd(ones<double, D>({})), ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::solve(x, ones<double, D>({2})), doctest::Contains("expected (3) or (..., 3, k)"),
                       ShapeError);
  CHECK_THROWS_AS((void)linalg::solve(x, ones<double, D>({})), ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::solve(x, ones<double, D>({3, 3, 1})), doctest::Contains("2 matrices"), ShapeError);
}

namespace {
/// A batch of two identities; `value` is element (row, column) of the second one.
template <class T, class D>
Tensor<T, D> unknown_at(std::int64_t n, std::int64_t row, std::int64_t column, double value = not_a_number) {
  const Tensor<T, D> x = eye<T>(n, D{}).expand({2, n, n}).clone();
  x.select(0, 1).select(0, row).select(0, column).fill_(static_cast<T>(value));
  return x;
}
template <class T, class D>
void check_unknown(std::int64_t n, std::int64_t row, std::int64_t column) {
  CAPTURE(n);
  CAPTURE(row);
  CAPTURE(column);
  const auto x = unknown_at<T, D>(n, row, column), endless = unknown_at<T, D>(n, row, column, infinite);
  const locus_test::Reference ones_of_two({2, n}, std::vector<double>(static_cast<std::size_t>(2 * n), 1));
  for (const auto& each : {x, endless}) {
    CHECK_THROWS_WITH_AS((void)linalg::svdvals(each), doctest::Contains("matrix (1,) of the batch"), NumericError);
    if (column > row) {
      CHECK_CLOSE(linalg::eigvalsh(each), ones_of_two);
      CHECK_CLOSE(linalg::eigh(each).values, ones_of_two);
      CHECK_CLOSE(linalg::cholesky(each), locus_test::reference(eye<T>(n).expand({2, n, n}).clone()));
    } else {
      CHECK_THROWS_WITH_AS((void)linalg::eigh(each), doctest::Contains("matrix (1,) of the batch"), NumericError);
      CHECK_THROWS_AS((void)linalg::eigvalsh(each), NumericError);
    }
  }
  if (column <= row) {
    const std::string refused = "matrix (1,) of the batch of shape (2, " + std::to_string(n) + ", " +
                                std::to_string(n) + ") is not positive definite: pivot " + std::to_string(row) + ",";
    CHECK_THROWS_WITH_AS((void)linalg::cholesky(x), doctest::Contains(refused.c_str()), NumericError);
  }
  CHECK(std::isnan(linalg::det(x).select(0, 1).item()));
  CHECK(linalg::det(x).select(0, 0).item() == 1);
}
}  // namespace

LOCUS_DEVICE_TEST("NaN and infinity are refused where they are read, by any LAPACK, and nowhere else", D) {
  for (const std::int64_t n : {2, 5}) {
    for (std::int64_t i = 0; i < n * n; ++i) check_unknown<double, D>(n, i / n, i % n);
    check_unknown<float, D>(n, n - 1, 0);
    check_unknown<float, D>(n, 0, n - 1);
  }
  for (const auto& [row, column] : {std::pair(99, 0), {70, 69}, {40, 40}}) {
    const std::string pivot = "pivot " + std::to_string(row) + ",";
    CHECK_THROWS_WITH_AS((void)linalg::cholesky(unknown_at<float, D>(100, row, column)),
                         doctest::Contains(pivot.c_str()), NumericError);
    CHECK_THROWS_WITH_AS((void)linalg::cholesky(unknown_at<double, D>(100, row, column)),
                         doctest::Contains(pivot.c_str()), NumericError);
  }
  // An earlier pivot that is NaN is named, rather than a later one that is negative.
  const auto both = unknown_at<double, D>(100, 30, 3);
  both.select(0, 1).select(0, 80).select(0, 80).fill_(-1.);
  CHECK_THROWS_WITH_AS((void)linalg::cholesky(both), doctest::Contains("pivot 30,"), NumericError);
}

LOCUS_DEVICE_TEST("threads have the stack that OpenBLAS takes, which is more than a MiB", D) {
  const Tensor<double, D> many = (eye<double>(300, D{}) * 2.).expand({4, 300, 300}).clone();
  CHECK_CLOSE(linalg::slogdet(many).logabsdet, locus_test::Reference(std::vector<double>(4, 300 * std::log(2.))));
}

#if !LOCUS_CUDA
TEST_CASE("gradients of linear algebra agree with finite differences, also of views") {
  const Tensor<double> regular = sample<double, Cpu>({3, 3}, 6) + eye<double>(3) * 3.;
  CHECK(gradcheck([](auto a, auto b) { return linalg::solve(transpose(a), transpose(b)); }, regular,
                  sample<double, Cpu>({2, 2, 3}, 7)));
  CHECK(gradcheck([](auto a) { return linalg::cholesky(matmul(a, transpose(a))); }, regular));
}

// Operands that do not belong together, integers, 16-bit floats, and operands that would lose a gradient.
template <class X>
concept HasQr = requires(X x) { linalg::qr(x); };
template <class X>
concept HasInverse = requires(X x) { linalg::inv(x); };
template <class A, class B>
concept Solves = requires(A a, B b) { linalg::solve(a, b); };
static_assert(HasQr<Tensor<float>> && HasQr<Traced<float>> && HasInverse<Traced<double>> &&
              HasInverse<Tensor<float, Cuda>>);
static_assert(!HasQr<Tensor<int>> && !HasInverse<Tensor<int>> && !HasInverse<Tensor<half>>);
static_assert(Solves<Traced<float>, Tensor<float>> && !Solves<Tensor<float>, Tensor<float, Cuda>>);
static_assert(!Solves<Tensor<float>, Tensor<double>> && !Solves<Parameter<float>, Parameter<float>>);
#endif

#endif
