// Runs on: host.
// Draws of distributions against their distribution functions and moments, and their gradients.
#include <locus/distributions/distributions.hpp>
#include <locus/locus.hpp>
#include <locus/ops/cov.hpp>

#include <golden/golden.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus::distributions;
using namespace locus_test;

namespace {

constexpr std::int64_t many = 20000;

/// sqrt(n) times the largest distance of the empirical from the given distribution function (Kolmogorov, Smirnov). It
/// is above 1.95 for one seed in a thousand; the seeds here are fixed.
template <class Cdf>
double kolmogorov(const Tensor<double, Cpu>& draws, const Cdf& cdf) {
  auto x = reference(draws).values;
  std::sort(x.begin(), x.end());
  double largest = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double below = cdf(x[i]);
    largest = std::max({largest, static_cast<double>(i + 1) / n - below, below - static_cast<double>(i) / n});
  }
  return largest * std::sqrt(n);
}
constexpr double rare = 1.95;

/// The statistic of Pearson over the probabilities exp(log_prob(k)) of 0, 1, ..., minus its mean, over its deviation.
template <class P>
double pearson(const P& p, const Tensor<double, Cpu>& draws, std::int64_t values) {
  const auto drawn = reference(draws).values;
  double statistic = 0, rest = 1, counted = 0, cells = 0;
  for (std::int64_t k = 0; k < values; ++k) {
    const double probability = std::exp(p.log_prob(static_cast<double>(k)).eval().item());
    const auto count = static_cast<double>(std::count(drawn.begin(), drawn.end(), static_cast<double>(k)));
    const double expected = probability * static_cast<double>(drawn.size());
    if (expected < 5) continue;
    statistic += (count - expected) * (count - expected) / expected;
    rest -= probability, counted += count, cells += 1;
  }
  const double expected = rest * static_cast<double>(drawn.size()), count = static_cast<double>(drawn.size()) - counted;
  if (expected > 5) statistic += (count - expected) * (count - expected) / expected, cells += 1;
  return (statistic - (cells - 1)) / std::sqrt(2 * (cells - 1));
}
/// A normal number of more than four deviations is rarer than one seed in ten thousand.
constexpr double improbable = 4;

/// Compares mean and variance of 160,000 draws: of normal numbers, a deviation that is 1 % too large fails, and so does
/// a mean that is off by 1 % of the deviation.
template <class P>
void check_moments(const P& p, double mean, double variance) {
  const auto draws = reference(p.sample({8 * many})).values;
  double first = 0, second = 0, fourth = 0;  // moments around the expected mean
  for (const double x : draws) {
    const double square = (x - mean) * (x - mean);
    first += x - mean, second += square, fourth += square * square;
  }
  const auto n = static_cast<double>(draws.size());
  CHECK(std::abs(first) < improbable * std::sqrt(n * variance));
  CHECK(std::abs(second - n * variance) <= improbable * std::sqrt(fourth - n * variance * variance));
}

}  // namespace

TEST_CASE("draws of continuous distributions follow the distribution function, and have the moments") {
  manual_seed(11);
  const auto number = [](double x) { return full<double>({}, x); };
  const auto check = [](const auto& p, const auto& cdf) { CHECK(kolmogorov(p.sample({many}), cdf) < rare); };
  const auto by_cdf = [&](const auto& p, double mean, double variance) {
    CHECK(kolmogorov(p.cdf(p.sample({many})).eval(), [](double u) { return u; }) < rare);  // uniform numbers
    check_moments(p, mean, variance);
  };
  by_cdf(Normal(number(-1), 2), -1, 4);
  by_cdf(LogNormal(number(-1), 0.5), std::exp(-0.875), std::expm1(0.25) * std::exp(-1.75));
  by_cdf(Uniform(number(-1), 3), 1, 16.0 / 12);
  by_cdf(Exponential(number(3)), 1.0 / 3, 1.0 / 9);
  by_cdf(Laplace(number(-1), 2), -1, 8);
  for (const double a : {0.02, 0.5, 1.0, 3.0, 500.0}) {
    CAPTURE(a);
    const Gamma gamma(number(a), 2);
    check(gamma, [=](double x) { return math::gammainc(a, 2 * x); });
    check_moments(gamma, a / 2, a / 4);
    const Beta beta(number(a), 0.75);
    check(beta, [=](double x) { return math::betainc(a, 0.75, x); });
    if (a != 3) continue;
    const double n = a + 0.75;
    check_moments(beta, a / n, a * 0.75 / (n * n * (n + 1)));
  }
  check(StudentT(number(3), 1, 2), [](double given) {  // by the incomplete beta function
    const double x = (given - 1) / 2, half = 0.5 * math::betainc(1.5, 0.5, 3 / (3 + x * x));
    return x < 0 ? half : 1 - half;
  });
  const auto vectors = Dirichlet(from<double>({0.25, 2, 30})).sample({many});
  CHECK(kolmogorov(vectors.select(-1, 1), [](double x) { return math::betainc(2, 30.25, x); }) < rare);
  CHECK_CLOSE(sum(vectors, -1), Reference({many}, std::vector<double>(many, 1)), 1e-14);
}

