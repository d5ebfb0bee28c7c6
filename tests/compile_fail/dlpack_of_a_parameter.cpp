// Another library's view of a parameter.
// because: the library would write to it without a version, and without the optimizer's knowledge
// expect-error: x_collects_gradients|x collects gradients
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  return to_dlpack<dlpack::DLManagedTensor>(w);
#else
  return to_dlpack<dlpack::DLManagedTensor>(w.value());
#endif
}
