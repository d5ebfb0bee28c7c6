// A batch of a type of your own that does not name its device as a template parameter.
// because: the type of the result has to be known: the same aggregate, with another device in it
// expect-error: no_structure_of_tensors<Batch>|this is no structure of tensors
// expect-error: with_the_device_as_template_parameter|an aggregate whose template parameter is the device
#include <locus/locus.hpp>

using namespace locus;

#ifdef LOCUS_MUST_FAIL
struct Batch {
  Tensor<float, Cpu> x, y;
};
void mistake(const Batch& batch) {
#else
template <class D>
struct Batch {
  Tensor<float, D> x, y;
};
void mistake(const Batch<Cpu>& batch) {
#endif
  (void)data::to<Cuda>(batch);
}
