// Convolutions by cuDNN: the queries, the choice and storage of its answers, and the handling of refusals and errors.
// Over a stand-in, which computes from the descriptors. Cases about decisions that a process makes once come first, in
// processes of their own; cases in this process come after them.

#if __has_include(<cudnn_graph.h>)
#define LOCUS_CUDNN 1
#endif

#include <locus/autograd/expression.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/loss.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <limits>

#include <support/channel_sums.hpp>
#include <support/convolution_steps.hpp>
#include <support/fused_relu.hpp>
#include <support/reference.hpp>
#include <support/skip.hpp>

#include "process.hpp"

#if LOCUS_CUDNN
#include "cudnn_stand_in.hpp"

using namespace locus;
using namespace locus_test;

namespace {
using simulated::dnn;
using simulated::DnnEngine;
using simulated::Environment;
using simulated::in_new_process;

/// The observed effects of a call.
struct Seen {
  int asked = 0, planned = 0, launched = 0;
  std::int64_t engine = -1;
};
template <class Use>
Seen seen(const Use& use) {
  const auto before = dnn;
  use();
  return {dnn.asked - before.asked, dnn.planned - before.planned, dnn.launched - before.launched, dnn.engine};
}
/// A convolution of 16 channels.
template <class T = float>
Tensor<T, Cuda> convolve(std::int64_t images = 2, const Conv2dOptions& options = {.padding = 1}) {
  manual_seed(4);
  const auto x = randn<T, Cuda>({images, 4, 6, 5}), w = randn<T, Cuda>({8, 4, 3, 3});
  return conv2d(x, w, options);
}
/// The values without cuDNN.
template <class Use>
auto without_cudnn(const Use& use) {
  cuda::allow_cudnn(false);
  const auto result = use();
  cuda::allow_cudnn(true);
  return result;
}
/// The largest difference of two tensors' elements.
double distance(const Tensor<float, Cuda>& a, const Tensor<float, Cuda>& b) {
  const Reference x = reference(a), y = reference(b);
  double largest = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) largest = std::max(largest, std::fabs(x.values[i] - y.values[i]));
  return largest;
}
bool is_right(const Tensor<float, Cuda>& y, std::int64_t images = 2) {
  return distance(y, without_cudnn([&] { return convolve(images); })) < 1e-5;
}
/// A value and both gradients.
template <class T, class F>
auto passes(const F& convolve, const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& w, bool transposed_g = false) {
  const auto vx = variable(x.clone()), vw = variable(w.clone());
  const auto y = convolve(x, w);  // of the strides that x has
  const auto traced = convolve(vx, vw);
  manual_seed(9);
  auto g = randn<T, Cuda>(traced.shape());
  if (transposed_g) g = g.transpose(2, 3).contiguous().transpose(2, 3);
  traced.backward(g, {.retain_graph = true});
  traced.backward(g);  // accumulates
  return Tuple(y, vx.grad(), vw.grad());
}
template <class T, class F>
void check_equal(const F& convolve, const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& w, double allowed = 2e-5) {
  CAPTURE(to_string(x.shape()));
  CAPTURE(to_string(w.shape()));
  for (const bool transposed_g : {false, true}) {
    const int before = dnn.launched;
    const auto [y, dx, dw] = passes(convolve, x, w, transposed_g);
    CHECK(dnn.launched - before >= 6);
    const int ours = dnn.launched;
    const auto [own_y, own_dx, own_dw] = without_cudnn([&] { return passes(convolve, x, w, transposed_g); });
    CHECK(dnn.launched == ours);
    CHECK_CLOSE(y, reference(own_y), allowed);
    CHECK_CLOSE(dx, reference(own_dx), allowed);
    CHECK_CLOSE(dw, reference(own_dw), allowed);
  }
}

}  // namespace

TEST_CASE("of cuDNN's engines the first serves that keeps what Locus promises") {
  const auto engine = [](const auto& use) { return in_new_process({}, [&] { return seen(use).engine; }); };
  const auto of_float = [] { (void)convolve(); };
  CHECK(engine(of_float) == 5);                                                  // without TF32
  CHECK(engine([] { (void)convolve(2, {.padding = 1, .exact = true}); }) == 1);  // nor Winograd's transforms
  CHECK(engine([] { (void)convolve<bfloat16>(); }) == 46);
  CHECK(engine([&] {
          cuda::allow_tf32_convolutions(true);
          of_float();
        }) == 46);
  CHECK(engine([&] {
          cuda::allow_tf32(true);  // of products alone
          of_float();
        }) == 5);
  const auto with = [&](cudnnBackendNumericalNote_t note, bool allow) {
    return engine([=] {
      dnn.engines.insert(dnn.engines.begin(), DnnEngine{.index = 7, .notes = {note}});
      cuda::allow_nondeterministic_cudnn(allow);
      (void)convolve();
    });
  };
  CHECK(with(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, false) == 5);
  CHECK(with(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, true) == 7);
  CHECK(in_new_process({{"LOCUS_CUDNN_NONDETERMINISTIC", "1"}}, [] {
          dnn.engines.insert(dnn.engines.begin(),
                             DnnEngine{.index = 7, .notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}});
          return seen([] { (void)convolve(); }).engine;
        }) == 7);
  CHECK(with(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, true) == 5);
  CHECK(with(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, false) == 7);
  CHECK(in_new_process({{"LOCUS_CUDNN", "0"}}, [&] { return seen(of_float).asked; }) == 0);
}

TEST_CASE("convolutions and attention share the one handle of a context") {
  CHECK(in_new_process({}, [] {
    const auto attend = [] {
      const auto q = randn<half, Cuda>({1, 2, 3, 136});
      return seen([&] { (void)scaled_dot_product_attention(q, q, q); }).launched == 1;
    };
    bool right = is_right(convolve()) && attend() && is_right(convolve()) && dnn.handles == 1;
    std::thread([&] { right &= attend() && is_right(convolve()); }).join();
    return right && dnn.handles == 2;
  }));
}

