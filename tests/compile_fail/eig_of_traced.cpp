// Eigenvalues of a traced matrix that need not be symmetric.
// because: eig and eigvals have no gradient, which would be lost without a word
// expect-error: source_records_gradients|eig: the source records gradients
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/autograd/traced.hpp>
#include <locus/linalg/eig.hpp>

using namespace locus;

auto eigenvalues(const Traced<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  return linalg::eig(x);
#else
  return linalg::eig(x.value());
#endif
}
