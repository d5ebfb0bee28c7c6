#pragma once
// How an optimizer makes a step: which parameters share a launch, and where steps are counted.

#include <locus/optim/optimizer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

// Outside the class, and so not inline: the compiled library can hold them.
template <class T, class D>
Optimizer<T, D>::Optimizer(std::vector<Parameter<T, D>> parameters, int states, double lr, double weight_decay)
    : parameters_(std::move(parameters)), lr_(lr) {
  groups_.push_back({GroupRates(lr, weight_decay), parameters_});
  arrange(states);
}
template <class T, class D>
Optimizer<T, D>::Optimizer(const std::vector<Group<T, D>>& groups, int states, double lr, double weight_decay)
    : lr_(lr) {
  if (groups.size() > 256) fail<ArgumentError>({"optimizer: ", groups.size(), " groups; expected 256 at most"});
  for (const auto& group : groups)
    for (const auto& parameter : group.parameters) parameters_.push_back(parameter);
  std::size_t first = 0;
  for (const auto& group : groups) {
    groups_.push_back(
        {GroupRates(lr, weight_decay, group.options), {parameters_.data() + first, group.parameters.size()}});
    first += group.parameters.size();
  }
  arrange(states);
}

template <class T, class D>
void Optimizer<T, D>::arrange(int states) {
  locus::detail::require_distinct("optimizer", parameters_);
  locus::detail::place_together(parameters_, true);
  std::size_t index = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const auto& parameter : groups_[group].parameters()) {
      const auto& place = parameter.flat_place();
      members_.push_back(
          {index++, place.memory.get(), place.slot, locus::detail::padded_to_slot<T>(parameter.elements()), group});
    }
  }
  states_ = states;
  const std::int64_t size = detail::arrange(members_);
  for (int i = 0; i < states + has_masters; ++i) state_[i] = Tensor<R, D>({size}, parameters_[0].device()).fill_(R(0));
}

template <class T, class D>
Tensor<compute_t<T>, D> Optimizer<T, D>::state(std::size_t i, int which) const {
  presence_.require("optimizer");
  if (i >= parameters_.size() || which < 0 || which >= states_ + has_masters)
    fail<IndexError>({"optimizer: state ", which, " of parameter ", i, "; there are ", states_ + has_masters, " of ",
                      parameters_.size(), " parameters"});
  const int at = !has_masters ? which : which == states_ ? 0 : which + 1;
  const Shape& shape = parameters_[i].shape();
  const Strides strides =
      locus::detail::strides_of(shape, locus::detail::dense_format(parameters_[i].value().layout()));
  for (const auto& each : members_)
    if (each.index == i) return {state_[at].buffer(), state_[at].data() + each.state, shape, strides};
  return {};
}

template <class T, class D>
std::vector<std::int64_t> Optimizer<T, D>::steps() const {
  presence_.require("optimizer");
  std::vector<std::int64_t> result(members_.size());
  const auto made = made_.template to<Cpu>();
  for (std::size_t i = 0; i < members_.size(); ++i)
    result[members_[i].index] = made_.buffer() ? made.data()[i] : members_[i].steps;
  return result;
}

template <class T, class D>
void Optimizer<T, D>::set_steps(const std::vector<std::int64_t>& steps) {
  presence_.require("optimizer");
  if (steps.size() != members_.size())
    fail<ShapeError>({"optimizer: steps of ", steps.size(), " parameters; there are ", members_.size()});
  for (const std::int64_t each : steps)
    if (each < 0) fail<ArgumentError>({"optimizer: ", each, " steps of a parameter; expected 0 or more"});
  for (auto& member : members_) member.steps = steps[member.index];
  if (made_.buffer()) write_counters();
}

template <class T, class D>
void Optimizer<T, D>::watch_captured_step() {
  const std::uint64_t capture = locus::detail::step_capture->number();
  if (std::exchange(capture_, capture) != capture)
    for (auto& member : members_) member.steps_before_capture = member.steps;
  std::vector<bool> trained;
  for (const auto& parameter : parameters_) trained.push_back(parameter.requires_grad());
  locus::detail::check_at_replay([this, trained, on_device = static_cast<bool>(made_.buffer())] {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].requires_grad() != trained[i])
        fail<CaptureError>({"capture: a parameter of shape ", parameters_[i].shape(), " was ",
                            trained[i] ? "trained" : "frozen", " when the step was captured and is not now; ",
                            "requires_grad_() counts from the next capture on: capture anew"});
    if (static_cast<bool>(made_.buffer()) != on_device)
      fail<CaptureError>(
          {"capture: the optimizer counts its steps on the device since it made one that may be skipped, and did not "
           "when the step was captured; capture anew"});
  });
}

