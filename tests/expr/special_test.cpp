// Runs on: host.
// The functions of expr/special.hpp: values and derivatives against mpmath. In launches, one functor that selects a
// function at run time stands for all of them, so that few kernels are compiled.
#include <locus/autograd/expression.hpp>
#include <locus/expr/special.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

using namespace locus;
using namespace locus_test;

namespace {

/// NAME(name in the golden numbers, a functor, a call)
#define SPECIAL_UNARY(NAME)                                 \
  NAME(i0, functor::I0{}, i0(x))                            \
  NAME(i0e, functor::I0e{}, i0e(x))                         \
  NAME(i1, functor::I1{}, i1(x))                            \
  NAME(i1e, functor::I1e{}, i1e(x))                         \
  NAME(erfcx, functor::Erfcx{}, erfcx(x))                   \
  NAME(ndtr, functor::Ndtr{}, ndtr(x))                      \
  NAME(log_ndtr, functor::LogNdtr{}, log_ndtr(x))           \
  NAME(ndtri, functor::Ndtri{}, ndtri(x))                   \
  NAME(sinc, functor::Sinc{}, sinc(x))                      \
  NAME(entr, functor::Entr{}, entr(x))                      \
  NAME(polygamma_2, functor::Polygamma{2}, polygamma(2, x)) \
  NAME(mvlgamma_3, functor::Mvlgamma{3}, mvlgamma(x, 3))
#define SPECIAL_BINARY(NAME)                                       \
  NAME(xlog1py, functor::Xlog1py{}, xlog1py(x, y))                 \
  NAME(lbeta, functor::Lbeta{}, lbeta(x, y))                       \
  NAME(gammainc, functor::IncompleteGamma<1>{}, gammainc(x, y))    \
  NAME(gammaincc, functor::IncompleteGamma<-1>{}, gammaincc(x, y)) \
  NAME(zeta, functor::Zeta{}, zeta(x, y))

enum Special {
#define NAME(name, functor, call) special_##name,
  SPECIAL_UNARY(NAME) SPECIAL_BINARY(NAME) special_count
#undef NAME
};

struct AnySpecial {
  Special kind;
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    switch (kind) {
#define NAME(name, functor, call) \
  case special_##name: return functor(x);
      SPECIAL_UNARY(NAME)
#undef NAME
#define NAME(name, functor, call) \
  case special_##name: return functor(x, y);
      SPECIAL_BINARY(NAME)
#undef NAME
      default: return T(0);
    }
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const auto slope = [](const auto& f, T at) {
      if constexpr (requires { f.by_output(at); }) return f.by_output(f(at));
      else return f.by_input(at);
    };
    switch (kind) {
#define NAME(name, functor, call) \
  case special_##name: return {slope(functor, x), T(0)};
      SPECIAL_UNARY(NAME)
#undef NAME
#define NAME(name, functor, call) \
  case special_##name: return functor.by_inputs(x, y);
      SPECIAL_BINARY(NAME)
#undef NAME
      default: return {T(0), T(0)};
    }
  }
};

/// Largest relative errors: 1e-13 in double, some units of the last place in float.
template <class T>
inline constexpr double allowed = std::is_same_v<T, double> ? 1e-13 : 1e-6;

template <class T, class D>
void check_golden(const std::string& name, Special kind, bool is_binary) {
  CAPTURE(name);
  const auto x = variable(golden::tensor<T, D>(name + "_x"));
  const auto y = variable(is_binary ? golden::tensor<T, D>(name + "_y") : x.value());
  const auto value = elementwise(AnySpecial{kind}, x, y).eval();
  check_empty(relative_difference(value.value(), golden::reference(name), allowed<T>), __FILE__, __LINE__);
  value.backward(ones<T, D>(value.shape()));
  const auto by_x = golden::reference(name + (is_binary ? "_dx" : "_slope"));
  if (name != "zeta") check_empty(relative_difference(x.grad(), by_x, 4 * allowed<T>), __FILE__, __LINE__);
  if (is_binary)
    check_empty(relative_difference(y.grad(), golden::reference(name + "_dy"), 4 * allowed<T>), __FILE__, __LINE__);
}

template <class X>
auto functor_of(const X& expression) {
  return expression.part().tree.f;
}

}  // namespace

