#pragma once
// The parameters and buffers of a model by name, to be saved, loaded, and copied from one model into another.

#include <locus/nn/module.hpp>
#include <locus/nn/state.hpp>

#include <set>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// A parameter or buffer of a model: its elements, and how to write them.
template <class T, class D>
struct StateMember {
  std::string name;
  Parameter<T, D> parameter;       ///< empty for a buffer
  std::vector<AnyBuffer<D>> kept;  ///< of a buffer: itself

  [[nodiscard]] bool is_buffer() const { return !kept.empty(); }
  [[nodiscard]] ElementType type() const { return is_buffer() ? kept[0].type() : element_type<T>; }
  [[nodiscard]] const Shape& shape() const { return is_buffer() ? kept[0].shape() : parameter.shape(); }
  /// The member's own memory if dense, otherwise a dense copy.
  [[nodiscard]] Tensor<std::uint8_t, D> bytes() const {
    return is_buffer() ? kept[0].bytes() : bytes_of(parameter.value().contiguous());
  }
  /// Whether both are the same parameter or buffer.
  [[nodiscard]] bool is(const StateMember& other) const {
    return is_buffer() ? kept == other.kept : !other.is_buffer() && parameter == other.parameter;
  }
  [[nodiscard]] const void* memory() const { return bytes().buffer().whole(); }
  void write(const Tensor<std::uint8_t, D>& source) const {
    if (is_buffer()) kept[0].bytes().copy_(source);
    else
      parameter.value().copy_(Tensor<T, D>(source.buffer(), reinterpret_cast<T*>(source.data()), parameter.shape(),
                                           row_major(parameter.shape())));
  }
};

/// All saved members of a model, under every name: members shared by layers have several.
template <class T, class D>
struct StateList final : MemberWalk<T, D> {
  std::vector<StateMember<T, D>> members;
  std::set<std::string> names;

  void parameter(const std::string& name, const Parameter<T, D>& parameter) override { add({name, parameter, {}}); }
  void buffer(const std::string& name, const AnyBuffer<D>& buffer) override { add({name, {}, {buffer}}); }

 private:
  void add(StateMember<T, D> member) {
    if (!names.insert(member.name).second)
      fail<ArgumentError>(
          {"two parameters or buffers of the model have the name '", member.name, "'; give each its own in members()"});
    members.push_back(std::move(member));
  }
};
/// throws ArgumentError for two members of one name
template <class M>
[[nodiscard]] auto state_members(const M& model) {
  StateList<value_of<M>, device_of<M>> list;
  walk_members<Depth::all, value_of<M>, device_of<M>>(model, "", list);
  return std::move(list.members);
}
}  // namespace detail

/// The parameters and buffers of a model under their full names, such as "0.weight", as PyTorch names them; members
/// shared by layers appear under all of their names. Dense ones share the model's memory: save them, or copy them with
/// .clone(), before it changes.
/// throws ArgumentError for two members of one name
template <class M>
  requires detail::ListsMembers<M>
[[nodiscard]] auto state_dict(const M& model) {
  StateDict<device_of<M>> state;
  for (const auto& member : detail::state_members(model))
    state.add({member.name, member.type(), member.shape(), member.bytes()});
  return state;
}

struct LoadOptions {
  bool strict = true;  ///< whether the names must be the model's, all of them and no others
};
/// Names that only the model has (missing) or only the state (unexpected).
struct LoadedState {
  std::vector<std::string> missing, unexpected;
};

namespace detail {
/// Mistake of loading a state of D into a model.
template <class M, class D>
struct StateMistake : NoMistake {};
template <HasPlace M, class D>
  requires(!std::is_same_v<device_of<M>, D>)
struct StateMistake<M, D> : MistakeOf<Wrong::places,
                                      error::device_mismatch<error::model_is_on<device_of<M>>, error::state_is_on<D>,
                                                             error::load_it_where_the_model_is_or_move_it_with_to_D>,
                                      device_of<M>, D> {};

[[nodiscard]] inline std::string shown_names(const std::vector<std::string>& names) {
  locus::detail::NameList shown;
  for (const auto& name : names) shown.add(name);
  return shown.text();
}

/// How to load a state whose names have a prefix, which stands between both texts.
struct RemedyForPrefix {
  const char *before = "load state.without_prefix(\"", *after = "\")";
};
/// A guess why no name of a model is in a state; empty if some are. `models`: the names of the model.
[[nodiscard]] inline std::string guess_about_names(const LoadedState& names, const std::set<std::string_view>& models,
                                                   const RemedyForPrefix& remedy = {}) {
  if (names.missing.empty() || names.unexpected.empty() || names.missing.size() < models.size()) return {};
  const std::string& first = names.unexpected.front();
  for (std::size_t dot = first.find('.'); dot != std::string::npos; dot = first.find('.', dot + 1)) {
    const std::string prefix = first.substr(0, dot + 1);
    bool all = true;
    for (const auto& name : names.unexpected)
      all = all && name.starts_with(prefix) && models.contains(std::string_view(name).substr(prefix.size()));
    if (all)
      return join("; each name of the state is one of the model's after '", locus::detail::printable(prefix),
                  "': ", remedy.before, locus::detail::printable(prefix), remedy.after);
  }
  return "; no name is in both: the state is probably that of a model of another architecture";
}
}  // namespace detail

