// Runs on: host, cuda (operations).
// Distributions on every device: draws equal to the host's, a density, gradients, and a step by REINFORCE.
#include <locus/distributions/beta.hpp>
#include <locus/distributions/categorical.hpp>
#include <locus/distributions/kl.hpp>
#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus::distributions;
using namespace locus_test;

namespace {
/// A draw, its density and the gradient of both, on D and on the host.
template <class D, class Make>
void check_same(const Make& make, const Tensor<float>& first, const Tensor<float>& second) {
  const auto run = [&]<class E>(E) {
    Generator<E> generator{9, 2};
    const auto a = variable(first.to<E>()), b = variable(second.to<E>());
    const auto p = make(a, b);
    const auto x = p.rsample({3}, generator);
    (sum(p.log_prob(x)) + sum(p.entropy())).backward();
    return Tuple(reference(x.value()), reference(a.grad()), reference(b.grad()));
  };
  const auto given = run(D{}), expected = run(Cpu{});
  check_empty(difference_of(get<0>(given), get<0>(expected), 2e-6), __FILE__, __LINE__);
  check_empty(difference_of(get<1>(given), get<1>(expected), 1e-4), __FILE__, __LINE__);
  check_empty(difference_of(get<2>(given), get<2>(expected), 1e-4), __FILE__, __LINE__);
}
}  // namespace

LOCUS_DEVICE_TEST("distributions: draws, densities and gradients are the host's on every device", D) {
  if constexpr (all_dtypes<D>) {
    const auto a = from({0.5f, 2, 7}), b = from({1.5f, 0.75f, 3});
    check_same<D>([](const auto& x, const auto& y) { return Beta(x, y); }, a, b);
  }
}

LOCUS_DEVICE_TEST("distributions: a step by REINFORCE makes the rewarded action more probable", D) {
  if constexpr (all_dtypes<D>) {
    Generator<D> generator{4};
    const auto scores = variable(zeros<float, D>({3}));
    const Categorical policy(Logits{scores});
    const auto action = policy.sample({500}, generator);
    const auto reward = (action == std::int64_t{2}).template as<float>();
    (-mean(policy.log_prob(action) * reward)).backward();
    CHECK_CLOSE(scores.grad(), {1.0 / 9, 1.0 / 9, -2.0 / 9}, 0.05);  // of E[log p(a) r] = log p(2) / 3
    const Categorical better(Logits{Tensor(scores.value() - scores.grad())});
    CHECK(better.probs().eval().to(Cpu{})(2) > 0.4f);
    CHECK_CLOSE(kl_divergence(better, Categorical(Logits{zeros<float, D>({3})})).eval(), 0.0131, 0.1);
  }
}
