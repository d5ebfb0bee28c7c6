// Runs on: host, cuda (operations).
// Random numbers by rejection: gamma, poisson, binomial. tests/distributions compares them with their distributions.
#include <locus/autograd/expression.hpp>
#include <locus/ops/random.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("gamma, poisson and binomial: equal numbers on every device", D) {
  if constexpr (all_dtypes<D>) {
    Generator<D> generator{42, 3};
    Generator<Cpu> host{42, 3};
    const auto a = from<double>({0.01, 0.5, 1, 7, 300});
    const auto rates = from({0.f, 0.5f, 9, 11, 1000});
    const auto counts = from({0.f, 3, 20, 100, 1000}), shares = from({0.5f, 0.25f, 0.875f, 0.5f, 0.0625f});
    for (int i = 0; i < 20; ++i) {
      CHECK_CLOSE(gamma(a.to<D>(), generator), reference(gamma(a, host)), 1e-13);
      CHECK_CLOSE(poisson(rates.to<D>(), generator), reference(poisson(rates, host)), 0.0);
      CHECK_CLOSE(binomial(counts.to<D>(), shares.to<D>(), generator), reference(binomial(counts, shares, host)), 0.0);
    }
    CHECK(generator.offset == host.offset);
    const auto x = variable(a.to<D>());
    sum(gamma(x, generator)).backward();
    const auto y = variable(a);
    sum(gamma(y, host)).backward();
    CHECK_CLOSE(x.grad(), reference(y.grad()), 1e-12);
    CHECK_CLOSE(poisson<float, D>(0, {3}), {0, 0, 0});
    CHECK_CLOSE(binomial<float, D>(4, 1, {2}), {4, 4});
    CHECK(gamma<float, D>(2, {2, 3}, generator).shape() == Shape{2, 3});
  }
}

TEST_CASE("each element of a draw depends on its position alone, however many candidates others reject") {
  Generator<Cpu> all{5, 0}, later{5, 10};
  const auto x = reference(gamma<double>(0.5, {100}, all)), rest = reference(gamma<double>(0.5, {90}, later));
  CHECK(std::equal(rest.values.begin(), rest.values.end(), x.values.begin() + 10));
  CHECK(all.offset == 100);
  Generator<Cpu> counts{5, 0}, others{5, 10};
  const auto k = reference(poisson(20, {100}, counts)), same = reference(poisson(20, {90}, others));
  CHECK(std::equal(same.values.begin(), same.values.end(), k.values.begin() + 10));
  manual_seed(3);
  const auto first = reference(gamma(1.5, {4}));
  manual_seed(3);
  CHECK_CLOSE(gamma(full({4}, 1.5f)), first, 0.0);
}

TEST_CASE("gamma-distributed numbers of small concentrations are above 0 in every type") {
  const auto check = []<class T>(T) {
    const Tensor<T> x = gamma<T>(1e-4, {1000});
    const auto values = reference(x).values;
    CHECK(*std::min_element(values.begin(), values.end()) > 0);
    CHECK(*std::max_element(values.begin(), values.end()) < 1);
  };
  check(0.f), check(0.0), check(half{}), check(bfloat16{});
}

TEST_CASE("gamma, poisson and binomial refuse invalid parameters on the host; elsewhere they are NaN") {
  const auto says = [](const char* text, const auto& f) { CHECK_THROWS_WITH_AS(f(), doctest::Contains(text), Error); };
  says("gamma: the concentration is 0 at element 1 of shape (2,)", [] { (void)gamma(from({1.f, 0})); });
  says("gamma: the concentration is -2", [] { (void)gamma(-2, {3}); });
  says("poisson: the rate is -1 at element 0", [] { (void)poisson(from({-1.f})); });
  says("poisson: the rate is inf", [] { (void)poisson(INFINITY, {3}); });
  says("binomial: the number of trials is 1.5", [] { (void)binomial(1.5, from({0.5f})); });
  says("binomial: the probability is 2 at element 1", [] { (void)binomial(3, from({0.5f, 2})); });
  says("binomial: shapes", [] { (void)binomial(from({1.f, 2, 3}), from({0.5f, 0.5f})); });
  locus::detail::Subsequence numbers(1, 2, 3);
  CHECK(std::isnan(locus::detail::gamma_draw(NAN, numbers).value));
  CHECK(std::isinf(locus::detail::gamma_draw(INFINITY, numbers).value));
  CHECK(std::isnan(locus::detail::poisson_draw(NAN, numbers)));
  CHECK(std::isnan(locus::detail::binomial_draw(3, -0.5, numbers)));
}

TEST_CASE("probabilities of counts are exact for large ones") {
  // log of 1e12^k e^-1e12 / k! for k = 1e12 + 5e5, and of a binomial of 1e12 trials: by mpmath, of 40 digits
  CHECK(locus::detail::log_poisson(1e12 + 5e5, 1e12) == doctest::Approx(-14.85944932033564).epsilon(1e-10));
  CHECK(locus::detail::log_binomial(25e10 + 1e5, 1e12, 0.25) == doctest::Approx(-13.924127672013058).epsilon(1e-10));
  CHECK(locus::detail::log_poisson(3, 2) == doctest::Approx(std::log(8 * std::exp(-2.0) / 6)));
  CHECK(locus::detail::log_binomial(0, 5, 0.25) == doctest::Approx(5 * std::log(0.75)));
  CHECK(locus::detail::log_binomial(5, 5, 0.25) == doctest::Approx(5 * std::log(0.25)));
}
