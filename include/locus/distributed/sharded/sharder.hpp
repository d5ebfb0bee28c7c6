#pragma once
// The memory of a sharded model: gathers the values of units ahead of their use, and reduces their gradients while a
// backward pass goes on.

#include <locus/autograd/backward_walk.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/distributed/model/packed_buffers.hpp>
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

/// Units of T on D. Values are in one of `ahead + 2` memories, which units use in turn: the unit that the program uses,
/// the one before, and the next ones. The addresses of a unit never change, so that what a forward pass saved is valid
/// in the backward pass once the unit is gathered again. Gradients are in two memories: one is reduced, while the other
/// is written.
///
/// All ranks make the same passes, and so the same collectives in the same order: a unit is gathered where the program
/// first uses it, or one of the units before it in the order of the last forward pass; in a backward pass, one of those
/// after it. It is reduced once the gradients of all its parameters are complete, or at the end of the pass.
template <class T, class D>
class Sharder final : public UnitUses {
  using Unit = ShardedUnit<T, D>;
  enum class Phase { idle, forward, backward };

 public:
  static constexpr const char* handle_name = "Sharded";

  /// `named`: trained parameters, the same on all ranks, which are moved. `within`: the ranks of a copy; `between`: the
  /// ranks with the same parts of all copies, if there are several.
  Sharder(const std::vector<nn::NamedParameter<T, D>>& named, std::vector<nn::AnyBuffer<D>> buffers,
          const Communicator<D>& within, const std::optional<Communicator<D>>& between, const ShardedOptions& options)
      : within_(within),
        between_(between),
        of_gradients_(within.with_purpose(Purpose::gradients)),
        options_(options),
        buffers_(options.broadcast_buffers ? std::move(buffers) : std::vector<nn::AnyBuffer<D>>(), within.device()) {
    make_units(named);
    take_parts();
    lend_memory();
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const auto& parameter : units_[u].parameters)
        units_[u].hooks.push_back(parameter.leaf()->on_gradient([this, u](const Tensor<T, D>&) { ready(u); }, true));
    hold_->holds_missing = true;
    locus::detail::lenders.fetch_add(1, Order::relaxed);
  }
  ~Sharder() override {
    locus::detail::lenders.fetch_sub(1, Order::relaxed);
    for (Unit& unit : units_) {
      unit.values.owner->end();
      unit.gradients.owner->end();
    }
    for (const auto& whole : former_) whole.owner->end();
    hold_->is_in_use = false;
  }

  [[nodiscard]] const ShardedOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<ParameterPart<T, D>>& parts() const { return parts_; }
  [[nodiscard]] std::size_t units() const { return units_.size(); }

  /// A pass of the model begins, or a part of one that runs within another.
  void begin_call() {
    if (depth_++ > 0) return;
    try {
      begin_forward();
    } catch (...) {
      --depth_;
      throw;
    }
  }
  void end_call() noexcept {
    if (--depth_ == 0 && phase_ == Phase::forward) phase_ = Phase::idle;
  }
  void begin_no_sync() { ++no_sync_; }
  void end_no_sync() { --no_sync_; }
  /// Drops gradients that wait to be reduced.
  void zero_local() {
    for (Unit& unit : units_) {
      if (!unit.has_local) continue;
      for (const auto& parameter : unit.parameters) parameter.leaf()->clear_gradient();
      unit.has_local = false;
    }
    if (!has_failed_) hold_->reason = nullptr;
  }
  /// Calls f(name, whole value) for all parameters, one unit after another. A collective; f is called on all ranks.
  template <class F>
  void for_each_whole(const F& f) {
    for (Unit& unit : units_) {
      const Tensor<T, D> whole = within_.all_gather(own_part(unit, memory_->values)).reshape({size_of_whole(unit)});
      for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
        const Shape& shape = unit.parameters[i].shape();
        f(unit.names[i], whole.slice(0, unit.begins[i], unit.begins[i] + elements(shape)).reshape(shape));
      }
    }
  }

  bool use_values(std::size_t u, bool again) override {
    Unit& unit = units_[u];
    if (phase_ == Phase::idle) {
      if (!BackwardWalk::is_any_running())
        fail<GraphError>({"a parameter of a sharded model, in unit '", unit.name,
                          "': its whole value is here within a pass of the model alone; call the result of "
                          "dist::sharded in place of "
                          "the model, or take its .parameters(), or for_each_whole(f)"});
      begin_backward();
    }
    const bool had_to_bring = !unit.is_here;
    if (had_to_bring) {
      if (!unit.gathering.started()) (void)start_gathering(unit, true);
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
    if (phase_ == Phase::forward) note_order(u);
    if (!again) gather_ahead(u);
    return had_to_bring;
  }
  void use_gradients(std::size_t u) override {
    Unit& unit = units_[u];
    if (phase_ != Phase::backward) begin_backward();
    if (unit.is_collecting) return;
    if (is_local_ && !unit.owns_gradients) give_own_gradients(u);
    if (!unit.owns_gradients) take_turn(u);
    unit.is_collecting = true;
    unit.awaits = unit.parameters.size();
    for (std::size_t i = unit.first; i < unit.last; ++i) parts_[i].part.leaf()->require_ready();
  }

 private:
  /// Runs at the end of a pass. If it is destroyed without having run, the pass threw.
  class PassEnd : public Counted {
   public:
    explicit PassEnd(Sharder* sharder) : sharder_(sharder) {}
    ~PassEnd() {
      if (!is_reached_) sharder_->give_up();
    }
    void reach() {
      sharder_->finish_backward();
      is_reached_ = true;
    }

   private:
    Shared<Sharder> sharder_;
    bool is_reached_ = false;
  };
  /// (nvcc takes the result of the assignment for a discarded handle.)
  static void keep(Handle<T, D>& place, Handle<T, D> handle) noexcept { (void)(place = std::move(handle)); }

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
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (!units_[u].is_rest) order_.push_back(u);
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
  /// Memory that units use in turn.
  struct Turn {
    Tensor<T, D> memory{};
    Unit* user = nullptr;
  };
  [[nodiscard]] Tensor<T, D> memory_of(std::int64_t elements) const {
    return Tensor<T, D>({elements}, within_.device()).fill_(T(0));
  }
  [[nodiscard]] std::int64_t size_of_whole(const Unit& unit) const { return unit.share * within_.size(); }
  /// Replaces the memory of the whole parameters.
  void lend_memory() {
    std::int64_t most = 0;
    for (const std::size_t u : order_) most = most > size_of_whole(units_[u]) ? most : size_of_whole(units_[u]);
    const auto turns_of = [&](std::size_t count) {
      std::vector<Turn> turns(count < order_.size() ? count : order_.size());
      for (Turn& turn : turns) turn.memory = memory_of(most);
      return turns;
    };
    if (options_.gather_again) value_turns_ = turns_of(static_cast<std::size_t>(options_.ahead) + 2);
    gradient_turns_ = turns_of(2);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Unit& unit = units_[u];
      if (!unit.owns_values) unit.value_turn = u % value_turns_.size();
      if (!unit.owns_gradients) unit.gradient_turn = u % gradient_turns_.size();
      const auto& values = unit.owns_values ? memory_of(size_of_whole(unit)) : value_turns_[unit.value_turn].memory;
      unit.values = WholeOfUnit<T, D>(this, u, false, values, size_of_whole(unit));
      unit.gathered = unit.values.part(0, {within_.size(), unit.share});
      for (std::size_t i = 0; i < unit.parameters.size(); ++i)
        unit.parameters[i].lend(unit.values.part(unit.begins[i], unit.parameters[i].shape()));
      place_gradients(
          u, unit.owns_gradients ? memory_of(size_of_whole(unit)) : gradient_turns_[unit.gradient_turn].memory);
    }
  }
  void place_gradients(std::size_t u, const Tensor<T, D>& memory) {
    Unit& unit = units_[u];
    unit.gradients = WholeOfUnit<T, D>(this, u, true, memory, size_of_whole(unit));
    unit.to_reduce = unit.gradients.part(0, {within_.size(), unit.share});
    for (std::size_t i = 0; i < unit.parameters.size(); ++i)
      unit.parameters[i].leaf()->place_gradient(unit.gradients.part(unit.begins[i], unit.parameters[i].shape()));
  }

  [[nodiscard]] Tensor<T, D> own_part(const Unit& unit, const Tensor<T, D>& block) const {
    return block.slice(0, unit.offset, unit.offset + unit.share);
  }

  void require_sound() const {
    if (!has_failed_) return;
    within_.abort("it went on after a backward pass that threw in the middle");
    within_.barrier();  // throws the error
  }
  void begin_forward() {
    require_sound();
    if (locus::detail::is_capturing())
      fail<CaptureError>(
          {"capture: the step cannot be captured for replay, because of a sharded model, whose units take "
           "turns in memory; train without capture"});
    for (Unit& unit : units_) {
      for (const auto& parameter : unit.parameters)
        if (!parameter.requires_grad())
          fail<GraphError>({"sharded: a parameter of shape ", parameter.shape(), " in unit '", unit.name,
                            "' was frozen; freeze parameters before dist::sharded, which leaves them whole"});
      drop(unit);
    }
    if (const std::uint64_t now = version_of_parts(); now != version_) {
      for (Unit& unit : units_) unit.values.buffer.changed();
      version_ = now;
    }
    current_ = before_current_ = nullptr;
    is_in_order_ = 0;
    phase_ = Phase::forward;
  }
  [[nodiscard]] std::uint64_t version_of_parts() const {
    std::uint64_t sum = 0;
    for (const auto& each : parts_) sum += each.part.value().version();
    return sum;
  }
  void begin_backward() {
    require_sound();
    if (version_of_parts() != version_)
      fail<StaleError>(
          {"backward of a sharded model: its parameters changed after the forward pass; call backward() "
           "before the step of the optimizer"});
    after_backward([end = Shared<PassEnd>(new PassEnd(this))] { end->reach(); });
    phase_ = Phase::backward;
    is_local_ = no_sync_ > 0;
  }

  // Values.

  /// Forgets the values of a unit.
  void drop(Unit& unit) {
    if (unit.gathering.started()) (void)std::move(unit.gathering).ordered();
    unit.is_here = false;
  }
  /// Returns false if the memory has one of the last two units in use, and this one is not needed now.
  bool start_gathering(Unit& unit, bool is_needed) {
    if (!unit.owns_values) {
      Turn& turn = value_turns_[unit.value_turn];
      if (turn.user && turn.user != &unit) {
        if (!is_needed && (turn.user == current_ || turn.user == before_current_)) return false;
        drop(*turn.user);
      }
      turn.user = &unit;
    }
    const auto comm = within_.of_unit(number_of(unit));
    keep(unit.gathering, comm.all_gather_into_async(own_part(unit, memory_->values), unit.gathered));
    return true;
  }
  /// The number by which collectives of units are told apart.
  [[nodiscard]] int number_of(const Unit& unit) const { return 1 + static_cast<int>(&unit - units_.data()); }
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
  void gather_ahead(std::size_t u) {
    std::size_t at = 0;
    while (order_[at] != u) ++at;
    for (int n = 0; n < options_.ahead; ++n) {
      if (phase_ == Phase::forward ? at + 1 >= order_.size() : at == 0) return;
      at = phase_ == Phase::forward ? at + 1 : at - 1;
      Unit& next = units_[order_[at]];
      if (!next.is_here && !next.gathering.started() && !start_gathering(next, false)) return;
    }
  }

  // Gradients.

  void give_own_gradients(std::size_t u) {
    Unit& unit = units_[u];
    former_.push_back(unit.gradients);  // whose owner may have called
    place_gradients(u, memory_of(size_of_whole(unit)));
    unit.owns_gradients = true;
  }
  /// Takes the unit's turn in memory for gradients, with zeros between the parameters.
  void take_turn(std::size_t u) {
    Unit& unit = units_[u];
    Turn& turn = gradient_turns_[unit.gradient_turn];
    if (turn.user && turn.user != &unit && turn.user->is_collecting) {
      if (!turn.user->reducing.started()) return give_own_gradients(u);  // it is used on both sides of this one
      finish_reducing(*turn.user);
    }
    if (turn.user && !turn.user->is_laid_out_as(unit)) turn.memory.fill_(T(0));
    turn.user = &unit;
  }
  /// The gradient of one of the unit's parameters is complete.
  void ready(std::size_t u) {
    Unit& unit = units_[u];
    if (unit.reducing.started() || unit.awaits == 0)
      fail<GraphError>(
          {"sharded: a parameter of unit '", unit.name,
           "' got a gradient twice in one backward pass, the second time from a backward() within it, when "
           "the first was being reduced; call that one after the pass"});
    if (--unit.awaits == 0 && !is_local_) start_reducing(unit);
  }
  void start_reducing(Unit& unit) {
    for (std::size_t i = 0; i < unit.parameters.size(); ++i)
      if (!unit.parameters[i].has_grad())
        (void)unit.gradients.part(unit.begins[i], unit.parameters[i].shape()).fill_(T(0));
    bool adds = false;
    for (std::size_t i = unit.first; i < unit.last; ++i) adds = adds || parts_[i].part.has_grad();
    unit.reduced = adds ? memory_of(unit.share) : Tensor<T, D>();
    const Tensor<T, D> into = adds ? unit.reduced : own_part(unit, memory_->gradients);
    keep(unit.reducing, of_gradients_.of_unit(number_of(unit)).reduce_scatter_into_async(unit.to_reduce, into, mean));
    for (const auto& parameter : unit.parameters) parameter.leaf()->clear_gradient();
    unit.has_local = false;
  }
  /// Adds the reduced gradients to the gradients of this rank's parts.
  void finish_reducing(Unit& unit) {
    const Tensor<T, D> result = std::move(unit.reducing).ordered();
    if (between_) between_->with_purpose(Purpose::gradients).all_reduce(result, mean);
    for (std::size_t i = unit.first; i < unit.last; ++i) give(unit, i);
    unit.reduced = {};
    unit.is_collecting = false;
  }
  /// Gives part i of the unit its gradient, with the scale of the pass.
  void give(const Unit& unit, std::size_t i) {
    const auto& leaf = parts_[i].part.leaf();
    const bool adds = leaf->open();
    if (unit.reduced.buffer()) {
      const std::int64_t begin = memory_->begins[slots_[i]] - unit.offset;
      const Tensor<T, D> part = unit.reduced.slice(0, begin, begin + leaf->gradient().elements());
      if (adds) leaf->gradient() += part;
      else leaf->gradient().copy_(part);
    }
    if (locus::detail::pass_scale) leaf->set_scale(Shared<locus::detail::GradientScale>(locus::detail::pass_scale));
  }

  void finish_backward() {
    locus::detail::DevicePhases phases(within_.device());
    phases.next("communication");
    if (!is_local_)
      for (const bool starts : {true, false})
        for (std::size_t u = units_.size(); u-- > 0;) {
          Unit& unit = units_[u];
          if (starts && (unit.is_collecting || unit.has_local) && !unit.reducing.started()) start_reducing(unit);
          if (!starts && unit.reducing.started()) finish_reducing(unit);
        }
    for (Unit& unit : units_) {
      unit.has_local = unit.has_local || (is_local_ && unit.is_collecting);
      unit.is_collecting = false;
      drop(unit);
    }
    if (!is_local_) copy_buffers();
    hold_->reason = !is_local_
                        ? nullptr
                        : "gradients are those of this rank alone, as backward() was called within no_sync(); call "
                          "backward() once outside of it, which reduces their sum, or drop them with the model's "
                          "zero_grad()";
    phase_ = depth_ > 0 ? Phase::forward : Phase::idle;
  }
  void copy_buffers() const {
    if (between_) buffers_.finish(buffers_.start(*between_), *between_);
    buffers_.finish(buffers_.start(within_), within_);
  }
  /// A pass threw after this rank began it. The other ranks wait for the rest of its collectives.
  void give_up() noexcept {
    for (Unit& unit : units_) {
      keep(unit.gathering, {});
      keep(unit.reducing, {});
      unit.is_here = unit.is_collecting = unit.has_local = false;
    }
    hold_->reason =
        "a backward pass threw in the middle, so that some gradients lack a part; other ranks wait for the rest, and "
        "none can go on: end the program, and start again from a checkpoint";
    has_failed_ = true;
    phase_ = Phase::idle;
  }

  Communicator<D> within_;
  std::optional<Communicator<D>> between_;
  Communicator<D> of_gradients_;  ///< within_
  ShardedOptions options_;
  PackedBuffers<D> buffers_;
  std::vector<Unit> units_;
  std::vector<std::size_t> order_;  ///< of units without the rest, as the last forward pass used them
  std::size_t is_in_order_ = 0;     ///< those at the beginning that this forward pass has used
  Shared<locus::detail::FlatMemory<T, D>> memory_{new locus::detail::FlatMemory<T, D>};
  std::int64_t elements_ = 0;  ///< of this rank's parts, with padding
  std::vector<ParameterPart<T, D>> parts_;
  std::vector<std::size_t> slots_;  ///< of the parts, in memory_
  std::vector<Turn> value_turns_, gradient_turns_;
  std::vector<WholeOfUnit<T, D>> former_;
  Unit *current_ = nullptr, *before_current_ = nullptr;  ///< the last two units in use
  std::uint64_t version_ = 0;                            ///< of the parts, in the last forward pass
  Phase phase_ = Phase::idle;
  int depth_ = 0, no_sync_ = 0;
  bool is_local_ = false, has_failed_ = false;
  Shared<locus::detail::GradientHold> hold_{new locus::detail::GradientHold};
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
