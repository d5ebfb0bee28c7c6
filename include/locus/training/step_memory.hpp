#pragma once
// Bytes of a training step on its device, measured at two batch sizes and predicted for others.

#include <locus/core/size_class.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/nn/model_copy.hpp>
#include <locus/training/step.hpp>

#include <cstdio>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

/// Bytes as a linear function of the batch size.
struct BytesOfBatch {
  double constant = 0, per_sample = 0;
  [[nodiscard]] std::int64_t at(std::int64_t batch_size) const {
    const double bytes = detail::smaller(constant + per_sample * static_cast<double>(batch_size), 0x1p60);
    return bytes > 0 ? static_cast<std::int64_t>(__builtin_llround(bytes)) : 0;
  }
};

/// Result of step_memory(): bytes of tensors on the device, rounded up to blocks of its pool, like
/// MemoryStats::allocated_bytes.
struct StepMemory {
  std::int64_t parameters = 0, gradients = 0, optimizer_state = 0, buffers = 0;
  std::int64_t batch_size = 0;  ///< of the batch that was measured
  BytesOfBatch batch{};         ///< inputs and targets of a batch
  BytesOfBatch activations{};   ///< saved for the backward pass, at the end of the forward pass
  BytesOfBatch forward{};   ///< maximum in the forward pass, beside the batch and the bytes that do not depend on it
  BytesOfBatch backward{};  ///< maximum in the backward pass, likewise; it includes the activations

  /// Parameters, gradients, optimizer state and buffers.
  [[nodiscard]] std::int64_t fixed() const { return parameters + gradients + optimizer_state + buffers; }
  /// Maximum in a step with a batch of this size.
  [[nodiscard]] std::int64_t peak(std::int64_t size) const {
    return fixed() + batch.at(size) + detail::larger(forward.at(size), backward.at(size));
  }
  /// The largest batch size whose peak() is at most `bytes`; 0 if none is, or the largest int64 if every one is.
  [[nodiscard]] std::int64_t largest_batch(std::int64_t bytes) const;

  /// Three lines: the bytes that do not depend on the batch, and a step at the measured batch size and at twice it.
  ///
  ///     parameters 0.41 MB, gradients 0.41 MB, optimizer state 0.82 MB, buffers 0.00 MB
  ///     step of 64 samples: batch 0.20 MB, activations 0.07 MB, peak 2.08 MB
  ///     step of 128 samples, predicted: batch 0.40 MB, activations 0.14 MB, peak 2.51 MB
  [[nodiscard]] std::string text() const;
};

LOCUS_OUT_OF_LINE inline std::int64_t StepMemory::largest_batch(std::int64_t bytes) const {
  std::int64_t fits = 0, beyond = 1;
  while (peak(beyond) <= bytes) {
    fits = beyond;
    if (beyond > (std::int64_t{1} << 52)) return INT64_MAX;
    beyond *= 2;
  }
  while (fits + 1 < beyond) {
    const std::int64_t middle = fits + (beyond - fits) / 2;
    (peak(middle) <= bytes ? fits : beyond) = middle;
  }
  return fits;
}

LOCUS_OUT_OF_LINE inline std::string StepMemory::text() const {
  const auto megabytes = [](const char* name, std::int64_t bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%s %.2f MB", name, 1e-6 * static_cast<double>(bytes));
    return std::string(text);
  };
  const auto step = [&](std::int64_t size, const char* how) {
    return join("step of ", size, " samples", how, ": ", megabytes("batch", batch.at(size)), ", ",
                megabytes("activations", activations.at(size)), ", ", megabytes("peak", peak(size)), "\n");
  };
  return join(megabytes("parameters", parameters), ", ", megabytes("gradients", gradients), ", ",
              megabytes("optimizer state", optimizer_state), ", ", megabytes("buffers", buffers), "\n",
              step(batch_size, ""), step(2 * batch_size, ", predicted"));
}

namespace detail {
/// Mistake of measuring a step of a model on an input, and on targets.
template <class M, class X>
struct StepInputMistake
    : FirstMistake<PlaceMistake<M, X, error::model_is_on, error::input_is_on, error::move_the_input_with_to_D>,
                   BatchMistake<M, value_of<X>, device_of<X>>> {};
template <class X, class... Y>
struct StepTargetsMistake : FirstMistake<PlaceMistake<X, Y, error::input_is_on, error::labels_are_on>..., NoMistake> {};

/// Bytes of the block that a pool gives for a request. Small blocks of a GPU have a coarser granule.
[[nodiscard]] constexpr std::int64_t block_bytes(std::int64_t bytes) {
  using Sizes = SizeClass<64>;
  return bytes == 0 ? 0 : static_cast<std::int64_t>(Sizes::bytes(Sizes::of(static_cast<std::size_t>(bytes))));
}

template <class T, class D>
[[nodiscard]] std::int64_t block_bytes(const Tensor<T, D>& x) {
  return block_bytes(x.elements() * static_cast<std::int64_t>(sizeof(T)));
}

/// Peaks of allocated bytes in parts of a program. In the end, the device's peak is that of the program again.
template <class D>
class PeakWatch {
 public:
  explicit PeakWatch(D device) : device_(device), before_(memory_stats(device).peak_bytes) {}
  PeakWatch(const PeakWatch&) = delete;
  PeakWatch& operator=(const PeakWatch&) = delete;
  ~PeakWatch() { Backend<D>::restart_peak(device_, larger(before_, peak())); }

