// A copy to a GPU in a stream of the host.
// because: a stream orders the work of one device
// expect-error: copy_is_on.*Cuda.*stream_is_on.*Cpu|the copy is on Cuda, the stream is on Cpu
// expect-error: make_the_stream_for_the_device_of_the_copy|Stream<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(x, Stream<Cpu>{});
#else
  return copy_async(x, Stream<Cuda>{});
#endif
}
