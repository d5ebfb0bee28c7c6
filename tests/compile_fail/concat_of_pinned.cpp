// A list of tensors in pinned memory, joined.
// because: joining is an operation, and nothing computes there
// expect-error: pinned_memory_cannot_compute|nothing computes in pinned memory
// expect-error: move_with_to_Cpu_or_to_Cuda|move with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

#ifdef LOCUS_MUST_FAIL
auto mistake(const std::vector<Tensor<float, Pinned>>& parts) { return concat(parts); }
#else
auto mistake(const std::vector<Tensor<float, Cpu>>& parts) { return concat(parts); }
#endif
