// Runs on: host.
// Densities, moments and divergences against PyTorch's in double; draws against the distribution functions.
#include <locus/distributions/distributions.hpp>
#include <locus/locus.hpp>

#include <golden/golden.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus::distributions;
using namespace locus_test;

namespace {

using Plain = Tensor<double, Cpu>;

Plain golden_of(const std::string& name) { return golden::tensor<double, Cpu>(name); }

template <class X>
void check_value(const X& given, const std::string& name) {
  CAPTURE(name);
  const Plain value = given.eval().value().contiguous();
  check_empty(relative_difference(value, golden::reference(name), 1e-12), __FILE__, __LINE__);
}

/// The parameters of a distribution as variables.
struct Given {
  std::string name;
  bool other = false;
  [[nodiscard]] Plain operator()(const char* parameter) const {
    return golden_of((other ? "other_" : "") + name + "_" + parameter);
  }
};

/// log_prob with the gradients of the parameters and of the value.
template <class Make, class... Name>
void check_log_prob(const std::string& name, const Make& make, Name... parameter) {
  CAPTURE(name);
  const Given given{name};
  const Tuple variables(variable(given(parameter))...);
  const auto value = variable(given("value"));
  unpack(variables, [&](const auto&... x) {
    const auto log_prob = make(x...).log_prob(value).eval();
    check_value(log_prob, name + "_log_prob");
    log_prob.backward(golden_of(name + "_log_prob_cotangent"));
    const auto check_gradient = [&](const auto& of, const std::string& key) {
      CAPTURE(key);
      const auto by = golden::reference(name + "_log_prob_d" + key);
      check_empty(difference(of.grad(), by, 1e-9), __FILE__, __LINE__);
    };
    (check_gradient(x, parameter), ...);
    const bool is_count = name.starts_with("b") && name != "beta";
    if (!is_count && name != "poisson" && name != "uniform") check_gradient(value, "value");
  });
}

template <class P>
void check_moments(const std::string& name, const P& p) {
  check_value(p.mean(), name + "_mean");
  check_value(p.variance(), name + "_variance");
  if (name != "poisson") {
    if constexpr (requires { p.entropy(); }) check_value(p.entropy(), name + "_entropy");
  }
  if constexpr (P::has_cdf) check_value(p.cdf(golden_of(name + "_value")), name + "_cdf");
  if constexpr (P::has_icdf) check_value(p.icdf(from<double>({0.03125, 0.5, 0.875})), name + "_icdf");
}

// The distributions, with the names of their parameters in the golden numbers.
const auto normal_of = [](const auto& m, const auto& s) { return Normal(m, s); };
const auto log_normal_of = [](const auto& m, const auto& s) { return LogNormal(m, s); };
const auto uniform_of = [](const auto& a, const auto& b) { return Uniform(a, b); };
const auto exponential_of = [](const auto& r) { return Exponential(r); };
const auto laplace_of = [](const auto& m, const auto& s) { return Laplace(m, s); };
const auto gamma_of = [](const auto& a, const auto& r) { return Gamma(a, r); };
const auto student_of = [](const auto& n, const auto& m, const auto& s) { return StudentT(n, m, s); };
const auto beta_of = [](const auto& a, const auto& b) { return Beta(a, b); };
const auto dirichlet_of = [](const auto& a) { return Dirichlet(a); };
const auto bernoulli_of = [](const auto& l) { return Bernoulli(Logits{l}); };
const auto bernoulli_of_probs = [](const auto& p) { return Bernoulli(Probs{p}); };
const auto binomial_of = [](const auto& l) { return Binomial(12, Logits{l}); };
const auto poisson_of = [](const auto& r) { return Poisson(r); };
const auto multivariate_of = [](const auto& m, const auto& l) { return MultivariateNormal(m, ScaleTril{l}); };

}  // namespace

TEST_CASE("distributions: log_prob and its gradients are PyTorch's") {
  check_log_prob("normal", normal_of, "loc", "scale");
  check_log_prob("log_normal", log_normal_of, "loc", "scale");
  check_log_prob("uniform", uniform_of, "low", "high");
  check_log_prob("exponential", exponential_of, "rate");
  check_log_prob("laplace", laplace_of, "loc", "scale");
  check_log_prob("gamma", gamma_of, "concentration", "rate");
  check_log_prob("student_t", student_of, "df", "loc", "scale");
  check_log_prob("beta", beta_of, "concentration1", "concentration0");
  check_log_prob("dirichlet", dirichlet_of, "concentration");
  check_log_prob("bernoulli", bernoulli_of, "logits");
  check_log_prob("bernoulli_of_probs", bernoulli_of_probs, "probs");
  check_log_prob("binomial", binomial_of, "logits");
  check_log_prob("poisson", poisson_of, "rate");
  check_log_prob("mvn", multivariate_of, "loc", "tril");

  const auto logits = variable(golden_of("categorical_logits"));
  const auto log_prob = Categorical(Logits{logits}).log_prob(golden_of("categorical_value").as<std::int64_t>());
  check_value(log_prob, "categorical_log_prob");
  log_prob.backward(golden_of("categorical_log_prob_cotangent"));
  CHECK_CLOSE(logits.grad(), golden::reference("categorical_log_prob_dlogits"), 1e-12);
}

