// Runs on: cudnn.
// Asks cuDNN itself about passes of convolutions and attention, without a GPU: cuDNN plans for a GPU that is described
// to it.
// Descriptors, heuristics, the choice among engines and entries of the plan file are tried on the library that programs
// link, though nothing is computed.

#include <locus/cuda/cudnn/attention_graph.hpp>
#include <locus/cuda/cudnn/conv_choice.hpp>
#include <locus/cuda/cudnn/conv_graph.hpp>

#include <doctest/doctest.h>

#include <support/skip.hpp>

#include <dlfcn.h>

#include <cstring>
#include <string>

using namespace locus;
using namespace locus::cuda::dnn;

namespace {

#if CUDNN_VERSION >= 91000
/// A GPU as cuDNN 9.19 describes it; `own` are the properties in which an H100 and an A100 differ.
std::string described(const char* own) {
  return join("{", own, R"(, "driverVer": 13000, "cudaDeviceId": 0, "totalGlobalMem": 85899345920,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024, "regsPerBlock": 65536,
  "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1})");
}
constexpr const char* gpus[] = {
    R"("deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "multiProcessorCount": 132, "smClockRateKHz": 1980000,
       "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "maxSharedMemoryPerBlockOptin": 232448)",
    R"("deviceName": "NVIDIA A100-SXM4-80GB", "deviceVer": 800, "multiProcessorCount": 108, "smClockRateKHz": 1410000,
       "memClockRateKHz": 1593000, "l2CacheSize": 41943040, "maxSharedMemoryPerBlockOptin": 166912)"};

/// Empty if this cuDNN describes GPUs in another way.
Machine described_machine(const char* gpu = gpus[0]) {
  Machine machine{nullptr, Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)};
  const std::string text = described(gpu);
  const bool is_known =
      cudnnBackendSetAttribute(machine.properties.get(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                               static_cast<std::int64_t>(text.size()), text.data()) == CUDNN_STATUS_SUCCESS &&
      cudnnBackendFinalize(machine.properties.get()) == CUDNN_STATUS_SUCCESS;
  return is_known ? machine : Machine{};
}
#define NEEDS_MACHINE(machine)                 \
  const Machine machine = described_machine(); \
  if (!machine.properties) SKIP_TEST("this version of cuDNN describes GPUs in another way")
#else
constexpr const char* gpus[] = {"", ""};
Machine described_machine(const char* = "") { return {}; }
#define NEEDS_MACHINE(machine) \
  const Machine machine;       \
  SKIP_TEST("this version of cuDNN plans for no GPU that is not here")
#endif

/// A window of `kernel` elements along `extent`, as PyTorch's conv2d has it.
ConvAxis axis(std::int64_t extent, std::int64_t kernel, std::int64_t stride = 1, std::int64_t padding = 0,
              std::int64_t dilation = 1) {
  const auto outputs = (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  const auto index = [](std::int64_t i) { return static_cast<ConvIndex>(i); };
  return {index(extent), index(kernel), index(stride), index(dilation), index(padding), index(outputs)};
}
ConvShape square(std::int64_t batch, std::int64_t in, std::int64_t out, const ConvAxis& side, std::int64_t groups = 1) {
  return {.batch = batch, .in = in, .out = out, .groups = groups, .axis = {{}, side, side}};
}
/// A pass whose operands lie at multiples of `alignment`.
ConvCall call_of(Pass pass, cudnnDataType_t type, const ConvShape& shape, bool channels_last = false,
                 std::uintptr_t alignment = 256) {
  const auto at = [&](std::uintptr_t i) { return reinterpret_cast<void*>(4096 * i + alignment); };
  return {pass, type, shape, {at(1), channels_last}, {at(2), channels_last}, at(3)};
}
constexpr Pass every_pass[] = {Pass::forward, Pass::input_gradient, Pass::weight_gradient};

/// The result of planning a pass.
struct Answer {
  std::string reason;  ///< why there is no plan; empty where there is one
  std::int64_t workspace = 0, engines = 0, restored_workspace = -1;
  bool is_allowed = false;
  bool is_kept = false;  ///< its knobs fit into the plan file
};
Answer ask(const Machine& machine, const ConvCall& call) {
  Calls calls(call);
  ConvGraph builder(calls, call);
  const Descriptor graph = builder.finish(machine);
  const std::vector<Descriptor> engines = engines_for(calls, machine, call, graph);
  Answer answer{calls.reason()};
  answer.engines = static_cast<std::int64_t>(engines.size());
  if (!calls.succeeded()) return answer;
  answer.reason = "no engine within the bound";
  for (const Descriptor& engine : engines) {
    Calls planned(call);
    const ExecutionPlan plan = plan_of(planned, machine, engine);
    if (!planned.succeeded() || plan.workspace > call.most_workspace(INT64_MAX)) continue;
    answer.reason.clear();
    answer.workspace = plan.workspace;
    answer.is_allowed = allows(planned, call, engine);
    cuda::detail::GemmPlanChoice choice;
    answer.is_kept = to_choice(call, engine, choice);
    if (!answer.is_kept) return answer;
    Calls again(call);
    const ExecutionPlan restored = plan_of(again, machine, from_choice(again, machine, graph, choice));
    if (again.succeeded()) answer.restored_workspace = restored.workspace;
    return answer;
  }
  return answer;
}
/// Checks that cuDNN plans the pass, and again from its entry in the plan file. For volumes it may choose engines with
/// more knobs than an entry has room for: each program chooses these anew.
void check_planned(const Machine& machine, const ConvCall& call) {
  CAPTURE(text_of(call));
  const Answer answer = ask(machine, call);
  CHECK(answer.reason == "");
  CHECK(answer.is_allowed);
  if (answer.is_kept) CHECK(answer.restored_workspace == answer.workspace);
  else CHECK(call.shape.axis[0].kernel > 1);
}

}  // namespace

TEST_CASE("cuDNN plans every pass of ResNet-18, in each type and layout, within the bound of workspace") {
  NEEDS_MACHINE(machine);
  const ConvShape shapes[] = {square(64, 3, 64, axis(32, 3, 1, 1)),   square(64, 64, 64, axis(32, 3, 1, 1)),
                              square(64, 64, 128, axis(32, 3, 2, 1)), square(64, 64, 128, axis(32, 1, 2)),
                              square(64, 512, 512, axis(4, 3, 1, 1)), square(64, 3, 64, axis(224, 7, 2, 3))};
  for (const ConvShape& shape : shapes) {
    for (const Pass pass : every_pass) {
      check_planned(machine, call_of(pass, CUDNN_DATA_FLOAT, shape));
      for (const cudnnDataType_t type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16})
        for (const bool channels_last : {false, true})
          check_planned(machine, call_of(pass, type, shape, channels_last));
    }
  }
}