TEST_CASE("TF32 has a switch for convolutions, by cuDNN or by windows, and one for products") {
  struct Rounded {
    bool products, convolutions, windows, exact;
    bool operator==(const Rounded&) const = default;
  };
  const auto rounded = [](const Environment& environment) {
    return in_new_process(environment, [] {
      if (std::getenv("LOCUS_TF32_CONVOLUTIONS") == std::string("unset")) unsetenv("LOCUS_TF32_CONVOLUTIONS");
      const auto windows = [](bool exact) {
        (void)without_cudnn([=] { return convolve(2, {.padding = 1, .exact = exact}); });
        return simulated::blas.rounds_to_tf32;
      };
      (void)convolve();
      Rounded found{false, dnn.engine == 46, windows(false), windows(true)};
      (void)convolve(2, {.padding = 1, .exact = true});
      found.exact |= dnn.engine != 1;
      (void)matmul(randn<float, Cuda>({4, 8}), randn<float, Cuda>({8, 4}));
      found.products = simulated::blas.rounds_to_tf32;
      return found;
    });
  };
  const Rounded convolutions{false, true, true, false}, neither{false, false, false, false};
  CHECK(rounded({{"LOCUS_TF32_CONVOLUTIONS", "unset"}}) == convolutions);
  CHECK(rounded({{"LOCUS_TF32_CONVOLUTIONS", "1"}}) == convolutions);
  CHECK(rounded({{"LOCUS_TF32_CONVOLUTIONS", "0"}}) == neither);
  CHECK(rounded({{"LOCUS_TF32_CONVOLUTIONS", "0"}, {"LOCUS_TF32", "1"}}) == Rounded{true, false, false, false});
  CHECK(rounded({{"LOCUS_TF32_CONVOLUTIONS", "1"}, {"LOCUS_TF32", "1"}}) == Rounded{true, true, true, false});
  std::string said;
  CHECK(in_new_process(
      {{"LOCUS_TF32_CONVOLUTIONS", "yes"}},
      [] {
        CHECK_THROWS_AS((void)convolve(), ArgumentError);
        return true;
      },
      &said));
}

TEST_CASE("a form is planned once; whatever changes cuDNN's choice is another form") {
  CHECK(in_new_process({}, [] {
    const auto asks = [](const auto& use) { return seen(use).asked > 0; };
    bool right = asks([] { (void)convolve(); }) && !asks([] { (void)convolve(); });
    right &= asks([] { (void)convolve(3); }) && asks([] { (void)convolve(2, {.padding = 2}); });
    right &= asks([] { (void)convolve(2, {.padding = 1, .exact = true}); }) && asks([] { (void)convolve<half>(); });
    cuda::allow_tf32_convolutions(true);
    right &= asks([] { (void)convolve(); });
    cuda::allow_tf32_convolutions(false);
    right &= !asks([] { (void)convolve(); });
    const auto memory = randn<float, Cuda>({2 * 4 * 6 * 5 + 1}), w = randn<float, Cuda>({8, 4, 3, 3});
    const auto shifted = memory.slice(0, 1, memory.size(0)).reshape({2, 4, 6, 5});
    right &= asks([&] { (void)conv2d(shifted, w, {.padding = 1}); }) && dnn.alignment == 4;
    return right && !asks([&] { (void)conv2d(shifted, w, {.padding = 1}); });
  }));
}

TEST_CASE("what cuDNN does not compute, products of windows do, and a trace says so") {
  const auto refused = [](const auto& prepare, std::string& said) {
    return in_new_process(
        {{"LOCUS_TRACE", "1"}},
        [&] {
          prepare();
          const int before = dnn.launched;
          const auto y = convolve();
          const bool is_ours = dnn.launched == before;
          trace_launches(false);
          return is_ours && is_right(y);
        },
        &said);
  };
  std::string said;
  const std::string request =
      "locus: convolution of images (2, 4, 6, 5) by weights (8, 4, 3, 3) of float32, stride (1, 1), padding (1, 1), "
      "dilation (1, 1), 1 group: not by cuDNN (";
  CHECK(refused([] { dnn.operation = CUDNN_STATUS_NOT_SUPPORTED; }, said));
  CHECK(said.find(request + "cudnnBackendFinalize (a pass of a convolution): CUDNN_STATUS_NOT_SUPPORTED, the pass is "
                            "not supported)\n") != std::string::npos);
  CHECK(said.find("gemm") != std::string::npos);
  CHECK(refused([] { dnn.heuristics = CUDNN_STATUS_NOT_SUPPORTED; }, said));
  CHECK(said.find(request + "cuDNN has no engine for it that is allowed)\n") != std::string::npos);
  CHECK(refused([] { dnn.engines.resize(2); }, said));
  CHECK(said.find("no engine for it that is allowed)\n") != std::string::npos);
  CHECK(refused(
      [] {
        for (auto& engine : dnn.engines) engine.ready = CUDNN_STATUS_NOT_SUPPORTED;
      },
      said));
  CHECK(said.find(request + "cuDNN makes no plan for any engine)\n") != std::string::npos);
  CHECK(refused(
      [] {
        for (auto& engine : dnn.engines) engine.runs = CUDNN_STATUS_NOT_SUPPORTED;
      },
      said));
  CHECK(said.find(request + "cudnnBackendExecute: CUDNN_STATUS_NOT_SUPPORTED, the launch failed)") !=
        std::string::npos);
  // cuDNN takes no padding below 0, which output padding beyond the stride needs.
  CHECK(in_new_process({}, [] {
    const auto x = randn<float, Cuda>({1, 4, 3, 3}), w = randn<float, Cuda>({4, 2, 3, 3});
    const auto use = [&] { return conv_transpose2d(x, w, {.padding = 0, .output_padding = 2, .dilation = 3}); };
    const Seen one = seen([&] { (void)use(); });
    return one.launched == 0 && distance(use(), without_cudnn(use)) == 0.;
  }));
}

TEST_CASE("an engine that fails where it is used is passed over, and stays so") {
  CHECK(in_new_process({}, [] {
    dnn.engines[2].runs = CUDNN_STATUS_NOT_SUPPORTED;
    const auto y = convolve();
    const bool first = dnn.engine == 1 && is_right(y);
    const Seen second = seen([] { (void)convolve(); });
    return first && second.asked == 0 && second.launched == 1 && second.engine == 1;
  }));
}

