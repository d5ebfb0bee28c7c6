// A variable of integers.
// because: integers have no gradient
// expect-error: tensor_holds<(long|int64)|the tensor holds integers
// expect-error: variable.*(convert_with_as_float|convert with \.as<float>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<std::int64_t>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)variable(x);
#else
  (void)variable(x.as<float>());
#endif
}
