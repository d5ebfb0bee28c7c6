// A penalty on weights that would lose its gradient.
// because: a weight penalty written on a parameter would train nothing
// expect-error: parameter
// expect-error: say_trace_w|say trace\(w\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Parameter<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return square(w);
#else
  return square(trace(w));
#endif
}