TEST_CASE("errors name the request, cuDNN's call and what to do") {
  const auto error = [](const auto& prepare, bool is_memory = false) {
    std::string said;
    CHECK(in_new_process(
        {},
        [&] {
          prepare();
          try {
            (void)convolve();
          } catch (const OutOfMemory& caught) {
            return std::fputs(caught.what(), stderr) >= 0 && is_memory;
          } catch (const CudaError& caught) {
            return std::fputs(caught.what(), stderr) >= 0 && !is_memory;
          }
          return false;
        },
        &said));
    return said;
  };
  CHECK(error([] { dnn.creation = CUDNN_STATUS_NOT_INITIALIZED; }) ==
        "cuDNN: cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED, nothing answers; cuDNN does not start: update the "
        "NVIDIA driver, or compute without cuDNN (LOCUS_CUDNN=0)");
  CHECK(error([] { dnn.creation = CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH; }).find("LD_LIBRARY_PATH") !=
        std::string::npos);
  CHECK(
      error([] { dnn.engines[2].runs = CUDNN_STATUS_EXECUTION_FAILED; }) ==
      "convolution of images (2, 4, 6, 5) by weights (8, 4, 3, 3) of float32, stride (1, 1), padding (1, 1), "
      "dilation (1, 1), 1 group: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED, the launch failed; an earlier "
      "launch may be the cause: run under compute-sanitizer; LOCUS_CUDNN=0 in the environment computes without cuDNN");
  CHECK(error([] { dnn.operation = CUDNN_STATUS_DEPRECATED; }).find("cuda::allow_cudnn(false)") != std::string::npos);
  CHECK(error([] { dnn.engines[2].ready = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED; }, true)
            .find("use smaller batches or free tensors") != std::string::npos);
  // After an error the program goes on.
  CHECK(in_new_process({}, [] {
    dnn.creation = CUDNN_STATUS_NOT_INITIALIZED;
    CHECK_THROWS_AS((void)convolve(), CudaError);
    dnn.creation = CUDNN_STATUS_SUCCESS;
    return is_right(convolve());
  }));
}

