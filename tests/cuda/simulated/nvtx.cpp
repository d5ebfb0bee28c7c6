// The ranges that a profiler sees, by a profiler that is linked into the program.

#include <locus/cuda/nvtx.hpp>
#include <locus/locus.hpp>

#include <doctest/doctest.h>

using namespace locus;

// A file that finds no toolkit has another class.
static_assert(std::is_same_v<nvtx::Range, nvtx::with_toolkit::Range>);

namespace {
std::vector<std::string> told;
int push(const char* name) {
  told.emplace_back(name);
  return 0;
}
int pop() {
  told.emplace_back("end");
  return 0;
}
/// The function that NVTX calls at its first use.
int connect(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned count = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count)) return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
}  // namespace

TEST_CASE("launches on any device are ranges named by their expressions, within those of the program") {
  InitializeInjectionNvtx2_fnptr = &connect;
  const auto x = full<float, Cuda>({8}, 2.f);
  const auto y = full<float, Cpu>({8}, 2.f);
  {
    const nvtx::Range range("both");
    nvtx::mark_launches(true);
    const Tensor a = tanh(x) + 1.f;
    const Tensor b = sum(y);
    nvtx::mark_launches(false);
    const Tensor c = tanh(x);
  }
  CHECK(told == std::vector<std::string>{"both", "map tanh(x0) + c", "end", "reduce sum(x0)", "end", "end"});
}