TEST_CASE("draws of counts follow the probabilities") {
  manual_seed(12);
  for (const double rate : {0.25, 4.0, 9.75, 10.0, 14.0, 300.0}) {
    const Poisson p(full<double>({}, rate));
    CAPTURE(rate);
    CHECK(pearson(p, p.sample({many}), static_cast<std::int64_t>(2 * rate) + 20) < improbable);
    check_moments(p, rate, rate);
  }
  const std::pair<int, double> trials[] = {{1, 0.5}, {20, 0.125}, {20, 0.75}, {50, 0.25}, {400, 0.9375}, {40, 0.0}};
  for (const auto& given : trials) {
    const int n = given.first;
    const double probability = given.second;
    const Binomial p(n, Probs{full<double>({}, probability)});
    CAPTURE(n);
    CAPTURE(probability);
    const auto draws = p.sample({many});
    if (probability == 0) {
      CHECK_CLOSE(max(draws), 0.0);
      continue;
    }
    CHECK(pearson(p, draws, n + 1) < improbable);
    check_moments(p, n * probability, n * probability * (1 - probability));
  }
  check_moments(Bernoulli(Probs{full<double>({}, 0.3)}), 0.3, 0.21);
  const double rarely = static_cast<double>(static_cast<float>(bfloat16(0.001f)));  // finer than uniform bfloat16s are
  check_moments(Bernoulli(Probs{full<bfloat16>({}, 0.001f)}), rarely, rarely * (1 - rarely));
  CHECK_CLOSE(Bernoulli(Probs{from<double>({0, 1})}).sample({2}), {{2, 2}, {0, 1, 0, 1}});
  const auto chosen = Categorical(Probs{from<double>({{0.5, 0, 0.5}, {0.25, 0.5, 0.25}})}).sample({many});
  CHECK(chosen.shape() == Shape{many, 2});
  CHECK(std::abs(mean((chosen.select(1, 1) == std::int64_t{1}).as<double>()).item() - 0.5) <
        4 * std::sqrt(0.25 / many));
  CHECK(sum((chosen.select(1, 0) == std::int64_t{1}).as<double>()).item() == 0);
}

