// A view of a parameter alone.
// because: a view of a parameter records no gradients, like any other result
// expect-error: parameter
// expect-error: seen_by
#include <locus/locus.hpp>

using namespace locus;

auto mistake([[maybe_unused]] Traced<float, Cuda> x, Parameter<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return transpose(w);
#else
  return transpose(seen_by(x, w));
#endif
}
