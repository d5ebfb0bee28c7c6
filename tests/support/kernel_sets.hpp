#pragma once
// Selects the kernel sets of matrix products in tests.

#include <locus/cpu/gemm/kernels.hpp>

#include <support/amx_emulator.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace locus_test {
using namespace locus;

template <class T>
using KernelsOf = cpu::detail::KernelSet<compute_t<T>>;

/// Selects a kernel set, and restores the previous set on destruction.
template <class T>
struct InUse {
  const KernelsOf<T>* before = cpu::detail::kernels_in_use<T>();
  InUse() = default;
  explicit InUse(const KernelsOf<T>* set) { cpu::detail::kernels_in_use<T>() = set; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() { cpu::detail::kernels_in_use<T>() = before; }
};

inline bool multiplies_pairs(const KernelsOf<bfloat16>& set) { return set.pack_pairs != nullptr; }

/// The distinct kernel sets that this processor can run. The tile (AMX) kernels run on every processor with
/// AVX512-BF16: without AMX, or if the system disables it, this object emulates the tile instructions during its life.
template <class T>
struct EverySet : std::vector<const KernelsOf<T>*> {
  EverySet() {
    for (const KernelsOf<T>* set : cpu::detail::available_kernels<T>())
      if (set && std::find(this->begin(), this->end(), set) == this->end()) this->push_back(set);
#if defined(__x86_64__) && defined(__linux__)
    if constexpr (std::is_same_v<T, bfloat16>) {
      const KernelsOf<T>* const tiles = &cpu::detail::amx_bf16::kernel_set<float>();
      if (cpu::has_isa(cpu::Isa::avx512_bf16) && std::find(this->begin(), this->end(), tiles) == this->end()) {
        emulator.emplace();
        this->push_back(tiles);
      }
    }
#endif
  }

 private:
#if defined(__x86_64__) && defined(__linux__)
  std::optional<AmxEmulator> emulator;
#endif
};
struct SetsOfPairs : EverySet<bfloat16> {
  SetsOfPairs() {
    std::erase_if(*this, [](const auto* set) { return !multiplies_pairs(*set); });
  }
};

}  // namespace locus_test