TEST_CASE("draws of vectors and mixtures have the moments") {
  manual_seed(13);
  const Tensor covariance = from<double>({{2, 0.5}, {0.5, 1}}), middle = from<double>({1, -1});
  const MultivariateNormal p(middle, Covariance{covariance});
  const auto x = p.sample({many});
  CHECK_CLOSE(mean(x, 0), {1, -1}, 0.04);
  CHECK_CLOSE(cov(x.transpose()), {{2, 2}, {2, 0.5, 0.5, 1}}, 0.05);
  const MultivariateNormal same(middle, Precision{from<double>({{1, -0.5}, {-0.5, 2}}) / 1.75});
  CHECK_CLOSE(same.covariance_matrix(), {{2, 2}, {2, 0.5, 0.5, 1}}, 1e-12);
  const MultivariateNormal several(from<double>({{1, -1}, {0, 0}, {3, 3}}), Covariance{covariance});
  CHECK(several.sample({5, 4}).shape() == Shape{5, 4, 3, 2});
  const MultivariateNormal batch(middle, Covariance{stack(0, covariance, Tensor(covariance * 2.0))});
  const auto y = batch.sample({many});
  CHECK(y.shape() == Shape{many, 2, 2});
  CHECK_CLOSE(cov(y.select(1, 1).transpose()), {{2, 2}, {4, 1, 1, 2}}, 0.1);
  const auto first = y.slice(0, 0, 3);
  CHECK_CLOSE(batch.log_prob(first).eval().select(1, 0), reference(p.log_prob(first.select(1, 0)).eval()), 1e-12);

  const MixtureSameFamily mixture(Categorical(Probs{from<double>({0.25, 0.75})}),
                                  Independent(Normal(from<double>({{0, 1, 3}, {5, 6, 7}}), 0.5), 1));
  const auto z = mixture.sample({many});
  CHECK(z.shape() == Shape{many, 3});
  CHECK_CLOSE(mean(z, 0), reference(mixture.mean()), 0.02);
  CHECK_CLOSE(var(z, 0), reference(mixture.variance()), 0.03);
  CHECK(mixture.log_prob(z).shape() == Shape{many});
  CHECK_CLOSE(mixture.log_prob(3.5).eval(), reference(mixture.log_prob(full<double>({3}, 3.5)).eval()), 0.0);

  // One mixture for a batch of components: every element draws its own category.
  const MixtureSameFamily batch_of_mixtures(Categorical(Probs{from<double>({1, 3})}),
                                            Normal(from<double>({{0, 10}, {100, 110}}), 1));
  const auto w = batch_of_mixtures.sample({many});
  CHECK(w.shape() == Shape{many, 2});
  CHECK_CLOSE(mean(w, 0), {7.5, 107.5}, 0.15);
  CHECK_CLOSE(cov(w.transpose()), {{2, 2}, {19.75, 0, 0, 19.75}}, 0.7);
}

TEST_CASE("draws are functions of the generator, and equal ones for log_prob's gradient") {
  Generator<Cpu> first{7}, second{7};
  const Gamma p(from({0.5f, 2}), 3);
  const auto x = p.sample({4, 3}, first);
  CHECK(x.shape() == Shape{4, 3, 2});
  CHECK_CLOSE(p.rsample({4, 3}, second), reference(x), 0.0);
  CHECK(first.offset == 24);
  CHECK_CLOSE(p.sample({1}, second).reshape({2}), reference(p.sample({}, first)), 0.0);
  const auto a = variable(from({0.5f, 2}));
  static_assert(std::is_same_v<decltype(Gamma(a, 1).sample()), Tensor<float, Cpu>>);
  static_assert(std::is_same_v<decltype(Gamma(a, 1).rsample()), Traced<float, Cpu>>);
  static_assert(std::is_same_v<decltype(Normal(0, 1).sample()), Tensor<float, Cpu>>);
}

TEST_CASE("draws have the gradients of the quantiles, as PyTorch approximates them") {
  const auto compare = [](const std::string& name, const auto& slope) {
    const auto exact = golden::reference(name).values, approximate = golden::reference(name + "_torch").values;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CHECK(slope(i) == doctest::Approx(exact[i]).epsilon(1e-11));
      CHECK(std::abs(approximate[i] - exact[i]) <= 6e-3 * std::abs(exact[i]));
    }
  };
  const auto values = [](const char* name) { return golden::reference(name).values; };
  const auto a = values("gamma_slope_a"), x = values("gamma_slope_x");
  compare("gamma_slope", [&](std::size_t i) { return math::gamma_slope(a[i], x[i]); });
  const auto p = values("beta_slope_a"), q = values("beta_slope_b"), y = values("beta_slope_x");
  compare("beta_slope", [&](std::size_t i) { return math::detail::beta_slope(p[i], q[i], y[i], 1 - y[i]); });
  for (const double large : {12000.0, 1e6}) {  // by the quantiles of neighbouring concentrations
    const double at = large + 1.5 * std::sqrt(large), step = 1e-3 * std::sqrt(large);
    const double rise = math::gammainc(large - step, at) - math::gammainc(large + step, at);
    CHECK(math::gamma_slope(large, at) ==
          doctest::Approx(rise / (2 * step * math::gammainc_slope(large, at))).epsilon(1e-5));
  }
}

