// Runs on: cudnn.
// Convolutions and attention by cuDNN on a GPU, against products there. A program of its own: the others are compiled
// without cuDNN. Queries to cuDNN, and the handling of its answers, are tried without a GPU: cuda/simulated/cudnn.cpp
// and cuda/cudnn_plans_test.cpp.

#include <locus/autograd/expression.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/channels_last.hpp>
#include <locus/nn/conv.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/channel_sums.hpp>
#include <support/convolution_steps.hpp>
#include <support/fused_relu.hpp>
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

TEST_CASE("a bias is added in the launch of its convolution on a GPU, once, before rounding") {
  NEEDS_CUDNN();
  const auto check = [](auto zero, bool channels_last) {
    using T = decltype(zero);
    manual_seed(29);
    Tensor<T, Cuda> x = randn<float, Cuda>({8, 16, 20, 20}).template as<T>(),
                    w = (randn<float, Cuda>({24, 16, 3, 3}) * (1 / 12.f)).template as<T>();
    const Tensor<T, Cuda> b = (randn<float, Cuda>({24}) * 3.f).template as<T>();
    if (channels_last) x = x.channels_last(), w = w.channels_last();
    (void)conv2d(x, w, b, {.padding = 1});
    const LaunchLog log;
    const auto y = conv2d(x, w, b, {.padding = 1});
    CHECK(log.launches() == 1);
    const auto exact =
        conv2d(x.template as<double>(), w.template as<double>(), b.template as<double>(), {.padding = 1});
    const Reference found = reference(y), expected = reference(exact);
    double largest = 0, distance = 0;
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      largest = std::max(largest, std::abs(expected.values[i]));
      distance = std::max(distance, std::abs(found.values[i] - expected.values[i]));
    }
    CHECK(distance <= allowed<T>() / 4 * largest);
  };
  for (const bool channels_last : {false, true})
    check(float{}, channels_last), check(half{}, channels_last), check(bfloat16{}, channels_last);
}

TEST_CASE("relu is applied in the launch of its convolution on a GPU, where that is allowed") {
  NEEDS_CUDNN();
  const auto check = [](auto zero, bool channels_last) {
    using T = decltype(zero);
    manual_seed(33);
    Tensor<T, Cuda> x = randn<float, Cuda>({8, 16, 20, 20}).template as<T>(),
                    w = (randn<float, Cuda>({24, 16, 3, 3}) * (1 / 12.f)).template as<T>();
    const Tensor<T, Cuda> b = randn<T, Cuda>({24});
    if (channels_last) x = x.channels_last(), w = w.channels_last();
    for (const bool may_fuse : {false, true}) {
      const FusedRelu fused(may_fuse);
      const auto vx = variable(x), vw = variable(w), vb = variable(b);
      const auto apart = relu(conv2d(vx, vw, vb, {.padding = 1})).eval();
      apart.backward(apart.value());
      const auto dx = vx.grad().clone(), dw = vw.grad().clone(), db = vb.grad().clone();
      vx.zero_grad(), vw.zero_grad(), vb.zero_grad();
      (void)conv2d(x, w, b, {.padding = 1, .relu = true});
      const LaunchLog log;
      const auto y = conv2d(vx, vw, vb, {.padding = 1, .relu = true});
      CHECK(log.launches() <= 2);
      CHECK((log.launches() == 2 || may_fuse));  // one launch only if timing found that faster
      y.backward(y.value());
      CHECK_CLOSE(y, reference(apart), 3 * allowed<T>());
      CHECK_CLOSE(vx.grad(), reference(dx), 30 * allowed<T>());
      CHECK_CLOSE(vw.grad(), reference(dw), 300 * allowed<T>());  // sums of 3,200 products
      CHECK_CLOSE(vb.grad(), reference(db), 300 * allowed<T>());
    }
  };
  const bool before = cuda::gemm_is_autotuned();
  for (const bool tuned : {false, true}) {
    cuda::autotune_gemm(tuned);
    for (const bool channels_last : {false, true})
      check(float{}, channels_last), check(half{}, channels_last), check(bfloat16{}, channels_last);
  }
  cuda::autotune_gemm(before);
}

TEST_CASE("weights that lie channels-last are read and written as they lie on a GPU") {
  NEEDS_CUDNN();
  manual_seed(30);
  const auto x = randn<float, Cuda>({8, 32, 16, 16}).template as<bfloat16>().channels_last();
  const auto w = (randn<float, Cuda>({64, 32, 3, 3}) * (1 / 17.f)).template as<bfloat16>();
  const auto use = [&](const auto& weights) {
    const auto vx = variable(x), vw = variable(weights);
    const auto g = ones_like(conv2d(x, w, {.padding = 1})).eval().channels_last();
    conv2d(vx, vw, {.padding = 1}).backward(g);
    vx.zero_grad(), vw.zero_grad();
    const LaunchLog log;
    const auto y = conv2d(vx, vw, {.padding = 1});
    y.backward(g);
    return Tuple(log.launches(), reference(y.value()), reference(vx.grad()), reference(vw.grad()));
  };
  const auto rows = use(w), as_they_lie = use(w.channels_last());
  CHECK(get<0>(as_they_lie) == 3);
  CHECK(get<0>(rows) == 6);
  CHECK(get<1>(rows).values == get<1>(as_they_lie).values);  // the same engines on the same numbers
  CHECK(get<2>(rows).values == get<2>(as_they_lie).values);
  CHECK(get<3>(rows).values == get<3>(as_they_lie).values);
}

