// Dropout of a weight alone would silently have no gradient.
// because: dropout of a parameter alone would train nothing
// expect-error: operation_on_parameters_alone|dropout of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return dropout(w, 0.1);
#else
  return dropout(trace(w), 0.1);
#endif
}
