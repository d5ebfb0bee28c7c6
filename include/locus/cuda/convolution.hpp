#pragma once
// Convolutions by cuDNN 9, in programs with CUDA that are compiled with -DLOCUS_CUDNN=1 and linked with -lcudnn.
// device/convolution.hpp specifies them. Only nvcc sees them, because it alone compiles their callers.
//
// cuDNN is linked, as cuBLASLt and NCCL are: the loader finds it before the first operation or names the missing
// library, and packagers see the dependency. Compile a program that must run without cuDNN without the macro.

#include <locus/device/convolution.hpp>

#if LOCUS_CUDA && LOCUS_CUDNN
#include <locus/cuda/cudnn/switches.hpp>
#else
#include <cstddef>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {
/// cuDNN's version; 0: this program has none.
[[nodiscard]] constexpr std::size_t cudnn_version() { return 0; }
inline void allow_cudnn(bool) {}
[[nodiscard]] inline bool cudnn_allowed() { return false; }
inline void allow_nondeterministic_cudnn(bool) {}
[[nodiscard]] inline bool nondeterministic_cudnn_allowed() { return false; }
inline void limit_cudnn_workspace(std::int64_t) {}
[[nodiscard]] inline std::int64_t cudnn_workspace_limit() { return 0; }
}}}  // namespace locus::LOCUS_ABI::cuda
#endif

namespace locus { inline namespace LOCUS_ABI { namespace detail {
template <>
[[nodiscard]] inline bool has_channels_last_weights<Cuda>() {
  return cuda::cudnn_version() != 0 && cuda::cudnn_allowed();
}
}}}  // namespace locus::LOCUS_ABI::detail

#if LOCUS_NVCC
#include <locus/cuda/backend.hpp>

namespace locus { inline namespace LOCUS_ABI {
template <>
struct ConvPrecision<Cuda> : cuda::detail::ConvolutionPrecision {
  explicit ConvPrecision(const ConvShape& shape) : ConvolutionPrecision(shape.exact) {}
};
}}  // namespace locus::LOCUS_ABI
#endif

#if LOCUS_NVCC && LOCUS_CUDNN
#include <locus/cuda/cudnn/conv.cuh>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Convolution<Cuda> {
  static constexpr bool times_verbs = true;

  template <class T>
    requires cuda::dnn::is_convolved<T>
  [[nodiscard]] static bool forward(Cuda device, const ConvShape& shape, const ConvImages<const T>& x, const T* w,
                                    const T* bias, const ConvImages<T>& y, bool accumulate,
                                    const ConvLaunches* by_verbs = nullptr) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::dnn::forward(cuda::Context::current(device.ordinal), shape, x, w, {bias, false}, y, accumulate,
                              by_verbs);
  }
  template <class T>
    requires cuda::dnn::is_convolved<T>
  [[nodiscard]] static bool forward_with_relu(Cuda device, const ConvShape& shape, const ConvImages<const T>& x,
                                              const T* w, const T* bias, const ConvImages<T>& y,
                                              const ConvLaunches* by_verbs = nullptr) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::dnn::forward(cuda::Context::current(device.ordinal), shape, x, w, {bias, true}, y, false, by_verbs);
  }
  template <class T>
    requires cuda::dnn::is_convolved<T>
  [[nodiscard]] static bool forward_with_sums(Cuda device, const ConvShape& shape, const ConvImages<const T>& x,
                                              const T* w, const ConvImages<T>& y, float* sums,
                                              const ConvLaunches& apart) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::dnn::forward_with_sums(cuda::Context::current(device.ordinal), shape, x, w, y, sums, apart);
  }
  template <class T>
    requires cuda::dnn::is_convolved<T>
  [[nodiscard]] static bool input_gradient(Cuda device, const ConvShape& shape, const ConvImages<const T>& g,
                                           const T* w, const T* bias, const ConvImages<T>& dx, bool accumulate,
                                           const ConvLaunches* by_verbs = nullptr) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::dnn::input_gradient(cuda::Context::current(device.ordinal), shape, g, w, bias, dx, accumulate,
                                     by_verbs);
  }
  template <class T>
    requires cuda::dnn::is_convolved<T>
  [[nodiscard]] static bool weight_gradient(Cuda device, const ConvShape& shape, const ConvImages<const T>& g,
                                            const ConvImages<const T>& x, T* dw, bool accumulate,
                                            const ConvLaunches* by_verbs = nullptr) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::dnn::weight_gradient(cuda::Context::current(device.ordinal), shape, g, x, dw, accumulate, by_verbs);
  }
  template <class T>
  [[nodiscard]] static bool reads_weights_channels_last(const ConvShape& shape, const ConvImages<const T>& x,
                                                        const ConvImages<const T>& y) {
    return cuda::dnn::reads_weights_channels_last(shape, x, y);
  }
};
static_assert(ConvolvingDevice<Cuda, float> && ConvolvingDevice<Cuda, half> && ConvolvingDevice<Cuda, bfloat16> &&
              !ConvolvingDevice<Cuda, double>);

}}  // namespace locus::LOCUS_ABI
#endif