TEST_CASE(
    "cuDNN plans passes that are added to what is there, strided, dilated, grouped, misaligned, uneven or of volumes") {
  NEEDS_MACHINE(machine);
  for (const Pass pass : every_pass) {
    ConvCall adding = call_of(pass, CUDNN_DATA_FLOAT, square(8, 16, 16, axis(16, 3, 1, 1)));
    adding.accumulate = true;
    check_planned(machine, adding);
    check_planned(machine, call_of(pass, CUDNN_DATA_FLOAT, square(8, 16, 24, axis(17, 3, 2, 2, 2))));
    check_planned(machine, call_of(pass, CUDNN_DATA_FLOAT, square(8, 32, 64, axis(16, 3, 1, 1), 4)));
    check_planned(machine, call_of(pass, CUDNN_DATA_FLOAT, square(8, 32, 32, axis(16, 3, 1, 1), 32)));  // depthwise
    check_planned(machine, call_of(pass, CUDNN_DATA_BFLOAT16, square(8, 3, 5, axis(15, 3, 2, 1)), false, 2));
    ConvAxis same = axis(16, 2);  // of "same": one more after than before
    same.outputs = 16;
    check_planned(machine, call_of(pass, CUDNN_DATA_FLOAT, square(8, 16, 16, same)));
    ConvShape volumes = square(2, 16, 24, axis(12, 3, 2, 1));
    volumes.axis[0] = axis(7, 3, 1, 1);
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16})
      check_planned(machine, call_of(pass, type, volumes));
  }
}

TEST_CASE("on an H100 and an A100 cuDNN adds a bias, and applies relu, in the launch of the convolution") {
  NEEDS_MACHINE(first);
  const ConvShape shapes[] = {square(128, 3, 64, axis(32, 3, 1, 1)), square(128, 64, 128, axis(32, 3, 2, 1)),
                              square(128, 64, 128, axis(32, 1, 2)), square(64, 1, 6, axis(28, 5, 1, 2))};
  for (const char* const gpu : gpus) {
    const Machine machine = described_machine(gpu);
    for (const ConvShape& shape : shapes) {
      for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
        for (const bool channels_last : {false, true}) {
          ConvCall call = call_of(Pass::forward, type, shape, channels_last);
          call.bias = reinterpret_cast<void*>(4096 * 4);
          check_planned(machine, call);
          call.relu = true;
          check_planned(machine, call);
        }
      }
    }
  }
}

TEST_CASE("on an H100 and an A100 cuDNN sums the channels of 16-bit channels-last images with their convolution") {
  NEEDS_MACHINE(first);
  // Engines of bfloat16 are compiled when they are planned, which takes a driver; those of half are in the library.
  for (const char* const gpu : gpus) {
    const Machine machine = described_machine(gpu);
    for (const ConvShape& shape : {square(128, 64, 64, axis(32, 3, 1, 1)), square(128, 64, 128, axis(32, 3, 2, 1)),
                                   square(128, 64, 128, axis(32, 1, 2)), square(128, 512, 512, axis(4, 3, 1, 1))}) {
      ConvCall call = call_of(Pass::forward, CUDNN_DATA_HALF, shape, true);
      call.sums = reinterpret_cast<float*>(4096 * 4);
      check_planned(machine, call);
    }
  }
  ConvCall of_floats = call_of(Pass::forward, CUDNN_DATA_FLOAT, square(128, 64, 64, axis(32, 3, 1, 1)), true);
  of_floats.sums = reinterpret_cast<float*>(4096 * 4);
  CHECK(ask(first, of_floats).reason != "");  // and so they are measured in a launch of their own
}