TEST_CASE("workspace is bounded: a batch is taken in parts, or another engine serves") {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  const Environment small{{"LOCUS_CUDNN_WORKSPACE", "64"}};
  CHECK(in_new_process(small, [] {
    dnn.engines[2].workspace_of_image = 20 * mebibyte;  // three images' fit in 64 MiB
    const auto x = randn<float, Cuda>({7, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
    const auto use = [&] { return passes([](const auto& a, const auto& b) { return conv2d(a, b); }, x, w); };
    const Seen forward = seen([&] { (void)conv2d(x, w); });
    const bool in_parts = forward.engine == 5 && forward.launched == 4 && dnn.images == 1;  // 2, 2, 2 and 1
    const auto [y, dx, dw] = use();
    const auto [own_y, own_dx, own_dw] = without_cudnn(use);
    return in_parts && dnn.engine == 5 && distance(y, own_y) < 1e-5 && distance(dx, own_dx) < 1e-4 &&
           distance(dw, own_dw) < 1e-4;
  }));
  CHECK(in_new_process(small, [] {  // sums of 16 bits are rounded once
    dnn.engines[0].workspace_of_image = 20 * mebibyte;
    const auto x = variable(randn<half, Cuda>({7, 4, 6, 5})), w = variable(randn<half, Cuda>({8, 4, 3, 3}));
    const auto y = conv2d(x, w);
    const Seen back = seen([&] { sum(y).backward(); });
    return back.launched == 4 + 1 && dnn.engine == 5 && dnn.images == 7;
  }));
  CHECK(in_new_process(small, [] {  // one image's does not fit
    dnn.engines[2].workspace_of_image = 65 * mebibyte;
    return seen([] { (void)convolve(); }).engine == 1 && dnn.images == 2;
  }));
  const auto engine = [](std::int64_t padding) {
    return seen([=] { (void)convolve(2, {.padding = padding}); }).engine;
  };
  CHECK(in_new_process({}, [&] {  // the limit is 1 GiB, or as the program says, which makes another form
    dnn.engines[2].workspace = 65 * mebibyte;
    bool right = cuda::cudnn_workspace_limit() == 1024 * mebibyte && engine(1) == 5;
    cuda::limit_cudnn_workspace(64 * mebibyte);
    right &= engine(1) == 1;
    cuda::limit_cudnn_workspace(1024 * mebibyte);
    CHECK_THROWS_AS(cuda::limit_cudnn_workspace(-1), ArgumentError);
    return right && engine(1) == 5;
  }));
  CHECK(in_new_process({}, [&] {  // no more than is free, or unused in the pool, when a form is planned
    dnn.engines[2].workspace = 65 * mebibyte;
    simulated::free_memory = 64 * mebibyte;
    bool right = engine(1) == 1;
    simulated::free_memory = 66 * mebibyte;
    right &= engine(1) == 1 && engine(2) == 5;
    simulated::free_memory = 0;
    return right && engine(3) == 5;
  }));
  CHECK(in_new_process({}, [&] {  // nor than the limit of memory leaves
    dnn.engines[2].workspace = 65 * mebibyte;
    set_memory_limit(Cuda{}, 65 * mebibyte);
    const bool right = engine(1) == 1;
    set_memory_limit(Cuda{}, 80 * mebibyte);
    return right && engine(1) == 1 && engine(2) == 5;
  }));
  CHECK(in_new_process({}, [] {  // planned, and no longer free when it is used
    dnn.engines[2].workspace = 3 * mebibyte;
    bool right = is_right(convolve()) && dnn.engine == 5;
    const auto pool = randn<float, Cuda>({1});
    simulated::most_memory = mebibyte;
    std::thread([&] { right &= seen([] { (void)convolve(); }).engine == 1; }).join();
    simulated::most_memory = std::size_t{1} << 34;
    return right;
  }));
}

namespace {
/// An imaginary GPU, on which the last engine is the fastest, and kernels take so long.
void last_is_fastest(double kernel_milliseconds = 4) {
  simulated::kernel_milliseconds = kernel_milliseconds;
  for (std::size_t i = 0; i < dnn.engines.size(); ++i) dnn.engines[i].milliseconds = 2 - 0.1 * static_cast<double>(i);
}
bool is_timed(const Seen& one, std::int64_t engine) { return one.launched > 8 && one.engine == engine; }
bool is_untimed(const Seen& one, std::int64_t engine) { return one.launched == 1 && one.engine == engine; }
const Environment autotuned{{"LOCUS_AUTOTUNE", "1"}};
Seen once() {
  return seen([] { CHECK(is_right(convolve())); });
}
}  // namespace

TEST_CASE("a form is timed once, where products are") {
  CHECK(in_new_process({}, [] {
    last_is_fastest();
    const bool first = is_untimed(once(), 5) && is_untimed(once(), 5);
    cuda::autotune_gemm(true);
    const bool timed = is_timed(once(), 0) && is_untimed(once(), 0);
    bool others = false;
    std::thread([&] { others = is_untimed(once(), 0); }).join();
    cuda::autotune_gemm(false);
    return first && timed && others && is_untimed(once(), 0);
  }));
  CHECK(in_new_process(autotuned, [] {  // of about equal ones the first; one that fails is passed over
    dnn.engines[2].runs = CUDNN_STATUS_NOT_SUPPORTED;
    return is_timed(once(), 1);
  }));
  CHECK(in_new_process(autotuned, [] {  // a gradient is added once, though its pass is timed often
    last_is_fastest();
    const auto x = variable(randn<float, Cuda>({2, 4, 6, 5})), w = variable(randn<float, Cuda>({8, 4, 3, 3}));
    const auto y = conv2d(x, w);
    sum(y).backward({.retain_graph = true});
    const Tensor<float, Cuda> dx = x.grad() * 2.f, dw = w.grad() * 2.f;
    sum(y).backward();
    return distance(x.grad(), dx) < 1e-4 && distance(w.grad(), dw) < 1e-4;
  }));
  CHECK(in_new_process(autotuned, [] {
    last_is_fastest();
    simulated::captured = true;
    const auto captured = seen([] { (void)convolve(); });
    simulated::captured = false;
    return is_untimed(captured, 5) && is_untimed(once(), 5);
  }));
  CHECK(in_new_process(autotuned, [] {
    last_is_fastest();
    for (auto& engine : dnn.engines) engine.runs = CUDNN_STATUS_NOT_SUPPORTED;
    return once().launched == 0;
  }));
}

TEST_CASE("products of windows are timed beside cuDNN's engines; the file keeps where they are faster") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  const auto in_process = [&](bool autotune, double kernel_milliseconds, const auto& use) {
    return in_new_process({{"LOCUS_PLANS", file}, {"LOCUS_AUTOTUNE", autotune ? "1" : "0"}}, [&] {
      last_is_fastest(kernel_milliseconds);
      return use();
    });
  };
  const auto by_windows = [] {
    const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
    const auto use = [&] { return passes([](const auto& a, const auto& b) { return conv2d(a, b); }, x, w); };
    (void)use();  // is timed
    const Seen next = seen([&] { CHECK(distance(get<0>(use()), get<0>(without_cudnn(use))) == 0.); });
    return next.launched == 0 && next.asked == 0;
  };
  CHECK(in_process(true, 0.1, by_windows));  // two kernels, or three; the best engine takes 1.6 ms
  CHECK(in_process(true, 0.1, [] { return seen([] { CHECK(is_right(convolve())); }).launched > 8; }));
  for (const auto& line : cuda::detail::parse_plans(content_of(file)).lines)
    if (line.machine.rfind("cuDNN ", 0) == 0) CHECK(line.choice.algorithm[0] == ~std::uint64_t{0});
  CHECK(in_process(false, 4, [&] {  // the next process times nothing, and asks for nothing
    return seen([] { CHECK(is_right(convolve())); }).planned == 0 && by_windows();
  }));
  CHECK(in_process(true, 4, [] {  // verbs that are slower run twice
    const auto x = randn<float, Cuda>({3, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
    const LaunchLog log;
    return is_timed(seen([&] { (void)conv2d(x, w); }), 0) && log.launches() == 2 * 2 + 1;
  }));
  CHECK(in_process(true, 0.1, [] {  // without memory for columns cuDNN serves
    simulated::most_memory = 8192;
    const Seen one = seen([] { (void)convolve(5); });
    simulated::most_memory = std::size_t{1} << 34;
    return is_timed(one, 0);
  }));
}

TEST_CASE("a convolution with a bias is a form of its own, in two launches where no engine adds the bias") {
  const auto biased = [] {
    manual_seed(5);
    const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3}), b = randn<float, Cuda>({8});
    return conv2d(x, w, b, {.padding = 1});
  };
  CHECK(in_new_process({}, [&] {  // without such an engine in a second launch, from then on
    for (auto& engine : dnn.engines) engine.adds_bias = false;
    bool right = true;
    for (int i = 0; i < 2; ++i)
      right &= distance(biased(), without_cudnn(biased)) < 1e-5 && dnn.engine == 5 && !dnn.has_bias;
    return right && seen([&] { (void)biased(); }).asked == 0;
  }));
  CHECK(in_new_process(autotuned, [&] {  // a form of its own
    last_is_fastest();
    (void)convolve();
    const Seen first = seen([&] { CHECK(distance(biased(), without_cudnn(biased)) < 1e-5); });
    return first.launched > 8 && dnn.has_bias && seen([&] { (void)biased(); }).launched == 1;
  }));
  std::string said;
  CHECK(in_new_process(
      {{"LOCUS_TRACE", "1"}}, [&] { return (void)biased(), true; }, &said));
  CHECK(said.find("convolution with bias by cuDNN") != std::string::npos);
}

TEST_CASE("an epilogue in the launch of its convolution, in a launch after it, and products do the same timed work") {
  struct Timed {
    bool is_right, has_bias, has_relu;
    int launches, by_cudnn;
    bool operator==(const Timed&) const = default;
  };
  const auto timed = [](bool relu, double kernel_milliseconds, const auto& prepare) {
    return in_new_process(autotuned, [&] {
      const FusedRelu fused;
      simulated::kernel_milliseconds = kernel_milliseconds;
      for (auto& engine : dnn.engines) engine.milliseconds = 3;
      prepare();
      manual_seed(5);
      const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
      const auto b = randn<float, Cuda>({8});
      const auto use = [&] { return conv2d(x, w, b, {.padding = 1, .relu = relu}); };
      Timed found{distance(use(), without_cudnn(use)) < 1e-5, false, false, 0, 0};
      dnn.has_bias = dnn.has_relu = false;
      const LaunchLog log;
      found.by_cudnn = seen([&] { (void)use(); }).launched;
      found.launches = static_cast<int>(log.launches());
      found.has_bias = dnn.has_bias, found.has_relu = dnn.has_relu;
      return found;
    });
  };
  const auto fuses_never = [] {
    for (auto& engine : dnn.engines) engine.adds_bias = false;
  };
  const auto fuses_slowly = [] {
    for (auto& engine : dnn.engines) engine.adds_bias = engine.index == 0, engine.rectifies = engine.index == 0;
    simulated::dnn.engines.back().milliseconds = 9;
  };
  for (const bool relu : {false, true}) {
    CAPTURE(relu);
    CHECK(timed(relu, 2.5, [] {}) == Timed{true, true, relu, 1, 1});
    // Two kernels of 2 ms beside an engine of 3 ms, or of 5 ms with the launch that finishes: products serve.
    CHECK(timed(relu, 2, fuses_never) == Timed{true, false, false, 3, 0});
    CHECK(timed(relu, 3.5, fuses_never) == Timed{true, false, false, 2, 1});  // 7 ms beside 6.5 ms
    CHECK(timed(relu, 5, fuses_slowly) == Timed{true, false, false, 2, 1});   // 9 ms beside 8 ms
    CHECK(timed(relu, 7, fuses_slowly) == Timed{true, true, relu, 1, 1});     // 9 ms beside 10 ms
  }
}

TEST_CASE("relu is applied in the launch of its convolution where that is allowed and was timed to be faster") {
  const auto use = [](bool has_bias, bool is_allowed, bool is_timed) {
    return in_new_process(is_timed ? autotuned : Environment{}, [&] {
      const FusedRelu fused(is_allowed);
      const bool may_fuse = is_allowed && is_timed;
      last_is_fastest();
      manual_seed(6);
      const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
      const auto b = has_bias ? randn<float, Cuda>({8}) : Tensor<float, Cuda>();
      const auto passes = [&] {
        const auto vx = variable(x), vw = variable(w);
        const auto y = conv2d(vx, vw, b, {.padding = 1, .relu = true});
        y.backward(y.value());
        return std::vector{y.value(), vx.grad(), vw.grad()};
      };
      const auto found = passes(), expected = without_cudnn(passes);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], expected[i]) < 1e-4);
      const LaunchLog log;
      const auto y = conv2d(x, w, b, {.padding = 1, .relu = true});
      CHECK(dnn.has_relu == may_fuse);
      CHECK(dnn.has_bias == (has_bias && may_fuse));
      CHECK(log.launches() == (may_fuse ? 1 : 2));
      x.select(0, 0).fill_(std::numeric_limits<float>::quiet_NaN());
      const bool keeps = std::isnan(reference(conv2d(x, w, b, {.padding = 1, .relu = true})).values[0]);
      return keeps != may_fuse;
    });
  };
  for (const bool has_bias : {false, true})
    for (const bool is_allowed : {false, true})
      for (const bool is_timed : {false, true}) CHECK(use(has_bias, is_allowed, is_timed));
  CHECK(in_new_process(autotuned, [] {  // where no engine applies it
    last_is_fastest();
    const FusedRelu fused;
    for (auto& engine : dnn.engines) engine.rectifies = false;
    const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3});
    const auto relu_of = [&] { return conv2d(x, w, {.padding = 1, .relu = true}); };
    const bool is_right = distance(relu_of(), without_cudnn(relu_of)) < 1e-5;
    return is_right && !dnn.has_relu && seen([&] { (void)relu_of(); }).asked == 0;
  }));
  std::string said;
  CHECK(in_new_process(
      autotuned,
      [] {
        const FusedRelu fused;
        last_is_fastest();
        const auto x = randn<float, Cuda>({2, 4, 6, 5}), w = randn<float, Cuda>({8, 4, 3, 3}),
                   b = randn<float, Cuda>({8});
        for (const bool traced : {false, true}) {
          trace_launches(traced);
          (void)conv2d(x, w, {.relu = true}), (void)conv2d(x, w, b, {.relu = true});
        }
        return true;
      },
      &said));
  CHECK(said.find("convolution with relu by cuDNN") != std::string::npos);
  CHECK(said.find("convolution with bias and relu by cuDNN") != std::string::npos);
}