TEST_CASE("distributions: moments, entropies and distribution functions are PyTorch's") {
  const auto check = [](const std::string& name, const auto& make, auto... parameter) {
    const Given given{name};
    check_moments(name, make(given(parameter)...));
  };
  check("normal", normal_of, "loc", "scale");
  check("log_normal", log_normal_of, "loc", "scale");
  check("uniform", uniform_of, "low", "high");
  check("exponential", exponential_of, "rate");
  check("laplace", laplace_of, "loc", "scale");
  check("gamma", gamma_of, "concentration", "rate");
  check("student_t", student_of, "df", "loc", "scale");
  check("beta", beta_of, "concentration1", "concentration0");
  check("dirichlet", dirichlet_of, "concentration");
  check("bernoulli", bernoulli_of, "logits");
  check("bernoulli_of_probs", bernoulli_of_probs, "probs");
  check("binomial", binomial_of, "logits");
  check("poisson", poisson_of, "rate");
  check("mvn", multivariate_of, "loc", "tril");
  check_value(Categorical(Logits{golden_of("categorical_logits")}).entropy(), "categorical_entropy");
  const Plain logits = from<double>({0.5, -1, 2}), x = from<double>({-2, 0.25, 3.5});
  const MixtureSameFamily mixture(Categorical(Logits{logits}),
                                  Normal(golden_of("normal_loc"), golden_of("normal_scale")));
  check_value(mixture.log_prob(x), "mixture_log_prob");
  check_value(mixture.cdf(x), "mixture_cdf");
  check_value(mixture.mean(), "mixture_mean");
  check_value(mixture.variance(), "mixture_variance");
  CHECK_CLOSE(StudentT(from<double>({0.5, 1.5}), 0, 1).variance().eval(), {NAN, INFINITY});
  CHECK_CLOSE(StudentT(from<double>({0.5, 1.5}), 2, 1).mean().eval(), {NAN, 2});
}

TEST_CASE("distributions: divergences are PyTorch's, or infinite where draws leave the support") {
  const auto made = [](const std::string& name, bool other, const auto& use) {
    const Given p{name, other};
    if (name == "normal") use(Normal(p("loc"), p("scale")));
    else if (name == "laplace") use(Laplace(p("loc"), p("scale")));
    else if (name == "exponential") use(Exponential(p("rate")));
    else if (name == "gamma") use(Gamma(p("concentration"), p("rate")));
    else if (name == "beta") use(Beta(p("concentration1"), p("concentration0")));
    else if (name == "uniform") use(Uniform(p("low"), p("high")));
    else if (name == "poisson") use(Poisson(p("rate")));
    else if (name == "bernoulli") use(Bernoulli(Logits{p("logits")}));
  };
  const auto check = [&](const std::string& first, const std::string& second) {
    bool compared = false;
    made(first, false, [&](const auto& p) {
      made(second, true, [&](const auto& q) {
        if constexpr (requires { kl_divergence(p, q).eval(); }) {
          compared = true;
          check_value(kl_divergence(p, q), "kl_" + first + "_" + second);
        }
      });
    });
    CHECK(compared);
  };
  for (const char* first : {"normal", "laplace"})
    for (const char* second : {"normal", "laplace"}) check(first, second);
  for (const char* first : {"exponential", "gamma", "beta", "uniform"})
    for (const char* second : {"exponential", "gamma", "normal"}) check(first, second);
  check("beta", "beta"), check("beta", "uniform"), check("uniform", "uniform"), check("uniform", "beta");
  check("bernoulli", "bernoulli"), check("bernoulli", "poisson"), check("poisson", "poisson");
  const auto pair = [](const std::string& name, const auto& make, auto... parameter) {
    const Given p{name}, q{name, true};
    check_value(kl_divergence(make(p(parameter)...), make(q(parameter)...)), "kl_" + name + "_" + name);
  };
  pair("log_normal", log_normal_of, "loc", "scale");
  pair("binomial", binomial_of, "logits");
  pair(
      "categorical", [](const auto& l) { return Categorical(Logits{l}); }, "logits");
  pair("dirichlet", dirichlet_of, "concentration");
  pair("mvn", multivariate_of, "loc", "tril");
  const auto infinite = kl_divergence(Normal(from<double>({0, 1}), 1), Exponential(from<double>({{1}, {2}})));
  CHECK_CLOSE(infinite, {{2, 2}, {INFINITY, INFINITY, INFINITY, INFINITY}});
  CHECK_CLOSE(kl_divergence(Uniform(0., 2.), Uniform(0., 1.)).eval(), INFINITY);
  CHECK_CLOSE(kl_divergence(Binomial(3, Probs{0.5}), Binomial(2, Probs{0.5})).eval(), INFINITY);
  CHECK_CLOSE(
      kl_divergence(Bernoulli(Probs{from<double>({0, 0.5, 1})}), Bernoulli(Probs{from<double>({0, 0, 1})})).eval(),
      {0, INFINITY, 0});
}