TEST_CASE("what cuDNN does not plan is refused, with a reason, and not thrown") {
  NEEDS_MACHINE(machine);
  ConvAxis short_end = axis(16, 3, 1, 1);
  short_end.outputs = 14;  // the last element is in no window
  const Answer answer = ask(machine, call_of(Pass::forward, CUDNN_DATA_FLOAT, square(2, 8, 8, short_end)));
  CHECK(answer.reason == "windows that leave out the end of an image");
}

TEST_CASE("TF32, engines whose sums differ from run to run, and transforms serve only where they are allowed") {
  NEEDS_MACHINE(machine);
  const auto engines = [&, &machine = machine](Pass pass, bool exact) {
    ConvShape shape = square(64, 64, 64, axis(32, 3, 1, 1));
    shape.exact = exact;
    return ask(machine, call_of(pass, CUDNN_DATA_FLOAT, shape)).engines;
  };
  cuda::allow_tf32_convolutions(false);
  const auto plain = engines(Pass::forward, false), of_weights = engines(Pass::weight_gradient, false);
  CHECK(plain > 0);
  const auto exact = engines(Pass::forward, true);
  CHECK(exact <= plain);
  CHECK(exact > 0);
  cuda::allow_tf32_convolutions(true);
  CHECK(engines(Pass::forward, false) > plain);
  CHECK(engines(Pass::forward, true) == exact);
  cuda::allow_tf32_convolutions(false);
  cuda::allow_nondeterministic_cudnn(true);
  CHECK(engines(Pass::weight_gradient, false) > of_weights);
  cuda::allow_nondeterministic_cudnn(false);
}

#if CUDNN_VERSION >= 91000
namespace {
/// Whether cuDNN finds libcuda.so.1, which its engines that are compiled at run time load before they answer. The
/// library of that name to link with, in the toolkit, suffices.
bool has_driver_library() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return true;
  Dl_info cudnn;
  if (!dladdr(reinterpret_cast<void*>(&cudnnGetVersion), &cudnn)) return false;
  const std::string file = cudnn.dli_fname, folder = file.substr(0, file.rfind('/') + 1);
  return dlopen((folder + "stubs/libcuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
}
/// Allowed engines for attention whose heads lie beside each other, as one projection makes them.
std::size_t engines_of_attention(const Machine& machine, DnnAttention call, std::string& reason) {
  const AttentionShape& s = call.shape;
  const auto heads = [&](std::uintptr_t i, std::int64_t rows, std::int64_t width, std::int64_t beside) {
    DnnHeads it;
    const std::int64_t row = beside * s.heads * width;
    it.data = reinterpret_cast<void*>(4096 * i), it.strides = Strides{rows * row, width, row, 1};
    return it;
  };
  call.q = heads(1, s.rows, s.width, 3), call.k = heads(2, s.keys, s.width, 3);
  call.v = heads(3, s.keys, s.value_width, 3), call.y = heads(4, s.rows, s.value_width, 1);
  call.g = heads(5, s.rows, s.value_width, 1), call.dq = heads(6, s.rows, s.width, 3);
  call.dk = heads(7, s.keys, s.width, 3), call.dv = heads(8, s.keys, s.value_width, 3);
  Calls calls(call);
  AttentionGraph graph(calls, call);
  const Descriptor finished = graph.finish(machine);
  const std::size_t count = engines_for(calls, machine, call, finished).size();
  reason = calls.reason();
  return count;
}
}  // namespace
#endif

TEST_CASE("cuDNN has fused engines for the graphs of attention, forward and backward, with sums in a fixed order") {
  NEEDS_MACHINE(machine);
#if CUDNN_VERSION >= 91000
  if (!has_driver_library()) SKIP_TEST("neither a driver's libcuda.so.1 nor the toolkit's to link with");
  const Machine older = described_machine(gpus[1]);
  const auto check = [](const Machine& gpu, const DnnAttention& call) {
    CAPTURE(text_of(call));
    std::string reason;
    CHECK(engines_of_attention(gpu, call, reason) > 0);
    CHECK(reason == "");
  };
  for (const auto* const gpu : {&machine, &older}) {
    for (const bool is_backward : {false, true}) {
      for (const bool is_causal : {false, true}) {
        check(*gpu, {is_backward, CUDNN_DATA_BFLOAT16, {4, 12, 1024, 1024, 64, 64}, is_causal});
        check(*gpu, {is_backward, CUDNN_DATA_HALF, {1, 16, 16384, 16384, 128, 128}, is_causal});
        check(*gpu, {is_backward, CUDNN_DATA_BFLOAT16, {2, 3, 1000, 777, 40, 40}, is_causal});
      }
    }
  }
#endif
}
