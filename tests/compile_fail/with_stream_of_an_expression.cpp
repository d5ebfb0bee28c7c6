// Work for a stream that is not queued in it.
// because: an expression is computed where it is used: later, in the stream that is current then
// expect-error: the_function_returns_an_expression_which_would_be_computed_later|the function returns an expression
// expect-error: return_x_eval|return x\.eval\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Stream<Cuda>& side, const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return with_stream(side, [&] { return x * 2.f; });
#else
  return with_stream(side, [&] { return (x * 2.f).eval(); });
#endif
}
