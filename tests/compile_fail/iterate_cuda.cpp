// Iterating over elements that the host cannot reach.
// because: a loop over elements would be a copy, and a wait, for each
// expect-error: tensor_is_on<locus::Cuda>|iterating: the tensor is on a device whose memory the host cannot read
// expect-error: copy_to_host_first_with_to_Cpu|copy it first with \.to<Cpu>
#include <locus/locus.hpp>

using namespace locus;

float mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  float sum = 0;
  for (float element : w) sum += element;
  return sum;
#else
  float sum = 0;
  const auto host = w.to<Cpu>();
  for (std::int64_t i = 0; i < host.elements(); ++i) sum += host(i);
  return sum;
#endif
}