TEST_CASE("gradients of draws reach every parameter") {
  const auto check = [](const auto& make, const auto& loss, std::initializer_list<double> given, double expected) {
    manual_seed(14);
    const auto parameter = variable(Tensor<double, Cpu>(from<double>(given)));
    mean(loss(make(parameter).rsample({many}))).backward();
    CHECK(parameter.grad()(0) == doctest::Approx(expected).epsilon(0.05));
  };
  // of E[x^2] by a: of Gamma(a, 2), (a^2 + a) / 4; of Beta(a, 2), a (a + 1) / ((a + 2) (a + 3))
  const auto squares = [](const auto& x) { return square(x); };
  check([](const auto& a) { return Gamma(a, 2); }, squares, {1.5}, 1.0);
  check([](const auto& a) { return Beta(a, 2); }, squares, {1.5},
        4 * 1.5 * 1.5 / 12.25 / 20.25 + 12 * 1.5 / 12.25 / 20.25 + 6 / 12.25 / 20.25);
  check([](const auto& b) { return Beta(2, b); }, squares, {1.5}, -6 * (2 * 1.5 + 5) / 12.25 / 20.25);
  check([](const auto& s) { return Laplace(0, s); }, squares, {1.5}, 4 * 1.5);
  check([](const auto& r) { return Exponential(r); }, squares, {2}, -4.0 / 8);
  check([](const auto& m) { return LogNormal(m, 0.5); }, squares, {0.25}, 2 * std::exp(2 * 0.25 + 2 * 0.25));
  // of E[x1 x2] = a b / (n (n + 1)) with n = a + b + 3 by a, for Dirichlet(a, b, 3)
  manual_seed(15);
  const auto a = variable(from<double>({1.5, 2, 3}));
  const auto x = Dirichlet(a).rsample({many});
  mean(x.select(-1, 0) * x.select(-1, 1)).backward();
  const double n = 6.5, share = 1 / (n * (n + 1)), by_total = -(2 * n + 1) * share * share;
  CHECK(a.grad()(0) == doctest::Approx(2 * share + 3 * by_total).epsilon(0.05));
  CHECK(a.grad()(2) == doctest::Approx(3 * by_total).epsilon(0.05));
  // of E[x^2] = df / (df - 2) by df, and of a multivariate normal by its factor
  const auto df = variable(from<double>({9}));
  mean(square(StudentT(df, 0, 1).rsample({4 * many}))).backward();
  CHECK(df.grad()(0) == doctest::Approx(-2.0 / 49).epsilon(0.1));
  const auto lower = variable(from<double>({{1.5, 0}, {0.5, 1}}));
  mean(square(MultivariateNormal(from<double>({0, 0}), ScaleTril{lower}).rsample({many}))).backward();
  CHECK_CLOSE(lower.grad().select(0, 1), {0.5, 1}, 0.05);
}

