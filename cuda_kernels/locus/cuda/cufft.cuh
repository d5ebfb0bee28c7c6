#pragma once
// Fourier transforms by cuFFT; device/fourier.hpp specifies them. Programs that use them link with -lcufft.

#include <locus/cuda/event.hpp>
#include <locus/cuda/map.cuh>
#include <locus/cuda/stream.hpp>
#include <locus/device/fourier.hpp>

#include <cufft.h>

#include <array>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {

/// cuFFT's functions for one element type.
template <class R>
struct CufftCalls;
template <>
struct CufftCalls<float> {
  using Real = cufftReal;
  using Number = cufftComplex;
  static constexpr cufftType complex = CUFFT_C2C, forward = CUFFT_R2C, backward = CUFFT_C2R;
  static constexpr auto* exec = &cufftExecC2C;
  static constexpr auto* exec_forward = &cufftExecR2C;
  static constexpr auto* exec_backward = &cufftExecC2R;
};
template <>
struct CufftCalls<double> {
  using Real = cufftDoubleReal;
  using Number = cufftDoubleComplex;
  static constexpr cufftType complex = CUFFT_Z2Z, forward = CUFFT_D2Z, backward = CUFFT_Z2D;
  static constexpr auto* exec = &cufftExecZ2Z;
  static constexpr auto* exec_forward = &cufftExecD2Z;
  static constexpr auto* exec_backward = &cufftExecZ2D;
};

/// Transforms of one form: `batch` of length n, with `stride` between elements and distances between transforms.
struct FftForm {
  cufftType type;
  std::int64_t n, stride, in_distance, out_distance, batch;
  [[nodiscard]] friend bool operator==(const FftForm&, const FftForm&) = default;
};

template <class T, class R>
struct ScaleElement {
  R factor;
  LOCUS_FN void operator()(T x, T& out) const { out = factor * x; }
};
/// Bins for cuFFT, which asks for real ones where a bin is its own conjugate.
template <class R>
struct HermitianElement {
  std::int64_t n;
  R factor;
  LOCUS_FN void operator()(const Complex<R>& x, std::int64_t at, Complex<R>& out) const {
    const std::int64_t k = at % (n / 2 + 1);
    const bool is_real = k == 0 || 2 * k == n;
    out = {factor * x.real, is_real ? R(0) : factor * x.imag};
  }
};

}  // namespace detail

/// One context's plans of cuFFT, the latest first. Working memory comes from the context; the host never waits.
class FftPlans {
 public:
  explicit FftPlans(Context& context) : context_(context) {}
  FftPlans(const FftPlans&) = delete;
  FftPlans& operator=(const FftPlans&) = delete;
  ~FftPlans() {
    for (const Plan& plan : plans_) (void)cufftDestroy(plan.handle);
  }

  template <class R>
  void transform(const FourierLayout& layout, const Complex<R>* in, Complex<R>* out, bool inverse, R scale) {
    using Calls = detail::CufftCalls<R>;
    using Number = typename Calls::Number;
    if (layout.is_empty()) return;
    const auto [outer, n, inner] = layout;
    const bool are_rows = inner == 1;
    const detail::FftForm form{Calls::complex, n, inner, are_rows ? n : 1, are_rows ? n : 1, are_rows ? outer : inner};
    Scratch work(context_);
    const cufftHandle plan = ready(form, "fft", in, out, work);
    for (std::int64_t i = 0; i < (are_rows ? 1 : outer); ++i) {
      auto* const from = const_cast<Complex<R>*>(in) + i * n * inner;
      check(Calls::exec(plan, reinterpret_cast<Number*>(from), reinterpret_cast<Number*>(out + i * n * inner),
                        inverse ? CUFFT_INVERSE : CUFFT_FORWARD),
            "cufftExecC2C", form);
    }
    scale_elements(out, outer * n * inner, scale);
  }

  template <class R>
  void real_to_bins(std::int64_t rows, std::int64_t n, const R* in, Complex<R>* out, R scale) {
    using Calls = detail::CufftCalls<R>;
    if (rows == 0) return;
    const std::int64_t bins = n / 2 + 1;
    const detail::FftForm form{Calls::forward, n, 1, n, bins, rows};
    Scratch work(context_);
    const cufftHandle plan = ready(form, "rfft", in, out, work);
    check(Calls::exec_forward(plan, const_cast<R*>(in), reinterpret_cast<typename Calls::Number*>(out)), "cufftExecR2C",
          form);
    scale_elements(out, rows * bins, scale);
  }