LOCUS_DEVICE_TEST("special functions: values and derivatives are mpmath's", D) {
  if constexpr (all_dtypes<D>) {
    using T = std::conditional_t<std::is_same_v<D, Cpu>, double, float>;
#define NAME(name, functor, call) check_golden<T, D>(#name, special_##name, false);
    SPECIAL_UNARY(NAME)
#undef NAME
#define NAME(name, functor, call) check_golden<T, D>(#name, special_##name, true);
    SPECIAL_BINARY(NAME)
#undef NAME
    const auto x = variable(golden::tensor<T, D>("betainc_x"));
    const auto y = betainc(golden::tensor<T, D>("betainc_a"), golden::tensor<T, D>("betainc_b"), x).eval();
    check_empty(relative_difference(y.value(), golden::reference("betainc"), allowed<T>), __FILE__, __LINE__);
    y.backward(ones<T, D>(y.shape()));
    check_empty(relative_difference(x.grad(), golden::reference("betainc_dx"), 4 * allowed<T>), __FILE__, __LINE__);
  }
}

TEST_CASE("special functions: each name makes an expression of its functor, with its options") {
  const Tensor<float> x({2}), y({2});
#define NAME(name, functor, call) static_assert(std::is_same_v<decltype(functor_of(call)), decltype(functor)>, #name);
  SPECIAL_UNARY(NAME)
  SPECIAL_BINARY(NAME)
#undef NAME
  CHECK(functor_of(polygamma(2, x)).order == 2);
  CHECK(functor_of(mvlgamma(x, 3)).dimension == 3);
  CHECK_THROWS_WITH_AS((void)polygamma(-1, x), doctest::Contains("an order of -1"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)mvlgamma(x, 0), doctest::Contains("a dimension of 0"), ArgumentError);
}

TEST_CASE("special functions in float are those of double, rounded") {
  double worst = 0;
  const auto compare = [&](float given, double expected) {
    if (expected == 0 || !std::isfinite(expected)) return;
    worst = std::max(worst, std::abs(static_cast<double>(given) - expected) / std::abs(expected));
  };
  for (int i = 1; i <= 200; ++i) {
    const double x = static_cast<double>(0.0625f * static_cast<float>(i)), a = 3.25;
    const auto f = static_cast<float>(x);
    compare(math::i0(f), math::i0(x));
    compare(math::erfcx(f), math::erfcx(x));
    compare(math::log_ndtr(-f), math::log_ndtr(-x));
    compare(math::entr(f), math::entr(x));
    compare(math::xlog1py(f, f), math::xlog1py(x, x));
    compare(math::gammainc(3.25f, f), math::gammainc(a, x));
    compare(math::gammaincc(3.25f, f), math::gammaincc(a, x));
    compare(math::betainc(3.25f, 0.75f, f / 16), math::betainc(a, 0.75, x / 16));
    compare(math::polygamma(3, f), math::polygamma(3, x));
  }
  CHECK(worst < 0x1.8p-23);
}

TEST_CASE("special functions keep their digits where rounding errors of arguments would grow") {
  const auto compare = [](double given, double exact, double allowed = 4e-15) {
    CHECK(std::abs(given - exact) <= allowed * std::abs(exact));
  };
  // by mpmath: large exponents, tails, neighbours of integers and of a zero
  compare(math::erfcx(-26.4449831328377), 1.0454127739709309e+304);
  compare(math::ndtr(-36.172424688112805), 8.2628482808337544e-287);
  compare(math::log_ndtr(29.923918606484342), -4.807131870160362e-197);
  compare(math::sinc(33137274.01306103), 3.9403865700500805e-10);
  CHECK((math::sinc(11.0) == 0 && math::sinc_slope(11.0) == doctest::Approx(-1.0 / 11).epsilon(1e-15)));
  compare(math::digamma(1.461632133544753), -1.1054309686576632e-8);
  compare(math::gammaincc(1.4630523057945872e-10, 0.143149831689205), 2.2016498477965192e-10, 2e-14);
  compare(math::gammainc(97.11958996700571, 6.074900092111391), 1.8424805363835638e-79, 5e-14);
  compare(math::betainc(40.59895251143408, 31.92536870760387, 1.3112483795363713e-5), 1.0141662006724073e-178, 4e-13);
  compare(math::betainc(0.07746011323904778, 3.7807286540956394e-6, 0.9192102159050164), 5.7568255591221402e-5);
  compare(math::polygamma(50, 38.68893532803046), -4.5306143322405845e-17);
}

