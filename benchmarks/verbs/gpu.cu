// The GPU's clock, and CUB's sums.

#include "gpu.hpp"

#include <locus/core/std/posix.hpp>
#include <locus/cuda/backend.hpp>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <algorithm>

namespace bench {
namespace {

using locus::Cuda;
using locus::cuda::check;

/// Keeps the stream busy for `nanoseconds`.
__global__ void hold(unsigned long long nanoseconds) {
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    __nanosleep(500);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

class TimedEvent {
 public:
  TimedEvent() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~TimedEvent() { (void)cudaEventDestroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  [[nodiscard]] double seconds_since(const TimedEvent& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class GpuMeter final : public Meter {
 public:
  explicit GpuMeter(int ordinal) : device_{ordinal} { check(cudaSetDevice(ordinal), "cudaSetDevice"); }

  void synchronize() override { locus::Backend<Cuda>::synchronize(device_); }

  void sample(const std::function<void()>& run, std::int64_t times, bool blocks, Samples& samples) override {
    const double wall = wall_seconds(run, times);
    samples.wall.push_back(wall);
    if (!blocks) sample_queued(run, times, wall, samples);
  }

 private:
  /// Blocks the stream for about the time in which the host enqueues the runs, at most 5 ms.
  void sample_queued(const std::function<void()>& run, std::int64_t times, double wall, Samples& samples) {
    const auto count = static_cast<double>(times);
    const cudaStream_t stream = locus::cuda::stream(device_);
    auto nanoseconds = static_cast<unsigned long long>(1e9 * std::min(wall * count, 5e-3)) + 30'000;
    void* arguments[] = {&nanoseconds};
    check(cudaLaunchKernel(reinterpret_cast<const void*>(&hold), dim3(1), dim3(1), arguments, 0, stream), "hold");
    first_.record(stream);
    const locus::Stopwatch watch;
    for (std::int64_t i = 0; i < times; ++i) run();
    samples.host.push_back(watch.seconds() / count);
    last_.record(stream);
    synchronize();
    samples.gpu.push_back(last_.seconds_since(first_) / count);
  }

  Cuda device_;
  TimedEvent first_, last_;
};

}  // namespace

GpuFacts gpu_facts(int ordinal) {
  GpuFacts facts;
  cudaDeviceProp properties{};
  int version = 0;
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&facts.driver), "cudaDriverGetVersion");
  facts.name = properties.name;
  facts.toolkit = locus::join(version / 1000, ".", version % 1000 / 10);
  return facts;
}

std::int64_t level_2_bytes(int ordinal) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, ordinal), "cudaDeviceGetAttribute");
  return bytes;
}

std::unique_ptr<Meter> gpu_meter(int ordinal) { return std::make_unique<GpuMeter>(ordinal); }

void copy_on_gpu(int ordinal, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, locus::cuda::stream(Cuda{ordinal})),
        "cudaMemcpyAsync");
}

struct CubSum::State {
  Cuda device;
  std::int64_t segments, length;
  std::int64_t* offsets = nullptr;  ///< begins of the segments, and the end of the last
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  State(int ordinal, std::int64_t count, std::int64_t each) : device{ordinal}, segments(count), length(each) {
    std::vector<std::int64_t> begins;
    for (std::int64_t i = 0; i <= segments; ++i) begins.push_back(i * length);
    const std::size_t bytes = begins.size() * sizeof begins[0];
    check(cudaMalloc(&offsets, bytes), "cudaMalloc");
    const cudaStream_t stream = locus::cuda::stream(device);  // sum() uses it, and it waits for no other
    check(cudaMemcpyAsync(offsets, begins.data(), bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    sum(nullptr, nullptr);
    check(cudaMalloc(&scratch, scratch_bytes), "cudaMalloc");
  }
  ~State() {
    (void)cudaFree(offsets);
    (void)cudaFree(scratch);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// If scratch is null, only sets scratch_bytes.
  void sum(const float* from, float* to) {
    const cudaStream_t stream = locus::cuda::stream(device);
    check(segments == 1 ? cub::DeviceReduce::Sum(scratch, scratch_bytes, from, to, length, stream)
                        : cub::DeviceSegmentedReduce::Sum(scratch, scratch_bytes, from, to, segments, offsets,
                                                          offsets + 1, stream),
          "CUB");
  }
};

CubSum::CubSum(int ordinal, std::int64_t segments, std::int64_t length)
    : state_(std::make_shared<State>(ordinal, segments, length)) {}

void CubSum::run(const float* from, float* to) const { state_->sum(from, to); }

}  // namespace bench
