#pragma once
// The parts of a sharded model: its units of parameters, and this rank's elements of them in flat memory.

#include <locus/distributed/sharded/sharded_unit.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Options of `sharded`; the same on all ranks.
struct ShardedOptions {
  /// Values of a unit are dropped after its forward pass and gathered again in the backward pass; else they stay in
  /// between, at the cost of their memory.
  bool gather_again = true;
  int ahead = 1;  ///< units that are gathered before their use, while others compute
  /// Ranks that share one copy of the model, such as all of a machine; groups of them hold copies, whose gradients
  /// are averaged. 0: all ranks share one.
  int ranks_of_copy = 0;
  std::int64_t least_unit_bytes = 1 << 20;  ///< neighbours in the model's list are one unit up to this size
  /// The unit of a parameter's name. Parameters of the empty name stay from their first use to the end of the backward
  /// pass. Default: the name up to its first number, as "h.0" of "h.0.mlp.weight".
  std::string (*unit_of)(std::string_view name) = nullptr;
  bool broadcast_buffers = true;  ///< copy rank 0's buffers to all ranks after each backward pass
};

namespace detail {

/// The collectives of the parameters' parts.
template <class T, class D>
class PartsOverRanks final : public locus::detail::OtherParts<T, D> {
  using R = compute_t<T>;

 public:
  explicit PartsOverRanks(const Communicator<D>& comm) : comm_(comm) {}
  [[nodiscard]] Tensor<R, D> gathered(const Tensor<R, D>& number) const override { return comm_.all_gather(number); }
  void set_if_any(const Tensor<bool, D>& flag) const override { comm_.all_reduce(flag, max); }

 private:
  Communicator<D> comm_;
};

/// Divides parameters of T on D into units, and the elements of each unit among ranks.
template <class T, class D>
class ShardedParts {
  using Unit = ShardedUnit<T, D>;

 public:
  /// `named`: trained parameters, the same on all ranks, whose values of rank 0 are taken. `within`: the ranks of a
  /// copy; `between`: the ranks with the same parts of all copies, if there are several.
  ShardedParts(const std::vector<nn::NamedParameter<T, D>>& named, const Communicator<D>& within,
               const std::optional<Communicator<D>>& between, const ShardedOptions& options)
      : within_(within), between_(between), options_(options) {
    make_units(named);
    take_parts();
  }

  [[nodiscard]] const Communicator<D>& within() const { return within_; }
  [[nodiscard]] const std::optional<Communicator<D>>& between() const { return between_; }
  [[nodiscard]] const ShardedOptions& options() const { return options_; }
  [[nodiscard]] std::vector<Unit>& units() { return units_; }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  [[nodiscard]] const std::vector<ParameterPart<T, D>>& list() const { return parts_; }
  [[nodiscard]] locus::detail::GradientHold& hold() const { return *hold_; }

  [[nodiscard]] std::int64_t size_of_whole(const Unit& unit) const { return unit.share * within_.size(); }
  /// Zeros.
  [[nodiscard]] Tensor<T, D> memory_of(std::int64_t elements) const {
    return Tensor<T, D>({elements}, within_.device()).fill_(T(0));
  }
  /// Memory that `count` units, or all of a few, use in turn.
  [[nodiscard]] std::vector<Turn<T, D>> turns_of(std::size_t count) const {
    std::int64_t most = 0;
    std::size_t users = 0;
    for (const Unit& unit : units_) {
      if (unit.is_rest) continue;
      ++users;
      most = most > size_of_whole(unit) ? most : size_of_whole(unit);
    }
    std::vector<Turn<T, D>> turns(count < users ? count : users);
    for (auto& turn : turns) turn.memory = memory_of(most);
    return turns;
  }
  /// This rank's elements of a unit.
  [[nodiscard]] Tensor<T, D> values_of(const Unit& unit) const {
    return memory_->values.slice(0, unit.offset, unit.offset + unit.share);
  }
  [[nodiscard]] Tensor<T, D> gradients_of(const Unit& unit) const {
    return memory_->gradients.slice(0, unit.offset, unit.offset + unit.share);
  }
  /// Where part i of the unit begins in them.
  [[nodiscard]] std::int64_t begin_of(const Unit& unit, std::size_t i) const {
    return memory_->begins[slots_[i]] - unit.offset;
  }
  /// A handle of the ranks of a copy whose collectives are told apart by the unit.
  [[nodiscard]] Communicator<D> ranks_of(const Unit& unit) const {
    return within_.of_unit(1 + static_cast<int>(&unit - units_.data()));
  }
  /// Changes with each change of the parts.
  [[nodiscard]] std::uint64_t version() const {
    std::uint64_t sum = 0;
    for (const auto& each : parts_) sum += each.part.value().version();
    return sum;
  }
  /// Calls f(name, whole value) for all parameters, one unit after another. A collective; f is called on all ranks.
  template <class F>
  void for_each_whole(const F& f) const {
    for (const Unit& unit : units_) {
      const Tensor<T, D> whole = within_.all_gather(values_of(unit)).reshape({size_of_whole(unit)});
      for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
        const Shape& shape = unit.parameters[i].shape();
        f(unit.names[i], whole.slice(0, unit.begins[i], unit.begins[i] + elements(shape)).reshape(shape));
      }
    }
  }