TEST_CASE("special functions where they end, and of what is no number") {
  const double inf = INFINITY, nan = NAN;
  const auto is = [](double given, double expected) {
    return (std::isnan(given) && std::isnan(expected)) || given == expected;
  };
  CHECK((is(math::i0(inf), inf) && is(math::i0(-800.0), inf) && is(math::i0(nan), nan) && is(math::i0e(inf), 0)));
  CHECK((is(math::i1(-inf), -inf) && is(math::i1(0.0), 0) && is(math::i1e(inf), 0)));
  CHECK(math::i0(713.0) == doctest::Approx(math::i0e(713.0) * std::exp(700.0) * std::exp(13.0)));
  CHECK((is(math::erfcx(inf), 0) && is(math::erfcx(-inf), inf) && is(math::erfcx(-30.0), inf) &&
         is(math::erfcx(nan), nan)));
  CHECK(math::erfcx(1e200) == doctest::Approx(0.5641895835477563e-200).epsilon(1e-14));
  CHECK((is(math::ndtr(-inf), 0) && is(math::ndtr(inf), 1) && is(math::log_ndtr(-inf), -inf) &&
         is(math::log_ndtr(inf), 0)));
  CHECK((is(math::ndtri(0.0), -inf) && is(math::ndtri(1.0), inf) && is(math::ndtri(-0.5), nan) &&
         is(math::ndtri(1.5), nan)));
  CHECK((is(math::ndtri(0.5), 0) && is(math::sinc(0.0), 1) && is(math::sinc_slope(0.0), 0)));
  CHECK((is(math::entr(0.0), 0) && is(math::entr(-1.0), -inf) && is(math::entr(nan), nan)));
  CHECK((is(math::xlog1py(0.0, -1.0), 0) && is(math::xlog1py(0.0, nan), nan) && is(math::xlog1py(1.0, -1.0), -inf)));
  CHECK((is(math::gammainc(2.0, 0.0), 0) && is(math::gammainc(2.0, inf), 1) && is(math::gammainc(0.0, 1.0), 1)));
  CHECK(
      (is(math::gammainc(0.0, 0.0), nan) && is(math::gammainc(-1.0, 1.0), nan) && is(math::gammainc(1.0, -1.0), nan)));
  CHECK((is(math::gammaincc(2.0, 0.0), 1) && is(math::gammaincc(inf, 1.0), 1) && is(math::gammaincc(inf, inf), nan)));
  CHECK((is(math::gammainc_slope(1.0, 0.0), 1) && is(math::gammainc_slope(0.5, 0.0), inf)));
  CHECK((is(math::betainc(2.0, 3.0, 0.0), 0) && is(math::betainc(2.0, 3.0, 1.0), 1) &&
         is(math::betainc(2.0, 3.0, 1.5), nan)));
  CHECK((is(math::betainc(0.0, 3.0, 0.5), nan) && is(math::betainc_slope(1.0, 3.0, 0.0), 3)));
  CHECK((is(math::lbeta(0.0, 1.0), inf) && is(math::lbeta(-1.0, 1.0), nan) && is(math::lbeta(1.0, inf), -inf)));
  CHECK((is(math::zeta(1.0, 2.0), inf) && is(math::zeta(0.5, 2.0), nan) && is(math::zeta(2.0, -3.0), inf)));
  CHECK((is(math::zeta(2.5, -3.5), nan) && is(math::polygamma(0, 0.0), -inf)));
  CHECK(math::zeta(2.0, -100000.5) == doctest::Approx(9.869604401089358 - math::zeta(2.0, 100001.5)).epsilon(1e-14));
}

TEST_CASE("derivatives of special functions at ends") {
  CHECK(functor::I0e{}.by_input(0.0) == 0);
  CHECK(functor::I1{}.by_input(0.0) == 0.5);
  CHECK(functor::I1e{}.by_input(0.0) == 0.5);
  CHECK(get<0>(functor::Xlog1py{}.by_inputs(0.0, -1.0)) == 0);
  CHECK(std::isnan(get<0>(functor::Zeta{}.by_inputs(2.0, 3.0))));
  for (const double x : {0.0, 800.0, std::numeric_limits<double>::infinity()})
    CHECK(get<0>(functor::IncompleteGamma<1>{}.by_inputs(0.5, x)) == 0);
  CHECK(functor::LogNdtr{}.by_input(40.0) == 0);
}

TEST_CASE("the second derivative of sinc, by its series and beyond") {
  CHECK(math::sinc_curvature(0.0) == doctest::Approx(-3.289868133696453).epsilon(1e-15));
  for (const double x : {-0.15, 0.01, 0.05, 0.1, 0.155, 0.165, 0.5, 1.0, 2.5}) {
    CAPTURE(x);
    const double h = 1e-4, difference = (math::sinc_slope(x + h) - math::sinc_slope(x - h)) / (2 * h);
    CHECK(math::sinc_curvature(x) == doctest::Approx(difference).epsilon(1e-7));
  }
}
