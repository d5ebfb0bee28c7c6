// Fourier transforms on Cuda, over a stand-in for cuFFT: sums by the definition in double, queued in the plan's stream.
// It fills all the working memory that it asked for, overwrites the input of transforms to real numbers, and stops at a
// call that cuFFT does not take.

#include <fft/fft_test.cpp>
#include <locus/cuda/streams.hpp>

#include <cmath>
#include <complex>
#include <map>
#include <vector>

namespace {

cufftResult next_status = CUFFT_SUCCESS;
int plans_made = 0, plans_alive = 0;

struct StandInPlan {
  cufftType type = CUFFT_C2C;
  long long n = 0, stride = 0, in_distance = 0, out_distance = 0, batch = 0;
  std::size_t work = 0;
  bool allocates = true;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
};
std::map<cufftHandle, StandInPlan> plans;

template <class R>
using Number = std::complex<R>;

/// The transform of n numbers in(j), as numbers.
template <class In>
std::vector<complex128> transformed(long long n, bool inverse, const In& in) {
  std::vector<complex128> numbers;
  for (long long j = 0; j < n; ++j) numbers.push_back(complex128(in(j)));
  cpu::fourier_transform(cpu::FftLayout{1, n, 1, n, n}, static_cast<const complex128*>(numbers.data()), numbers.data(),
                         inverse, 1.0);
  return numbers;
}

/// Queues f, before which the working memory is overwritten.
template <class F>
cufftResult queue(cufftHandle handle, cufftType type, const F& f) {
  const StandInPlan plan = plans.at(handle);
  if (plan.type != type || !plan.stream || !plan.memory) simulated::stop("a transform that cuFFT does not take");
  if (next_status != CUFFT_SUCCESS) return std::exchange(next_status, CUFFT_SUCCESS);
  simulated::enqueue(plan.stream, [=] {
    std::memset(plan.memory, 0x77, plan.work);
    for (long long i = 0; i < plan.batch; ++i) f(plan, i);
  });
  return CUFFT_SUCCESS;
}
template <class R>
cufftResult transform(cufftHandle handle, cufftType type, void* in, void* out, int direction) {
  return queue(handle, type, [=](const StandInPlan& plan, long long i) {
    const auto* const x = static_cast<const Number<R>*>(in) + i * plan.in_distance;
    auto* const y = static_cast<Number<R>*>(out) + i * plan.out_distance;
    const auto at = [&](long long k) { return std::complex<double>(x[k * plan.stride]); };
    const auto result = transformed(plan.n, direction == CUFFT_INVERSE, at);
    for (long long k = 0; k < plan.n; ++k)
      y[k * plan.stride] = Number<R>(std::complex<double>(result[static_cast<std::size_t>(k)]));
  });
}
template <class R>
cufftResult to_bins(cufftHandle handle, cufftType type, const R* in, void* out) {
  if (reinterpret_cast<std::uintptr_t>(in) % (2 * sizeof(R)) != 0) simulated::stop("real numbers aligned as such");
  return queue(handle, type, [=](const StandInPlan& plan, long long i) {
    const R* const x = in + i * plan.in_distance;
    const auto result =
        transformed(plan.n, false, [&](long long j) { return std::complex<double>(static_cast<double>(x[j])); });
    for (long long k = 0; k <= plan.n / 2; ++k)
      static_cast<Number<R>*>(out)[i * plan.out_distance + k] =
          Number<R>(std::complex<double>(result[static_cast<std::size_t>(k)]));
  });
}
template <class R>
cufftResult to_real(cufftHandle handle, cufftType type, void* in, R* out) {
  return queue(handle, type, [=](const StandInPlan& plan, long long i) {
    auto* const x = static_cast<Number<R>*>(in) + i * plan.in_distance;
    if (x[0].imag() != 0 || (plan.n % 2 == 0 && x[plan.n / 2].imag() != 0))
      simulated::stop("bins that are not Hermitian");
    const auto at = [&](long long k) {
      return std::complex<double>(k <= plan.n / 2 ? x[k] : std::conj(x[plan.n - k]));
    };
    const auto result = transformed(plan.n, true, at);
    for (long long k = 0; k <= plan.n / 2; ++k) x[k] = Number<R>(-3, -3);
    for (long long j = 0; j < plan.n; ++j)
      out[i * plan.out_distance + j] = static_cast<R>(result[static_cast<std::size_t>(j)].real);
  });
}

}  // namespace

