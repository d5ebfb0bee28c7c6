// A linear layer of parameters alone.
// because: only a traced operand would record the computation on the parameters, and there is none
// expect-error: operation_on_parameters_alone|linear\(x, w, b\) of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto projected(const Parameter<float>& table, const Parameter<float>& w, const Parameter<float>& b) {
#ifdef LOCUS_MUST_FAIL
  return linear(table, w, b);
#else
  return linear(trace(table), w, b);
#endif
}
