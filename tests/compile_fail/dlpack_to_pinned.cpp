// Page-locked memory of another library as a tensor on Pinned.
// because: an asynchronous copy has to know the whole page-locked allocation, which is the other library's
// expect-error: nothing_computes_in_page_locked_memory|nothing computes in page-locked memory
// expect-error: it_arrives_as_Cpu|it arrives as Cpu
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dlpack::Owner<dlpack::DLManagedTensor> managed) {
#ifdef LOCUS_MUST_FAIL
  return from_dlpack<float, Pinned>(std::move(managed));
#else
  return from_dlpack<float, Cpu>(std::move(managed));
#endif
}
