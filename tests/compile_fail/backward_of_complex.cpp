// A backward pass from a complex loss.
// because: only a real number has a direction of steepest descent
// expect-error: the_loss_is_complex|the loss is complex
#include <locus/locus.hpp>
#include <locus/ops/complex.hpp>

using namespace locus;

void mistake(const Traced<complex64, Cpu>& z) {
#ifdef LOCUS_MUST_FAIL
  sum(z * z).backward();
#else
  sum(square(abs(z))).backward();
#endif
}
