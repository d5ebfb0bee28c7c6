#pragma once
// The whole gradients of a sharded model, reduced over ranks while a backward pass goes on.

#include <locus/distributed/sharded/sharded_parts.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Gradients are in two memories, which units use in turn: one is reduced, while the other is written. A unit is
/// reduced once the gradients of all its parameters are complete, or at the end of the pass.
template <class T, class D>
class ReducedGradients {
  using Unit = ShardedUnit<T, D>;

 public:
  ReducedGradients(ShardedParts<T, D>& parts, UnitUses* uses) : parts_(parts), uses_(uses), turns_(parts.turns_of(2)) {
    for (std::size_t u = 0; u < parts.units().size(); ++u) {
      Unit& unit = parts.units()[u];
      if (!unit.owns_gradients) unit.gradient_turn = u % turns_.size();
      place(u, unit.owns_gradients ? parts.memory_of(parts.size_of_whole(unit)) : turns_[unit.gradient_turn].memory);
      for (const auto& parameter : unit.parameters)
        unit.hooks.push_back(parameter.leaf()->on_gradient([this, u](const Tensor<T, D>&) { ready(u); }, true));
    }
  }
  ReducedGradients(const ReducedGradients&) = delete;
  ReducedGradients& operator=(const ReducedGradients&) = delete;
  ~ReducedGradients() {
    for (Unit& unit : parts_.units()) {
      unit.hooks.clear();
      unit.gradients.owner->end();
    }
    for (const auto& whole : former_) whole.owner->end();
  }

  /// A backward pass begins. is_local: its gradients wait for a later pass to be reduced
  void begin(bool is_local) { is_local_ = is_local; }
  [[nodiscard]] bool is_local() const { return is_local_; }
  /// The pass is about to write gradients of a unit.
  void use(std::size_t u) {
    Unit& unit = parts_.units()[u];
    if (unit.is_collecting) return;
    if (is_local_ && !unit.owns_gradients) give_own_memory(u);
    if (!unit.owns_gradients) take_turn(u);
    unit.is_collecting = true;
    unit.awaits = unit.parameters.size();
    for (std::size_t i = unit.first; i < unit.last; ++i) parts_.list()[i].part.leaf()->require_ready();
  }
  /// At the end of the pass, reduces the rest.
  void finish() {
    std::vector<Unit>& units = parts_.units();
    if (!is_local_) {
      for (std::size_t u = units.size(); u-- > 0;)
        if ((units[u].is_collecting || units[u].has_local) && !units[u].reducing.started()) start(units[u]);
      for (std::size_t u = units.size(); u-- > 0;)
        if (units[u].reducing.started()) finish(units[u]);
    }
    for (Unit& unit : units) {
      unit.has_local = unit.has_local || (is_local_ && unit.is_collecting);
      unit.is_collecting = false;
    }
  }
  /// Drops gradients that wait to be reduced.
  void drop_local() {
    for (Unit& unit : parts_.units()) {
      if (!unit.has_local) continue;
      for (const auto& parameter : unit.parameters) parameter.leaf()->clear_gradient();
      unit.has_local = false;
    }
  }
  /// Forgets all of them after a failure.
  void give_up() noexcept {
    for (Unit& unit : parts_.units()) {
      keep(unit.reducing, {});
      unit.is_collecting = unit.has_local = false;
    }
  }

 private:
  void place(std::size_t u, const Tensor<T, D>& memory) {
    Unit& unit = parts_.units()[u];
    unit.gradients = WholeOfUnit<T, D>(uses_, u, true, memory, parts_.size_of_whole(unit));
    unit.to_reduce = unit.gradients.part(0, {parts_.within().size(), unit.share});
    for (std::size_t i = 0; i < unit.parameters.size(); ++i)
      unit.parameters[i].leaf()->place_gradient(unit.gradients.part(unit.begins[i], unit.parameters[i].shape()));
  }
  void give_own_memory(std::size_t u) {
    Unit& unit = parts_.units()[u];
    former_.push_back(unit.gradients);  // whose owner may have called
    place(u, parts_.memory_of(parts_.size_of_whole(unit)));
    unit.owns_gradients = true;
  }
  /// Takes the unit's turn in memory, with zeros between the parameters.
  void take_turn(std::size_t u) {
    Unit& unit = parts_.units()[u];
    Turn<T, D>& turn = turns_[unit.gradient_turn];
    if (turn.user && turn.user != &unit && turn.user->is_collecting) {
      if (!turn.user->reducing.started()) return give_own_memory(u);  // it is used on both sides of this one
      finish(*turn.user);
    }
    if (turn.user && !turn.user->is_laid_out_as(unit)) turn.memory.fill_(T(0));
    turn.user = &unit;
  }
  /// The gradient of one of the unit's parameters is complete.
  void ready(std::size_t u) {
    Unit& unit = parts_.units()[u];
    if (unit.reducing.started() || unit.awaits == 0)
      fail<GraphError>(
          {"sharded: a parameter of unit '", unit.name,
           "' got a gradient twice in one backward pass, the second time from a backward() within it, when "
           "the first was being reduced; call that one after the pass"});
    if (--unit.awaits == 0 && !is_local_) start(unit);
  }
  void start(Unit& unit) {
    for (std::size_t i = 0; i < unit.parameters.size(); ++i)
      if (!unit.parameters[i].has_grad())
        (void)unit.gradients.part(unit.begins[i], unit.parameters[i].shape()).fill_(T(0));
    bool adds = false;
    for (std::size_t i = unit.first; i < unit.last; ++i) adds = adds || parts_.list()[i].part.has_grad();
    unit.reduced = adds ? parts_.memory_of(unit.share) : Tensor<T, D>();
    const Communicator<D> ranks = parts_.ranks_of(unit).with_purpose(Purpose::gradients);
    keep(unit.reducing,
         ranks.reduce_scatter_into_async(unit.to_reduce, adds ? unit.reduced : parts_.gradients_of(unit), mean));
    for (const auto& parameter : unit.parameters) parameter.leaf()->clear_gradient();
    unit.has_local = false;
  }
  /// Adds the reduced gradients to the gradients of this rank's parts.
  void finish(Unit& unit) {
    const Tensor<T, D> result = std::move(unit.reducing).ordered();
    if (parts_.between()) parts_.between()->with_purpose(Purpose::gradients).all_reduce(result, mean);
    for (std::size_t i = unit.first; i < unit.last; ++i) give(unit, i);
    unit.reduced = {};
    unit.is_collecting = false;
  }
  /// Gives part i of the unit its gradient, with the scale of the pass.
  void give(const Unit& unit, std::size_t i) {
    const auto& leaf = parts_.list()[i].part.leaf();
    const bool adds = leaf->open();
    if (unit.reduced.buffer()) {
      const std::int64_t begin = parts_.begin_of(unit, i);
      const Tensor<T, D> part = unit.reduced.slice(0, begin, begin + leaf->gradient().elements());
      if (adds) leaf->gradient() += part;
      else leaf->gradient().copy_(part);
    }
    if (locus::detail::pass_scale) leaf->set_scale(Shared<locus::detail::GradientScale>(locus::detail::pass_scale));
  }

  ShardedParts<T, D>& parts_;
  UnitUses* uses_;
  std::vector<Turn<T, D>> turns_;
  std::vector<WholeOfUnit<T, D>> former_;
  bool is_local_ = false;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
