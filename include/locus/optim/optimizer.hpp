#pragma once
// Base of all optimizers: parameters and gradients in flat memory, so that a step is one launch; groups; steps that may
// be skipped. optim/optimizer_step.hpp implements the step.

#include <locus/autograd/flat.hpp>
#include <locus/optim/groups.hpp>
#include <locus/optim/update.hpp>

#include <cstdlib>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

template <class D>
class GradScaler;

namespace detail {
/// A parameter of an optimizer, in the order of memory.
struct Member {
  std::size_t index;       ///< in the optimizer's list
  const void* memory;      ///< the flat memory in which it lay when the optimizer was made
  std::size_t slot;        ///< in that memory
  std::int64_t elements;   ///< of the slot
  std::size_t group;       ///< the group whose rates apply
  std::int64_t state = 0;  ///< where its state begins
  std::int64_t steps = 0;  ///< number of steps made, or, once the device counts them, the index of its counter
  std::int64_t steps_before_capture = 0;
};
/// Sorts members by memory and slot, the first member's memory first. Returns the number of elements of the state.
LOCUS_OUT_OF_LINE inline std::int64_t arrange(std::vector<Member>& members) {
  std::size_t arranged = 0;
  std::int64_t state = 0;
  while (arranged < members.size()) {
    // Takes all members in the memory of the first unarranged member, by slot.
    const std::size_t begin = arranged;
    for (std::size_t i = begin; i < members.size(); ++i)
      if (members[i].memory == members[begin].memory) std::swap(members[arranged++], members[i]);
    std::qsort(members.data() + begin, arranged - begin, sizeof(Member), [](const void* a, const void* b) {
      const auto left = static_cast<const Member*>(a)->slot, right = static_cast<const Member*>(b)->slot;
      return left < right ? -1 : left > right;
    });
  }
  for (Member& member : members) {
    member.state = state;
    state += member.elements;
  }
  return state;
}
}  // namespace detail

/// Base of the optimizers. Parameters that an optimizer or flatten placed in flat memory stay there; others move to new
/// flat memory. Handles taken earlier from value() then no longer reach the model, and handles from grad() see the next
/// gradient; clone() the tensors that must stay. Several optimizers may step the same parameters, each with a state of
/// its own. If flatten or another optimizer moves parameters to other memory, steps continue there. A step launches
/// once for each run of neighbours in memory: once in all if the list comes from one flatten or one optimizer. To keep
/// several optimizers' parameters in one memory, call nn::flatten(model) before making the optimizers. For 16-bit
/// parameters, state is kept in float, together with a master weight for each: steps that are too small to show in 16
/// bits add up.
template <class T, class D>
class Optimizer {
 public:
  using value_type = T;
  using device_type = D;

  /// Parameters of all groups, in the order in which they were given.
  [[nodiscard]] const std::vector<Parameter<T, D>>& parameters() const {
    presence_.require("optimizer");
    return parameters_;
  }
  /// Forgets all gradients. cost: no launch; the next backward pass writes instead of adding
  void zero_grad() const {
    for (const auto& parameter : parameters()) parameter.zero_grad();
  }
  /// The learning rate of the options or of the latest set_lr.
  [[nodiscard]] double lr() const {
    presence_.require("optimizer");
    return lr_;
  }
  /// Takes effect at the next step. Groups with a rate of their own keep its ratio to this rate, as with PyTorch's
  /// schedulers that multiply. throws ArgumentError unless lr >= 0 and finite
  void set_lr(double lr) {
    presence_.require("optimizer");
    detail::require_not_negative("learning rate", lr);
    lr_ = lr;
    for (auto& group : groups_) group.follow(lr);
  }
  /// The groups that the optimizer was made of; one, if it was made of a list of parameters.
  [[nodiscard]] Span<ParameterGroup<T, D>> groups() {
    presence_.require("optimizer");
    return groups_;
  }
  [[nodiscard]] Span<const ParameterGroup<T, D>> groups() const {
    presence_.require("optimizer");
    return groups_;
  }

  /// Numbers of state per element, without the master weight.
  [[nodiscard]] int states() const { return states_; }
  /// State `which` of parameter i of parameters(), in its shape: the optimizer's own memory. which == states() is the
  /// master weight of a 16-bit parameter.
  [[nodiscard]] Tensor<compute_t<T>, D> state(std::size_t i, int which) const;
  /// Steps made by each parameter. cost: none; a copy to the host, which waits, once steps are counted on the device
  [[nodiscard]] std::vector<std::int64_t> steps() const;
  /// Sets the number of steps made by each parameter. throws ShapeError unless there is one number per parameter,
  /// ArgumentError for a number below 0
  void set_steps(const std::vector<std::int64_t>& steps);

