// A convolution of parameters alone.
// because: nothing would record it, and its gradient would be lost
// expect-error: operation_on_parameters_alone|conv2d.*of parameters alone would lose their gradient
// expect-error: say_trace_w_or_w_value_or_seen_by_x_w|say trace\(w\), w.value\(\) or seen_by
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return conv2d(w, w);
#else
  return conv2d(trace(w), w);
#endif
}
