// A hook that returns another gradient.
// because: the result of a hook would be lost; in PyTorch it would replace the gradient
// expect-error: what_the_function_returns_would_be_lost|what the function returns would be lost
// expect-error: change_the_gradient_in_place|change the gradient in place
#include <locus/locus.hpp>

using namespace locus;

auto halve(const Parameter<float>& w) {
#ifdef LOCUS_MUST_FAIL
  return w.on_gradient([](const Tensor<float>& gradient) { return (gradient * 0.5f).eval(); });
#else
  return w.on_gradient([](const Tensor<float>& gradient) { gradient.copy_(gradient * 0.5f); });
#endif
}
