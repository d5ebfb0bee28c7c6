// A model of Locus fed from another device.
// because: a model is on the device of its type, whoever wrote it; the images of a loader for the host are not
// expect-error: model.*Cuda.*input.*Cpu
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

using namespace locus;

using ResNet18 = models::ResNet<float, Cuda, models::BasicBlock>;

auto mistake(const ResNet18& model, const Tensor<float, Cpu>& images) {
#ifdef LOCUS_MUST_FAIL
  return model(trace(images));
#else
  return model(trace(images.to<Cuda>()));
#endif
}
