#pragma once
// Entries of the plan file for convolutions: an engine of cuDNN with its knobs, or the verbs.

#include <locus/cuda/cudnn/conv_call.hpp>
#include <locus/cuda/cudnn/engines.hpp>
#include <locus/cuda/plan_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// Knobs that a choice has room for, two in each word after the engine's: the type in 8 bits, the value in 24.
inline constexpr std::int64_t most_knobs = 14;

/// The choice where the verbs were faster than every engine; no engine has this index.
inline constexpr cuda::detail::GemmPlanChoice choice_of_verbs{{~std::uint64_t{0}}};

/// Encodes the engine and its knobs for the plan file. False if they do not fit.
[[nodiscard]] inline bool to_choice(const ConvCall& call, const Descriptor& config,
                                    cuda::detail::GemmPlanChoice& choice) {
  Calls calls(call);
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::vector<Descriptor> knobs;
  for (std::int64_t i = 0; i <= most_knobs; ++i) knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  std::int64_t index = 0;
  (void)calls.get(config, CUDNN_ATTR_ENGINECFG_ENGINE, &engine, 1);
  (void)calls.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &index, 1);
  const std::int64_t count = calls.get(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs.data(), most_knobs + 1);
  if (!calls.succeeded() || count > most_knobs || index < 0 || index > INT32_MAX) return false;
  choice = {};
  choice.algorithm[0] = static_cast<std::uint64_t>(index) + (static_cast<std::uint64_t>(count) << 32);
  for (std::int64_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t type{};
    std::int64_t value = 0;
    (void)calls.get(knobs[static_cast<std::size_t>(i)], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, &type, 1);
    (void)calls.get(knobs[static_cast<std::size_t>(i)], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, &value, 1);
    if (!calls.succeeded() || value < 0 || value >= 1 << 24 || static_cast<int>(type) > 255) return false;
    const std::uint64_t word = (static_cast<std::uint64_t>(type) << 24) + static_cast<std::uint64_t>(value);
    choice.algorithm[static_cast<std::size_t>(1 + i / 2)] += word << (32 * (i % 2));
  }
  return true;
}

/// The engine with its knobs that a choice names.
[[nodiscard]] inline Descriptor from_choice(Calls& calls, const Machine& machine, const Descriptor& graph,
                                            const cuda::detail::GemmPlanChoice& choice) {
  const auto index = static_cast<std::int64_t>(choice.algorithm[0] & 0xffffffffu);
  const auto count = static_cast<std::int64_t>(choice.algorithm[0] >> 32);
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (count > most_knobs) calls.refuse(CUDNN_STATUS_NOT_SUPPORTED, "a choice that nobody made");
  calls.set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  calls.set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  if (machine.properties) calls.set(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, machine.properties);
  calls.finalize(engine, "cudnnBackendFinalize (an engine)");
  std::vector<Descriptor> knobs;
  for (std::int64_t i = 0; i < count && calls.succeeded(); ++i) {
    const std::uint64_t word = choice.algorithm[static_cast<std::size_t>(1 + i / 2)] >> (32 * (i % 2));
    const Descriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    calls.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(word >> 24 & 255));
    calls.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, static_cast<std::int64_t>(word & 0xffffff));
    calls.finalize(knob, "cudnnBackendFinalize (a knob)");
  }
  calls.set(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (count > 0) calls.set(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs.data(), count);
  calls.finalize(config, "cudnnBackendFinalize (an engine with knobs)");
  return config;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
