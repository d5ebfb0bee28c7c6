#pragma once
// dist::Parts: the tensors of a rank, each with its name and its place in a whole tensor, to be saved and loaded.

#include <locus/distributed/checkpoint/place.hpp>
#include <locus/io/training.hpp>
#include <locus/io/utf8.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The memory of a part.
struct PartMemory : Counted {
  virtual ~PartMemory() = default;
  /// The elements, dense and row-major, on the host. May share the memory, unless `copies`.
  [[nodiscard]] virtual Tensor<std::uint8_t, Cpu> read(bool copies) const = 0;
  virtual void write(const Tensor<std::uint8_t, Cpu>& bytes) const = 0;
  [[nodiscard]] virtual const void* address() const = 0;
};
template <class T, class D>
struct TensorMemory final : PartMemory {
  explicit TensorMemory(Tensor<T, D> of) : x(std::move(of)) {}
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(bool copies) const override {
    const auto bytes = nn::detail::bytes_of(x.contiguous());
    if constexpr (std::is_same_v<D, Cpu>) return copies ? bytes.clone() : bytes;
    else return bytes.template to<Cpu>();
  }
  void write(const Tensor<std::uint8_t, Cpu>& bytes) const override {
    const Tensor<T, Cpu> source(bytes.buffer(), reinterpret_cast<T*>(bytes.data()), x.shape(), row_major(x.shape()));
    (void)x.copy_(source.template to<D>(x.device()));
  }
  [[nodiscard]] const void* address() const override { return x.data(); }
  Tensor<T, D> x;
};
/// A parameter or buffer of a model.
template <class T, class D>
struct MemberMemory final : PartMemory {
  explicit MemberMemory(nn::detail::StateMember<T, D> of) : member(std::move(of)) {}
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(bool copies) const override {
    const auto bytes = member.bytes();
    if constexpr (std::is_same_v<D, Cpu>) return copies ? bytes.clone() : bytes;
    else return bytes.template to<Cpu>();
  }
  void write(const Tensor<std::uint8_t, Cpu>& bytes) const override {
    member.write(bytes.template to<D>(member.bytes().device()));
  }
  [[nodiscard]] const void* address() const override {
    return member.is_buffer() ? nullptr : member.parameter.value().data();
  }
  nn::detail::StateMember<T, D> member;
};

struct NamedPart {
  std::string name;
  ElementType type;
  Shape whole, shape;
  Place place;
  bool is_own;  ///< of this rank alone
  Shared<PartMemory> memory;

  [[nodiscard]] Runs runs() const { return runs_of(name, whole, place, shape); }
};

/// A change that neither fails nor allocates.
struct Change : Counted {
  virtual ~Change() = default;
  virtual void apply() = 0;
};
template <class F>
struct ChangeBy final : Change {
  explicit ChangeBy(F of) : f(std::move(of)) {}
  void apply() override { f(); }
  F f;
};
template <class F>
[[nodiscard]] Shared<Change> change_by(F f) {
  return Shared<Change>(new ChangeBy<F>(std::move(f)));
}

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
  OptimizerGroup(O& of, std::vector<std::string> names) : optimizer(of), names_of_parameters(std::move(names)) {}
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
    if (name == "lr" || name.starts_with("param_groups.")) return true;
    for (const std::string& each : names_of_parameters)
      if (name == join("state.", each, ".step")) return true;
    return false;
  }
  [[nodiscard]] Shared<Change> change_to(const nn::StateDict<Cpu>& state) const override {
    optim::detail::OptimizerLoad<O> load{optimizer};
    for (const std::string& each : names_of_parameters)
      load.steps.push_back(optim::detail::number_of<std::int64_t>(state, join("state.", each, ".step")));
    load.lr = optim::detail::number_of<double>(state, "lr");
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
};

struct NamedGroup {
  std::string name;
  bool is_own;
  Shared<PartGroup> group;
};

}  // namespace detail

/// What a rank saves and loads: tensors, each with its name and its place in a whole tensor, and objects of a training
/// run. Lists of ranks differ; together they cover each tensor. Tensors share their memory, objects are referred to:
/// they outlive the list, which may be saved any number of times.
///
///     dist::Parts parts;
///     parts.add("weight", {16, 8}, dist::Block{0, 4 * comm.rank()}, rows);     // four rows of a weight of sixteen
///     parts.add("bias", {16}, dist::ElementRange{first}, piece);                      // elements from `first` on
///     parts.add("optimizer", adam).add("scheduler", scheduler).add("epoch", epoch);
///     parts.add_generators<Cpu>();
///
/// throws ArgumentError for a name that is no UTF-8 or was added already; ShapeError for a part that does not fit
class Parts {
 public:
  /// A part of a tensor of shape `whole`. A rank may have several parts of a tensor, or none. Loading writes x.
  template <DType T, class D>
  Parts& add(std::string name, const Shape& whole, Place place, const Tensor<T, D>& x) {
    return add({std::move(name), element_type<T>, whole, x.shape(), place, false,
                Shared<detail::PartMemory>(new detail::TensorMemory<T, D>(x))});
  }
  /// The value of a parameter, wherever an optimizer keeps it: its shape is the part's.
  template <DType T, class D>
  Parts& add(std::string name, const Shape& whole, Place place, const Parameter<T, D>& parameter) {
    const nn::detail::StateMember<T, D> member{name, parameter, {}};
    return add({std::move(name), element_type<T>, whole, parameter.shape(), place, false,
                Shared<detail::PartMemory>(new detail::MemberMemory<T, D>(member))});
  }
  /// A whole tensor, the same on all ranks that have it.
  template <DType T, class D>
  Parts& add(std::string name, const Tensor<T, D>& x) {
    return add(std::move(name), x.shape(), Place(), x);
  }
  /// A tensor of this rank alone, under a name that every rank may use for its own.
  template <DType T, class D>
  Parts& add_own(std::string name, const Tensor<T, D>& x) {
    return add({std::move(name),
                element_type<T>,
                x.shape(),
                x.shape(),
                {},
                true,
                Shared<detail::PartMemory>(new detail::TensorMemory<T, D>(x))});
  }

