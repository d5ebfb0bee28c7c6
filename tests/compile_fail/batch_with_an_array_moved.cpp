// A batch of a type of your own that holds its tensors in an array of C.
// because: arrays of C are not copied element by element; std::array is
// expect-error: no_structure_of_tensors<Batch<|this is no structure of tensors
// expect-error: with_the_device_as_template_parameter|without arrays of C
#include <locus/locus.hpp>

#include <array>

using namespace locus;

template <class D>
struct Batch {
#ifdef LOCUS_MUST_FAIL
  Tensor<float, D> views[2];
#else
  std::array<Tensor<float, D>, 2> views;
#endif
};
void mistake(const Batch<Cpu>& batch) { (void)data::to<Cuda>(batch); }
