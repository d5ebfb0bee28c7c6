// Calls that fail, each of them in turn, and the messages to a program without a usable GPU. Every case runs in
// processes of its own.

#include <locus/autograd/traced.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/copy_async.hpp>
#include <locus/tensor/factory.hpp>

#include <thread>

#include <support/trace_events.hpp>

#include "process.hpp"

using namespace locus;
using simulated::Environment;
using simulated::in_new_process;

namespace {
/// The outcome of a run in which one call failed.
struct Outcome {
  bool is_met = false;     ///< there was such a call
  bool is_thrown = false;  ///< as an Error
  bool is_right = false;   ///< although it failed
  bool is_right_after = false;
};

/// Lets the n-th call of the first use() fail; a second use() shows whether all is well again.
template <class Use>
Outcome with_failure(int n, const Environment& environment, const Use& use) {
  return in_new_process(environment, [&] {
    Outcome outcome;
    (void)cuda::is_available();
    simulated::calls_until_failure = n;
    try {
      outcome.is_right = use();
    } catch (const Error&) {
      outcome.is_thrown = true;
    }
    outcome.is_met = simulated::calls_until_failure == 0;
    simulated::calls_until_failure = 0;
    outcome.is_right_after = use();
    return outcome;
  });
}
/// Lets every call fail once. Returns how many of the failures were thrown.
template <class Use>
int fail_each(const Environment& environment, const Use& use) {
  for (int n = 1, thrown = 0;; ++n) {
    REQUIRE(n < 2000);
    CAPTURE(n);
    const Outcome outcome = with_failure(n, environment, use);
    CHECK((outcome.is_thrown || outcome.is_right));
    CHECK(outcome.is_right_after);
    if (!outcome.is_met) return thrown;
    thrown += outcome.is_thrown ? 1 : 0;
  }
}

/// Products, maps, rows and copies; memory that other threads free.
bool compute() {
  const auto w = variable(full<float, Cuda>({3, 2}, 2)), b = variable(full<float, Cuda>({3}, 1));
  const auto y = linear(trace(full<float, Cuda>({5, 2}, 3)), w, b, functor::Relu{});
  y.backward(full<float, Cuda>({5, 3}, 1));
  const Tensor p = softmax(full<float, Cuda>({1, 64}, 1), 1);
  Tensor<float, Cuda> last = full<float, Cuda>({7}, 1);
  bool is_fine = true;
  std::thread([&] {
    try {
      const auto mine = full<float, Cuda>({9}, 1);
      last = {};
    } catch (const Error&) {
      is_fine = false;
    }
  }).join();
  if (!is_fine) fail<CudaError>({"in the other thread"});
  const auto other = full<float, Cuda>({4}, 6).to(Cuda{1}).to<Cpu>();
  return w.grad().to<Cpu>().data()[5] == 15 && p.to<Cpu>().data()[9] == 1.f / 64 && other.data()[3] == 6;
}
/// Memory alone.
bool keep() {
  for (const std::size_t bytes : {64, 4096}) Backend<Cuda>::deallocate({}, Backend<Cuda>::allocate({}, bytes), bytes);
  return full<float, Cuda>({6}, 1).to<Cpu>().data()[5] == 1;
}
/// A product alone.
bool multiply() { return linear(full<float, Cuda>({2, 3}, 1), full<float, Cuda>({4, 3}, 1)).to<Cpu>().data()[7] == 3; }
/// A step that is captured and replayed.
bool replay() {
  const auto x = full<float, Cuda>({40}, 1);
  const auto run = [&](auto&& step) {
    x.fill_(1);
    for (int i = 0; i < 4; ++i) step();
    return x.to<Cpu>().data()[39];
  };
  const auto step = [&] { x.copy_(x * 2 + 1); };
  return run(capture<Cuda>(step)) == 31;
}
/// Copies from and to page-locked memory.
bool copy() {
  auto there = copy_async(full<float, Cpu>({1000}, 3).to<Pinned>());
  auto back = copy_async((std::move(there).ordered() * 2).eval(), Pinned{});
  return std::move(back).wait().data()[999] == 6;
}
}  // namespace

