#pragma once
// Flat memory: the values of a list of parameters in one dense block, their gradients in another. An operation on all
// parameters (a step of an optimizer, clipping, an all-reduce) then takes one launch, or one message.

#include <locus/autograd/parameter.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Slots begin at 64-byte boundaries.
template <class T>
[[nodiscard]] constexpr std::int64_t padded_to_slot(std::int64_t elements) {
  constexpr std::int64_t step = 64 / sizeof(T);
  return (elements + step - 1) / step * step;
}

/// throws ArgumentError if the list is empty, or a parameter is empty or repeated; DeviceError for several ordinals;
/// GraphError for a parameter of a sharded model
template <class T, class D>
LOCUS_OUT_OF_LINE void require_distinct(std::string_view who, const std::vector<Parameter<T, D>>& parameters) {
  if (parameters.empty()) fail<ArgumentError>({who, ": no parameters were given; pass model.parameters()"});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].defined()) fail<ArgumentError>({who, ": parameter ", i, " is empty"});
    if (parameters[i].is_lent()) fail_lent(who);
    require_same_ordinal(who, parameters[0].value(), parameters[i].value());
    for (std::size_t j = 0; j < i; ++j)
      if (parameters[i] == parameters[j]) fail<ArgumentError>({who, ": parameters ", j, " and ", i, " are the same"});
  }
}

/// Moves distinct parameters into one flat memory, in reverse order. With `only_loose`, parameters that lie in a flat
/// memory already stay there.
template <class T, class D>
LOCUS_OUT_OF_LINE void place_together(const std::vector<Parameter<T, D>>& parameters, bool only_loose) {
  const auto moves = [&](std::size_t i) { return !only_loose || !parameters[i].flat_place().memory; };
  const Shared<FlatMemory<T, D>> memory(new FlatMemory<T, D>);
  std::int64_t size = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (!moves(i)) continue;
    memory->begins.push_back(size);
    size += padded_to_slot<T>(parameters[i].elements());
  }
  if (memory->begins.empty()) return;
  const std::size_t slots = memory->begins.size();
  memory->begins.push_back(size);
  memory->values = Tensor<T, D>({size}, parameters[0].device()).fill_(T(0));
  memory->gradients = Tensor<T, D>({size}, parameters[0].device()).fill_(T(0));
  memory->zeroed.assign(slots, memory->gradients.version());
  std::size_t slot = 0;
  for (std::size_t i = parameters.size(); i-- > 0;)
    if (moves(i)) parameters[i].move_to({memory, slot++});
}

/// The parameters of a list that lie in `memory`, by slot; null for the slots of other parameters.
template <class T, class D>
[[nodiscard]] std::vector<const Parameter<T, D>*> by_slot(const FlatMemory<T, D>& memory,
                                                          const std::vector<Parameter<T, D>>& parameters) {
  std::vector<const Parameter<T, D>*> result(memory.zeroed.size());
  for (const auto& parameter : parameters)
    if (parameter.flat_place().memory.get() == &memory) result[parameter.flat_place().slot] = &parameter;
  return result;
}

/// Elements of a block, padding included, of the slots [first, last). A write to them counts as a change of every slot
/// of the block.
template <class T, class D>
[[nodiscard]] Tensor<T, D> slots_of(const FlatMemory<T, D>& memory, const Tensor<T, D>& block, std::size_t first,
                                    std::size_t last) {
  return block.slice(0, memory.begins[first], memory.begins[last]);
}
/// Gradients of the slots [first, last), with their own version counter. The caller that writes to them bumps the
/// version of each slot.
template <class T, class D>
[[nodiscard]] Tensor<T, D> run_of_gradients(const FlatMemory<T, D>& memory, std::size_t first, std::size_t last) {
  const Tensor<T, D> slots = slots_of(memory, memory.gradients, first, last);
  const auto bytes = static_cast<std::size_t>(slots.elements()) * sizeof(T);
  return Tensor<T, D>(slots.buffer().part(slots.data(), bytes), slots.data(), slots.shape(), slots.strides());
}

/// Zeroes the memory of gradients that did not arrive since zero_grad(). `slots` are the parameters in the slots
/// [first, first + slots.size()). One launch for each run of neighbours that may not be zero. A capture always clears
/// them, as its replays have to, and marks none as zeroed, because its launches have not run yet.
template <class T, class D>
LOCUS_OUT_OF_LINE void clear_absent(FlatMemory<T, D>& memory, std::size_t first,
                                    Span<const Parameter<T, D>* const> slots) {
  const auto gradient = [&](std::size_t i) -> const Buffer<D>& { return slots[i]->leaf()->gradient().buffer(); };
  const auto may_hold_another = [&](std::size_t i) {
    return !slots[i]->has_grad() && (is_capturing() || memory.zeroed[first + i] != gradient(i).version());
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!may_hold_another(i)) continue;
    const std::size_t begin = i;
    while (i < slots.size() && may_hold_another(i)) gradient(i++).changed_by_step();
    (void)run_of_gradients(memory, first + begin, first + i).fill_(T(0));
    if (is_capturing()) continue;
    for (std::size_t each = begin; each < i; ++each) memory.zeroed[first + each] = gradient(each).version();
  }
}

