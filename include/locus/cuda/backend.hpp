#pragma once
// NVIDIA GPUs as a device. cuda_kernels/locus/cuda implements the verbs that device/verbs.hpp specifies.
//
// Everything here type-checks everywhere:
//   a plain compiler, no toolkit            every function throws CudaUnavailable
//   a plain compiler with -DLOCUS_CUDA=1    memory and copies are real; a verb that needs a kernel does not compile
//   nvcc                                    all of it is real

#include <locus/device/memory.hpp>

#if LOCUS_NVCC
#include <locus/cuda/code.cuh>
#include <locus/cuda/for_each_row.cuh>
#include <locus/cuda/gemm.cuh>
#include <locus/cuda/map.cuh>
#include <locus/cuda/reduce.cuh>
#include <locus/cuda/row_sums.cuh>
#endif
#if LOCUS_CUDA
#include <locus/cuda/capture.hpp>
#include <locus/cuda/copy.hpp>
#include <locus/cuda/gemm.hpp>
#else
#include <locus/cuda/settings.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI {

#if LOCUS_CUDA

template <>
struct Backend<Cuda> {
  /// Memory of the GPU, ready for this thread's operations on it. throws OutOfMemory, CudaUnavailable
  [[nodiscard]] static void* allocate(Cuda device, std::size_t bytes) {
    return cuda::Context::current(device.ordinal).allocate(bytes);
  }
  /// Frees in stream order: work that this thread queued before may still use the memory.
  static void deallocate(Cuda device, void* data, std::size_t bytes) noexcept {
    if (!data) return;
    if (cuda::Context* context = cuda::Context::last(device.ordinal)) return context->deallocate(data, bytes);
    cuda::DeviceMemory::of(device.ordinal).deallocate(data, bytes, nullptr);
  }
  [[nodiscard]] static MemoryStats memory_stats(Cuda device) {
    cuda::require_device(device.ordinal);
    return cuda::DeviceMemory::of(device.ordinal).stats();
  }
  static void restart_peak(Cuda device, std::int64_t least) {
    cuda::require_device(device.ordinal);
    cuda::DeviceMemory::of(device.ordinal).restart_peak(least);
  }
  static std::int64_t release_unused(Cuda device) {
    cuda::require_device(device.ordinal);
    return cuda::DeviceMemory::of(device.ordinal).release_unused();
  }
  static void limit_memory(Cuda device, std::int64_t bytes) {
    cuda::require_device(device.ordinal);
    cuda::DeviceMemory::of(device.ordinal).set_limit(bytes);
  }
  [[nodiscard]] static std::int64_t memory_limit(Cuda device) {
    cuda::require_device(device.ordinal);
    return cuda::DeviceMemory::of(device.ordinal).limit();
  }
  [[nodiscard]] static MemoryInfo memory_info(Cuda device) {
    cuda::require_device(device.ordinal);
    const cuda::OrdinalGuard guard(device.ordinal);
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
  }

  /// throws ArgumentError for a pointer to memory of the host, DeviceError for one to memory of another GPU
  static void require_here(Cuda device, const void* data, std::string_view caller) {
    cuda::require_memory_of(device.ordinal, data, caller);
  }

  /// Waits for everything that this thread queued on the GPU.
  static void synchronize(Cuda device) { cuda::Context::current(device.ordinal).synchronize(); }

#if LOCUS_NVCC
  template <class F, class... I, class... O>
  static void map(Cuda device, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    if (plan.elements == 0) return;
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::map(cuda::Context::current(device.ordinal), plan, f, inputs, outputs);
  }

  /// See detail::map_anew.
  template <class Make, class... I, class... O>
  static void map_anew(Cuda device, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const Make& make,
                       const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    const auto launch = [&] { map(device, plan, make(), inputs, outputs); };
    cuda::CapturedStep* const step = cuda::Context::current(device.ordinal).captured_step();
    if (step) [[unlikely]]
      step->launch_anew(make, launch);
    else launch();
  }

  template <RowFunctor F>
  static void for_each_row(Cuda device, std::int64_t rows, std::int64_t cols, const F& f) {
    if (rows == 0) return;
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::for_each_row(cuda::Context::current(device.ordinal), rows, cols, f);
  }

  /// See SumsColumns.
  template <RowFunctor F, class T>
  [[nodiscard]] static bool for_each_row(Cuda device, std::int64_t rows, std::int64_t cols, const F& f,
                                         const ColumnSum<T>* sums) {
    if (rows == 0) return false;
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::for_each_row(cuda::Context::current(device.ordinal), rows, cols, f, sums);
  }

  template <class F, class Op, class... I, class T>
  static void reduce(Cuda device, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    if (plan.kept.elements == 0) return;
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::reduce(cuda::Context::current(device.ordinal), plan, f, op, inputs, previous, out);
  }