  [[nodiscard]] std::int64_t allocated() const { return memory_stats(device_).allocated_bytes; }
  void restart() {
    before_ = larger(before_, peak());
    Backend<D>::restart_peak(device_, 0);
  }
  /// Since restart().
  [[nodiscard]] std::int64_t peak() const { return memory_stats(device_).peak_bytes; }

 private:
  D device_;
  std::int64_t before_;
};

/// Restores a model's buffers and the default generators, and forgets its gradients, at the end of its scope. After an
/// error of the device, buffers and gradients may stay as they are.
template <class M, class Optimizer, class D>
class KeepTraining {
 public:
  KeepTraining(const M& model, Optimizer& optimizer) : model_(model), optimizer_(optimizer) {
    if constexpr (requires { model.buffers(); })
      for (const auto& buffer : model.buffers()) buffers_.push_back(buffer.bytes().clone());
  }
  KeepTraining(const KeepTraining&) = delete;
  KeepTraining& operator=(const KeepTraining&) = delete;
  ~KeepTraining() {
    try {
      restore_buffers();
      optimizer_.zero_grad();
    } catch (...) {  // the scope may be left by an error already
    }
  }

 private:
  void restore_buffers() const {
    std::size_t i = 0;
    if constexpr (requires { model_.buffers(); })
      for (const auto& buffer : model_.buffers()) buffer.bytes().copy_(buffers_[i++]);
  }

