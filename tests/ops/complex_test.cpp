// Runs on: host, cuda (operations); alone.
// Complex numbers: values and gradients against PyTorch's, their parts as views, products, printing, files.

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/expr/functions.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/complex.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/scan.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/print.hpp>

#include <complex>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

using namespace locus;
using locus_test::contains;
using locus_test::message_of;
using locus_test::reference;
using std::complex_literals::operator""i;

namespace {

/// PyTorch's complex numbers, which the file holds as pairs.
template <class D>
Tensor<complex128, D> numbers(const std::string& name) {
  return view_as_complex(golden::tensor<double, D>(name));
}
template <class X>
auto pairs(const X& x) {
  if constexpr (is_complex<value_of<X>>) return Tensor(view_as_real(x.eval().value()));
  else return Tensor(x.eval().value());
}
template <class Y>
void check_equal(const Y& y, const std::string& name, const char* file, int line) {
  locus_test::check_empty(locus_test::difference(pairs(y), golden::reference(name), 1e-11), file, line);
}

/// Compares a result with NAME, and the gradients of its inputs for the cotangent NAME_cotangent with NAME_dINPUT.
template <class Y, class... X>
void check_complex(const std::string& name, const Y& result, const char* file, int line,
                   std::initializer_list<const char*> inputs, const X&... variables) {
  using D = device_of<Y>;
  const auto& y = result.eval();
  check_equal(y, name, file, line);
  (variables.zero_grad(), ...);
  if constexpr (is_complex<value_of<Y>>) y.backward(numbers<D>(name + "_cotangent"));
  else y.backward(golden::tensor<double, D>(name + "_cotangent"));
  auto input = inputs.begin();
  (check_equal(variables.grad(), name + "_d" + *input++, file, line), ...);
}
#define CHECK_COMPLEX(name, result, inputs, ...) \
  check_complex("complex_" name, result, __FILE__, __LINE__, LOCUS_UNWRAP_ inputs, __VA_ARGS__)

}  // namespace

LOCUS_DEVICE_TEST("functions of complex numbers, with PyTorch's values and gradients", D) {
  const auto x = variable(numbers<D>("complex_x")), y = variable(numbers<D>("complex_y"));
  CHECK_COMPLEX("exp", exp(x), ({"x"}), x);
  CHECK_COMPLEX("log", log(x), ({"x"}), x);
  CHECK_COMPLEX("sqrt", sqrt(x), ({"x"}), x);
  CHECK_COMPLEX("powers", rsqrt(x) * square(x) + reciprocal(x), ({"x"}), x);
  CHECK_COMPLEX("sin_cos", sin(x) - 2 * cos(x), ({"x"}), x);
  CHECK_COMPLEX("sinh_cosh", sinh(x) * cosh(x), ({"x"}), x);
  CHECK_COMPLEX("tan", tan(x), ({"x"}), x);
  CHECK_COMPLEX("tanh", tanh(x), ({"x"}), x);
  CHECK_COMPLEX("abs", abs(x), ({"x"}), x);
  CHECK_COMPLEX("angle", angle(x), ({"x"}), x);
  CHECK_COMPLEX("conj", conj(x), ({"x"}), x);
  CHECK_COMPLEX("real", real(x), ({"x"}), x);
  CHECK_COMPLEX("imag", imag(x), ({"x"}), x);
  CHECK_COMPLEX("product", x * y, ({"x", "y"}), x, y);
  CHECK_COMPLEX("quotient", x / y, ({"x", "y"}), x, y);
  CHECK_COMPLEX("pow", pow(x, y), ({"x", "y"}), x, y);
  CHECK_COMPLEX("with_numbers", (2.0 - 1i) * x / 4 + 1i - x, ({"x"}), x);
  const auto size = variable(golden::tensor<double, D>("complex_size"));
  const auto turn = variable(golden::tensor<double, D>("complex_turn"));
  CHECK_COMPLEX("polar", polar(size, turn), ({"size", "turn"}), size, turn);
  CHECK_COMPLEX("of_parts", complex(size, turn), ({"size", "turn"}), size, turn);
  CHECK_COMPLEX("of_real", size.template as<complex128>() * 1i, ({"size"}), size);
}

