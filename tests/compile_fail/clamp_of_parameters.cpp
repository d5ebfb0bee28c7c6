// A parameter limited by parameters and numbers.
// because: only a traced operand would record the computation on the parameters, and there is none
// expect-error: operation_on_parameters_alone|clamp\(x, low, high\) of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto limited(const Parameter<float>& w, const Parameter<float>& bound) {
#ifdef LOCUS_MUST_FAIL
  return clamp(w, 0.f, bound);
#else
  return clamp(trace(w), 0.f, bound);
#endif
}
