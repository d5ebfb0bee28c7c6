// A plain tensor where a traced one is expected.
// because: whether computations with it are recorded would be an accident
// expect-error: source_is_not_traced|the source is not traced
// expect-error: trace_it_with_trace_x|trace it with trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  Traced<float> y = x;
#else
  Traced<float> y = trace(x);
#endif
}
