// A distribution of a tensor that does not say whether it holds probabilities or logits.
// group: Arguments
// because: both are tensors of numbers, and one in place of the other gives wrong results silently
// expect-error: probabilities_or_logits.*say_Probs_p_or_Logits_x
#include <locus/locus.hpp>

#include <locus/distributions/bernoulli.hpp>

using namespace locus;

auto mistake(const Tensor<float>& scores) {
#ifdef LOCUS_MUST_FAIL
  const distributions::Bernoulli action(scores);
#else
  const distributions::Bernoulli action(distributions::Logits{scores});
#endif
  return action.sample();
}
