// Behaviour that a real GPU would not show: the GPUs that a process starts, which stream waits for which, and calls
// that are prohibited while a step is captured.

#include <locus/cuda/backend.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/cuda/versions.hpp>
#include <locus/expr/functors.hpp>
#include <locus/interop/dlpack.hpp>
#include <locus/select.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace locus;

namespace {
struct Fill {
  LOCUS_FN void operator()(float& out) const { out = 3; }
};
/// A thread-local object that frees a block of GPU memory when its thread ends.
struct FreedAtThreadEnd {
  void* block = nullptr;
  ~FreedAtThreadEnd() {
    if (block) Backend<Cuda>::deallocate({}, block, 4096);
  }
};
}  // namespace

TEST_CASE("a process that works on its second GPU starts no other, and asking for versions starts none") {
  const Cuda second{1};
  CHECK(cuda::versions(1).find("cuda:1: ") == 0);
  CHECK(simulated::started == 0);
  auto* x = static_cast<float*>(Backend<Cuda>::allocate(second, 4096));
  const std::array<Strides, 1> dense{Strides{1}};
  Backend<Cuda>::map(second, make_plan<1>(Shape{1024}, dense), Fill{}, Pack<>{}, Pack<float*>{x});
  void* host = Backend<Pinned>::allocate({}, 4096);
  Transfer<Pinned, Cuda>::copy({}, host, second, x, 4096);
  Backend<Pinned>::deallocate({}, host, 4096);
  float first = 0;
  Transfer<Cpu, Cuda>::copy({}, &first, second, x, sizeof first);
  std::thread([&] { Backend<Cuda>::deallocate(second, x, 4096); }).join();
  CHECK(simulated::started == 1u << 1);
}

TEST_CASE("the current GPU is the same before and after, once both are used") {
  for (const int ordinal : {0, 1, 0}) {
    REQUIRE(cudaSetDevice(ordinal) == cudaSuccess);
    for (const int used : {1, 0}) Backend<Cuda>::deallocate({used}, Backend<Cuda>::allocate({used}, 64), 64);
    CHECK(simulated::current_ordinal == ordinal);
  }
}

TEST_CASE("memory that another thread frees is reused only after what that thread queued") {
  void* block = Backend<Cuda>::allocate({}, 4096);
  const int before = simulated::waits;
  std::thread([&] {
    Backend<Cuda>::synchronize({});
    Backend<Cuda>::deallocate({}, block, 4096);
  }).join();
  CHECK(simulated::waits == before + 1);
}

TEST_CASE("the same holds for what a thread-local object frees, after the thread gave its stream back") {
  void* block = Backend<Cuda>::allocate({}, 4096);
  const int before = simulated::waits;
  std::thread([&] {
    static thread_local FreedAtThreadEnd late;  // older than the thread's stream: destroyed after it
    late.block = nullptr;
    Backend<Cuda>::synchronize({});
    late.block = block;
  }).join();
  CHECK(simulated::waits == before + 1);
}

TEST_CASE("a step that is captured finds memory, and cuBLASLt, which nobody used before") {
  const auto memory = [] { return static_cast<float*>(Backend<Cuda>::allocate({}, 6 * sizeof(float))); };
  float* const x = memory();
  for (int i = 0; i < 6; ++i) x[i] = static_cast<float>(i);
  float* y = nullptr;
  cuda::CapturedStep step(0);
  step.capture([&] {
    y = memory();
    const MatrixRef<const float> matrix{x, 2, 3, 3, 1}, transposed{x, 3, 2, 1, 3};
    Backend<Cuda>::gemm({}, {}, matrix, transposed, MatrixRef<float>{y, 2, 2, 2, 1},
                        Epilogue<float, functor::Identity>{});
  });
  const float expected[] = {5, 14, 14, 50};
  CHECK(std::equal(expected, expected + 4, y));
  for (float* block : {x, y}) Backend<Cuda>::deallocate({}, block, 6 * sizeof(float));
}

TEST_CASE("a GPU of an architecture that the program was not compiled for is named, with what to compile for") {
  for (const cudaError_t error : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction}) {
    CHECK_THROWS_WITH_AS(cuda::check(error, "map over (2, 3)"),
                         doctest::Contains("this program has no code that cuda:0, of architecture sm_90, can run: "
                                           "compile with nvcc -arch=sm_90 (with Meson, -Dgpu_arch=sm_90), or run on "
                                           "Cpu"),
                         CudaUnavailable);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a GPU that the program has no code for is not the best that is available, but may be insisted on") {
  CHECK(best_available() == AnyDevice{AnyDevice::Kind::cuda, 0});
  simulated::lacks_code = true;
  CHECK(cuda::is_available());
  CHECK_FALSE(cuda::has_code_for(0));
  CHECK(best_available() == AnyDevice{});
  CHECK_THROWS_WITH_AS(with_device(parse_device("cuda"), [](auto device) { (void)full({2}, 1.f, device); }),
                       doctest::Contains("this program has no code that cuda:0, of architecture sm_70, can run"),
                       CudaUnavailable);
  simulated::lacks_code = false;
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(best_available() == AnyDevice{AnyDevice::Kind::cuda, 0});
}