 private:
  void make_units(const std::vector<nn::NamedParameter<T, D>>& named) {
    const auto unit_of = options_.unit_of ? options_.unit_of : &unit_of_name;
    std::string last;
    Unit rest;
    rest.name = "the rest";
    rest.is_rest = rest.owns_values = rest.owns_gradients = true;
    for (const auto& [name, parameter] : named) {
      const std::string unit = unit_of(name);
      if (unit.empty()) {
        rest.add(name, parameter);
        continue;
      }
      const bool continues = unit == last || (!units_.empty() && units_.back().bytes() < options_.least_unit_bytes);
      if (units_.empty() || !continues) {
        units_.push_back({});
        units_.back().name = unit;
        units_.back().owns_values = !options_.gather_again;
      }
      units_.back().add(name, parameter);
      last = unit;
    }
    if (!rest.parameters.empty()) units_.push_back(std::move(rest));
    for (Unit& unit : units_) unit.lay_out(within_.size());
  }

  /// Copies this rank's part of each parameter of rank 0 to flat memory, and makes parameters of it.
  void take_parts() {
    for (Unit& unit : units_) {
      unit.offset = elements_;
      elements_ += unit.share;
    }
    memory_->values = Tensor<T, D>({elements_}, within_.device()).fill_(T(0));
    memory_->gradients = Tensor<T, D>({elements_}, within_.device()).fill_(T(0));
    memory_->others = Shared<const locus::detail::OtherParts<T, D>>(new PartsOverRanks<T, D>(within_));
    for (Unit& unit : units_) {
      unit.first = parts_.size();
      for (std::size_t i = 0; i < unit.parameters.size(); ++i) take_part(unit, i);
      unit.last = parts_.size();
    }
    begin_slot(elements_);
    memory_->zeroed.assign(memory_->begins.size() - 1, memory_->gradients.version());
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].part.move_to({memory_, slots_[i]});
  }
  /// Begins a slot in memory, after one that no parameter is in where the last part ends before it.
  void begin_slot(std::int64_t begin) {
    if (!parts_.empty() && end_of_last() < begin) memory_->begins.push_back(end_of_last());
    memory_->begins.push_back(begin);
  }
  [[nodiscard]] std::int64_t end_of_last() const {
    return memory_->begins[slots_.back()] + locus::detail::padded_to_slot<T>(parts_.back().part.elements());
  }
  void take_part(const Unit& unit, std::size_t i) {
    const Parameter<T, D>& parameter = unit.parameters[i];
    const std::int64_t count = parameter.elements(), at = unit.begins[i];
    const Tensor<T, D> whole = parameter.value().contiguous().reshape({count});
    if (between_) between_->broadcast(whole);
    within_.broadcast(whole);
    const std::int64_t begin = within_.rank() * unit.share, end = begin + unit.share;
    const std::int64_t from = at > begin ? at : begin, to = at + count < end ? at + count : end;
    const bool is_empty = from >= to;
    const std::int64_t end_so_far = unit.first < parts_.size() ? end_of_last() : unit.offset;
    begin_slot(is_empty ? end_so_far : unit.offset + from - begin);
    slots_.push_back(memory_->begins.size() - 1);
    const Parameter<T, D> part(is_empty ? whole.slice(0, 0, 0).clone() : whole.slice(0, from - at, to - at).clone());
    part.hold_gradient(hold_);
    parts_.push_back({unit.names[i], parameter.shape(), is_empty ? 0 : from - at, part});
  }

  Communicator<D> within_;
  std::optional<Communicator<D>> between_;
  ShardedOptions options_;
  std::vector<Unit> units_;
  Shared<locus::detail::FlatMemory<T, D>> memory_{new locus::detail::FlatMemory<T, D>};
  std::int64_t elements_ = 0;  ///< of this rank's parts, with padding
  std::vector<ParameterPart<T, D>> parts_;
  std::vector<std::size_t> slots_;  ///< of the parts, in memory_
  Shared<locus::detail::GradientHold> hold_{new locus::detail::GradientHold};
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
