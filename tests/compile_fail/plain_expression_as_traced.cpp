// A plain expression as a traced tensor.
// because: nothing would be recorded, silently
// expect-error: source_is_not_traced|is not traced, so nothing would be recorded
// expect-error: trace_it_with_trace_x|trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

Traced<float> mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return Traced<float>(x * 2.f);
#else
  return Traced<float>(trace(x) * 2.f);
#endif
}
