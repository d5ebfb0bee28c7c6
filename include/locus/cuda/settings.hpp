#pragma once
// Which GPUs a program can use, and how it computes on them. Defined in programs with CUDA and without; without,
// nothing is available, and settings have no effect.

#include <locus/cuda/convolution.hpp>

#include <string>

#if LOCUS_CUDA
#include <locus/cuda/backend.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// GPUs that this program can use; 0 where there is no driver, or one that is too old. Never throws.
[[nodiscard]] inline int device_count();
/// Whether there is a GPU that this program can use.
[[nodiscard]] inline bool is_available();
/// Why this program cannot use a GPU, and the remedy; empty if is_available().
[[nodiscard]] inline std::string unavailable_reason();

/// Whether matrix products of float32, of all threads, may round their operands to TF32 (10 bits of mantissa). At first
/// false, unless the environment variable LOCUS_TF32 is 1. As torch.backends.cuda.matmul.allow_tf32.
inline void allow_tf32(bool allow);
[[nodiscard]] inline bool tf32_allowed();

/// The same for convolutions of float32, by cuDNN or as products of windows, unless they are `.exact`. At first true,
/// unless the environment variable LOCUS_TF32_CONVOLUTIONS is 0. As torch.backends.cudnn.allow_tf32.
inline void allow_tf32_convolutions(bool allow);
[[nodiscard]] inline bool tf32_convolutions_allowed();

/// Whether relu after a product, of all threads, may be an epilogue of cuBLASLt, and relu after a convolution a part of
/// cuDNN's launch, which spares a launch. These turn NaN into 0, so that a network that diverges looks healthy, and the
/// derivative of cuBLASLt's at 0 is 1. Off at first: relu is a launch of its own, keeps NaN, and has the derivative 0
/// there.
inline void allow_fused_relu(bool allow);
[[nodiscard]] inline bool fused_relu_allowed();

/// Whether a matrix product of a new form is computed in several ways, timed, and from then on in the fastest: by up to
/// eight algorithms of cuBLASLt and, if it has an epilogue, with the epilogue in a second launch. Convolutions are
/// timed likewise, by up to eight engines of cuDNN, as with torch.backends.cudnn.benchmark, and as products of windows.
/// For all threads. Initially the value of LOCUS_AUTOTUNE in the environment: 1, or 0 or nothing.
///
/// A form is type, layout, shape, alignment and epilogue; for a convolution pass, strides, padding and groups, too. It
/// keeps its plan while the process lives: a result is the same each time. In another run another algorithm may win and
/// round differently, unless LOCUS_PLANS=FILE keeps the plans: they are read whether or not products are timed, and
/// hold for the same GPU model and version of the library.
/// cost: at the first use of a form the host waits for seven rounds of each way, of one product or, if that is short,
///       up to 16 that together take 0.2 ms. Memory for another c where the product adds to it. Nothing is timed with
///       LOCUS_SYNC=1, nor while the stream is captured into a graph: a form that is new there takes cuBLASLt's first
///       answer for good, so that graph and program compute the same. Tune before capturing.
inline void autotune_gemm(bool tuned);
[[nodiscard]] inline bool gemm_is_autotuned();

/// Whether the host waits for every launch, so that the failing operation throws the error, under its own name, and not
/// a later one. Slow, for debugging. Initially the value of LOCUS_SYNC in the environment: 1, or 0 or nothing.
inline void await_launches(bool awaited);
[[nodiscard]] inline bool launches_are_awaited();

/// Whether each launch and copy checks that it follows the uses of its memory by other streams. For debugging.
/// Initially the value of LOCUS_CHECK_STREAMS in the environment: 1, or 0 or nothing. Memory allocated before it was
/// switched on is not checked. cost: when on, some microseconds per launch; when off, nothing to measure
inline void check_streams(bool checked);
[[nodiscard]] inline bool streams_are_checked();

/// Whether convolutions and attention, of all threads, may be computed by cuDNN. At first true, unless the environment
/// variable LOCUS_CUDNN is 0; false in a program without cuDNN. As torch.backends.cudnn.enabled.
inline void allow_cudnn(bool allow);
[[nodiscard]] inline bool cudnn_allowed();

/// Whether cuDNN may use engines that add up in another order each time, mostly for gradients of weights. At first
/// false, unless the environment variable LOCUS_CUDNN_NONDETERMINISTIC is 1: one program gives the same bits in every
/// run. If true, neither runs nor replays of a captured step repeat bits. As torch.backends.cudnn.deterministic, which
/// is the opposite and at first false.
inline void allow_nondeterministic_cudnn(bool allow);
[[nodiscard]] inline bool nondeterministic_cudnn_allowed();

/// Bytes of workspace that a pass of a convolution or of attention by cuDNN, of any thread, may take, from the memory
/// that the GPU has free when the pass is planned, and that set_memory_limit leaves. Weights that are larger raise the
/// limit to their size. At first 1 GiB, or as many MiB as the environment variable LOCUS_CUDNN_WORKSPACE says. A pass
/// whose fastest engine needs more runs in parts of the batch. throws ArgumentError for less than 0
inline void limit_cudnn_workspace(std::int64_t bytes);
[[nodiscard]] inline std::int64_t cudnn_workspace_limit();

#if !LOCUS_CUDA
inline int device_count() { return 0; }
inline bool is_available() { return false; }
inline std::string unavailable_reason() {
  return "this program was built without CUDA: compile it with nvcc (nvcc -x cu -std=c++20 -O2 -arch=native -I include "
         "-I cuda_kernels program.cpp -lcublasLt -lz), or run on Cpu (--device cpu)";
}
inline void allow_tf32(bool) {}
inline bool tf32_allowed() { return false; }
inline void allow_tf32_convolutions(bool) {}
inline bool tf32_convolutions_allowed() { return false; }
inline void allow_fused_relu(bool) {}
inline bool fused_relu_allowed() { return false; }
inline void autotune_gemm(bool) {}
inline bool gemm_is_autotuned() { return false; }
inline void await_launches(bool) {}
inline bool launches_are_awaited() { return false; }
inline void check_streams(bool) {}
inline bool streams_are_checked() { return false; }
#endif

}}}  // namespace locus::LOCUS_ABI::cuda