TEST_CASE("a driver that cannot compile the program's PTX is named, with what to compile for") {
  CHECK_THROWS_WITH_AS(cuda::check(cudaErrorUnsupportedPtxVersion, "map over (2, 3)"),
                       doctest::Contains("too old to compile: compile with nvcc -arch=sm_90 (with Meson, "
                                         "-Dgpu_arch=sm_90), update the driver, or run on Cpu"),
                       CudaUnavailable);
}

TEST_CASE("a driver that is too old is told by how much, and which toolkit would do if Locus builds with that") {
  CHECK(cuda::detail::explain_old_driver(12080, 13000) ==
        "the NVIDIA driver is for CUDA 12.8 and this program for CUDA 13.0: update the driver to one for CUDA 13.0 or "
        "newer, build with CUDA toolkit 12.8, or run on Cpu");
  CHECK(cuda::detail::explain_old_driver(11080, 13000).find("or newer, or run on Cpu") != std::string::npos);
}

TEST_CASE("for a GPU that the toolkit no longer knows, an older toolkit is named") {
  CHECK(cuda::detail::how_to_compile_for(75).find("compile with nvcc -arch=sm_75") == 0);
#if CUDART_VERSION >= 13000
  CHECK(cuda::detail::how_to_compile_for(70).find("a CUDA toolkit of version 12") != std::string::npos);
#endif
}

TEST_CASE("what fails while it runs is thrown by whoever waits, or, awaited, by the operation itself") {
  auto* x = static_cast<float*>(Backend<Cuda>::allocate({}, 8 * sizeof(float)));
  const auto fill = [&] {
    Backend<Cuda>::map({}, make_plan<1>(Shape{2, 3}, std::array<Strides, 1>{Strides{4, 1}}), Fill{}, Pack<>{},
                       Pack<float*>{x});
  };
  CHECK_FALSE(cuda::launches_are_awaited());
  simulated::kernels_fail = true;
  CHECK_NOTHROW(fill());
  CHECK_THROWS_WITH_AS(Backend<Cuda>::synchronize({}), doctest::Contains("cudaStreamSynchronize: "), CudaError);
  cuda::await_launches(true);
  CHECK_THROWS_WITH_AS(fill(), doctest::Contains("map over (2, 3): "), CudaError);
  simulated::kernels_fail = false;
  CHECK_NOTHROW(fill());
  cuda::await_launches(false);
  Backend<Cuda>::deallocate({}, x, 8 * sizeof(float));
}

TEST_CASE("the streams of two libraries wait for each other, and the host for neither") {
  const Cuda second{1};
  const Tensor<float, Cuda> x = full<float, Cuda>({4}, 3, second);
  const auto waits_of = [](const auto& f) {
    const int before = simulated::waits;
    f();
    return simulated::waits - before;
  };
  dlpack::Owner<dlpack::DLManagedTensorVersioned> managed;
  CHECK(waits_of([&] { managed = to_dlpack(x); }) == 1);
  CHECK(managed.get()->dl_tensor.device.device_id == 1);
  Tensor<float, Cuda> y;
  CHECK(waits_of([&] { y = from_dlpack<float, Cuda>(std::move(managed)); }) == 1);
  CHECK(y.device() == second);
  CHECK(waits_of([&] { y = {}; }) == 1);  // before the memory is reused
  CHECK(waits_of([&] { managed = to_dlpack(x, {.stream = cuda::no_stream}); }) == 0);
  CHECK(waits_of([&] { y = from_dlpack<float, Cuda>(std::move(managed), {.stream = cuda::no_stream}); }) == 0);
  CHECK(waits_of([&] { y = {}; }) == 0);
  CHECK(waits_of([&] { managed = to_dlpack(x, {.stream = cuda::number_of_stream(second)}); }) == 0);
  managed = to_dlpack(x, {.stream = cuda::per_thread_stream});
  std::thread([&] { managed = {}; }).join();  // a thread without a stream there
}

TEST_CASE("memory of another library is given back once this thread's work there is done") {
  static float seen = 0;
  float* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 4 * sizeof(float)) == cudaSuccess);
  std::int64_t extent = 4;
  dlpack::DLManagedTensor given{};
  given.dl_tensor = {memory, {dlpack::kDLCUDA, 0}, 1, {dlpack::kDLFloat, 32, 1}, &extent, nullptr, 0};
  given.deleter = [](dlpack::DLManagedTensor* self) { seen = static_cast<const float*>(self->dl_tensor.data)[3]; };
  for (float round = 1; round <= 20; ++round) {  // the last mode of simulated_test.py runs streams late, at random
    {
      const auto x = from_dlpack<float, Cuda>(dlpack::Owner(&given), {.stream = cuda::no_stream});
      x.fill_(round);
    }
    CHECK(seen == round);
  }
  REQUIRE(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("memory that another library gives back within a captured step is waited for, and the step is captured") {
  const Tensor<float, Cuda> x = full<float, Cuda>({4}, 3);
  auto managed = to_dlpack(x, {.stream = cuda::legacy_stream});
  cuda::CapturedStep step(0);
  const Tensor<float, Cuda> y({4});
  step.capture([&] {
    managed = {};
    y.fill_(5);
  });
  CHECK(y.to<Cpu>().data()[3] == 5);
}
