// A weight penalty written on the parameter alone would silently have no gradient.
// because: a weight penalty written on a parameter would train nothing
// expect-error: operation_on_parameters_alone|sum of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto penalty(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return sum(w);
#else
  return sum(trace(w));
#endif
}
