// Running statistics of a model from batches of another device.
// because: the first layer could not read them
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: update_bn.*(make_the_loader_for_the_device_of_the_model|make the loader for the model)
#include <locus/locus.hpp>
#include <locus/training/update_bn.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cuda>& model, const data::LabelledImages& digits) {
#ifdef LOCUS_MUST_FAIL
  nn::update_bn(model, data::loader<Cpu>(digits));
#else
  nn::update_bn(model, data::loader<Cuda>(digits));
#endif
}
