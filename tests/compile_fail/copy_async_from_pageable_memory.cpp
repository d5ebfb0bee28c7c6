// An asynchronous copy from ordinary host memory.
// because: a GPU cannot read it by itself, so the program would wait; in PyTorch it does, silently
// expect-error: source_is_on.*Cpu|pageable memory
// expect-error: copy_to_pinned_first|say x\.to<Pinned>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return copy_async(x, Cuda{});
#else
  return copy_async(x.to<Pinned>(), Cuda{});
#endif
}
