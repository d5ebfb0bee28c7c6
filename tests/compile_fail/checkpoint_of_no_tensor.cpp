// A checkpoint of a function that returns a number.
// because: the backward pass of a checkpoint begins with the gradient of its result
// expect-error: f_returns_no_tensor|f returns no tensor
// expect-error: return_the_one_that_f_computes|return the one that f computes
#include <locus/locus.hpp>

using namespace locus;

auto total(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return checkpoint([](const auto& h) { return sum(h).item(); }, x);
#else
  return checkpoint([](const auto& h) { return sum(h); }, x).item();
#endif
}