TEST_CASE("a call that fails is thrown as an error or changes no result, and the next operations are right") {
  CHECK(fail_each({}, compute) > 20);
  CHECK(fail_each({{"LOCUS_CUDA_POOL", "0"}}, keep) > 5);
  CHECK(fail_each({{"LOCUS_AUTOTUNE", "1"}}, multiply) > 10);
  CHECK(fail_each({}, replay) > 10);
  CHECK(fail_each({}, copy) > 5);
}

TEST_CASE("a trace throws no error of its own: a call that fails costs it an event") {
  const locus_test::TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  const auto traced = [&](bool (*use)()) {
    trace_to(path);
    const bool is_right = use();
    trace_to("");
    return is_right;
  };
  CHECK(fail_each({}, [&] { return traced(replay); }) == fail_each({}, replay));
  CHECK(fail_each({}, [&] { return traced(copy); }) == fail_each({}, copy));
  const std::string checked = locus_test::checked_trace(path);
  CAPTURE(checked);
  CHECK(locus_test::count_of(checked, "gpu") == 3);  // a copy each way, and an operation
}

TEST_CASE("a program without a usable GPU is told why, and what to do") {
  const auto reason = [](cudaError_t error, int driver) {
    const auto text = in_new_process({}, [&] {
      simulated::devices = 0;
      simulated::unavailable = error;
      simulated::driver_version = driver;
      std::array<char, 300> what{};
      std::snprintf(what.data(), what.size(), "%s", cuda::unavailable_reason().c_str());
      return what;
    });
    return std::string(text.data());
  };
  const std::string own = cuda::detail::version_text(CUDART_VERSION);
  CHECK(reason(cudaErrorInsufficientDriver, 0) ==
        "no NVIDIA driver answers (cudaErrorInsufficientDriver); this program needs one for CUDA " + own +
            " or newer: install it, or run on Cpu");
  CHECK(reason(cudaErrorInsufficientDriver, 11040) == "the NVIDIA driver is for CUDA 11.4 and this program for CUDA " +
                                                          own + ": update the driver to one for CUDA " + own +
                                                          " or newer, or run on Cpu");
  CHECK(reason(cudaErrorNoDevice, CUDART_VERSION) ==
        "the NVIDIA driver (CUDA " + own + ") shows no GPU to this program: check nvidia-smi and CUDA_VISIBLE_DEVICES");
  CHECK(reason(cudaErrorSystemNotReady, CUDART_VERSION) ==
        "the NVIDIA driver (CUDA " + own + ") cannot start: simulated error, simulated error; check nvidia-smi");
  CHECK(in_new_process({}, [] {
    simulated::devices = 1;
    try {
      (void)Backend<Cuda>::allocate(Cuda{1}, 8);
    } catch (const CudaUnavailable& error) {
      return std::string_view(error.what()).find("this program sees 1 GPU, cuda:0") != std::string_view::npos;
    }
    return false;
  }));
}

TEST_CASE("errors of the runtime become the exceptions that say what to do") {
  CHECK_THROWS_WITH_AS(cuda::check(cudaErrorNoDevice, "a call"), doctest::Contains("a call: the NVIDIA driver"),
                       CudaUnavailable);
  CHECK_THROWS_WITH_AS(cuda::check(cudaErrorMemoryAllocation, "a call"), doctest::Contains("smaller batches"),
                       OutOfMemory);
  CHECK_THROWS_WITH_AS(cuda::check(cudaErrorStreamCaptureUnsupported, "a call"),
                       doctest::Contains("cannot be captured for replay"), CaptureError);
  CHECK_THROWS_WITH_AS(cuda::check(cudaErrorIllegalAddress, "a call"), doctest::Contains("run under compute-sanitizer"),
                       CudaError);
  CHECK_THROWS_AS(cuda::check(cudaErrorInvalidValue, "a call"), CudaError);
  CHECK_THROWS_AS(cuda::check(CUBLAS_STATUS_ALLOC_FAILED, "a call"), OutOfMemory);
  CHECK_THROWS_AS(cuda::check(CUBLAS_STATUS_EXECUTION_FAILED, "a call"), CudaError);
  CHECK_NOTHROW(cuda::check(cudaSuccess, "a call"));
  CHECK_NOTHROW(cuda::check(CUBLAS_STATUS_SUCCESS, "a call"));
}