  // Copies would share the values and count the steps apart.
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

 protected:
  using R = compute_t<T>;  ///< of the state
  static constexpr bool has_masters = !std::is_same_v<T, R>;
  static constexpr int most_states = 3 + has_masters;

  /// `lr` and `weight_decay` were checked. throws ArgumentError for no parameters, an empty or repeated parameter, an
  /// option of a group out of range, or more than 256 groups; DeviceError for parameters on several ordinals
  Optimizer(std::vector<Parameter<T, D>> parameters, int states, double lr, double weight_decay);
  Optimizer(const std::vector<Group<T, D>>& groups, int states, double lr, double weight_decay);
  Optimizer(Optimizer&&) noexcept = default;
  Optimizer& operator=(Optimizer&&) noexcept = default;
  ~Optimizer() = default;
  /// throws IndexError unless which is 0 to states() - 1
  void require_state(int which) const {
    if (which < 0 || which >= states_) fail<IndexError>({"optimizer: state ", which, "; there are ", states_});
  }
  /// Called before the first step: initializes state 0 of all elements to this number instead of 0.
  void fill_state(double value) {
    if (states_ > 0) (void)state_[has_masters].fill_(static_cast<R>(value));
  }

  /// Selects step_of_any if there are several groups; programs without groups do not compile it.
  template <class Self, class Rule = typename Self::Rule>
  void use_groups() {
    if (groups_.size() > 1) any_ = &Optimizer::template step_of_any<Self, Rule>;
  }
  /// One step of an optimizer that has rates(group), corrections(), and rule(), from which a Rule is constructed.
  template <class Self, class Rule = typename Self::Rule>
  void step_of(Self& self) {
    presence_.require("optimizer");
    locus::detail::require_final("optimizer", parameters_);
    watch_replays();
    if (any_) return any_(self, nullptr);
    for_each_stretch([&](std::size_t first, std::size_t last) {
      advance(first, last);
      launch_one_group<Self, Rule>(self, 0, first, last);
    });
  }
  /// Counts a step of each parameter that has a gradient, for optimizers whose steps are not elementwise. Then calls
  /// visit(i, group, count) for each: the numbers of parameter and group, and a function that returns the number of
  /// steps made, also in replays of a captured step.
  template <class Visit>
  void count_step(std::string_view who, const Visit& visit) {
    presence_.require("optimizer");
    locus::detail::require_final(who, parameters_);
    watch_replays();
    for_each_stretch([&](std::size_t first, std::size_t last) {
      advance(first, last);
      for (std::size_t i = first; i < last; ++i)
        visit(members_[i].index, members_[i].group, [this, i] { return members_[i].steps; });
    });
  }
  /// step_of(), unless the flag is set.
  template <class Self, class Rule = typename Self::Rule>
  void step_unless(Self& self, const Tensor<bool, D>& skip);

 private:
  template <class E>
  friend class GradScaler;
  static constexpr int groups_of_a_launch = 16;
  /// Rule that steps apply: `Rule`, or for 16-bit parameters `Rule` with master weights.
  template <class Rule>
  using rule_of = decltype(detail::rule_for<T>(std::declval<Rule&>()));

  template <class Self, class Rule>
  static void step_of_any(Optimizer& optimizer, const Tensor<bool, D>* skip);

  [[nodiscard]] const Parameter<T, D>& member(std::size_t i) const { return parameters_[members_[i].index]; }
  void arrange(int states);
  /// Calls visit(first, last) for runs of parameters that have gradients, are contiguous in memory and in the state,
  /// and made equally many steps.
  template <class Visit>
  void for_each_stretch(const Visit& visit) {
    for (std::size_t first = 0, last = 0; first < members_.size(); first = last) {
      last = first + 1;
      if (!member(first).has_grad()) continue;
      while (last < members_.size() && member(last).has_grad() && follows(last)) ++last;
      visit(first, last);
    }
  }
  [[nodiscard]] bool follows(std::size_t i) const {
    const auto &a = member(i - 1).flat_place(), &b = member(i).flat_place();
    return a.memory == b.memory && a.slot + 1 == b.slot && members_[i].steps == members_[i - 1].steps;
  }
  /// Replays throw CaptureError if other parameters are frozen than at capture, or steps are counted elsewhere.
  void watch_replays() {
    if constexpr (LOCUS_CUDA)
      if (locus::detail::is_capturing()) [[unlikely]]
        watch_captured_step();
  }
  LOCUS_COLD void watch_captured_step();
  /// Replays throw CaptureError if the parameters of a stretch are no longer neighbours, or their numbers of steps
  /// differ otherwise than at capture.
  LOCUS_COLD void watch_stretch(std::size_t first, std::size_t last);
  /// Runs on the host before the launches of a stretch, and before each of their replays.
  LOCUS_OUT_OF_LINE void advance(std::size_t first, std::size_t last);

