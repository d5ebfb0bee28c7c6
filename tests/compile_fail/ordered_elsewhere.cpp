// Ordering a copy to a GPU on a stream of the host.
// because: a stream orders the work of one device
// expect-error: copy_is_on.*Cuda.*stream_is_on.*Cpu|the copy is on Cuda, the stream is on Cpu
// expect-error: make_the_stream_for_the_device_of_the_copy|Stream<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x, const Stream<Cpu>& host, const Stream<Cuda>& gpu) {
#ifdef LOCUS_MUST_FAIL
  return (void)gpu, std::move(x).ordered(host);
#else
  return (void)host, std::move(x).ordered(gpu);
#endif
}
