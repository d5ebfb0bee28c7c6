#pragma once
// dist::Parts: the tensors of a rank, each with its name and its place in a whole tensor, to be saved and loaded.

#include <locus/distributed/checkpoint/part_groups.hpp>
#include <locus/distributed/checkpoint/part_memory.hpp>
#include <locus/distributed/sharded/sharded.hpp>
#include <locus/io/utf8.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// What a rank saves and loads: tensors, each with its name and its place in a whole tensor, and objects of a training
/// run. Lists of ranks differ; together they cover each tensor. Tensors share their memory, objects are referred to:
/// they outlive the list, which may be saved any number of times.
///
///     dist::Parts parts;
///     parts.add("weight", {16, 8}, dist::Block{0, 4 * comm.rank()}, rows);     // four rows of a weight of sixteen
///     parts.add("bias", {16}, dist::ElementRange{first}, piece);              // elements from `first` on
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
  template <DType T, class D>
  Parts& add(std::string name, const Parameter<T, D>& parameter) {
    return add(std::move(name), parameter.shape(), Place(), parameter);
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

  /// The parameters of a sharded model, of which this rank has ranges of elements, and its buffers.
  template <class M>
  Parts& add(const std::string& name, const Sharded<M>& model) {
    for (const auto& part : model.parts())
      add(join(name, ".", part.name), part.shape, ElementRange{part.first}, part.part);
    const auto is_part = [&](const auto& parameter) {
      for (const auto& part : model.parts())
        if (part.part == parameter) return true;
      return false;
    };
    for (const auto& member : nn::detail::state_members(model))
      if (member.is_buffer() || !is_part(member.parameter)) add(name, member);
    return *this;
  }
  /// All parameters and buffers of a model, whole and the same on all ranks: "model.0.weight".
  template <class M>
    requires nn::detail::ListsMembers<M>
  Parts& add(const std::string& name, const M& model) {
    for (const auto& member : nn::detail::state_members(model)) add(name, member);
    return *this;
  }
  /// The state of an optimizer whose parameters, or parts of them, were added before: each tensor of its state has the
  /// place of its parameter, "optimizer.state.0.weight.exp_avg", so that it is divided as the parameter.
  /// throws ArgumentError for a parameter that was not added
  template <optim::detail::HasState O>
  Parts& add(const std::string& name, O& optimizer) {
    std::multimap<const void*, std::size_t> by_address;
    for (std::size_t i = 0; i < parts_.size(); ++i) by_address.emplace(parts_[i].memory->address(), i);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
      const detail::NamedPart of = part_of(optimizer, i, name, by_address);
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
  template <class T, class D>
  Parts& add(const std::string& name, const nn::detail::StateMember<T, D>& member) {
    return add({join(name, ".", member.name),
                member.type(),
                member.shape(),
                member.shape(),
                {},
                false,
                Shared<detail::PartMemory>(new detail::MemberMemory(member))});
  }
  Parts& add(detail::NamedPart part) {
    require_name(part.name, part.is_own);
    part.shape = detail::shape_in_place(part.whole, part.place, part.shape);
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
    require_name(name, is_own);
    for (const auto& other : groups_)
      if (other.name == name) fail<ArgumentError>({"Parts::add: there is '", name, "' already; use another name"});
    groups_.push_back({name, is_own, std::move(group)});
    return *this;
  }
  static void require_name(const std::string& name, bool is_own) {
    if (!is_own && name.starts_with("rank."))
      fail<ArgumentError>({"Parts::add: the name '", locus::detail::printable(name),
                           "' begins with \"rank.\", as names of single ranks do in files; use another one"});
    if (name.empty() || !io::is_utf8(name))
      fail<ArgumentError>({"Parts::add: the name '", locus::detail::printable(name), "' is ",
                           name.empty() ? "empty" : "not UTF-8", "; expected a name in UTF-8"});
  }
  /// The part that is parameter i of an optimizer.
  template <class O>
  [[nodiscard]] const detail::NamedPart& part_of(const O& optimizer, std::size_t i, const std::string& name,
                                                 std::multimap<const void*, std::size_t>& by_address) const {
    const auto& value = optimizer.parameters()[i].value();
    for (auto [at, end] = by_address.equal_range(value.data()); at != end; ++at) {
      const detail::NamedPart& part = parts_[at->second];
      if (elements(part.shape) != value.elements() || part.type != element_type<value_of<O>>) continue;
      by_address.erase(at);  // another empty part may have the same address
      return part;
    }
    fail<ArgumentError>({"Parts::add: parameter ", i, " of '", name, "', of shape ", value.shape(),
                         ", is none of the parts so far; add the model, or its parts, before the optimizer"});
  }

  std::vector<detail::NamedPart> parts_;
  std::vector<detail::NamedGroup> groups_;
  std::multimap<std::string, std::size_t, std::less<>> by_name_;
};

}}}  // namespace locus::LOCUS_ABI::dist