template <class T, class D>
void Optimizer<T, D>::watch_stretch(std::size_t first, std::size_t last) {
  // Differences in steps when the captured step began: an earlier stretch of it may have made the counts equal.
  std::vector<std::int64_t> ahead(last - first);
  if (!made_.buffer())
    for (std::size_t i = first; i < last; ++i)
      ahead[i - first] = members_[i].steps_before_capture - members_[first].steps_before_capture;
  locus::detail::check_at_replay([this, first, last, ahead, place = member(first).flat_place()] {
    for (std::size_t i = first; i < last; ++i) {
      const auto& now = member(i).flat_place();
      if (!(now.memory == place.memory) || now.slot != place.slot + (i - first))
        fail<CaptureError>({"capture: a parameter of shape ", member(i).shape(),
                            " was moved by flatten or by an optimizer since the step was captured; capture anew"});
      if (members_[i].steps - members_[first].steps != ahead[i - first])
        fail<CaptureError>({"capture: the optimizer has made other steps with a parameter of shape ", member(i).shape(),
                            " than with one of shape ", member(first).shape(),
                            ", whose updates were captured as one; capture anew"});
    }
  });
}

template <class T, class D>
void Optimizer<T, D>::advance(std::size_t first, std::size_t last) {
  if constexpr (LOCUS_CUDA)
    if (locus::detail::is_capturing()) [[unlikely]]
      watch_stretch(first, last);
  const auto next = [this, first, last] {
    if (!made_.buffer()) locus::detail::restore_if_abandoned(members_);
    for (std::size_t i = first; i < last; ++i) {
      members_[i].steps += made_.buffer() ? 0 : 1;
      member(i).value().buffer().changed();
    }
  };
  next();
  locus::detail::at_replay(next);
}

template <class T, class D>
template <class Self, class Rule>
void Optimizer<T, D>::step_unless(Self& self, const Tensor<bool, D>& skip) {
  presence_.require("optimizer");
  if (skip.elements() != 1)
    fail<ShapeError>({"optimizer: a skip flag of shape ", skip.shape(), "; expected one element"});
  if (members_.empty()) return;
  if (unscale_) locus::detail::require_reduced("optimizer", parameters_);
  else locus::detail::require_final("optimizer", parameters_);
  locus::detail::require_same_ordinal("optimizer", member(0).value(), skip);
  watch_replays();
  count_on_device();
  any_ = &Optimizer::template step_of_any<Self, Rule>;
  any_(self, &skip);
}

/// From now on, steps are counted in device memory, because the host does not learn which ones are skipped.
template <class T, class D>
void Optimizer<T, D>::count_on_device() {
  if (made_.buffer()) return;
  if (locus::detail::is_capturing())
    fail<CaptureError>(
        {"capture: the first step that may be skipped moves the optimizer's counters to the device, which "
         "cannot be captured; call step(skip) before, or in the step's first call"});
  const auto n = static_cast<std::int64_t>(members_.size());
  const D device = member(0).device();
  Tensor<std::int64_t, D> made({n}, device);
  for (auto& each : corrections_) each = Tensor<R, D>({n}, device);
  made_ = std::move(made);
  write_counters();
}

/// Writes counters to the device. Neighbours with equal counts share the counter of the first.
template <class T, class D>
void Optimizer<T, D>::write_counters() {
  for (std::size_t first = 0, last = 0; first < members_.size(); first = last) {
    const auto place = static_cast<std::int64_t>(first);
    const std::int64_t steps = members_[first].steps;
    while (last < members_.size() && members_[last].steps == steps) ++last;
    (void)made_.slice(0, place, static_cast<std::int64_t>(last)).fill_(steps);
    for (std::size_t i = first; i < last; ++i) members_[i].steps = place;
  }
}

/// Parameters that always stepped together share a counter, at the index of the first. If only some of them have
/// gradients now, splits them from the others.
template <class T, class D>
void Optimizer<T, D>::split_counters() {
  std::vector<std::int64_t> parted;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto first = static_cast<std::size_t>(members_[i].steps);
    if (member(i).has_grad() == member(first).has_grad()) continue;
    locus::detail::restore_if_abandoned(members_);
    parted.resize(members_.size(), -1);
    if (parted[first] < 0) parted[first] = static_cast<std::int64_t>(i);
    members_[i].steps = parted[first];
  }
}

template <class T, class D>
template <class Self, class Rule>
void Optimizer<T, D>::step_of_any(Optimizer& optimizer, const Tensor<bool, D>* skip) {
  Self& self = static_cast<Self&>(optimizer);
  const bool counts_on_device = static_cast<bool>(optimizer.made_.buffer());
  if (counts_on_device) optimizer.split_counters();
  optimizer.for_each_stretch([&](std::size_t first, std::size_t last) {
    optimizer.advance(first, last);
    if (counts_on_device) optimizer.count(self, skip, first, last);
    const auto launch_run = [&](std::size_t begin, std::size_t end) {
      const std::size_t group = optimizer.members_[begin].group;
      if (counts_on_device)
        optimizer.template launch_one_group_unless<Self, Rule>(self, skip, group, begin, end, first);
      else optimizer.template launch_one_group<Self, Rule>(self, group, begin, end);
    };
    if (optimizer.groups_lie_apart(first, last)) {
      for (std::size_t begin = first, end = first; begin < last; begin = end) {
        while (end < last && optimizer.members_[end].group == optimizer.members_[begin].group) ++end;
        launch_run(begin, end);
      }
      return;
    }
    for (std::size_t group = 0; group < optimizer.groups_.size(); group += groups_of_a_launch)
      optimizer.template launch_groups<Self, Rule>(self, skip, group, first, last);
  });
}

