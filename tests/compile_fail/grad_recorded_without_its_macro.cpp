// Gradients of gradients in a program that is compiled without them.
// because: each recorded operation would need code that other programs do not pay for
// expect-error: this_program_records_no_gradients_of_gradients|this program records no gradients of gradients
// expect-error: LOCUS_DOUBLE_BACKWARD
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float, Cuda>& x) {
  const auto loss = sum(exp(x));
#ifdef LOCUS_MUST_FAIL
  (void)grad(loss, x, {.create_graph = true});
#else
  (void)grad(loss, x, {.retain_graph = true, .allow_unused = true});
#endif
}