TEST_CASE("distributions refuse invalid parameters and values, unless validation is off") {
  const auto says = [](const char* text, const auto& f) { CHECK_THROWS_WITH_AS(f(), doctest::Contains(text), Error); };
  says("Normal: scale is -1 at element 1 of shape (2,); expected more than 0", [] { Normal(0, from({1.f, -1})); });
  says("Uniform: low is 2 and high is 1 at element 1 of shape (2,); expected low < high", [] {
    Uniform(from({0.f, 2}), 1);
  });
  says("Gamma: the concentration is 0", [] { Gamma(0, 1); });
  says("Poisson: the rate is -2", [] { Poisson(-2); });
  says("Binomial: the number of trials is 2.5", [] { Binomial(2.5, Probs{0.5}); });
  says("Bernoulli: the probability is 1.5", [] { Bernoulli(Probs{1.5}); });
  says("Categorical: row 1 has 0 weights above 0", [] { Categorical(Probs{from({{0.5f, 0.5f}, {0, 0}})}); });
  says("Categorical: weight 1 of row 0 is -2", [] { Categorical(Probs{from({1.f, -2})}); });
  says("Categorical: row 1 of the logits, of shape (2, 1), is -infinity", [] {
    Categorical(Logits{from({{0.f}, {-INFINITY}})});
  });
  says("Categorical: the logit is inf", [] { Categorical(Logits{from({0.f, INFINITY})}); });
  says("Categorical: a parameter of shape (2, 0)", [] { Categorical(Logits{zeros({2, 0})}); });
  says("Categorical: the logits of shape (); expected (..., categories)", [] { Categorical(Logits{full({}, 1.f)}); });
  says("Dirichlet: the concentration is -3", [] { Dirichlet(from({1.f, -3})); });
  says("is not positive definite", [] { MultivariateNormal(from({0.f, 0}), Covariance{from({{1.f, 2}, {2, 1}})}); });
  says("the covariance is 0.5 and its transpose is 0.25 at element 1 of shape (2, 2); expected a symmetric", [] {
    MultivariateNormal(from({0.f, 0}), Covariance{from({{1, 0.5f}, {0.25f, 1}})});
  });
  says("element 0, 1 of ScaleTril is 2; expected zeros above", [] {
    MultivariateNormal(from({0.f, 0}), ScaleTril{from({{1.f, 2}, {2, 1}})});
  });
  says("loc of shape (3,) with matrices", [] { MultivariateNormal(from({0.f, 0, 0}), ScaleTril{from({{{1.f}}})}); });
  says("Normal: shapes", [] { Normal(from({0.f, 0}), from({1.f, 1, 1})); });
  says("Exponential: the value is -1", [] { (void)Exponential(1).log_prob(-1); });
  says("Beta: the value is 1.5", [] { (void)Beta(1, 1).log_prob(1.5); });
  says("Bernoulli: the value is 0.5 at element 0 of shape (); expected 0 or 1",
       [] { (void)Bernoulli(Probs{0.5}).log_prob(0.5); });
  says("Binomial: the value is 4 and the number of trials is 3 at element 0 of shape ()",
       [] { (void)Binomial(3, Probs{0.5}).log_prob(4); });
  says("Categorical: the value is 2 at element 0", [] {
    (void)Categorical(Logits{from({0.f, 0})}).log_prob(from<std::int64_t>({2}));
  });
  says("Dirichlet: row 0 of the value, of shape (2,), sums to 1.5", [] {
    (void)Dirichlet(from({1.f, 1})).log_prob(from({1, 0.5f}));
  });
  says("Dirichlet: a value of shape (1,) for events of shape (2,)", [] {
    (void)Dirichlet(from({1.f, 1})).log_prob(from({1.f}));
  });
  says("Normal: the probability is -1", [] { (void)Normal(0, 1).icdf(-1); });
  says("Independent: 2 dimensions of a batch of shape (2,)", [] { Independent(Normal(from({0.f, 1}), 1), 2); });
  says("components with a batch of shape (3,) for 2 categories", [] {
    (void)MixtureSameFamily(Categorical(Logits{from({0.f, 0})}), Normal(from({0.f, 1, 2}), 1));
  });
  says("categories with a batch of shape (2,) for components with a batch of shape (2,); expected to broadcast to ()",
       [] {
         (void)MixtureSameFamily(Categorical(Logits{zeros({2, 2})}), Normal(from({0.f, 1}), 1));
       });
  CHECK(std::isnan(Normal(0, -1, {.validate = false}).log_prob(0).eval().item()));
  CHECK_CLOSE(Uniform(0., 1., {.validate = false}).log_prob(2).eval(), -INFINITY);
  const Bernoulli soft(Logits{0.5}, {.validate = false});  // a target between 0 and 1, as an image's
  CHECK(soft.log_prob(0.25).eval().item() == doctest::Approx(0.25 * 0.5 - std::log1p(std::exp(0.5))));
}