TEST_CASE("distributions: a divergence has gradients to the parameters of both, also of independent dimensions") {
  const auto m = variable(from<double>({{0.5, -1}, {2, 0}})), s = variable(from<double>({{1, 2}, {0.5, 1}}));
  const Independent p(Normal(m, s), 1);
  const Independent q(Normal(from<double>({{0, 0}, {1, 0}}), 1), 1);
  CHECK(p.event_shape() == Shape{2});
  sum(kl_divergence(p, q)).backward();
  CHECK_CLOSE(m.grad(), {{2, 2}, {0.5, -1, 1, 0}});
  CHECK_CLOSE(s.grad(), {{2, 2}, {0, 1.5, -1.5, 0}});
  const auto agrees =
      gradcheck([](auto a, auto b, auto c, auto d) { return kl_divergence(Gamma(a, b), Gamma(c, d)).eval(); },
                from<double>({0.5, 3}), from<double>({2, 1}), from<double>({1, 2}), from<double>({0.25, 3}));
  CHECK_MESSAGE(agrees, agrees.what());
}

TEST_CASE("distributions: probabilities of 0 and large logits have PyTorch's values and gradients, not NaN") {
  const auto slope = [](const Plain& at, const auto& f) {
    const auto x = variable(at);
    sum(f(x)).backward();
    return Plain(x.grad());
  };
  const Plain large = from<double>({200, -200, 800, -800, 0, INFINITY});
  CHECK_CLOSE(slope(large, [](const auto& l) { return Bernoulli(Logits{l}).entropy(); }), {0, 0, 0, 0, 0, 0}, 1e-80);
  const auto two_of_three = [](const auto& l) { return Binomial(3, Logits{l}).log_prob(2); };
  CHECK_CLOSE(two_of_three(from<double>({800, -800})).eval(), {std::log(3) - 800, std::log(3) - 1600}, 1e-14);
  CHECK_CLOSE(slope(from<double>({200, -200, 800, -800, 0}), two_of_three), {-1, 2, -1, 2, 0.5}, 1e-14);
  CHECK_CLOSE(Binomial(from<double>({3, 3, 1, 0}), Logits{from<double>({800, -INFINITY, 0, 0})}).entropy(),
              {0, 0, std::log(2), 0}, 1e-14);

  const Plain masked = from<double>({0.5, -INFINITY, 1});
  CHECK_CLOSE(slope(masked, [](const auto& l) { return Categorical(Logits{l}).entropy(); }),
              {0.11750185610079725, 0, -0.11750185610079725}, 1e-14);
  const Categorical weights(Probs{from<double>({1, 0, 3})});
  CHECK_CLOSE(weights.probs().eval(), {0.25, 0, 0.75}, 1e-15);
  CHECK_CLOSE(slope(from<double>({1, 0, 3}),
                    [](const auto& p) { return Categorical(Probs{p}).log_prob(from<std::int64_t>({2})); }),
              {-0.25, -0.25, 1.0 / 12}, 1e-15);

  const Plain precision = from<double>({{{2, 0.5}, {0.5, 1}}, {{3, 1}, {1, 2}}}), at = from<double>({0.5, 1});
  const auto density = [&](const auto& p) {
    return MultivariateNormal(from<double>({1, 2}), Precision{p}).log_prob(at);
  };
  CHECK_CLOSE(density(precision).eval(), {-2.558069172441634, -2.908158110192295}, 1e-14);
  CHECK_CLOSE(slope(precision, density),
              Reference({2, 2, 2}, {4.5 / 28, -11.0 / 28, -11.0 / 28, 2.0 / 28, 0.075, -0.35, -0.35, -0.2}), 1e-14);
}