LOCUS_DEVICE_TEST("reductions and products of complex numbers, with PyTorch's values and gradients", D) {
  const auto x = variable(numbers<D>("complex_x")), y = variable(numbers<D>("complex_y"));
  const auto batch = variable(numbers<D>("complex_batch"));
  CHECK_COMPLEX("sum", sum(x, 1), ({"x"}), x);
  CHECK_COMPLEX("mean", mean(x, 1), ({"x"}), x);
  CHECK_COMPLEX("prod", prod(x, 1), ({"x"}), x);
  CHECK_COMPLEX("var", var(x, 1), ({"x"}), x);
  CHECK_COMPLEX("std", stddev(x, 1), ({"x"}), x);
  CHECK_COMPLEX("norm", norm(x, 2, 1), ({"x"}), x);
  CHECK_COMPLEX("norm_3", norm(x, 3), ({"x"}), x);
  CHECK_COMPLEX("cumsum", cumsum(x, 1), ({"x"}), x);
  CHECK_COMPLEX("vdot", vdot(select(x, 0, 0), select(y, 0, 0)), ({"x", "y"}), x, y);
  CHECK_COMPLEX("matmul", matmul(x, transpose(y)), ({"x", "y"}), x, y);
  CHECK_COMPLEX("matmul_adjoint", matmul(adjoint(x), y), ({"x", "y"}), x, y);
  CHECK_COMPLEX("matmul_batch", matmul(batch, transpose(slice(x, 1, 0, 4))), ({"x", "batch"}), x, batch);
}

LOCUS_DEVICE_TEST("products of any size and layout are sums of complex products", D) {
  const auto compare = [](std::int64_t m, std::int64_t k, std::int64_t n, auto type) {
    using T = decltype(type);
    const auto a = randn<T>({m, k}, D{}), b = randn<T>({k, n}, D{});
    const auto expected = sum(a.unsqueeze(-1) * b, 1);
    const CloseOptions close{.relative = 1e-4, .absolute = is_complex<T> && sizeof(T) == 8 ? 1e-5 : 1e-12};
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(n);
    CHECK(allclose(matmul(a, b), expected, close));
    const auto columns = [](const Tensor<T, D>& x) { return x.transpose().clone().transpose(); };
    CHECK(allclose(matmul(columns(a), columns(b)), expected, close));
    const auto apart = zeros<T>({2 * m, 2 * k}, D{}).slice(0, 0, to_end, 2).slice(1, 0, to_end, 2);
    apart.copy_(a);
    CHECK(allclose(matmul(apart, columns(b)), expected, close));
  };
  compare(1, 1, 1, complex128());
  compare(1, 5, 3, complex128());
  compare(7, 0, 2, complex64());
  compare(4, 9, 1, complex64());
  compare(33, 17, 20, complex128());
  compare(40, 64, 65, complex64());
}

LOCUS_DEVICE_TEST("parts of complex numbers are views", D) {
  const Tensor<complex64, D> z = from<complex64>({{1.0 + 2i, 3}, {-4i, 5.0 - 6i}}, D{});
  CHECK_CLOSE(real(z), reference(from({{1, 3}, {0, 5}})));
  CHECK_CLOSE(imag(z.transpose()), reference(from({{2, -4}, {0, -6}})));
  real(z) += 1;
  imag(z).fill_(7);
  CHECK_CLOSE(view_as_real(z), reference(from({{{2, 7}, {4, 7}}, {{1, 7}, {6, 7}}})));
  CHECK(allclose(view_as_complex(view_as_real(z)), z));
  CHECK(view_as_complex(view_as_real(z)).buffer() == z.buffer());
  const auto message = message_of<ShapeError>([&] { (void)view_as_complex(ones({2, 3}, D{})); });
  CHECK(contains(message, "view_as_complex: shape (2, 3); expected (..., 2)"));
  CHECK_THROWS_AS((void)view_as_complex(ones({2, 2}, D{}).transpose()), ShapeError);
  CHECK_THROWS_AS((void)view_as_complex(ones({3}, D{}).slice(0, 1)), ShapeError);
  CHECK_THROWS_AS((void)vdot(z, z), ShapeError);
  CHECK_THROWS_AS((void)view_as_real(ones<complex64>({1, 1, 1, 1, 1, 1, 1, 1}, D{})), ShapeError);
}