  template <class T, class E>
  static void gemm(Cuda device, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    if (batch.count == 0 || c.rows == 0 || c.cols == 0) return;
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::gemm(cuda::Context::current(device.ordinal), batch, a, b, c, epilogue);
  }
#else
#define LOCUS_NEEDS_NVCC(verb, type)                                                                            \
  static_assert(                                                                                                \
      sizeof(type) == 0, verb                                                                                   \
      " on Cuda launches a kernel, which only nvcc can compile: compile this file with nvcc (for a .cpp file: " \
      "nvcc -x cu), or call it through a function that is defined in a file compiled by nvcc")
  template <class F, class... I, class... O>
  static void map(Cuda, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>&, const F&, const Pack<I...>&,
                  const Pack<O*...>&) {
    LOCUS_NEEDS_NVCC("an elementwise operation", F);
  }
  template <RowFunctor F>
  static void for_each_row(Cuda, std::int64_t, std::int64_t, const F&) {
    LOCUS_NEEDS_NVCC("an operation on rows", F);
  }
  template <RowFunctor F, class T>
  [[nodiscard]] static bool for_each_row(Cuda, std::int64_t, std::int64_t, const F&, const ColumnSum<T>*) {
    LOCUS_NEEDS_NVCC("an operation on rows", F);
    return false;
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Cuda, const ReducePlan<static_cast<int>(sizeof...(I))>&, const F&, const Op&, const Pack<I...>&,
                     const T*, T*) {
    LOCUS_NEEDS_NVCC("a reduction", F);
  }
  template <class T, class E>
  static void gemm(Cuda, const GemmBatch&, MatrixRef<const T>, MatrixRef<const T>, MatrixRef<T>, const E&) {
    LOCUS_NEEDS_NVCC("a matrix product", E);
  }
#undef LOCUS_NEEDS_NVCC
#endif
};

template <>
struct Transfer<Cpu, Cuda> {
  static void copy(Cpu, const void* source, Cuda to, void* target, std::size_t bytes) {
    cuda::copy_to_device(source, to, target, bytes);
  }
};
template <>
struct Transfer<Cuda, Cpu> {
  static void copy(Cuda from, const void* source, Cpu, void* target, std::size_t bytes) {
    cuda::copy_to_host(from, source, target, bytes);
  }
};
template <>
struct Transfer<Cuda, Cuda> {
  static void copy(Cuda from, const void* source, Cuda to, void* target, std::size_t bytes) {
    cuda::copy_on_device(from, source, to, target, bytes);
  }
};

#else  // no CUDA in this build

namespace cuda {
/// Whether a GPU can run this program's kernels.
[[nodiscard]] inline bool has_code_for(int /*ordinal*/) { return false; }
[[noreturn]] inline void require_device(int ordinal) {
  fail<CudaUnavailable>({"cuda:", ordinal, ": ", unavailable_reason()});
}
}  // namespace cuda

template <>
struct Backend<Cuda> {
  static constexpr bool absent = true;
  [[noreturn]] static void refuse(Cuda device) { cuda::require_device(device.ordinal); }

  [[nodiscard]] static void* allocate(Cuda device, std::size_t) { cuda::require_device(device.ordinal); }
  static void deallocate(Cuda, void*, std::size_t) noexcept {}
  [[nodiscard]] static MemoryStats memory_stats(Cuda device) { cuda::require_device(device.ordinal); }
  static void restart_peak(Cuda device, std::int64_t) { cuda::require_device(device.ordinal); }
  [[nodiscard]] static MemoryInfo memory_info(Cuda device) { cuda::require_device(device.ordinal); }
  static std::int64_t release_unused(Cuda device) { cuda::require_device(device.ordinal); }
  static void limit_memory(Cuda device, std::int64_t) { cuda::require_device(device.ordinal); }
  [[nodiscard]] static std::int64_t memory_limit(Cuda device) { cuda::require_device(device.ordinal); }
  static void require_here(Cuda device, const void*, std::string_view) { cuda::require_device(device.ordinal); }
  static void synchronize(Cuda device) { cuda::require_device(device.ordinal); }

  template <class F, class... I, class... O>
  static void map(Cuda device, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>&, const F&, const Pack<I...>&,
                  const Pack<O*...>&) {
    cuda::require_device(device.ordinal);
  }
  template <RowFunctor F>
  static void for_each_row(Cuda device, std::int64_t, std::int64_t, const F&) {
    cuda::require_device(device.ordinal);
  }
  template <RowFunctor F, class T>
  [[nodiscard]] static bool for_each_row(Cuda device, std::int64_t, std::int64_t, const F&, const ColumnSum<T>*) {
    cuda::require_device(device.ordinal);
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Cuda device, const ReducePlan<static_cast<int>(sizeof...(I))>&, const F&, const Op&,
                     const Pack<I...>&, const T*, T*) {
    cuda::require_device(device.ordinal);
  }
  template <class T, class E>
  static void gemm(Cuda device, const GemmBatch&, MatrixRef<const T>, MatrixRef<const T>, MatrixRef<T>, const E&) {
    cuda::require_device(device.ordinal);
  }
};

template <>
struct Transfer<Cpu, Cuda> {
  static void copy(Cpu, const void*, Cuda to, void*, std::size_t) { cuda::require_device(to.ordinal); }
};
template <>
struct Transfer<Cuda, Cpu> {
  static void copy(Cuda from, const void*, Cpu, void*, std::size_t) { cuda::require_device(from.ordinal); }
};
template <>
struct Transfer<Cuda, Cuda> {
  static void copy(Cuda from, const void*, Cuda, void*, std::size_t) { cuda::require_device(from.ordinal); }
};

#endif

static_assert(Device<Cuda>);

#if !LOCUS_NVCC
namespace detail {
/// Where an operation on Cuda launches kernels of its own: refuses to compile in a program with CUDA, and throws
/// CudaUnavailable in one without. T is any type that the operation depends on.
template <class T>
void require_kernels(Cuda device) {
  static_assert(
      sizeof(T) == 0 || !LOCUS_CUDA,
      "this operation launches kernels on Cuda, which only nvcc can compile: compile this file with nvcc (for "
      "a .cpp file: nvcc -x cu), or call it through a function that is defined in a file compiled by nvcc");
  cuda::require_device(device.ordinal);
}
}  // namespace detail
#endif

}}  // namespace locus::LOCUS_ABI