namespace {
/// A batch that is not divided.
struct OnlyRank final : SharedBatch<float, Cuda> {
  using Channels = Tensor<float, Cuda>;
  Channels combine(const Channels& mean, const Channels&, std::int64_t count) const override {
    return full<float, Cuda>(mean.shape(), static_cast<float>(count));
  }
  void average(const Channels& a, const Channels& b, const Channels& elements) const override {
    for (const Channels& sums : {a, b}) sums.copy_(sums / elements);
  }
};
}  // namespace

TEST_CASE("channels are summed in the launch of their convolution for a batch norm, where timing found that faster") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  struct Found {
    bool has_sums, is_right, is_asked, is_exact;
    int launches;  // of the convolution and its norm
    bool operator==(const Found&) const = default;
  };
  const auto train = [](const auto& layer, const auto& norm, const auto& x, bool together) {
    const auto next = nn::Activation::relu;
    const auto y = together ? norm.forward_after(layer, trace(x), next) : norm.forward_with(layer(trace(x)), next);
    sum(square(y)).backward();
    const std::vector<Reference> found{reference(y.value()), reference(layer.weight.grad()),
                                       reference(norm.weight.grad()), reference(norm.running_mean.value()),
                                       reference(norm.running_var.value())};
    layer.weight.zero_grad(), norm.weight.zero_grad(), norm.bias.zero_grad();
    return found;
  };
  const auto in_process = [&](const char* autotune, const auto& prepare) {
    return in_new_process({{"LOCUS_PLANS", file}, {"LOCUS_AUTOTUNE", autotune}}, [&] {
      last_is_fastest();
      prepare();
      manual_seed(13);
      const nn::Conv2d<bfloat16, Cuda> layer{4, 8, 3, {.padding = 1, .bias = false}};
      layer.weight.channels_last_();
      const nn::BatchNorm2d<bfloat16, Cuda> norm{8}, other{8};
      const auto x = (randn<float, Cuda>({3, 4, 6, 5}) + 1.f).eval().as<bfloat16>().channels_last();
      const auto expected = train(layer, other, x, false);
      Found result{false, true, false, true, 0};
      const auto compare = [&](const std::vector<Reference>& found, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t k = 0; k < found[i].values.size(); ++k) {
            const double a = found[i].values[k], b = expected[i].values[k];
            result.is_right &= std::abs(a - b) <= 0.02 * (1 + std::abs(b));
            result.is_exact &= a == b;
          }
        }
      };
      result.is_asked = seen([&] { compare(train(layer, norm, x, true), expected.size()); }).asked > 0;
      norm.share_batch(Shared<const SharedBatch<float, Cuda>>(new OnlyRank));
      compare(train(layer, norm, x, true), 3);
      norm.share_batch({});
      const LaunchLog log;
      (void)norm.forward_after(layer, trace(x), nn::Activation::none);
      result.has_sums = dnn.has_sums, result.launches = static_cast<int>(log.launches());
      return result;
    });
  };
  const auto nothing = [] {};
  const Found apart{false, true, false, true, 5};
  CHECK(in_process("0", nothing) == apart);  // an untimed form is not asked for engines
  const Found fused = in_process("1", nothing);
  CHECK(fused.has_sums);
  CHECK(fused.is_right);
  CHECK(fused.is_asked);
  const Found next = in_process("0", nothing);  // the file keeps it
  CHECK(next.has_sums);
  CHECK(next.is_right);
  CHECK(next.launches == 4);
  CHECK_FALSE(next.is_asked);
  std::filesystem::remove(file);
  const Found slow = in_process("1", [] {  // the one engine that sums takes longer than a kernel more
    for (std::size_t i = 1; i < dnn.engines.size(); ++i) dnn.engines[i].sums = false;
    dnn.engines[0].milliseconds = 20;
  });
  CHECK_FALSE(slow.has_sums);
  CHECK(slow.is_right);
  const Found none = in_process("1", [] {
    for (auto& engine : dnn.engines) engine.sums = false;
  });
  CHECK_FALSE(none.has_sums);
  CHECK(none.is_right);
  CHECK(in_new_process(autotuned, [] {  // beside slow launches the form is chosen, and then serves
    last_is_fastest();
    const nn::Conv2d<bfloat16, Cuda> layer{4, 8, 3, {.padding = 1, .bias = false}};
    layer.weight.channels_last_();
    const nn::BatchNorm2d<bfloat16, Cuda> norm{8};
    const auto x = randn<bfloat16, Cuda>({3, 4, 6, 5}).channels_last();
    if (!chooses_channel_sums(x, layer.weight.value())) return false;
    const LaunchLog log;
    (void)norm.forward_after(layer, trace(x), nn::Activation::none);
    return dnn.has_sums && log.launches() == 4;
  }));
  CHECK_FALSE(in_new_process(autotuned, [] {
    last_is_fastest();
    for (auto& engine : dnn.engines) engine.sums = false;
    return chooses_channel_sums(randn<bfloat16, Cuda>({3, 4, 6, 5}).channels_last(),
                                randn<bfloat16, Cuda>({8, 4, 3, 3}).channels_last());
  }));
  CHECK(in_new_process(autotuned, [] {  // nothing is timed within a capture, nor after it
    last_is_fastest();
    const nn::Conv2d<bfloat16, Cuda> layer{4, 8, 3, {.bias = false}};
    layer.weight.channels_last_();
    const nn::BatchNorm2d<bfloat16, Cuda> norm{8};
    const auto x = trace(randn<bfloat16, Cuda>({3, 4, 6, 5}).channels_last());
    const auto use = [&] { return seen([&] { (void)norm.forward_after(layer, x, nn::Activation::relu); }); };
    simulated::captured = true;
    const Seen captured = use();
    simulated::captured = false;
    return captured.launched == 1 && use().launched == 1 && !dnn.has_sums;
  }));
}