LOCUS_DEVICE_TEST("comparisons, selections, copies and joins of complex numbers", D) {
  const Tensor<complex64, D> z = from<complex64>({1.0 + 2i, 3, -4i}, D{});
  CHECK_CLOSE(z == 3, {0, 1, 0});
  CHECK_CLOSE(isnan(z / 0), {0, 1, 1});
  CHECK_CLOSE(isinf(z / 0), {1, 1, 1});
  CHECK_CLOSE(isfinite(z), {1, 1, 1});
  CHECK_CLOSE(z.template as<bool>(), {1, 1, 1});
  CHECK(allclose(where(real(z) > 2, z, 1i), from<complex64>({1i, 3, 1i}, D{})));
  CHECK(allclose(where(real(z) > 2, 1i, 0), from<complex64>({0, 1i, 0}, D{})));
  CHECK(allclose(concat(0, z, z.slice(0, 1)), from<complex64>({1.0 + 2i, 3, -4i, 3, -4i}, D{})));
  CHECK(allclose(z.template to<Cpu>().template to<D>().template as<complex128>(),
                 from<complex128>({1.0 + 2i, 3, -4i}, D{})));
  // Rows of 16-byte elements of every stride.
  const auto wide = randn<complex128>({40, 600}, D{});
  CHECK(allclose(wide.transpose().clone().transpose(), wide));
  CHECK(allclose(wide.slice(1, 0, to_end, 3) + wide.select(0, 0).slice(0, 0, to_end, 3),
                 wide.slice(1, 0, to_end, 3).clone() + wide.slice(1, 0, to_end, 3).clone().select(0, 0)));
  CHECK(allclose(sum(wide, 0), sum(wide.transpose().clone(), 1)));
  CHECK_CLOSE(mean(square(abs(randn<complex64>({20000}, D{})))), 1.0, 0.05);
}

TEST_CASE("gradients of complex numbers agree with finite differences, and wrong ones do not") {
  const auto z = randn<complex128>({2, 3}), w = randn<complex128>({2, 3});
  CHECK(gradcheck([](auto x, auto y) { return abs(matmul(x, adjoint(y))) + 1; }, z, w));
  const auto wrong = gradcheck([](auto x) { return real(x).value() * imag(x); }, z);
  CHECK(contains(wrong.what(), "part of the gradient of input 0 at element "));
}

TEST_CASE("complex numbers are printed as NumPy prints them") {
  const auto z = from<complex64>({{1, 2.5 + 3i, -1i}, {4, 5, 6.25i}});
  CHECK(contains(to_string(z), "[[ 1. +0.j    2.5+3.j   -0. -1.j  ]\n [ 4. +0.j    5. +0.j    0. +6.25j]]") ==
        contains(to_string(z), "-0. "));
  CHECK(to_string(from<complex64>({1, 2.0 - 10i})) == "[1. +0.j 2.-10.j]\nTensor<complex64, cpu> (2,)");
  CHECK(to_string(complex64(1.5f, -2)) == "(1.5-2j)");
  const std::vector<std::complex<double>> values{{1, 2}, {3, 4}};
  const std::complex<double> second = from(values)(1);
  CHECK(second == values[1]);
}

TEST_CASE("functions of single complex numbers near their corners") {
  using Z = complex128;
  CHECK(math::sqrt(Z(-4.0, 0.0)) == Z(0, 2));
  CHECK(math::sqrt(Z(-4.0, -0.0)) == Z(0, -2));
  CHECK(math::sqrt(Z(0, 0)) == Z(0, 0));
  CHECK(math::abs(math::sqrt(Z(1e300, 1e300)) / std::sqrt(std::complex<double>(1e300, 1e300)) - 1.0) < 1e-14);
  const Z near_one = math::log(Z(1, 1e-9));  // of 1 + 5e-19
  CHECK(near_one.real == doctest::Approx(5e-19).epsilon(1e-12));
  CHECK(math::tanh(Z(50, 1)).real == 1);
  CHECK(math::tanh(Z(-800, 1)).real == -1);
  CHECK(math::pow(Z(0), Z(0)) == Z(1));
  CHECK(math::pow(Z(0), Z(2, 1)) == Z(0));
  CHECK(Z(1e200, 1e200) / Z(1e200, 1e200) == Z(1));
  CHECK(Z(1, 2) / 2.0 == Z(0.5, 1));
  CHECK((-Z(0, 1)).real == 0);
  CHECK(math::exp(Z(-INFINITY, 3)) == Z(0));
  const Z large = math::exp(Z(709.9, 1e-3));  // e^709.9 is beyond the range of double, its product with 1e-3 is not
  CHECK((large.real == INFINITY && large.imag == doctest::Approx(std::exp(700.0) * std::sin(1e-3) * std::exp(9.9))));
  CHECK(math::sqrt(Z(1, -INFINITY)) == Z(INFINITY, -INFINITY));
  CHECK(math::sinh(Z(-1000, 0)) == Z(-INFINITY, 0));
  CHECK(math::cosh(Z(1000, 0)) == Z(INFINITY, 0));
  CHECK(math::cos(Z(0, 1000)) == Z(INFINITY, 0));
  CHECK(math::sin(Z(0, 1000)) == Z(0, INFINITY));
}