/// Whether every group of a stretch is a single run.
template <class T, class D>
bool Optimizer<T, D>::groups_lie_apart(std::size_t first, std::size_t last) const {
  bool seen[256] = {};
  for (std::size_t i = first; i < last; ++i) {
    if (i > first && members_[i].group == members_[i - 1].group) continue;
    if (std::exchange(seen[members_[i].group], true)) return false;
  }
  return true;
}

/// Counts a step of a stretch, unless it is skipped, and computes its corrections. One launch.
template <class T, class D>
template <class Self>
void Optimizer<T, D>::count(Self& self, const Tensor<bool, D>* skip, std::size_t first, std::size_t last) {
  static constexpr Strides dense{1};
  const PlanOperand each{nullptr, &dense}, one{nullptr, nullptr};
  const auto make = [self = &self] {
    const auto correct = self->corrections();
    return detail::CountStep<R, std::remove_const_t<decltype(correct)>>{correct};
  };
  std::int64_t* const made = made_.data() + first;
  locus::detail::map_anew(
      made_.device(),
      make_plan<6>({static_cast<std::int64_t>(last - first)}, std::array{each, one, each, each, each, each}), make,
      Pack<const std::int64_t*, const bool*>(made, skip ? skip->data() : nullptr),
      Pack<std::int64_t*, R*, R*, R*>(made, corrections_[0].data() + first, corrections_[1].data() + first,
                                      corrections_[2].data() + first));
}

/// A step, counted on the device, of a stretch of one group.
template <class T, class D>
template <class Self, class Rule>
void Optimizer<T, D>::launch_one_group_unless(Self& self, const Tensor<bool, D>* skip, std::size_t group,
                                              std::size_t first, std::size_t last, std::size_t counter) {
  const auto make = [self = &self, group] {
    return detail::StepUnless<rule_of<Rule>>{
        {detail::rule_for<T>(Rule{self->rule()}), self->rates(self->groups_[group])}};
  };
  const PlanOperand one{nullptr, nullptr};
  launch(make, first, last, detail::states_of<rule_of<Rule>>(), std::array{one, one, one, one, one},
         corrections_[0].data() + counter, corrections_[1].data() + counter, corrections_[2].data() + counter,
         skip ? skip->data() : nullptr, unscale_);
}

/// A step of up to groups_of_a_launch groups, from first_group on, in a stretch that may hold other groups, too.
template <class T, class D>
template <class Self, class Rule>
void Optimizer<T, D>::launch_groups(Self& self, const Tensor<bool, D>* skip, std::size_t first_group, std::size_t first,
                                    std::size_t last) {
  name_groups();
  const bool on_device = static_cast<bool>(made_.buffer());
  const auto make = [self = &self, first_group, first, on_device] {
    detail::StepOfGroups<rule_of<Rule>, groups_of_a_launch> step{
        {detail::rule_for<T>(Rule{self->rule()}), {}, {}, static_cast<int>(first_group)}};
    for (std::size_t g = 0; g < groups_of_a_launch && first_group + g < self->groups_.size(); ++g)
      step.rates[g] = self->rates(self->groups_[first_group + g]);
    if (!on_device) step.corrections = self->corrections().template of_step<R>(self->members_[first].steps);
    return step;
  };
  static constexpr Strides dense{1};
  const PlanOperand one{nullptr, nullptr}, each{nullptr, &dense};
  const auto correction = [&](int k) { return on_device ? corrections_[k].data() + first : nullptr; };
  launch(make, first, last, detail::states_of<rule_of<Rule>>(), std::array{one, one, one, one, one, each},
         correction(0), correction(1), correction(2), skip ? skip->data() : nullptr, unscale_,
         group_ids_.data() + members_[first].state);
}

/// Writes the group number of every element to group_ids_.
template <class T, class D>
void Optimizer<T, D>::name_groups() {
  if (group_ids_.buffer()) return;
  Tensor<std::uint8_t, D> ids({members_.back().state + members_.back().elements}, member(0).device());
  for (std::size_t first = 0, last = 0; first < members_.size(); first = last) {
    while (last < members_.size() && members_[last].group == members_[first].group) ++last;
    const std::int64_t end = last < members_.size() ? members_[last].state : ids.size(0);
    (void)ids.slice(0, members_[first].state, end).fill_(static_cast<std::uint8_t>(members_[first].group));
  }
  locus::detail::restore_if_abandoned(group_ids_);
  group_ids_ = std::move(ids);
}

}}}  // namespace locus::LOCUS_ABI::optim
