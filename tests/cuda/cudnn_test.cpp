// Runs on: cudnn.
// Convolutions and attention by cuDNN on a GPU, against products there. A program of its own: the others are compiled
// without cuDNN. Queries to cuDNN, and the handling of its answers, are tried without a GPU: cuda/simulated/cudnn.cpp
// and cuda/cudnn_plans_test.cpp.

#include <locus/autograd/expression.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/convolution_steps.hpp>
#include <support/reference.hpp>
#include <support/skip.hpp>

using namespace locus;
using namespace locus_test;

namespace {

#define NEEDS_CUDNN() \
  NEEDS_CUDA();       \
  if (cuda::cudnn_version() == 0) SKIP_TEST("no libcudnn.so.9 answers")

template <class T>
struct Passes {
  Tensor<T, Cuda> y, dx, dw;
};
/// A value and both gradients, which are added up twice.
template <class T, class F>
Passes<T> passes(const F& convolve, const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& w) {
  const auto vx = variable(x), vw = variable(w);
  const auto y = convolve(vx, vw);
  manual_seed(9);
  const auto g = randn<T, Cuda>(y.shape());
  y.backward(g, {.retain_graph = true});
  y.backward(g);
  return {y.value(), vx.grad(), vw.grad()};
}
template <class T>
double allowed() {
  return std::is_same_v<T, float> ? 1e-4 : std::is_same_v<T, half> ? 1e-2 : 6e-2;
}
/// A convolution of images (n, c, h, w) by weights, both ways. Elements are scaled so that results are about 1.
template <class T>
void check_equal(const Shape& images, const Shape& weights, const Conv2dOptions& options, bool channels_last = false) {
  CAPTURE(to_string(images));
  CAPTURE(to_string(weights));
  manual_seed(27);
  const float scale = 1 / std::sqrt(static_cast<float>(weights[1] * weights[2] * weights[3]));
  Tensor<T, Cuda> x = randn<float, Cuda>(images).template as<T>();
  if (channels_last) x = x.permute({0, 2, 3, 1}).contiguous().permute({0, 3, 1, 2});
  const Tensor<T, Cuda> w = (randn<float, Cuda>(weights) * scale).template as<T>();
  const auto convolve = [&](const auto& a, const auto& b) { return conv2d(a, b, options); };
  const LaunchLog log;
  (void)convolve(x, w);
  // cuDNN's, where products of windows take two or more; weights are turned for channels-last images.
  CHECK(log.launches() == (channels_last ? 2 : 1));
  const Passes<T> by_cudnn = passes<T>(convolve, x, w), again = passes<T>(convolve, x, w);
  cuda::allow_cudnn(false);
  const Passes<T> by_windows = passes<T>(convolve, x, w);
  cuda::allow_cudnn(true);
  const auto compare = [](const auto& found, const auto& same, const auto& expected) {
    const Reference a = reference(found), b = reference(same), c = reference(expected);
    double largest = 0, distance = 0;
    bool repeats = true;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      largest = std::max(largest, std::abs(c.values[i]));
      const double difference = std::abs(a.values[i] - c.values[i]);
      if (!(difference <= distance)) distance = difference;
      repeats &= a.values[i] == b.values[i];
    }
    CHECK(distance <= allowed<T>() * largest);
    CHECK(repeats);  // the same bits each time
  };
  compare(by_cudnn.y, again.y, by_windows.y);
  compare(by_cudnn.dx, again.dx, by_windows.dx);
  compare(by_cudnn.dw, again.dw, by_windows.dw);
}

}  // namespace

TEST_CASE("cuDNN's convolutions equal products of windows on a GPU") {
  NEEDS_CUDNN();
  check_equal<float>({8, 3, 32, 32}, {64, 3, 3, 3}, {.padding = 1});
  check_equal<float>({8, 64, 32, 32}, {64, 64, 3, 3}, {.padding = 1});
  check_equal<float>({8, 64, 32, 32}, {128, 64, 3, 3}, {.stride = 2, .padding = 1});
  check_equal<float>({8, 64, 32, 32}, {128, 64, 1, 1}, {.stride = 2});
  check_equal<float>({4, 32, 17, 15}, {64, 8, 3, 3}, {.padding = 2, .dilation = 2, .groups = 4});
  check_equal<float>({4, 32, 17, 15}, {32, 1, 3, 3}, {.padding = 1, .groups = 32});
  check_equal<float>({4, 16, 16, 16}, {16, 16, 2, 4}, {.padding = "same"});
  check_equal<float>({8, 64, 32, 32}, {64, 64, 3, 3}, {.padding = 1, .exact = true});
}

TEST_CASE("so do those of 16 bits, of both layouts") {
  NEEDS_CUDNN();
  for (const bool channels_last : {false, true}) {
    check_equal<half>({8, 64, 32, 32}, {64, 64, 3, 3}, {.padding = 1}, channels_last);
    check_equal<bfloat16>({8, 64, 32, 32}, {128, 64, 3, 3}, {.stride = 2, .padding = 1}, channels_last);
  }
  check_equal<bfloat16>({4, 5, 17, 15}, {7, 5, 3, 3}, {.padding = 1});
}

TEST_CASE("a captured step of convolutions replays the eager one bit for bit; timed engines serve") {
  NEEDS_CUDNN();
  const auto train = [](bool captured) { return losses_of_convolution_steps(captured, 8, 16, 16); };
  CHECK(train(true) == train(false));
  const bool before = cuda::gemm_is_autotuned();
  cuda::autotune_gemm(true);
  check_equal<float>({6, 16, 20, 20}, {24, 16, 3, 3}, {.padding = 1});
  CHECK(train(false) == train(true));
  cuda::autotune_gemm(before);
}

TEST_CASE("cuDNN's attention of 16 bits equals products, and repeats its bits") {
  NEEDS_CUDNN();
  const auto check = [](auto element, std::int64_t rows, std::int64_t width, bool is_causal, double allowed) {
    using T = decltype(element);
    CAPTURE(rows);
    CAPTURE(width);
    CAPTURE(is_causal);
    manual_seed(5);
    const Tensor<T, Cuda> x = randn<float, Cuda>({2, rows, 3 * 4 * width}).template as<T>();
    const Tensor<T, Cuda> g = randn<float, Cuda>({2, rows, 4 * width}).template as<T>();
    const auto passes = [&] {
      const auto traced = variable(x);
      const auto y = packed_attention(traced, 4, {.is_causal = is_causal});
      y.backward(g);
      return Tuple(y.value(), traced.grad());
    };
    const LaunchLog log;
    const auto [y, dx] = passes();
    CHECK(log.launches() == 3);  // forward with one launch that completes its numbers, backward
    const auto [again, again_dx] = passes();
    CHECK(reference(again).values == reference(y).values);
    CHECK(reference(again_dx).values == reference(dx).values);
    cuda::allow_cudnn(false);
    const auto [expected, expected_dx] = passes();
    cuda::allow_cudnn(true);
    CHECK_CLOSE(y, reference(expected), allowed);
    CHECK_CLOSE(dx, reference(expected_dx), 4 * allowed);
  };
  for (const bool is_causal : {false, true}) {
    check(half(), 1024, 64, is_causal, 4e-3);
    check(bfloat16(), 1024, 128, is_causal, 3e-2);
    check(bfloat16(), 777, 40, is_causal, 3e-2);
  }
}
