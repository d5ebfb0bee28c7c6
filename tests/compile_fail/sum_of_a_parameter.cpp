// A weight penalty written on the parameter alone would silently have no gradient.
// expect-error(gcc): operation_on_parameters_alone.*say_trace_w_or_w_value_or_seen_by_x_w
// expect-error(clang): call to deleted function 'sum'
// expect-error(nvcc): operation_on_parameters_alone
// lines: 16
#include <locus/autograd/parameter.hpp>
#include <locus/ops/reduce.hpp>

using namespace locus;

auto penalty(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return sum(w);
#else
  return sum(trace(w));
#endif
}
