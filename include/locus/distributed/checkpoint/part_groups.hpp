#pragma once
// Small tensors that are saved and loaded together: objects of a training run, generators, the numbers of an optimizer.

#include <locus/distributed/checkpoint/part_memory.hpp>
#include <locus/io/training.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Small tensors that are saved and loaded together, such as the numbers of a scheduler; the same on all ranks, unless
/// they are a rank's own.
struct PartGroup : Counted {
  virtual ~PartGroup() = default;
  [[nodiscard]] virtual nn::StateDict<Cpu> state() const = 0;
  /// Whether it has a tensor of this name.
  [[nodiscard]] virtual bool takes(std::string_view name) const = 0;
  /// Checks a state. throws as loading the object
  [[nodiscard]] virtual Shared<Change> change_to(const nn::StateDict<Cpu>& state) const = 0;
};
/// An object of a training run, as io::save_training writes it.
template <class P>
struct TrainingGroup final : PartGroup {
  explicit TrainingGroup(P& of) : part(of) {}
  [[nodiscard]] nn::StateDict<Cpu> state() const override { return io::detail::state_of(part); }
  [[nodiscard]] bool takes(std::string_view) const override { return true; }
  [[nodiscard]] Shared<Change> change_to(const nn::StateDict<Cpu>& state) const override {
    return change_by(io::detail::change_of(part, state));
  }
  P& part;
};
/// The default generators of the host and of D.
template <class D>
struct GeneratorGroup final : PartGroup {
  [[nodiscard]] nn::StateDict<Cpu> state() const override {
    nn::StateDict<Cpu> state;
    io::detail::add_generator<Cpu>(state);
    io::detail::add_generator<D>(state);
    return state;
  }
  [[nodiscard]] bool takes(std::string_view name) const override {
    return name == io::detail::generator_name<Cpu> || name == io::detail::generator_name<D>;
  }
  [[nodiscard]] Shared<Change> change_to(const nn::StateDict<Cpu>& state) const override {
    return change_by([host = io::detail::generator_of<Cpu>(state), device = io::detail::generator_of<D>(state)] {
      locus::detail::set_default_generator(host);
      locus::detail::set_default_generator(device);
    });
  }
};
/// The step counts of an optimizer, by the names of its parameters, and its rates.
template <class O>
struct OptimizerGroup final : PartGroup {
  OptimizerGroup(O& of, std::vector<std::string> names) : optimizer(of), names_of_parameters(std::move(names)) {
    for (const std::string& each : names_of_parameters) names_of_steps.insert(join("state.", each, ".step"));
  }
  [[nodiscard]] nn::StateDict<Cpu> state() const override {
    nn::StateDict<Cpu> state;
    const auto add = [&](std::string name, auto number) {
      state.add(std::move(name), Tensor<decltype(number), Cpu>(Shape{}).fill_(number));
    };
    const auto steps = optimizer.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) add(join("state.", names_of_parameters[i], ".step"), steps[i]);
    add("lr", optimizer.lr());
    std::size_t g = 0;
    for (const auto& group : std::as_const(optimizer).groups()) {
      add(join("param_groups.", g, ".lr"), group.lr());
      add(join("param_groups.", g++, ".weight_decay"), group.weight_decay());
    }
    return state;
  }
  [[nodiscard]] bool takes(std::string_view name) const override {
    return name == "lr" || name.starts_with("param_groups.") || names_of_steps.contains(name);
  }
  [[nodiscard]] Shared<Change> change_to(const nn::StateDict<Cpu>& state) const override {
    optim::detail::OptimizerLoad<O> load{optimizer};
    for (const std::string& each : names_of_parameters) {
      load.steps.push_back(optim::detail::number_of<std::int64_t>(state, join("state.", each, ".step")));
      if (load.steps.back() < 0)
        fail<ArgumentError>({"load_parts: the step of '", locus::detail::printable(each), "' is ", load.steps.back(),
                             "; expected 0 or more"});
    }
    load.lr = optim::detail::number_of<double>(state, "lr");
    (void)optim::GroupRates(load.lr, 0);  // throws for a rate out of range
    const std::size_t groups = std::as_const(optimizer).groups().size();
    for (std::size_t g = 0; g < groups; ++g)
      load.rates.push_back({optim::detail::number_of<double>(state, join("param_groups.", g, ".lr")),
                            optim::detail::number_of<double>(state, join("param_groups.", g, ".weight_decay"))});
    if (state.contains(join("param_groups.", groups, ".lr")))
      fail<ArgumentError>({"load_parts: the checkpoint has an optimizer of more groups than ", groups,
                           "; give the optimizer the groups that it had"});
    return change_by([load = std::move(load)] { load.apply(); });
  }
  O& optimizer;
  std::vector<std::string> names_of_parameters;
  std::set<std::string, std::less<>> names_of_steps{};
};

struct NamedGroup {
  std::string name;
  bool is_own;
  Shared<PartGroup> group;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