/// The gradients of a list of parameters: one dense tensor for each run of neighbours in flat memory, and one for each
/// parameter elsewhere. Within a run, gradients that did not arrive are zeroed.
template <class T, class D>
[[nodiscard]] std::vector<Tensor<T, D>> gradient_runs(const std::vector<Parameter<T, D>>& parameters) {
  std::vector<Tensor<T, D>> runs;
  std::vector<const FlatMemory<T, D>*> done;
  for (const auto& parameter : parameters) {
    if (!parameter.has_grad()) continue;
    FlatMemory<T, D>* const memory = parameter.flat_place().memory.get();
    if (!memory) {
      runs.push_back(parameter.node()->own());
      continue;
    }
    bool is_done = false;
    for (const auto* each : done) is_done |= each == memory;
    if (is_done) continue;
    done.push_back(memory);
    const auto slots = by_slot(*memory, parameters);
    for (std::size_t first = 0, last = 0; first < slots.size(); first = last + 1) {
      bool any = false;
      for (last = first; last < slots.size() && slots[last]; ++last) any |= slots[last]->has_grad();
      if (!any) continue;
      clear_absent<T, D>(*memory, first, {slots.data() + first, last - first});
      runs.push_back(run_of_gradients(*memory, first, last));
    }
  }
  return runs;
}

/// throws GraphError if a gradient has yet to be reduced over ranks
template <class T, class D>
LOCUS_OUT_OF_LINE void require_reduced(std::string_view who, const std::vector<Parameter<T, D>>& parameters) {
  for (const auto& parameter : parameters) {
    if (parameter.is_lent()) [[unlikely]]
      fail_lent(who);
    const GradientHold* const hold = parameter.gradient_hold().get();
    if (hold && hold->reason && (hold->holds_missing || parameter.has_grad())) [[unlikely]]
      fail<GraphError>({who, ": ", hold->reason});
  }
}

/// throws GraphError if a gradient has yet to be reduced over ranks, or to be unscaled
template <class T, class D>
LOCUS_OUT_OF_LINE void require_final(std::string_view who, const std::vector<Parameter<T, D>>& parameters) {
  require_reduced(who, parameters);
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) require_unscaled(who, *parameter.node());
}

/// The other ranks' parts of these parameters; null if they are whole.
template <class T, class D>
[[nodiscard]] Shared<const OtherParts<T, D>> other_parts(const std::vector<Parameter<T, D>>& parameters) {
  for (const auto& parameter : parameters)
    if (const auto& memory = parameter.flat_place().memory; memory && memory->others) return memory->others;
  return {};
}

/// Bumps the gradients' versions after a change through gradient_runs().
template <class T, class D>
void gradients_changed(const std::vector<Parameter<T, D>>& parameters) {
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) parameter.node()->own().buffer().changed_by_step();
}
}  // namespace detail

/// Elements [begin, begin + count) of flat memory.
struct FlatRange {
  std::int64_t begin = 0, count = 0;
};

/// Parameters that are neighbours in flat memory, from flatten. A handle: copies share the memory. They lie in the
/// order in which a backward pass is expected to complete their gradients: the last of the list first. Each slot is
/// padded to 64 bytes; padding is zero and stays zero.
///
///     const auto flat = nn::flatten(model);
///     for (std::size_t i = 0; i < flat.size(); ++i)
///       std::cout << flat.parameters()[i].shape() << " at " << flat.range(i).begin << "\n";
template <class T, class D>
class FlatParameters {
 public:
  using value_type = T;
  using device_type = D;

  /// In the order of memory.
  [[nodiscard]] const std::vector<Parameter<T, D>>& parameters() const {
    require_present();
    return parameters_;
  }
  [[nodiscard]] std::size_t size() const {
    require_present();
    return parameters_.size();
  }
  /// The elements of values() and gradients() that belong to parameter i.
  [[nodiscard]] FlatRange range(std::size_t i) const {
    if (i >= size()) fail<IndexError>({"flat parameters: parameter ", i, " of ", size()});
    return {memory_->begins[first_ + i] - memory_->begins[first_], parameters_[i].elements()};
  }