  [[nodiscard]] std::int64_t elements(std::size_t first, std::size_t last) const {
    const auto& place = member(first).flat_place();
    return place.memory->begins[place.slot + last - first] - place.memory->begins[place.slot];
  }
  /// One map over a stretch, or a part of one, by the functors that make() returns; `extra` inputs follow the state.
  template <class Make, int... i, class... Extra>
  void launch(const Make& make, std::size_t first, std::size_t last, std::integer_sequence<int, i...>,
              const std::array<PlanOperand, sizeof...(Extra)>& extra_operands, const Extra*... extra) {
    constexpr int n = sizeof...(i), m = sizeof...(Extra);
    static constexpr Strides dense{1};
    std::array<PlanOperand, 3 + 2 * n + m> operands;
    operands.fill({nullptr, &dense});
    std::size_t at = 2 + n;
    for (const PlanOperand& each : extra_operands) operands[at++] = each;
    const auto& place = member(first).flat_place();
    const std::int64_t begin = place.memory->begins[place.slot];
    T* const values = place.memory->values.data() + begin;
    const auto state = [&](int k) { return state_[k].buffer() ? state_[k].data() + members_[first].state : nullptr; };
    locus::detail::map_anew(place.memory->values.device(), make_plan<3 + 2 * n + m>({elements(first, last)}, operands),
                            make,
                            Pack<const T*, const T*, detail::repeated_t<i, const R*>..., const Extra*...>(
                                values, place.memory->gradients.data() + begin, state(i)..., extra...),
                            Pack<T*, detail::repeated_t<i, R*>...>(values, state(i)...));
  }
  template <class Self, class Rule>
  void launch_one_group(Self& self, std::size_t group, std::size_t first, std::size_t last) {
    const auto make = [self = &self, group, first] {
      return detail::StepOfOneGroup<rule_of<Rule>>{
          {detail::rule_for<T>(Rule{self->rule()}), self->rates(self->groups_[group]),
           self->corrections().template of_step<R>(self->members_[first].steps)}};
    };
    launch(make, first, last, detail::states_of<rule_of<Rule>>(), {});
  }
  template <class Self, class Rule>
  void launch_one_group_unless(Self& self, const Tensor<bool, D>* skip, std::size_t group, std::size_t first,
                               std::size_t last, std::size_t counter);
  template <class Self, class Rule>
  void launch_groups(Self& self, const Tensor<bool, D>* skip, std::size_t first_group, std::size_t first,
                     std::size_t last);

  template <class Self>
  void count(Self& self, const Tensor<bool, D>* skip, std::size_t first, std::size_t last);
  void count_on_device();
  void write_counters();
  void split_counters();
  void name_groups();
  [[nodiscard]] bool groups_lie_apart(std::size_t first, std::size_t last) const;

  locus::detail::Presence presence_;
  std::vector<Parameter<T, D>> parameters_;
  std::vector<ParameterGroup<T, D>> groups_;
  double lr_;
  int states_ = 0;
  std::uint64_t capture_ = 0;  ///< number of the latest capture in which it made a step; 0: none
  void (*any_)(Optimizer&, const Tensor<bool, D>*) = nullptr;

  std::vector<detail::Member> members_;
  Tensor<R, D> state_[most_states];  ///< first the master weights, if there are any
  Tensor<std::uint8_t, D> group_ids_;
  Tensor<std::int64_t, D> made_;    ///< steps of each parameter, if counted on the device
  Tensor<R, D> corrections_[3];     ///< first, second and third of each parameter
  const float* unscale_ = nullptr;  ///< in a step with scaled gradients: their factor, on the device
};

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/optimizer.inc>