TEST_CASE("a batch norm of channels that cuDNN summed with the convolution equals one that measures them on a GPU") {
  NEEDS_CUDNN();
  const auto check = [](auto zero, std::int64_t channels, std::int64_t side, bool must_sum) {
    using T = decltype(zero);
    manual_seed(32);
    const nn::Conv2d<T, Cuda> layer{channels, 64, 3, {.padding = 1, .bias = false}};
    nn::channels_last_(layer);
    const nn::BatchNorm2d<T, Cuda> norm{64}, other{64};
    const auto x = (randn<float, Cuda>({16, channels, side, side}) + 0.5f).eval().template as<T>().channels_last();
    if (must_sum) REQUIRE(chooses_channel_sums(x, layer.weight.value()));
    const LaunchLog of_both;
    const auto together = norm.forward_after(layer, trace(x), nn::Activation::none);
    const auto launches = of_both.launches();
    const LaunchLog of_each;
    const auto apart = other.forward_with(layer(trace(x)), nn::Activation::none);
    if (must_sum) CHECK(launches == of_each.launches() - 1);
    const auto near = [](const auto& a, const auto& b, double most) {
      const Reference found = reference(a), expected = reference(b);
      double distance = 0;
      for (std::size_t i = 0; i < found.values.size(); ++i)
        distance = std::max(distance, std::abs(found.values[i] - expected.values[i]));
      CHECK(distance <= most);
    };
    near(together.value(), apart.value(), 5 * allowed<T>());  // of numbers up to about 5
    near(norm.running_mean.value(), other.running_mean.value(), 1e-4);
    near(norm.running_var.value(), other.running_var.value(), 1e-3);
  };
  const bool before = cuda::gemm_is_autotuned();
  cuda::autotune_gemm(false);
  check(bfloat16{}, 64, 32, false);
  cuda::autotune_gemm(true);
  // From compute capability 8.0 on cuDNN has engines for 64 channels, and so the sums' form is asked for and must
  // serve.
  const bool has_engines = cuda::Context::current(0).compute_capability() >= 80;
  check(bfloat16{}, 64, 32, has_engines), check(half{}, 64, 32, has_engines), check(half{}, 16, 15, false);
  cuda::autotune_gemm(before);
}

TEST_CASE("without workspace, and by engines that are not deterministic, gradients are the same up to rounding") {
  NEEDS_CUDNN();
  manual_seed(31);
  const auto x = randn<float, Cuda>({8, 64, 32, 32});
  const Tensor<float, Cuda> w = randn<float, Cuda>({64, 64, 3, 3}) * (1 / 24.f);
  const auto use = [&] { return passes<float>([](const auto& a, const auto& b) { return conv2d(a, b); }, x, w); };
  const auto near = [](const auto& found, const auto& expected) {
    const Reference a = reference(found), b = reference(expected);
    double largest = 0, distance = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      largest = std::max(largest, std::abs(b.values[i]));
      distance = std::max(distance, std::abs(a.values[i] - b.values[i]));
    }
    CHECK(distance <= 1e-4 * largest);
  };
  const auto expected = use();
  const std::int64_t limit = cuda::cudnn_workspace_limit();
  cuda::limit_cudnn_workspace(0);  // weights' size: in parts of the batch, or by other engines
  const auto limited = use();
  cuda::limit_cudnn_workspace(limit);
  cuda::allow_nondeterministic_cudnn(true);
  const auto varied = use();
  cuda::allow_nondeterministic_cudnn(false);
  for (const auto* const found : {&limited, &varied})
    near(found->y, expected.y), near(found->dx, expected.dx), near(found->dw, expected.dw);
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
    const auto exact = variable(x.template as<double>());
    const auto expected = packed_attention(exact, 4, {.is_causal = is_causal});
    expected.backward(g.template as<double>());
    CHECK_CLOSE(y, reference(expected), allowed);
    CHECK_CLOSE(dx, reference(exact.grad()), 2 * allowed);
  };
  for (const bool is_causal : {false, true}) {
    check(half(), 1024, 64, is_causal, 3e-3);
    check(bfloat16(), 1024, 128, is_causal, 2e-2);
    check(bfloat16(), 777, 40, is_causal, 2e-2);
  }
}
