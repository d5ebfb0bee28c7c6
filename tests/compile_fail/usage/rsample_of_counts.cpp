// A draw of counts with a gradient.
// group: Arguments
// because: a count does not change continuously with a parameter
// expect-error: no_gradient_passes_through_these_draws|no gradient passes through these draws
// expect-error: say_sample_and_weigh_log_prob_of_the_draws|say sample\(\), and weigh log_prob of the draws
#include <locus/locus.hpp>

#include <locus/distributions/bernoulli.hpp>

using namespace locus;

auto mistake(const distributions::Bernoulli<Traced<float>>& action) {
#ifdef LOCUS_MUST_FAIL
  return action.rsample();
#else
  return action.sample();
#endif
}