extern "C" {
cufftResult cufftCreate(cufftHandle* handle) {
  plans[*handle = ++plans_made];
  return ++plans_alive, CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  plans_alive -= static_cast<int>(plans.erase(handle));
  return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocates) {
  plans.at(handle).allocates = allocates != 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  plans.at(handle).stream = stream;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void* memory) {
  plans.at(handle).memory = memory;
  return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* in_embedded, long long in_stride,
                                long long in_distance, long long* out_embedded, long long out_stride,
                                long long out_distance, cufftType type, long long batch, std::size_t* work) {
  StandInPlan& plan = plans.at(handle);
  if (rank != 1 || !in_embedded || !out_embedded || in_stride != out_stride || plan.allocates || *n < 1 || batch < 1)
    simulated::stop("a plan that cuFFT does not make");
  if (next_status == CUFFT_INVALID_SIZE) return std::exchange(next_status, CUFFT_SUCCESS);
  plan = {type,  *n,      in_stride, in_distance, out_distance, batch, static_cast<std::size_t>(16 * *n),
          false, nullptr, nullptr};
  return *work = plan.work, CUFFT_SUCCESS;
}
cufftResult cufftExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction) {
  return transform<float>(handle, CUFFT_C2C, in, out, direction);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return transform<double>(handle, CUFFT_Z2Z, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out) {
  return to_bins<float>(handle, CUFFT_R2C, in, out);
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return to_bins<double>(handle, CUFFT_D2Z, in, out);
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out) {
  return to_real<float>(handle, CUFFT_C2R, in, out);
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return to_real<double>(handle, CUFFT_Z2D, in, out);
}
}

TEST_CASE("what cuFFT refuses is an exception that names the call and the transforms") {
  const auto z = ones<complex64>({2, 19}, Cuda{});
  next_status = CUFFT_INVALID_SIZE;
  const int alive = plans_alive;
  CHECK_THROWS_WITH_AS((void)fft::fft(z),
                       doctest::Contains("cufftMakePlanMany64: cuFFT answers status 8 for 2 transforms of length 19"),
                       CudaError);
  CHECK(plans_alive == alive);
  next_status = CUFFT_ALLOC_FAILED;
  CHECK_THROWS_WITH_AS((void)fft::fft(z), doctest::Contains("cuFFT found no GPU memory for 2 transforms"), OutOfMemory);
  CHECK(sum(abs(fft::fft(z))).item() == doctest::Approx(38));
}

TEST_CASE("plans are kept for their form, up to a number") {
  const auto z = ones<complex64>({2, 23}, Cuda{});
  (void)fft::fft(z);
  const int made = plans_made;
  (void)fft::fft(z), (void)fft::ifft(z);
  CHECK(plans_made == made);
  for (int n = 1; n <= 100; ++n) (void)fft::fft(ones<complex64>({1, n}, Cuda{}));
  CHECK(plans_alive <= 64);
}

TEST_CASE("transforms follow the uses of their memory by other streams") {
  const bool before = cuda::streams_are_checked();
  cuda::check_streams(true);
  const Stream<Cuda> side;
  const auto here = Stream<Cuda>::current();
  const auto z = ones<complex64>({8}, Cuda{});
  CHECK_THROWS_WITH_AS(with_stream(side, [&] { (void)fft::fft(z); }), doctest::Contains("fft over (1, 8) in stream "),
                       StreamError);
  side.wait(here.record());
  with_stream(side, [&] { (void)fft::fft(z); });
  here.wait(side.record());
  cuda::check_streams(before);
}