  /// All values, shape (n,): the parameters' own memory, no copy. A write to it, or to a part of it, counts as a change
  /// in place of every parameter there; backward passes that need these values then throw StaleError.
  /// throws ArgumentError if a parameter was flattened again since, together with others
  [[nodiscard]] Tensor<T, D> values() const { return values(0, size()); }
  /// Values of parameters [first, last) in the order of memory.
  [[nodiscard]] Tensor<T, D> values(std::size_t first, std::size_t last) const {
    require_here(first, last);
    return detail::slots_of(*memory_, memory_->values, first_ + first, first_ + last);
  }
  /// All gradients, shape (n,): the parameters' own memory. A missing gradient reads as zero. Writes change the
  /// gradients that exist; the elements of a missing gradient are zeroed again by the next call. Padding has to stay
  /// zero.
  /// cost: one launch for each run of parameters whose gradient is missing but whose memory may not be zero; else none
  /// throws as values()
  [[nodiscard]] Tensor<T, D> gradients() const { return gradients(0, size()); }
  /// Gradients of parameters [first, last) in the order of memory.
  [[nodiscard]] Tensor<T, D> gradients(std::size_t first, std::size_t last) const {
    require_here(first, last);
    std::vector<const Parameter<T, D>*> slots;
    for (std::size_t i = first; i < last; ++i) slots.push_back(&parameters_[i]);
    detail::clear_absent<T, D>(*memory_, first_ + first, slots);
    return detail::slots_of(*memory_, memory_->gradients, first_ + first, first_ + last);
  }

 private:
  template <class U, class E>
  friend FlatParameters<U, E> flatten(const std::vector<Parameter<U, E>>&);
  FlatParameters(std::vector<Parameter<T, D>> parameters, Shared<detail::FlatMemory<T, D>> memory, std::size_t first)
      : parameters_(std::move(parameters)), memory_(std::move(memory)), first_(first) {}

  void require_present() const {
    if (!memory_) [[unlikely]]
      detail::fail_moved_from("FlatParameters");
  }
  LOCUS_OUT_OF_LINE void require_here(std::size_t first, std::size_t last) const {
    if (first > last || last > size())
      fail<IndexError>({"flat parameters: [", first, ", ", last, ") of ", size(), " parameters"});
    for (std::size_t i = first; i < last; ++i) {
      if (parameters_[i].flat_place() == detail::FlatPlace<T, D>{memory_, first_ + i}) continue;
      fail<ArgumentError>({"flat parameters: parameter ", i, " of shape ", parameters_[i].shape(),
                           " was flattened again together with others; take the result of that flatten"});
    }
  }

  std::vector<Parameter<T, D>> parameters_;
  Shared<detail::FlatMemory<T, D>> memory_;
  std::size_t first_;
};

/// Values and gradients of parameters in flat memory. If an optimizer or an earlier flatten made them neighbours
/// already, returns them in place; optimizers and clipping in turn use the memory that flatten made. Otherwise all of
/// them move to a new flat memory, seen through every handle to the parameters: tensors taken from value() before no
/// longer reach the model.
/// The order, last parameter first, does not change later, so that captured steps find their memory. Gradients become
/// ready in this order if the list has the layers in order of use.
/// cost: none if they are neighbours; else two launches, and a copy for each parameter and each gradient
/// throws ArgumentError for no parameters, or an empty or repeated one; DeviceError for parameters on several ordinals
template <class T, class D>
[[nodiscard]] FlatParameters<T, D> flatten(const std::vector<Parameter<T, D>>& parameters) {
  detail::require_distinct("flatten", parameters);
  const auto bounds = [&] {
    std::size_t first = parameters[0].flat_place().slot, last = first;
    for (const auto& parameter : parameters) {
      const auto& [memory, slot] = parameter.flat_place();
      if (!memory || !(memory == parameters[0].flat_place().memory)) return FlatRange{};
      first = slot < first ? slot : first;
      last = slot > last ? slot : last;
    }
    return FlatRange{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first + 1)};
  };
  if (bounds().count != static_cast<std::int64_t>(parameters.size())) detail::place_together(parameters, false);
  const auto first = static_cast<std::size_t>(bounds().begin);
  const Shared<detail::FlatMemory<T, D>> memory = parameters[0].flat_place().memory;
  std::vector<Parameter<T, D>> in_order(parameters.size());
  for (const auto& parameter : parameters) in_order[parameter.flat_place().slot - first] = parameter;
  return {std::move(in_order), memory, first};
}

}}  // namespace locus::LOCUS_ABI

#include <locus/instances/autograd/flat.inc>