namespace detail {
/// A state that fits a model, to be copied into it.
template <class T, class D>
struct ModelLoad {
  LoadedState names;
  std::vector<StateMember<T, D>> members;
  std::vector<std::pair<std::size_t, Tensor<std::uint8_t, D>>> copies;  ///< index of a member, its new elements

  /// Allocates nothing if parameters are dense, as in layers.
  void apply() const {
    for (const auto& [i, source] : copies) members[i].write(source);
  }
};
/// throws as load_state_dict()
template <class M, class D>
[[nodiscard]] ModelLoad<value_of<M>, D> load_of(const M& model, const StateDict<D>& state, const LoadOptions& options) {
  ModelLoad<value_of<M>, D> load;
  load.members = state_members(model);
  std::set<std::string_view> names, unread;
  for (const auto& each : state.unread()) unread.insert(each.name);
  std::set<const void*> memory;
  std::vector<std::size_t> absent;
  const std::string from = state.file().empty() ? "" : join(" in '", state.file(), "'");
  for (std::size_t i = 0; i < load.members.size(); ++i) {
    const auto& member = load.members[i];
    names.insert(member.name);
    memory.insert(member.memory());
    if (!state.contains(member.name) && !unread.contains(member.name)) {
      absent.push_back(i);
      continue;
    }
    const auto& source = state.find(member.name);
    if (source.type != member.type())
      fail<ArgumentError>({"load_state_dict: '", member.name, "' holds ", dtype_name(source.type), from, ", but ",
                           dtype_name(member.type()), " in the model",
                           is_floating(source.type) && is_floating(member.type())
                               ? "; load nn::converted_for(model, state), which converts floating-point numbers"
                               : ""});
    if (!(source.shape == member.shape()))
      fail<ShapeError>({"load_state_dict: '", member.name, "' has shape ", source.shape, from, ", but ", member.shape(),
                        " in the model"});
    load.copies.emplace_back(i, source.bytes);
  }
  for (const std::size_t i : absent) {
    bool found = false;  // under another name
    for (const auto& copy : load.copies) found = found || load.members[copy.first].is(load.members[i]);
    if (!found) load.names.missing.push_back(load.members[i].name);
  }
  for (const auto& entry : state)
    if (!names.contains(entry.name)) load.names.unexpected.push_back(entry.name);
  for (const auto& each : state.unread())
    if (!names.contains(each.name)) load.names.unexpected.push_back(each.name);
  if (options.strict && !(load.names.missing.empty() && load.names.unexpected.empty())) {
    const std::string guess = guess_about_names(load.names, names);
    fail<ArgumentError>({"load_state_dict: names that only the model has: ", shown_names(load.names.missing),
                         "; that only the state", from, " has: ", shown_names(load.names.unexpected),
                         guess.empty() ? "; to load the others, say {.strict = false}" : guess});
  }
  for (auto& [i, source] : load.copies)  // a state of this model's own memory is read before that changes
    if (memory.contains(source.buffer().whole()) && source.data() != load.members[i].bytes().data())
      source = source.clone();
  return load;
}
}  // namespace detail

/// The state with floating-point numbers of the types that the model has under the same names: for a file of 16-bit
/// weights and a model of floats, or the reverse. Numbers are rounded to nearest, in new memory; other tensors share
/// their memory.
/// cost: a launch for each converted tensor
///
///     nn::load_state_dict(model, nn::converted_for(model, io::load_torch<D>("half.pt")));
template <class M, class D>
  requires detail::ListsMembers<M>
[[nodiscard]] StateDict<D> converted_for(const M& model, const StateDict<D>& state) {
  using T = value_of<M>;
  std::map<std::string, ElementType> types;
  for (const auto& member : detail::state_members(model)) types.emplace(member.name, member.type());
  StateDict<D> result = state.like();
  for (const auto& entry : state) {
    const auto found = types.find(entry.name);
    if (found != types.end() && found->second == element_type<T>) result.template add_as<T>(state, entry);
    else if (found != types.end() && found->second == element_type<compute_t<T>>)  // of statistics
      result.template add_as<compute_t<T>>(state, entry);
    else result.add(entry);
  }
  return result;
}

/// Copies a state into the parameters and buffers of a model, of the same names, shapes and element types. All of it is
/// checked before anything is copied. Members shared by layers need one of their names; of several, the last one
/// counts.
/// throws ArgumentError for names that do not fit, unless not strict, or another element type, including types that
/// Locus lacks; ShapeError for another shape
///
///     load_state_dict(model, io::load<Cuda>("model.safetensors"));
template <class M, class D>
  requires(detail::ListsMembers<M> && detail::IsWrong<detail::StateMistake<M, D>, detail::Wrong::nothing>)
LoadedState load_state_dict(const M& model, const StateDict<D>& state, const LoadOptions& options = {}) {
  auto load = detail::load_of(model, state, options);
  load.apply();
  return std::move(load.names);
}

#include <locus/refuse/nn/state_dict.inc>

}}}  // namespace locus::LOCUS_ABI::nn
