// A captured step that computes its result later.
// because: an expression computed outside the step is not captured, and a replay would not compute it
// expect-error: the_step_returns_an_expression_which_would_be_computed_later_outside|the step returns an expression
// expect-error: return_x_eval|return x\.eval\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  auto step = capture([&] { return x * 2.f; });
#else
  auto step = capture([&] { return (x * 2.f).eval(); });
#endif
  return step();
}
