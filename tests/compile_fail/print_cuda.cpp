// Printing a tensor that the host cannot reach.
// because: to print is to copy to the host and to wait for the device; that is written out
// expect-error: tensor_is_on<locus::Cuda>|printing: the tensor is on a device whose memory the host cannot read
// expect-error: copy_to_host_first_with_to_Cpu|copy it first with \.to<Cpu>
#include <locus/locus.hpp>

#include <ostream>

using namespace locus;

void mistake(std::ostream& out, Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  out << w;
#else
  out << w.to<Cpu>();
#endif
}
