// backward() of something that was not traced.
// because: only computations on a traced tensor are recorded
// expect-error: backward_of_a_plain_tensor|backward\(\) of a plain tensor
// expect-error: trace_the_input_first|trace the input first
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cuda>& model, Tensor<float, Cuda> x, Tensor<std::int64_t, Cuda> labels) {
#ifdef LOCUS_MUST_FAIL
  cross_entropy(model(x), labels).backward();
#else
  cross_entropy(model(trace(x)), labels).backward();
#endif
}
