// Moving a model to another device.
// because: the state of an optimizer that was made before would stay behind on the other device
// expect-error: model_moved_to_another_place|a model: it is made where it lives
// expect-error: make_it_where_it_lives|as in nn::Linear<float, Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Linear<float, Cpu>{784, 10}.to<Cuda>();
#else
  return nn::Linear<float, Cuda>{784, 10};
#endif
}
