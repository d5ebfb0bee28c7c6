// The compiled library: what programs that define LOCUS_COMPILED declare and do not compile. By a C++ compiler for Cpu,
// by nvcc for Cuda too.

#include <locus/compiled.hpp>

#ifdef LOCUS_COMPILED
#error "the compiled library is compiled without -DLOCUS_COMPILED"
#endif

namespace locus::inline LOCUS_ABI {

#define LOCUS_INSTANCE template
#define LOCUS_INSTANCE_DEVICE Cpu
#include <locus/instances.inc>
#if LOCUS_CUDA
#define LOCUS_INSTANCE template
#define LOCUS_INSTANCE_DEVICE Cuda
#include <locus/instances.inc>
#endif

}  // namespace locus::inline LOCUS_ABI
