// Tracing a traced tensor.
// because: it would forget how it was computed
// expect-error: trace_of_a_traced_tensor|x is traced already
// expect-error: use_it_as_it_is|use it as it is
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)trace(x);
#else
  (void)(x * 2.f);
#endif
}
