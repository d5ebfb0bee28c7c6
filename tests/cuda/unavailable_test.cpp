// Runs on: host, cuda (training).
// A program where no GPU can be used: built without CUDA, without a driver, or with a driver that is too old.
#include <locus/cuda/pinned.hpp>
#include <locus/cuda/versions.hpp>
#include <locus/tensor/copy_async.hpp>

#include <doctest/doctest.h>

#include <string>

#include <support/skip.hpp>

namespace {
using namespace locus;

struct Fill {
  LOCUS_HD void operator()(float& out) const { out = 1.f; }
};
struct Rows {
  [[maybe_unused]] static constexpr int fragments = 1;
  template <class Team>
  LOCUS_FN void operator()(std::int64_t, Team&) const {}
};
struct Sum {
  using Accumulator = float;
  LOCUS_FN float identity() const { return 0; }
  LOCUS_FN float combine(float a, float b) const { return a + b; }
  LOCUS_FN float finish(float a) const { return a; }
};
struct Itself {
  template <class X> LOCUS_FN X operator()(X x) const { return x; }
};

/// The message that f throws; empty if it throws nothing.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const CudaUnavailable& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("without a GPU streams and asynchronous copies are refused, and the host's streams are empty") {
  if (cuda::is_available()) SKIP_TEST("a GPU answers here");
  CHECK(refusal([] { const Stream<Cuda> stream; }).find("run on Cpu") != std::string::npos);
  CHECK(refusal([] { (void)Stream<Cuda>::current(); }).find("run on Cpu") != std::string::npos);
  float memory[] = {1, 2};
  const Tensor<float, Pinned> x({}, memory, {2}, row_major({2}));
  CHECK(refusal([&] { (void)copy_async(x); }).find("run on Cpu") != std::string::npos);
  using ToCuda = Pending<Tensor<float, Cuda>>;
  using ToHost = Pending<Tensor<float, Pinned>>;
  CHECK_THROWS_AS((void)ToCuda{}.ordered(), ArgumentError);
  CHECK_THROWS_AS((void)ToHost{}.wait(), ArgumentError);

  const Stream<Cpu> stream;
  stream.wait(Stream<Cpu>::current().record());
  stream.synchronize();
  CHECK(stream.record().done());
  CHECK(with_stream(stream, [] { return 7; }) == 7);
}

TEST_CASE("without a GPU every use of Cuda is refused with the reason, and asking is harmless") {
  if (cuda::is_available()) SKIP_TEST("a GPU answers here");
  CHECK(cuda::device_count() == 0);
  const std::string reason = cuda::unavailable_reason();
  CHECK(reason.find("run on Cpu") != std::string::npos);
  CHECK(cuda::versions(3).find("cuda:3: none") == 0);

  float value = 0;
  Plan<1> plan;
  plan.elements = plan.extent[0] = 1;
  ReducePlan<1> reduction;
  reduction.kept.elements = reduction.kept.extent[0] = 1;
  const MatrixRef<const float> matrix{&value, 1, 1, 1, 1};
  const MatrixRef<float> result{&value, 1, 1, 1, 1};
  for (const std::string& text : {
           refusal([] { (void)Backend<Cuda>::allocate({}, 1); }),
           refusal([] { (void)Backend<Cuda>::memory_stats({}); }),
           refusal([] { reset_peak_memory_stats(Cuda{}); }),
           refusal([] { (void)release_unused(Cuda{}); }),
           refusal([] { (void)memory_info(Cuda{}); }),
           refusal([] { (void)device_info(Cuda{}); }),
           refusal([] { (void)memory_limit(Cuda{}); }),
           refusal([] { set_memory_limit(Cuda{}, 1); }),
           refusal([] { Backend<Cuda>::synchronize(Cuda{3}); }),
           refusal([&] { Backend<Cuda>::map({}, plan, Fill{}, Pack<>{}, Pack<float*>{&value}); }),
           refusal([] { Backend<Cuda>::for_each_row({}, 1, 1, Rows{}); }),
           refusal([&] {
             const float* const none = nullptr;
             Backend<Cuda>::reduce({}, reduction, Itself{}, Sum{}, Pack<const float*>{&value}, none, &value);
           }),
           refusal([&] { Backend<Cuda>::gemm({}, GemmBatch{}, matrix, matrix, result, Epilogue<float, Itself>{}); }),
           refusal([&] { Transfer<Cpu, Cuda>::copy({}, &value, {}, &value, 4); }),
           refusal([&] { Transfer<Cuda, Cpu>::copy({}, &value, {}, &value, 4); }),
           refusal([&] { Transfer<Cuda, Cuda>::copy({}, &value, Cuda{1}, &value, 4); }),
           refusal([&] { Transfer<Pinned, Cuda>::copy({}, &value, {}, &value, 4); }),
           refusal([&] { Transfer<Cuda, Pinned>::copy({}, &value, {}, &value, 4); }),
           refusal([] { (void)Backend<Pinned>::allocate({}, 1); }),
       }) {
    CHECK(text.find(reason) != std::string::npos);
  }
  Backend<Cuda>::deallocate({}, nullptr, 0);
  Backend<Pinned>::deallocate({}, nullptr, 0);
  cuda::allow_tf32(false);
  CHECK_FALSE(cuda::tf32_allowed());
  cuda::allow_tf32_convolutions(true);
  CHECK_FALSE(cuda::tf32_convolutions_allowed());
  cuda::allow_nondeterministic_cudnn(true), cuda::limit_cudnn_workspace(1);
  CHECK_FALSE(cuda::nondeterministic_cudnn_allowed());
  CHECK(cuda::cudnn_workspace_limit() == 0);
  cuda::allow_fused_relu(false);
  CHECK_FALSE(cuda::fused_relu_allowed());
  cuda::autotune_gemm(false);
  CHECK_FALSE(cuda::gemm_is_autotuned());
  cuda::await_launches(false);
  CHECK_FALSE(cuda::launches_are_awaited());
}

TEST_CASE("places have names") {
  CHECK(to_string(Cuda{1}) == "cuda:1");
  CHECK(to_string(Pinned{}) == "pinned");
}

}  // namespace