TEST_CASE("without memory to time in, the first answer serves") {
  CHECK(in_new_process(autotuned, [] {
    last_is_fastest();
    dnn.engines[3].workspace = 1 << 20;
    (void)without_cudnn([] { return convolve(); });
    simulated::most_memory = 1 << 19;
    const Seen one = seen([] { (void)convolve(); });
    simulated::most_memory = std::size_t{1} << 34;
    return is_untimed(one, 5);
  }));
}

TEST_CASE("launches timed beside cuDNN's have all other memory; where they lose some, no launch within them is timed") {
  CHECK(in_new_process(autotuned, [] {
    alarm(60);  // a thread may wait for itself
    constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
    simulated::kernel_milliseconds = 4;
    for (auto& engine : dnn.engines) engine.milliseconds = 2;
    dnn.engines[0].workspace = 4 * mebibyte, dnn.engines[2].workspace = 8 * mebibyte;
    const auto x = randn<bfloat16, Cuda>({4, 4, 6, 5}).channels_last();
    const auto w = randn<bfloat16, Cuda>({8, 4, 3, 3}).channels_last();
    std::vector<std::int64_t> allocated;
    Tensor<std::uint8_t, Cuda> others;
    const bool has_sums = chooses_channel_sums(x, w, [&] {
      allocated.push_back(memory_stats(Cuda{}).allocated_bytes);
      if (allocated.size() != 2) return;  // planned by the first call, and timed by the others
      others = Tensor<std::uint8_t, Cuda>({4 * mebibyte});
      simulated::most_memory = simulated::free_memory = mebibyte;
    });
    simulated::most_memory = simulated::free_memory = std::size_t{1} << 34;
    // A part of the batch was planned without timing, and is timed now.
    const auto part = [&] { return seen([&] { (void)conv2d(x.slice(0, 0, 2), w, {.padding = 1}); }); };
    return has_sums && allocated.size() > 2 && allocated[0] == allocated[1] && part().launched > 8 &&
           part().launched == 1;
  }));
}

TEST_CASE("the file of products keeps what was timed; the next process asks cuDNN for nothing else") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "plans";
  const auto in_process = [&](bool autotune, const auto& use) {
    return in_new_process({{"LOCUS_PLANS", file}, {"LOCUS_AUTOTUNE", autotune ? "1" : "0"}}, [&] {
      last_is_fastest();
      return use();
    });
  };
  CHECK(is_timed(in_process(true, once), 0));
  (void)in_process(true, [] {
    const auto a = randn<float, Cuda>({5, 7}), b = randn<float, Cuda>({7, 9});
    return (void)matmul(a, b), true;
  });
  const auto lines = cuda::detail::parse_plans(content_of(file)).lines;
  CHECK(lines.size() == 3);  // the pass, the product that checks it, and the product of matrices
  int of_cudnn = 0;
  for (const auto& line : lines) of_cudnn += line.machine.rfind("cuDNN ", 0) == 0;
  CHECK(of_cudnn == 1);
  for (const bool autotune : {false, true}) {
    const Seen next = in_process(autotune, [] { return seen([] { (void)convolve(); }); });
    CHECK(is_untimed(next, 0));
    CHECK(next.asked == 0);
  }
  // Another version's, an engine that is gone, one with other knobs, and one that may not serve any more.
  CHECK(is_untimed(in_process(false, [] { return dnn.version += 100, once(); }), 5));
  CHECK(is_untimed(in_process(false, [] { return dnn.engines.pop_back(), once(); }), 5));
  CHECK(is_untimed(in_process(false, [] { return dnn.engines.back().knob = 3, once(); }), 5));
  CHECK(is_untimed(in_process(false,
                              [] {
                                dnn.engines.back().notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
                                return once();
                              }),
                   5));
  CHECK(is_untimed(in_process(false, [] { return dnn.engines.back().knob = 1 << 24, once(); }), 5));
  // That a batch is taken in parts is kept, too.
  const auto in_parts = [] {
    cuda::limit_cudnn_workspace(std::int64_t{64} << 20);
    dnn.engines[2].workspace_of_image = std::int64_t{40} << 20;
    return seen([] { (void)convolve(3, {.padding = 2}); });
  };
  CHECK(in_process(true, in_parts).launched > 8);
  const Seen next = in_process(false, in_parts);
  CHECK(next.asked == 0);
  CHECK(next.launched == 3);
}

