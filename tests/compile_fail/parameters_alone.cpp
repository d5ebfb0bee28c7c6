// A product of parameters alone.
// expect-error: parameter
// expect-error: say_trace_w|say trace\(w\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Parameter<float, Cuda> v, Parameter<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return v * w;
#else
  return v * trace(w);
#endif
}
