// A QR factorization of a traced tensor.
// because: qr, svd, eigh and lstsq have no gradient, which would be lost without a word
// expect-error: source_records_gradients|qr: the source records gradients
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/autograd/traced.hpp>
#include <locus/linalg/qr.hpp>

using namespace locus;

auto factors(const Traced<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  return linalg::qr(x);
#else
  return linalg::qr(x.value());
#endif
}