TEST_CASE("what cuDNN does not compute is asked for once, where passes are timed, too") {
  CHECK(in_new_process(autotuned, [] {
    dnn.operation = CUDNN_STATUS_NOT_SUPPORTED;
    const Seen first = seen([] { (void)convolve(); });
    dnn.operation = CUDNN_STATUS_SUCCESS;
    const Seen second = seen([] { (void)convolve(); });
    return first.asked == 0 && second.asked == 0 && second.launched == 0;
  }));
}

TEST_CASE("cuDNN's passes equal products of windows") {
  manual_seed(27);
  const auto conv = [](const Conv2dOptions& options) {
    return [options](const auto& x, const auto& w) { return conv2d(x, w, options); };
  };
  const auto x = randn<float, Cuda>({3, 8, 9, 7});
  check_equal(conv({.padding = 1}), x, randn<float, Cuda>({6, 8, 3, 3}));
  check_equal(conv({.stride = 2, .padding = 1}), x, randn<float, Cuda>({6, 8, 3, 3}));
  check_equal(conv({.stride = {2, 3}, .padding = {2, 1}, .dilation = {3, 2}}), x, randn<float, Cuda>({5, 8, 2, 3}));
  check_equal(conv({.padding = "same"}), x, randn<float, Cuda>({4, 8, 2, 4}));  // one more after than before
  check_equal(conv({.padding = 1, .groups = 4}), x, randn<float, Cuda>({12, 2, 3, 3}));
  check_equal(conv({.stride = 2}), x, randn<float, Cuda>({4, 8, 1, 1}));
  check_equal(conv({}), x.select(0, 1).unsqueeze(0), randn<float, Cuda>({4, 8, 1, 1}));
  check_equal(conv({.padding = 1}), x.as<half>(), randn<half, Cuda>({6, 8, 3, 3}), 2e-2);
  check_equal(conv({.padding = 1}), x.as<bfloat16>(), randn<bfloat16, Cuda>({6, 8, 3, 3}), 2e-1);
  check_equal([](const auto& a, const auto& w) { return conv_transpose2d(a, w, {.stride = 2, .output_padding = 1}); },
              x, randn<float, Cuda>({8, 5, 3, 3}));
  check_equal(conv({.padding = 1}), x.slice(2, 0, 9, 2), randn<float, Cuda>({6, 8, 3, 3}));  // copied
  const auto shift = randn<float, Cuda>({5});
  check_equal([&](const auto& a, const auto& w) { return conv_transpose2d(a, w, shift, {.padding = 1}); }, x,
              randn<float, Cuda>({8, 5, 3, 3}));
  const auto bias = randn<float, Cuda>({6});
  check_equal([&](const auto& a, const auto& w) { return conv2d(a, w, bias, {.padding = 1}); }, x,
              randn<float, Cuda>({6, 8, 3, 3}));
  // Images of three dimensions, which have no public function.
  ConvShape shape{.batch = 2, .in = 3, .out = 4, .axis = {{5, 2, 2, 1, 1, 3}, {4, 3, 1, 1, 1, 4}, {4, 3, 1, 1, 1, 4}}};
  const auto volume = randn<float, Cuda>({2, 3, 5, 4, 4}), w = randn<float, Cuda>({4, 3, 18});
  const Tensor<float, Cuda> y({2, 4, 3, 4, 4}), expected(y.shape());
  const locus::detail::ConvPasses<float, Cuda> of(shape, Cuda{});
  CHECK(seen([&] { of.forward(y, false, volume, w, nullptr); }).launched == 1);
  (void)without_cudnn([&] { return of.forward(expected, false, volume, w, nullptr), 0; });
  CHECK_CLOSE(y, reference(expected));
}

TEST_CASE("a bias is added in the launch of its convolution, before rounding, where an engine does so") {
  const auto check = [](auto zero, bool channels_last, double allowed) {
    using T = decltype(zero);
    Tensor<T, Cuda> x = randn<T, Cuda>({2, 8, 5, 6});
    if (channels_last) x = x.channels_last();
    Tensor<T, Cuda> w = randn<T, Cuda>({6, 8, 3, 3}), b = randn<T, Cuda>({6});
    if (channels_last) w = w.channels_last();
    const auto use = [&] { return conv2d(x, w, b, {.padding = 1}); };
    const auto expected = without_cudnn(use);
    const LaunchLog log;
    const auto y = use();
    CHECK(log.launches() == 1);
    CHECK(dnn.has_bias);
    CHECK_CLOSE(y, reference(expected), allowed);
  };
  for (const bool channels_last : {false, true}) {
    check(float{}, channels_last, 2e-5);
    check(half{}, channels_last, 2e-2), check(bfloat16{}, channels_last, 1e-1);
  }
}

TEST_CASE("channels-last images are read as they lie, and give such results by weights that lie so") {
  using Numbers = std::vector<std::int64_t>;
  for (const bool last : {false, true}) {
    const auto image = randn<bfloat16, Cuda>({2, 5, 6, 8});
    const auto x = last ? image.permute({0, 3, 1, 2}) : image.permute({0, 3, 1, 2}).contiguous();
    const auto w = randn<bfloat16, Cuda>({4, 8, 3, 3});
    const LaunchLog log;
    const auto y = conv2d(x, w, {.padding = 1});
    CHECK(log.launches() == (last ? 2 : 1));
    CHECK(dnn.x_strides == (last ? Numbers{240, 1, 48, 8} : Numbers{240, 30, 6, 1}));
    CHECK(dnn.w_strides == (last ? Numbers{72, 1, 24, 8} : Numbers{72, 9, 3, 1}));
    CHECK(dnn.y_strides == (last ? Numbers{120, 1, 24, 4} : Numbers{120, 30, 6, 1}));
    CHECK(y.is_channels_last() == last);
    CHECK_CLOSE(y, reference(without_cudnn([&] { return conv2d(x, w, {.padding = 1}); })), 1e-1);
  }
}

TEST_CASE("images of one channel or of one element take the order of the other images of a pass") {
  using Numbers = std::vector<std::int64_t>;
  const auto check = [](const Tensor<float, Cuda>& x, const Tensor<float, Cuda>& w, const Conv2dOptions& options,
                        const Numbers& x_strides, const Numbers& y_strides) {
    const auto vx = variable(x), vw = variable(w);
    const auto ordered = [&] {
      CHECK(dnn.x_strides == x_strides);
      CHECK(dnn.y_strides == y_strides);
    };
    (void)conv2d(x, w, options);
    ordered();
    for (const auto& y : {conv2d(vx, w, options), conv2d(x, vw, options)}) {
      y.backward(ones_like(y.value()).eval());
      ordered();
    }
  };
  const auto images = randn<float, Cuda>({2, 8, 6, 5}).channels_last();
  check(images, randn<float, Cuda>({1, 8, 3, 3}), {.padding = 1}, {240, 1, 40, 8}, {30, 1, 5, 1});  // to one channel
  check(images, randn<float, Cuda>({4, 8, 6, 5}), {}, {240, 1, 40, 8}, {4, 1, 4, 4});               // to one element
  check(randn<float, Cuda>({2, 8, 6, 5}), randn<float, Cuda>({1, 8, 3, 3}), {.padding = 1}, {240, 30, 5, 1},
        {30, 30, 5, 1});
}

