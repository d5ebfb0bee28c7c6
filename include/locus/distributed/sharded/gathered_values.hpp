#pragma once
// The whole values of a sharded model, gathered ahead of their use.

#include <locus/distributed/sharded/sharded_parts.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Values are in one of `ahead + 2` memories, which units use in turn: the unit that the program uses, the one before,
/// and the next ones. The addresses of a unit never change, so that what a forward pass saved is valid in the backward
/// pass once the unit is gathered again.
template <class T, class D>
class GatheredValues {
  using Unit = ShardedUnit<T, D>;

 public:
  /// Replaces the memory of the whole parameters; `uses` brings them before each use.
  GatheredValues(ShardedParts<T, D>& parts, UnitUses* uses) : parts_(parts) {
    const ShardedOptions& options = parts.options();
    if (options.gather_again) turns_ = parts.turns_of(static_cast<std::size_t>(options.ahead) + 2);
    for (std::size_t u = 0; u < parts.units().size(); ++u) {
      Unit& unit = parts.units()[u];
      if (!unit.is_rest) order_.push_back(u);
      if (!unit.owns_values) unit.value_turn = u % turns_.size();
      const std::int64_t size = parts.size_of_whole(unit);
      unit.values = WholeOfUnit<T, D>(uses, u, false,
                                      unit.owns_values ? parts.memory_of(size) : turns_[unit.value_turn].memory, size);
      unit.gathered = unit.values.part(0, {parts.within().size(), unit.share});
      for (std::size_t i = 0; i < unit.parameters.size(); ++i)
        unit.parameters[i].lend(unit.values.part(unit.begins[i], unit.parameters[i].shape()));
    }
  }
  GatheredValues(const GatheredValues&) = delete;
  GatheredValues& operator=(const GatheredValues&) = delete;
  ~GatheredValues() {
    for (Unit& unit : parts_.units()) unit.values.owner->end();
  }

  /// A forward pass begins. has_changed: since the last one, so that older graphs are stale
  void begin(bool has_changed) {
    drop();
    if (has_changed)
      for (Unit& unit : parts_.units()) unit.values.buffer.changed();
    current_ = before_current_ = nullptr;
    is_in_order_ = 0;
  }
  /// Brings the values of a unit, and starts to gather those that follow, unless `again`. Returns whether they were not
  /// there.
  bool use(std::size_t u, bool is_forward, bool again) {
    Unit& unit = parts_.units()[u];
    const bool had_to_bring = !unit.is_here;
    if (had_to_bring) {
      if (!unit.gathering.started()) (void)start(unit, true);
      (void)std::move(unit.gathering).ordered();
      unit.is_here = true;
    } else if (&unit == current_ || unit.is_rest) {
      return false;
    }
    if (unit.is_rest) return had_to_bring;
    if (&unit != current_) {
      before_current_ = current_;
      current_ = &unit;
    }
    if (is_forward) note_order(u);
    if (!again) gather_ahead(u, is_forward);
    return had_to_bring;
  }
  /// Forgets all values.
  void drop() {
    for (Unit& unit : parts_.units()) drop(unit);
  }
  /// The same after a failure.
  void give_up() noexcept {
    for (Unit& unit : parts_.units()) {
      keep(unit.gathering, {});
      unit.is_here = false;
    }
  }

 private:
  static void drop(Unit& unit) {
    if (unit.gathering.started()) (void)std::move(unit.gathering).ordered();
    unit.is_here = false;
  }
  /// Returns false if the memory has one of the last two units in use, and this one is not needed now.
  bool start(Unit& unit, bool is_needed) {
    if (!unit.owns_values) {
      Turn<T, D>& turn = turns_[unit.value_turn];
      if (turn.user && turn.user != &unit) {
        if (!is_needed && (turn.user == current_ || turn.user == before_current_)) return false;
        drop(*turn.user);
      }
      turn.user = &unit;
    }
    keep(unit.gathering, parts_.ranks_of(unit).all_gather_into_async(parts_.values_of(unit), unit.gathered));
    return true;
  }
  /// Notes the unit in the order in which the forward pass first uses units.
  void note_order(std::size_t u) {
    for (std::size_t i = 0; i < is_in_order_; ++i)
      if (order_[i] == u) return;
    std::size_t at = is_in_order_;
    while (order_[at] != u) ++at;
    for (; at > is_in_order_; --at) std::swap(order_[at], order_[at - 1]);
    ++is_in_order_;
  }
  /// Starts to gather the units that the pass uses next.
  void gather_ahead(std::size_t u, bool is_forward) {
    std::size_t at = 0;
    while (order_[at] != u) ++at;
    for (int n = 0; n < parts_.options().ahead; ++n) {
      if (is_forward ? at + 1 >= order_.size() : at == 0) return;
      at = is_forward ? at + 1 : at - 1;
      Unit& next = parts_.units()[order_[at]];
      if (!next.is_here && !next.gathering.started() && !start(next, false)) return;
    }
  }

  ShardedParts<T, D>& parts_;
  std::vector<Turn<T, D>> turns_;
  std::vector<std::size_t> order_;  ///< of units without the rest, as the last forward pass used them
  std::size_t is_in_order_ = 0;     ///< those at the beginning that this forward pass has used
  Unit *current_ = nullptr, *before_current_ = nullptr;  ///< the last two units in use
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