  const M& model_;
  Optimizer& optimizer_;
  std::vector<Tensor<std::uint8_t, D>> buffers_;
  nn::detail::KeepGenerator<D> numbers_;
  [[no_unique_address]] std::conditional_t<std::is_same_v<D, Cpu>, DoNothing, nn::detail::KeepGenerator<Cpu>> of_host_;
};

/// Adds the bytes of the parameters of a list, and of their gradients, each memory once.
template <class T, class D>
void add_parameters(StepMemory& result, const std::vector<Parameter<T, D>>& parameters) {
  std::vector<const void*> seen;
  for (const auto& parameter : parameters) {
    const auto& flat = parameter.flat_place().memory;
    const Tensor<T, D>& values = flat ? flat->values : parameter.value();
    bool known = false;
    for (const void* const each : seen) known |= each == values.data();
    if (known) continue;
    seen.push_back(values.data());
    result.parameters += block_bytes(values);
    if (flat || parameter.requires_grad()) result.gradients += block_bytes(values);
  }
}

/// Bytes of an optimizer's state; 0 for an optimizer that is not Locus's.
template <class Optimizer>
[[nodiscard]] std::int64_t state_bytes(const Optimizer& optimizer) {
  if constexpr (StepsByScaler<Optimizer>) {
    return state_bytes(optimizer.optimizer());
  } else if constexpr (requires { optimizer.state_bytes(); }) {
    return optimizer.state_bytes();
  } else if constexpr (OfLocus<Optimizer>) {
    using T = value_of<Optimizer>;
    std::int64_t elements = 0;
    for (const auto& parameter : optimizer.parameters()) {
      const auto& place = parameter.flat_place();
      elements += place.memory->begins[place.slot + 1] - place.memory->begins[place.slot];
    }
    const int tensors = optimizer.states() + (std::is_same_v<T, compute_t<T>> ? 0 : 1);
    return tensors * block_bytes(elements * static_cast<std::int64_t>(sizeof(compute_t<T>)));
  } else {
    return 0;
  }
}

/// Bytes above those before the step, when gradients of the step before it exist.
struct StepPeaks {
  std::int64_t forward = 0, saved = 0, backward = 0;
};
template <class M, class Optimizer, class L, class Batch, class D>
[[nodiscard]] StepPeaks peaks_of_step(const M& model, Optimizer& optimizer, const L& loss, const Batch& batch,
                                      PeakWatch<D>& watch) {
  const std::int64_t with_gradients = watch.allocated();
  optimizer.zero_grad();
  const std::int64_t before = watch.allocated(), freed = with_gradients - before;  // 0 in flat memory
  watch.restart();
  const auto recorded = recorded_loss(model, loss, batch);
  const std::int64_t forward = watch.peak() - before, saved = watch.allocated() - before;
  watch.restart();
  [[maybe_unused]] const auto guard = on_this_rank(model);
  recorded.backward();
  return {forward, saved, watch.peak() - before - freed};
}

/// The line through bytes measured at two batch sizes.
[[nodiscard]] constexpr BytesOfBatch line_through(std::int64_t low, std::int64_t at_low, std::int64_t high,
                                                  std::int64_t at_high) {
  const double slope = static_cast<double>(at_high - at_low) / static_cast<double>(high - low);
  return {static_cast<double>(at_high) - slope * static_cast<double>(high), slope};
}

/// The bytes that do not depend on the batch.
template <class M, class Optimizer>
[[nodiscard]] StepMemory fixed_memory(const M& model, const Optimizer& optimizer) {
  StepMemory result;
  if constexpr (requires { model.parameters(); }) add_parameters(result, model.parameters());
  else add_parameters(result, optimizer.parameters());
  result.optimizer_state = state_bytes(optimizer);
  if constexpr (requires { model.buffers(); })
    for (const auto& buffer : model.buffers()) result.buffers += block_bytes(buffer.bytes().elements());
  return result;
}

template <class M, class Optimizer, class L, class X, class D, class... Y>
[[nodiscard]] StepMemory memory_of_step(const M& model, Optimizer& optimizer, const L& loss,
                                        const Tuple<Tensor<X, D>, Tensor<Y, D>...>& batch) {
  const std::int64_t size = get<0>(batch).size(0), half = size / 2;
  StepMemory result = fixed_memory(model, optimizer);
  PeakWatch<D> watch(get<0>(batch).device());
  const KeepTraining<M, Optimizer, D> keeping(model, optimizer);
  (void)peaks_of_step(model, optimizer, loss, batch, watch);  // allocates memory that stays, such as workspaces
  const StepPeaks whole = peaks_of_step(model, optimizer, loss, batch, watch);
  const auto first_half = unpack(batch, [&](const auto&... x) { return Tuple(x.slice(0, 0, half)...); });
  const StepPeaks part = peaks_of_step(model, optimizer, loss, first_half, watch);
  result.batch_size = size;
  const std::int64_t bytes = unpack(batch, [](const auto&... x) { return (block_bytes(x) + ...); });
  result.batch.per_sample = static_cast<double>(bytes) / static_cast<double>(size);
  result.activations = line_through(half, part.saved, size, whole.saved);
  result.forward = line_through(half, part.forward, size, whole.forward);
  result.backward = line_through(half, part.backward, size, whole.backward);
  return result;
}

LOCUS_COLD LOCUS_OUT_OF_LINE inline void require_samples(const Shape& input, const Shape& other) {
  if (input.rank() == 0 || input[0] < 2)
    fail<ArgumentError>({"step_memory: the input has shape ", input,
                         "; expected two samples or more: the step is measured with them and with half of them"});
  if (other.rank() == 0 || other[0] != input[0])
    fail<ShapeError>({"step_memory: the input has shape ", input, " and a target ", other,
                      "; expected the same number of samples in the first dimension"});
}
}  // namespace detail

/// Bytes of a training step, measured with this batch and with half of it, and, linearly, at other batch sizes. The
/// optimizer is one of the model's parameters, or scaler.with(optimizer). Without targets, the input is its own target.
/// Forward and backward passes run; the optimizer does not step. Weights, buffers, states and default generators stay;
/// gradients are forgotten, as by zero_grad(). Hooks are called. A model that is a function lists no buffers: its
/// buffers change.
///
/// Other threads must not allocate memory of the device meanwhile. Not counted: batches that a loader holds, memory of
/// libraries (cuDNN, cuBLAS, NCCL) outside the pool, workspaces that stay allocated, unused blocks of the pool, and the
/// copy of the batch in a captured step.
/// cost: five halves of a step without the update, and memory for it
/// throws ArgumentError for fewer than two samples, ShapeError if targets have another number of samples; as the model
/// and the loss
///
///     const auto memory = step_memory(model, optimizer, nn::CrossEntropyLoss{}, images, labels);
///     std::cout << memory.text() << memory.largest_batch(8'000'000'000) << " samples fit into 8 GB\n";
template <class M, class Optimizer, class L, class X, class D, class... Y>
  requires(detail::Trainable<M, Optimizer, X, D> && RestartsPeak<D>)
[[nodiscard]] StepMemory step_memory(const M& model, Optimizer& optimizer, const L& loss, const Tensor<X, D>& input,
                                     const Tensor<Y, D>&... targets) {
  detail::require_samples(input.shape(), input.shape());
  (detail::require_samples(input.shape(), targets.shape()), ...);
  return detail::memory_of_step(model, optimizer, loss, Tuple(input, targets...));
}

#include <locus/refuse/training/step_memory.inc>

}}  // namespace locus::LOCUS_ABI