TEST_CASE("passes of channels-last images, added to gradients that there are, too") {
  for (const Conv2dOptions& options : {Conv2dOptions{.padding = 1}, Conv2dOptions{.stride = 2, .groups = 2}}) {
    const auto x = variable(randn<float, Cuda>({2, 8, 5, 6}).channels_last());
    const auto w = variable(randn<float, Cuda>({6, 8 / options.groups, 3, 3}));
    const auto b = variable(randn<float, Cuda>({6}));
    const auto g = randn<float, Cuda>(conv2d(x, w, b, options).shape()).channels_last();
    const auto gradients = [&] {
      x.zero_grad(), w.zero_grad(), b.zero_grad();
      const auto y = conv2d(x, w, b, options);
      CHECK(y.value().is_channels_last());
      y.backward(g);
      conv2d(x, w, b, options).backward(g * 0.5f);
      CHECK(x.grad().is_channels_last());
      return std::vector<Tensor<float, Cuda>>{y.value(), x.grad().clone(), w.grad().clone(), b.grad().clone()};
    };
    const int before = dnn.launched;
    const auto by_cudnn = gradients();
    CHECK(dnn.launched - before == 6);
    const auto expected = without_cudnn(gradients);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK_CLOSE(by_cudnn[i], reference(expected[i]), 1e-4);
  }
}

TEST_CASE("weights that lie channels-last, and their gradients, are read and written as they lie") {
  for (const Conv2dOptions& options : {Conv2dOptions{.padding = 1}, Conv2dOptions{.stride = 2, .groups = 2}}) {
    const auto x = randn<float, Cuda>({2, 8, 5, 6}).channels_last(),
               w = randn<float, Cuda>({6, 8 / options.groups, 3, 3});
    const auto g = randn<float, Cuda>(conv2d(x, w, options).shape()).channels_last();
    const auto use = [&](const Tensor<float, Cuda>& images, const Tensor<float, Cuda>& weights, int launches) {
      const auto vx = variable(images), vw = variable(weights);
      for (int i = 0; i < 2; ++i) {  // the second time gradients are added to
        const LaunchLog log;
        conv2d(vx, vw, options).backward(g);
        CHECK(log.launches() == launches);
      }
      return std::vector<Tensor<float, Cuda>>{conv2d(images, weights, options), vx.grad(), vw.grad()};
    };
    const auto turned = use(x, w, 6), as_they_lie = use(x, w.channels_last(), 3);
    CHECK(as_they_lie[2].is_channels_last());
    const auto of_rows = use(x.contiguous(), w.channels_last(), 6);  // beside row-major images they are turned
    const auto expected = without_cudnn([&] {
      const auto vx = variable(x), vw = variable(w);
      for (int i = 0; i < 2; ++i) conv2d(vx, vw, options).backward(g);
      return std::vector<Tensor<float, Cuda>>{conv2d(x, w, options), vx.grad(), vw.grad()};
    });
    const auto by_windows = without_cudnn([&] {
      const auto vx = variable(x), vw = variable(w.channels_last());
      for (int i = 0; i < 2; ++i) conv2d(vx, vw, options).backward(g);
      return std::vector<Tensor<float, Cuda>>{conv2d(x, w.channels_last(), options), vx.grad(), vw.grad()};
    });
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (const auto* const found : {&turned, &as_they_lie, &of_rows, &by_windows})
        CHECK_CLOSE((*found)[i], reference(expected[i]), 1e-4);
  }
}

TEST_CASE("a ResNet whose weights lie channels-last turns none of them") {
  const models::ResNetOptions options{.classes = 3, .small_images = true, .width = 4, .channels_last = true};
  const auto images = randn<bfloat16, Cuda>({2, 3, 16, 16});
  const auto labels = zeros<std::int64_t, Cuda>({2});
  struct Step {
    int launches;
    float loss;
  };
  const auto step = [&](bool by_rows) {
    manual_seed(8);
    const auto made = [&] { return models::ResNet<bfloat16, Cuda, models::BasicBlock>({1, 1, 1, 1}, options); };
    const auto model = by_rows ? without_cudnn(made) : made();
    CHECK(model.conv1.weight.value().is_channels_last() == !by_rows);
    optim::Sgd optimizer{model.parameters(), {.lr = 0.01f, .momentum = 0.9f}};
    Step result{};
    for (int i = 0; i < 3; ++i) {
      const LaunchLog log;
      const auto loss = nn::cross_entropy(model(trace(images)), labels);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      result = {static_cast<int>(log.launches()), static_cast<float>(loss.value().item())};
    }
    return result;
  };
  const Step turned = step(true), as_they_lie = step(false);
  CHECK(turned.loss == as_they_lie.loss);
  // Nine kernels of 3 x 3 in three passes each, but no gradient of the images.
  CHECK(turned.launches - as_they_lie.launches == 9 * 3 - 1);
}

TEST_CASE("an empty batch and types that cuDNN does not convolve are not its") {
  CHECK(seen([] {
          (void)conv2d(Tensor<float, Cuda>(Shape{0, 4, 5, 5}), randn<float, Cuda>({2, 4, 3, 3}));
        }).asked == 0);
  CHECK(seen([] { (void)conv2d(randn<double, Cuda>({1, 4, 5, 5}), randn<double, Cuda>({2, 4, 3, 3})); }).asked == 0);
}

TEST_CASE("a captured step of convolutions replays what it computed") {
  const auto train = [](bool captured) { return losses_of_convolution_steps(captured, 2, 4, 6); };
  const int before = dnn.launched;
  const auto eager = train(false);
  CHECK(dnn.launched > before);
  CHECK(train(true) == eager);
  CHECK(eager.front() > eager.back());
}

// In this translation unit, since the macro above comes before all headers.
#include "cudnn_attention.cpp"

#else
TEST_CASE("convolutions by cuDNN") { SKIP_TEST("no cudnn_graph.h beside the toolkit"); }
#endif
