// Windows of a weight alone would silently have no gradient.
// because: windows of a parameter alone would train nothing
// expect-error: operation_on_parameters_alone|unfold of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return unfold(w, 0, 2, 1);
#else
  return unfold(trace(w), 0, 2, 1);
#endif
}