  /// cuFFT may overwrite its input: it gets a copy, which is scaled.
  template <class R>
  void bins_to_real(std::int64_t rows, std::int64_t n, const Complex<R>* in, R* out, R scale) {
    using Calls = detail::CufftCalls<R>;
    if (rows == 0) return;
    const std::int64_t bins = n / 2 + 1;
    const Scratch copy(context_, static_cast<std::size_t>(rows * bins) * sizeof(Complex<R>));
    Complex<R>* const given = copy.as<Complex<R>>();
    const Strides dense{1};
    map(context_, make_plan<3>(Shape{rows * bins}, std::array<Strides, 3>{dense, dense, dense}),
        detail::HermitianElement<R>{n, scale}, Pack<const Complex<R>*, LinearIndex>{in, LinearIndex{}},
        Pack<Complex<R>*>{given});
    const detail::FftForm form{Calls::backward, n, 1, bins, n, rows};
    Scratch work(context_);
    const cufftHandle plan = ready(form, "irfft", given, out, work);
    check(Calls::exec_backward(plan, reinterpret_cast<typename Calls::Number*>(given), out), "cufftExecC2R", form);
  }

 private:
  struct Plan {
    detail::FftForm form;
    cufftHandle handle;
    std::size_t work;
    bool is_captured;  ///< a graph may run it again, with its tables
  };
  static constexpr std::size_t most_plans = 64;

  /// The plan of a form, in the context's stream and with working memory.
  template <class In, class Out>
  [[nodiscard]] cufftHandle ready(const detail::FftForm& form, const char* operation, const In* in, Out* out,
                                  Scratch& work) {
    if (streams_are_checked()) [[unlikely]]
      context_.check_order_of({operation, nullptr, Shape{form.batch, form.n}}, in, out);
    Plan& plan = plan_of(form);
    plan.is_captured |= is_captured();
    work.reserve(plan.work > 0 ? plan.work : 1);  // 1 byte at least, as a null pointer is no working memory
    check(cufftSetStream(plan.handle, context_.stream()), "cufftSetStream", form);
    check(cufftSetWorkArea(plan.handle, work.as<void>()), "cufftSetWorkArea", form);
    return plan.handle;
  }
  [[nodiscard]] Plan& plan_of(const detail::FftForm& form) {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!(plans_[i].form == form)) continue;
      for (; i > 0; --i) std::swap(plans_[i], plans_[i - 1]);
      return plans_[0];
    }
    if (plans_.size() >= most_plans) drop_one();
    plans_.insert(plans_.begin(), made(form));
    return plans_[0];
  }
  /// Destroys the plan that was used longest ago, unless graphs use all of them.
  void drop_one() {
    for (std::size_t i = plans_.size(); i-- > 0;) {
      if (plans_[i].is_captured) continue;
      (void)cufftDestroy(plans_[i].handle);
      plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  [[nodiscard]] static Plan made(const detail::FftForm& form) {
    const UncapturedCalls anything_goes;
    Plan plan{form, {}, 0, false};
    check(cufftCreate(&plan.handle), "cufftCreate", form);
    long long n[] = {form.n}, embedded[] = {form.n};
    const cufftResult status = [&] {
      const cufftResult first = cufftSetAutoAllocation(plan.handle, 0);
      if (first != CUFFT_SUCCESS) return first;
      return cufftMakePlanMany64(plan.handle, 1, n, embedded, form.stride, form.in_distance, embedded, form.stride,
                                 form.out_distance, form.type, form.batch, &plan.work);
    }();
    if (status != CUFFT_SUCCESS) (void)cufftDestroy(plan.handle);
    check(status, "cufftMakePlanMany64", form);
    return plan;
  }
  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(context_.stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }
  template <class T, class R>
  void scale_elements(T* data, std::int64_t count, R scale) {
    if (scale == R(1)) return;
    const Strides dense{1};
    map(context_, make_plan<2>(Shape{count}, std::array<Strides, 2>{dense, dense}), detail::ScaleElement<T, R>{scale},
        Pack<const T*>{data}, Pack<T*>{data});
  }
  static void check(cufftResult status, const char* call, const detail::FftForm& form) {
    if (status == CUFFT_SUCCESS) return;
    if (status == CUFFT_ALLOC_FAILED)
      fail<OutOfMemory>({call, ": cuFFT found no GPU memory for ", form.batch, " transforms of length ", form.n,
                         "; use fewer at a time, or free tensors"});
    fail<CudaError>({call, ": cuFFT answers status ", static_cast<int>(status), " for ", form.batch,
                     " transforms of length ", form.n});
  }

  Context& context_;
  std::vector<Plan> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