  /// All parameters and buffers of a model, whole and the same on all ranks: "model.0.weight".
  template <class M>
    requires nn::detail::ListsMembers<M>
  Parts& add(const std::string& name, const M& model) {
    for (const auto& member : nn::detail::state_members(model))
      add({join(name, ".", member.name),
           member.type(),
           member.shape(),
           member.shape(),
           {},
           false,
           Shared<detail::PartMemory>(new detail::MemberMemory(member))});
    return *this;
  }
  /// The state of an optimizer whose parameters, or parts of them, were added before: each tensor of its state has the
  /// place of its parameter, "optimizer.state.0.weight.exp_avg", so that it is divided as the parameter.
  /// throws ArgumentError for a parameter that was not added
  template <optim::detail::HasState O>
  Parts& add(const std::string& name, O& optimizer) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
      const detail::NamedPart of = part_at(name, i, optimizer.parameters()[i].value());
      names.push_back(of.name);
      constexpr bool has_masters = optim::detail::has_masters<O>;
      for (int k = 0; k < optimizer.states() + has_masters; ++k)
        add(join(name, ".state.", of.name, ".", k < optimizer.states() ? optimizer.state_name(k) : "master"), of.whole,
            of.place, optimizer.state(i, k));
    }
    return add(name, false, new detail::OptimizerGroup<O>(optimizer, std::move(names)));
  }
  /// Another object of a training run, the same on all ranks: a Scheduler, a GradScaler, the position of a loader, a
  /// History, a std::int64_t such as the number of the epoch.
  template <class P>
    requires(io::detail::TrainingPart<P> && !nn::detail::ListsMembers<P> && !optim::detail::HasState<P>)
  Parts& add(const std::string& name, P& object) {
    return add(name, false, new detail::TrainingGroup<P>(object));
  }
  /// Such an object of this rank alone.
  template <class P>
    requires(io::detail::TrainingPart<P> && !nn::detail::ListsMembers<P> && !optim::detail::HasState<P>)
  Parts& add_own(const std::string& name, P& object) {
    return add(name, true, new detail::TrainingGroup<P>(object));
  }
  /// The default generators of this rank, of the host and of D.
  template <class D>
  Parts& add_generators(const std::string& name = "random") {
    return add(name, true, new detail::GeneratorGroup<D>);
  }

  [[nodiscard]] const std::vector<detail::NamedPart>& parts() const { return parts_; }
  [[nodiscard]] const std::vector<detail::NamedGroup>& groups() const { return groups_; }

 private:
  Parts& add(detail::NamedPart part) {
    require_name(part.name);
    const detail::Runs runs = part.runs();
    for (auto at = by_name_.lower_bound(part.name); at != by_name_.end() && at->first == part.name; ++at)
      if (const detail::NamedPart& other = parts_[at->second]; other.is_own || part.is_own || other.runs() == runs ||
                                                               other.type != part.type || !(other.whole == part.whole))
        fail<ArgumentError>({"Parts::add: there is '", part.name, "' already, ", other.place, " of ",
                             dtype_name(other.type), " ", other.whole, "; given ", part.place, " of ",
                             dtype_name(part.type), " ", part.whole, "; expected another place of the same tensor"});
    by_name_.emplace(part.name, parts_.size());
    parts_.push_back(std::move(part));
    return *this;
  }
  Parts& add(const std::string& name, bool is_own, detail::PartGroup* made) {
    Shared<detail::PartGroup> group(made);
    require_name(name);
    for (const auto& other : groups_)
      if (other.name == name) fail<ArgumentError>({"Parts::add: there is '", name, "' already; use another name"});
    groups_.push_back({name, is_own, std::move(group)});
    return *this;
  }
  static void require_name(const std::string& name) {
    if (name.empty() || !io::is_utf8(name))
      fail<ArgumentError>({"Parts::add: the name '", locus::detail::printable(name), "' is ",
                           name.empty() ? "empty" : "not UTF-8", "; expected a name in UTF-8"});
  }
  /// The part that is a parameter of an optimizer.
  template <class T, class D>
  [[nodiscard]] const detail::NamedPart& part_at(const std::string& name, std::size_t i,
                                                 const Tensor<T, D>& value) const {
    for (const detail::NamedPart& part : parts_)
      if (part.memory->address() == value.data() && part.shape == value.shape() && part.type == element_type<T>)
        return part;
    fail<ArgumentError>({"Parts::add: parameter ", i, " of '", name, "', of shape ", value.shape(),
                         ", is none of the parts so far; add the model, or its parts, before the optimizer"});
  }

  std::vector<detail::NamedPart> parts_;
  std::vector<detail::NamedGroup> groups_;
  std::multimap<std::string, std::size_t, std::less<>> by_name_;
};

}}}  // namespace locus::LOCUS_ABI::dist
