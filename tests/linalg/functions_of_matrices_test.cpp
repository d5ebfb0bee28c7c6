// Runs on: host, cuda (linalg).
// Factors, functions of matrices and their gradients against PyTorch, and by the equations that define them.

#if LOCUS_WITHOUT_LAPACK
#include <doctest/doctest.h>

#include <support/skip.hpp>

TEST_CASE("functions of matrices") { SKIP_TEST("needs LAPACK: the library was not found (liblapack-dev)"); }
#else

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif

#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/linalg/linalg.hpp>
#include <locus/tensor/factory.hpp>

#include <cmath>
#include <limits>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

namespace functions_of_matrices {
using namespace locus;
using locus_test::message_of;
using locus_test::reference;
using locus_test::sample;

template <class D>
auto variable_of(const char* name) {
  return variable(golden::tensor<double, D>(std::string("linalg_") + name));
}
template <class T, class D>
double largest_of(const Tensor<T, D>& x) {
  return x.empty() ? 0 : static_cast<double>(max(abs(x)).item());
}

LOCUS_DEVICE_TEST("gradients of eigh, svd, qr and pinv agree with PyTorch", D) {
  const auto v = variable_of<D>("positive"), w = variable_of<D>("positive"), only = variable_of<D>("positive");
  CHECK_GOLDEN("linalg_eigh_values", linalg::eigh(w).values, ({"x"}), w);
  CHECK_GOLDEN("linalg_eigh_values", linalg::eigvalsh(only), ({"x"}), only);
  CHECK_GOLDEN("linalg_eigh_vectors", square(linalg::eigh(v).vectors), ({"x"}), v);
  for (const std::string name : {"wide", "tall", "square"}) {
    CAPTURE(name);
    const char* const from = name == "square" ? "a" : name.c_str();
    const auto check = [&](const std::string& result, const auto& f) {
      const auto x = variable_of<D>(from);
      CHECK_GOLDEN("linalg_" + result + "_" + name, f(x), ({"x"}), x);
    };
    check("svd_u", [](const auto& x) { return square(linalg::svd(x).u); });
    check("svd_s", [](const auto& x) { return linalg::svd(x).s; });
    check("svd_s", [](const auto& x) { return linalg::svdvals(x); });
    check("svd_vh", [](const auto& x) { return square(linalg::svd(x).vh); });
    check("qr_q", [](const auto& x) { return linalg::qr(x).q; });
    check("qr_r", [](const auto& x) { return linalg::qr(x).r; });
    check("pinv", [](const auto& x) { return linalg::pinv(x); });
  }
  const auto x = variable_of<D>("rank_two");
  CHECK_GOLDEN("linalg_pinv_rank_two", linalg::pinv(x, {.rtol = 1e-10}), ({"x"}), x);
  CHECK_THROWS_WITH_AS((void)linalg::svd(variable_of<D>("wide"), {.full_matrices = true}),
                       doctest::Contains("full_matrices of a traced matrix of shape (2, 3, 5)"), ArgumentError);
}

LOCUS_DEVICE_TEST("triangular systems, LU factors and reflections agree with PyTorch", D) {
  const std::tuple<const char*, linalg::TriangularOptions, const char*> systems[] = {
      {"lower", {}, "sides"},
      {"upper", {.upper = true}, "sides"},
      {"unit", {.upper = true, .unitriangular = true}, "sides"},
      {"right", {.left = false}, "row"}};
  for (const auto& [given_name, options, right] : systems) {
    const std::string name = given_name;
    CAPTURE(name);
    const auto a = variable_of<D>("a"), b = variable_of<D>(right);
    CHECK_GOLDEN("linalg_triangular_" + name, linalg::solve_triangular(a, b, options), ({"a", "b"}), a, b);
  }
  const auto p = variable_of<D>("positive"), q = variable_of<D>("positive"), c = variable_of<D>("c");
  CHECK_GOLDEN("linalg_cholesky_solve", linalg::cholesky_solve(linalg::cholesky(p), c), ({"x", "b"}), p, c);
  CHECK_GOLDEN("linalg_cholesky_inverse", linalg::cholesky_inverse(linalg::cholesky(q)), ({"x"}), q);
  const auto upper = linalg::cholesky(q.value()).transpose();
  CHECK_CLOSE(linalg::cholesky_inverse(upper, {.upper = true}), golden::reference("linalg_cholesky_inverse"), 1e-10);

  const auto x = variable_of<D>("a"), y = variable_of<D>("a");
  const auto [lu, pivots] = linalg::lu_factor(x);
  CHECK_CLOSE(pivots, golden::reference("linalg_lu_pivots"), 0);
  CHECK_GOLDEN("linalg_lu_factor", lu, ({"x"}), x);
  const auto [factors, exchanges] = linalg::lu_factor(y);
  CHECK_GOLDEN("linalg_lu_solve", linalg::lu_solve(factors, exchanges, y + 1.), ({"x"}), y);
  const Tensor<double, D> plain = y.value();
  CHECK_CLOSE(linalg::lu_solve(factors.value(), exchanges, plain + 1.), golden::reference("linalg_lu_solve"), 1e-10);

  const auto reflectors = variable_of<D>("reflectors"), tau = variable_of<D>("tau");
  CHECK_GOLDEN("linalg_householder_product", linalg::householder_product(reflectors, tau), ({"x", "tau"}), reflectors,
               tau);
  CHECK_CLOSE(linalg::householder_product(reflectors.value(), tau.value()),
              golden::reference("linalg_householder_product"), 1e-10);
}

LOCUS_DEVICE_TEST("powers, exponentials, condition numbers and chains agree with PyTorch", D) {
  for (const int n : {-2, 0, 1, 5}) {
    CAPTURE(n);
    const auto x = variable_of<D>("a");
    CHECK_GOLDEN("linalg_power_" + std::to_string(n), linalg::matrix_power(x, n) + x * 0., ({"x"}), x);
  }
  const auto x = variable_of<D>("a"), small = variable_of<D>("small");
  CHECK_GOLDEN("linalg_matrix_exp", linalg::matrix_exp(x), ({"x"}), x);
  CHECK_GOLDEN("linalg_matrix_exp_small", linalg::matrix_exp(small * (1 / 64.)), ({"x"}), small);
  const std::pair<const char*, linalg::MatrixNorm> norms[] = {{"2", 2}, {"least_2", -2}, {"fro", "fro"}, {"1", 1}};
  for (const auto& each : norms) {
    CAPTURE(each.first);
    const auto y = variable_of<D>("a");
    CHECK_GOLDEN(std::string("linalg_cond_") + each.first, linalg::cond(y, each.second), ({"x"}), y);
  }
  const auto wide = variable_of<D>("wide"), left = variable_of<D>("left"), again = variable_of<D>("wide"),
             vector = variable_of<D>("vector");
  CHECK_GOLDEN("linalg_vander", linalg::vander(wide, 4), ({"x"}), wide);
  const std::vector chain{left, transpose(select(again, 0, 0)), vector};
  CHECK_GOLDEN("linalg_multi_dot", linalg::multi_dot(chain), ({"a", "x", "v"}), left, again, vector);
  const auto tensor = variable_of<D>("tensor"), side = variable_of<D>("side"), other = variable_of<D>("tensor");
  CHECK_GOLDEN("linalg_tensorsolve", linalg::tensorsolve(tensor, side), ({"a", "b"}), tensor, side);
  CHECK_GOLDEN("linalg_tensorinv", linalg::tensorinv(other), ({"x"}), other);
  const auto moved = tensor.value().permute({2, 0, 1});
  CHECK_CLOSE(linalg::tensorsolve(moved, side.value(), {0}), golden::reference("linalg_tensorsolve"), 1e-10);
}

LOCUS_DEVICE_TEST("lstsq has PyTorch's gradients, of solution and residuals", D) {
  const auto a = variable_of<D>("wide"), b = variable_of<D>("least");
  CHECK_GOLDEN("linalg_lstsq_wide", linalg::lstsq(a, b).solution, ({"a", "b"}), a, b);
  // The gradient of the residuals by b is 2 (b - a x), for the best x.
  const Tensor<double, D> tall = golden::tensor<double, D>("linalg_wide").transpose();
  const auto right = variable(golden::tensor<double, D>("linalg_right"));
  const auto [x, residuals, rank, s] = linalg::lstsq(tall, right);
  sum(residuals).backward();
  CHECK_CLOSE(right.grad(), reference(Tensor<double, D>((right.value() - matmul(tall, x.value())) * 2.)), 1e-10);
}

template <class T, class D>
void check_eig(std::int64_t n) {
  const auto a = sample<T, D>({2, n, n}, 9).transpose();
  const auto [values, vectors] = linalg::eig(a);
  constexpr double bound = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  CHECK_CLOSE(abs(linalg::eigvals(a) - values), reference(zeros<T>({2, n})), bound);
  CHECK(largest_of(abs(matmul(a.template as<Complex<T>>(), vectors) - vectors * values.unsqueeze(-2)).eval()) < bound);
  CHECK_CLOSE(sum(square(abs(vectors)), -2), reference(ones<T>({2, n})), bound);
  CHECK_CLOSE(sum(real(values), -1), reference(Tensor<T, D>(sum(a.diagonal(0, -2, -1), -1))), bound);
}

LOCUS_DEVICE_TEST("eig solves its equation, and conjugate pairs stand side by side", D) {
  check_eig<double, D>(6);
  check_eig<double, D>(1);
#if !LOCUS_SIMULATED_CUDA  // which would only compile the same again
  check_eig<float, D>(5);
#endif
  const auto rotation = locus_test::tensor<double, D>({2, 2}, {0, -1, 1, 0});
  const auto [values, vectors] = linalg::eig(rotation);
  CHECK_CLOSE(real(values), {0, 0}, 1e-15);
  CHECK_CLOSE(imag(values), {1, -1}, 1e-15);
  CHECK(linalg::eig(ones<double, D>({0, 3, 3})).vectors.shape() == Shape{0, 3, 3});
  CHECK(linalg::eigvals(ones<double, D>({0, 0})).shape() == Shape{0});
  const auto unknown = full<double, D>({2, 2}, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_WITH_AS((void)linalg::eig(unknown), doctest::Contains("linalg::eig: the matrix"), NumericError);
  CHECK_THROWS_AS((void)linalg::eigvals(ones<double, D>({2, 3})), ShapeError);
}

LOCUS_DEVICE_TEST("ranks, permutations, and exponentials of matrices of different size in one batch", D) {
  const auto x = golden::tensor<double, D>("linalg_rank_two");
  CHECK_CLOSE(linalg::matrix_rank(x), 2);
  CHECK_CLOSE(linalg::matrix_rank(golden::tensor<double, D>("linalg_wide")), {3, 3});
  CHECK_CLOSE(linalg::matrix_rank(x, {.atol = 1e9}), 0);
  CHECK_CLOSE(linalg::matrix_rank(x, {.rtol = 0.999}), 1);
  const auto a = sample<double, D>({2, 5, 5}, 10);
  const auto [p, l, u] = linalg::lu(a);
  CHECK(largest_of(Tensor<double, D>(matmul(p, matmul(l, u)) - a)) < 1e-14);
  CHECK_CLOSE(sum(p, -1), reference(ones<double>({2, 5})), 0);

  // exp of [0 t; -t 0] is a rotation by t, of [0 s; 0 0] exact.
  const auto mixed = locus_test::tensor<double, D>({3, 2, 2}, {0, 100, -100, 0, 0, 1e-9, 0, 0, 1, 0, 0, -20});
  const auto y = linalg::matrix_exp(mixed);
  CHECK_CLOSE(y.select(0, 0), {{2, 2}, {std::cos(100), std::sin(100), -std::sin(100), std::cos(100)}}, 1e-13);
  CHECK_CLOSE(y.select(0, 1), {{2, 2}, {1, 1e-9, 0, 1}}, 1e-24);
  CHECK_CLOSE(y.select(0, 2), {{2, 2}, {std::exp(1), 0, 0, std::exp(-20)}}, 1e-14);
#if !LOCUS_SIMULATED_CUDA
  CHECK_CLOSE(linalg::matrix_exp(mixed.template as<float>()).select(0, 2), {{2, 2}, {std::exp(1), 0, 0, std::exp(-20)}},
              1e-6);
#endif
  CHECK(linalg::matrix_exp(ones<double, D>({2, 0, 0})).shape() == Shape{2, 0, 0});
  CHECK(linalg::pinv(ones<double, D>({2, 0, 3})).shape() == Shape{2, 3, 0});
  CHECK_CLOSE(linalg::multi_dot(
                  std::vector{locus_test::tensor<double, D>({2}, {1, 2}), locus_test::tensor<double, D>({2}, {3, 4})}),
              11);
}

LOCUS_DEVICE_TEST("singular matrices and wrong shapes are refused by name, or answered by infinity", D) {
  const auto singular = locus_test::tensor<double, D>({2, 2, 2}, {1, 0, 0, 1, 1, 1, 1, 1});
  const auto [inverse, info] = linalg::inv_ex(singular);
  CHECK_CLOSE(info, {0, 2});
  CHECK_CLOSE(inverse.select(0, 0), {{2, 2}, {1, 0, 0, 1}});
  CHECK(std::isinf(linalg::cond(singular, 1).select(0, 1).item()));
  CHECK(linalg::cond(singular, 1).select(0, 0).item() == 1);
  CHECK(linalg::cond(singular).select(0, 1).item() > 1e15);
  const auto side = ones<double, D>({2, 1});
  const auto zero = locus_test::tensor<double, D>({2, 2, 2}, {1, 0, 0, 1, 1, 5, 7, 0});
  CHECK_THROWS_WITH_AS((void)linalg::solve_triangular(zero, side, {.upper = true}),
                       doctest::Contains("matrix (1,) of the batch of shape (2, 2, 2) is singular: element 1 of its"),
                       NumericError);
  CHECK_CLOSE(linalg::solve_triangular(zero, side, {.unitriangular = true}), {{2, 2, 1}, {1, 1, 1, -6}});
  CHECK_THROWS_AS((void)linalg::matrix_power(singular, -1), NumericError);
  CHECK_THROWS_AS((void)linalg::solve_triangular(ones<double, D>({2, 3}), side, {}), ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::solve_triangular(singular, ones<double, D>({3, 1}), {}),
                       doctest::Contains("linalg::solve_triangular: matrices of shape (2, 2, 2)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::solve_triangular(singular, ones<double, D>({1, 3}), {.left = false}),
                       doctest::Contains("expected (..., k, 2)"), ShapeError);
  CHECK_THROWS_AS((void)linalg::cholesky_solve(singular, side, {.left = false}), ArgumentError);
  CHECK_THROWS_AS((void)linalg::pinv(singular, {.rtol = std::numeric_limits<double>::infinity()}), ArgumentError);
  CHECK_THROWS_AS((void)linalg::lu_factor(ones<double, D>({2, 3})), ShapeError);
  CHECK_THROWS_WITH_AS((void)linalg::lu_solve(singular, zeros<std::int32_t, D>({2}), side),
                       doctest::Contains("expected the result of linalg::lu_factor"), ShapeError);
  CHECK_THROWS_AS((void)linalg::householder_product(singular, ones<double, D>({3})), ShapeError);
  CHECK_THROWS_AS((void)linalg::cond(ones<double, D>({0, 2})), ShapeError);
  CHECK_THROWS_AS((void)linalg::tensorinv(singular, 0), ArgumentError);
  CHECK_THROWS_AS((void)linalg::tensorinv(singular, 1), ShapeError);
  CHECK_THROWS_AS((void)linalg::tensorsolve(singular, side), ShapeError);
  CHECK_THROWS_AS((void)linalg::matrix_exp(full<double, D>({2, 2}, std::numeric_limits<double>::infinity())),
                  NumericError);
  CHECK_THROWS_AS((void)linalg::vander(side, -1), ArgumentError);
  CHECK_THROWS_AS((void)linalg::multi_dot(std::vector<Tensor<double, D>>{}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)linalg::multi_dot(std::vector{side, side}),
                       doctest::Contains("factors 0 and 1 of shapes (2, 1) and (2, 1)"), ShapeError);
}

#if !LOCUS_CUDA
template <class X>
concept HasEigenvalues = requires(X x) { linalg::eig(x); };
template <class A, class B>
concept SolvesTriangle = requires(A a, B b) { linalg::solve_triangular(a, b, linalg::TriangularOptions{}); };
static_assert(HasEigenvalues<Tensor<float>> && !HasEigenvalues<Traced<float>> && !HasEigenvalues<Tensor<int>>);
static_assert(SolvesTriangle<Traced<float>, Tensor<float>> && !SolvesTriangle<Tensor<float>, Tensor<float, Cuda>>);
#endif

}  // namespace functions_of_matrices

#endif
