// A product of parameters alone.
// because: outside a traced computation the result would have no gradient, and nobody would notice
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
