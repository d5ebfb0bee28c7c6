// A function that takes no tensor, for one whose type is known when the program runs.
// because: the function is compiled for each tensor that it takes
// expect-error: f_takes_no_tensor|f takes no tensor
// expect-error: template_parameter_for_the_element_type|template parameter for the element type
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dlpack::Owner<dlpack::DLManagedTensor> managed) {
#ifdef LOCUS_MUST_FAIL
  return with_dlpack(std::move(managed), [](float* values) { return values; });
#else
  return with_dlpack(std::move(managed), []<class T>(const Tensor<T, Cpu>& x) { return x.elements(); });
#endif
}
