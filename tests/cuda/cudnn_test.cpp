// Runs on: cudnn.
// Convolutions by cuDNN on a GPU, against products of windows there. A program of its own: the others are compiled
// without cuDNN. Queries to cuDNN, and the handling of its answers, are tried without a GPU: cuda/simulated/cudnn.cpp
// and cuda/cudnn_plans_test.cpp.

#include <locus/autograd/expression.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
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

TEST_CASE("TF32 rounds convolutions to 11 bits where it is allowed, and no exact one") {
  NEEDS_CUDNN();
  manual_seed(28);
  const auto x = randn<float, Cuda>({8, 64, 32, 32}).channels_last();
  const Tensor<float, Cuda> w = randn<float, Cuda>({64, 64, 3, 3}) * (1 / 24.f);
  const auto error = [&](bool tf32, bool exact, bool windows) {
    cuda::allow_tf32_convolutions(tf32), cuda::allow_cudnn(!windows);
    const Reference found = reference(conv2d(x, w, {.padding = 1, .exact = exact}));
    cuda::allow_tf32_convolutions(false), cuda::allow_cudnn(true);
    const auto sums = conv2d(x.as<double>(), w.as<double>(), {.padding = 1});
    const Reference expected = reference(sums);
    double largest = 0;
    for (std::size_t i = 0; i < found.values.size(); ++i)
      largest = std::max(largest, std::abs(found.values[i] - expected.values[i]));
    return largest;  // results are about 1, at most 5
  };
  for (const bool windows : {false, true}) {
    CHECK(error(false, false, windows) < 5e-5);
    CHECK(error(true, true, windows) < 5e-5);
    CHECK(error(true, false, windows) < 1e-2);
  }
  CHECK(error(true, false, true) > 5e-5);  // cuBLASLt's products on tensor cores
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
