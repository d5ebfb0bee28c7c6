#pragma once
// States of models whose parameters are spread over ranks: the files of one process.

#include <locus/distributed/spread/divided.hpp>
#include <locus/nn/state_dict.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// A member that a state has: a parameter, or a buffer.
template <class P, class D>
concept StateMember = std::is_same_v<device_of<P>, D> && (locus::detail::IsParameter<P> || nn::detail::is_buffer<P>);
template <class S, class... B>
inline constexpr bool is_among = (std::is_same_v<typename S::axis, B> || ...);
/// Whether a member that is divided along A... has its whole on the ranks along B...
template <class L, class Joined, class Parts>
inline constexpr bool is_whole = false;
template <class... S, class... B, class... A>
inline constexpr bool is_whole<States<S...>, Tuple<B...>, Tuple<A...>> =
    ((S::spread == Spread::invariant || S::spread == Spread::replicated ||
      (S::spread == Spread::varying && is_among<S, B...> && is_among<S, A...>)) &&
     ...);
/// Whether a rank has a part along an axis that is not one of B...
template <class L, class... B>
inline constexpr bool is_part = false;
template <class... S, class... B>
inline constexpr bool is_part<States<S...>, B...> = ((S::spread == Spread::varying && !is_among<S, B...>) || ...);
/// Whether a layer says that it is divided along an axis, which is not one of B...
template <class M, class... B>
concept DividedElsewhere = requires { typename M::divided_along; } && is_part<States<typename M::divided_along>, B...>;

LOCUS_REFUSALS_BEGIN
/// Visits members(visit) of a model, and of its layers: f(states, name, tensor, parts...).
template <class F, class D, class... B>
struct VisitState {
  const F& f;
  std::string prefix{};

  template <class P, class... S, class... A>
    requires(StateMember<P, D> && is_whole<States<S...>, Tuple<B...>, Tuple<A...>>)
  void operator()(std::string_view name, const Over<P, S...>& w, const Divided<A>&... parts) const {
    if (w.local().defined()) f(States<S...>(), prefix + std::string(name), w.local().value(), parts...);
  }
  template <class M>
    requires(!DividedElsewhere<M, B...> && requires(const M& layer, const VisitState& visit) { layer.members(visit); })
  void operator()(std::string_view name, const M& layer) const {
    layer.members(VisitState{f, prefix + std::string(name) + "."});
  }
#include <locus/refuse/distributed/spread/visit_state_class.inc>
};
LOCUS_REFUSALS_END

/// A guide, since D and B... are not deduced.
template <class D, class... B, class F>
[[nodiscard]] VisitState<F, D, B...> visitor(const F& f) {
  return {f};
}

/// Members by name, for the functions of nn: a model of buffers, whatever they are.
template <class D>
struct MembersOfRank {
  using value_type = float;
  using device_type = D;
  std::vector<std::pair<std::string, nn::AnyBuffer<D>>> list;

  void walk_members(nn::detail::Depth, const std::string&, nn::detail::MemberWalk<float, D>& walk) const {
    for (const auto& [name, member] : list) walk.buffer(name, member);
  }
};

template <class B, class D>
struct RanksOf {
  const Ranks<B, D>& ranks;
};
/// The ranks that a call names, by axis.
template <class D, class... B>
struct NamedRanks : RanksOf<B, D>... {
  template <class A> [[nodiscard]] const Ranks<A, D>& along() const { return RanksOf<A, D>::ranks; }
};

/// f(x) of the last x, then of the one before, and so on.
template <class F>
void last_first(const F&) {}
template <class F, class X, class... R>
void last_first(const F& f, const X& x, const R&... rest) {
  last_first(f, rest...);
  f(x);
}

/// The whole that a file has of a member whose states are L. A collective along the axes that divide it.
template <class L, class T, class D, class... B, class... A>
[[nodiscard]] Tensor<T, D> whole_in_file(L, Tensor<T, D> part, const NamedRanks<D, B...>& ranks,
                                         const Divided<A>&... parts) {
  [[maybe_unused]] const auto join = [&]<class C>(const Divided<C>& how) {
    if constexpr (detail::along<C>(L()) == Spread::varying) part = whole_of(ranks.template along<C>(), part, how);
  };
  last_first(join, parts...);  // the last is a part of the part
  if ((parts.is_transposed || ...)) part = part.transpose();
  return part;
}
/// This rank's part of a whole in a file, or the whole. throws ShapeError for a part of another shape than `expected`
template <class L, class T, class D, class... B, class... A>
[[nodiscard]] Tensor<T, D> part_of_file(L, const std::string& name, Tensor<T, D> whole, const Shape& expected,
                                        const NamedRanks<D, B...>& ranks, const Divided<A>&... parts) {
  const Shape given = whole.shape();
  if ((parts.is_transposed || ...) && whole.rank() == 2) whole = whole.transpose();
  [[maybe_unused]] const auto cut = [&]<class C>(const Divided<C>& how) {
    if constexpr (detail::along<C>(L()) == Spread::varying) whole = part_of(ranks.template along<C>(), whole, how);
  };
  (cut(parts), ...);
  if (is_part<L> && !(whole.shape() == expected))
    fail<ShapeError>({"load_state_dict: '", name, "' has shape ", given, ", of which this rank's part is not ",
                      expected, ", as in the model; load the state of the whole model"});
  return whole;
}

/// The device of a model that names it, or E.
template <class M, class E>
struct DeviceOfModel : std::type_identity<E> {};
template <locus::detail::HasPlace M, class E>
struct DeviceOfModel<M, E> : std::type_identity<device_of<M>> {};

}  // namespace detail

/// The parameters and buffers of a model whose layers list them as Over<...>, under their full names, as one process
/// saves them. Invariant and Replicated members share the model's memory, as with nn::state_dict.
/// E: the device, where the model does not name it.
///
///     dist::on_rank_zero(comm, [&] { io::save("model.safetensors", dist::state_dict(net)); });
///
/// throws ArgumentError for two members of one name
template <class E = Cpu, class M>
  requires(!detail::DividedElsewhere<M>)
[[nodiscard]] auto state_dict(const M& model) {
  using D = typename detail::DeviceOfModel<M, E>::type;
  nn::StateDict<D> state;
  const auto add = [&](auto, std::string name, const auto& value, const auto&... parts) {
    const bool is_transposed = (parts.is_transposed || ... || false);
    state.add(std::move(name), is_transposed ? value.transpose() : value);
  };
  model.members(detail::visitor<D>(add));
  return state;
}
/// The same, where members that are Varying along B are gathered: layers list them with the dimension,
/// visit("weight", weight, dist::Divided<A>{.dim = 0}). All ranks call it.
/// cost: for each of these, two collectives; each rank has the whole model for a while
template <class D, class... B, class M>
  requires(sizeof...(B) > 0 && !detail::DividedElsewhere<M, B...>)
[[nodiscard]] nn::StateDict<D> state_dict(const M& model, const Ranks<B, D>&... ranks) {
  const detail::NamedRanks<D, B...> named{{ranks}...};
  nn::StateDict<D> state;
  const auto add = [&](auto states, std::string name, const auto& value, const auto&... parts) {
    state.add(std::move(name), detail::whole_in_file(states, value, named, parts...));
  };
  model.members(detail::visitor<D, B...>(add));
  return state;
}

/// Copies a state of one process, which has the whole model, into a model whose layers list members as Over<...>. Each
/// rank takes its parts of members that are Varying along B, and nothing is sent. All of it is checked before anything
/// is copied. throws as nn::load_state_dict; ShapeError where a part has another shape than the model's
///
///     dist::load_state_dict(net, io::load<Cuda>("model.safetensors"), {}, model);
template <class M, class D, class... B>
  requires(!detail::DividedElsewhere<M, B...>)
nn::LoadedState load_state_dict(const M& model, const nn::StateDict<D>& state, const nn::LoadOptions& options,
                                const Ranks<B, D>&... ranks) {
  const detail::NamedRanks<D, B...> named{{ranks}...};
  detail::MembersOfRank<D> members;
  nn::StateDict<D> own;
  const auto add = [&]<class T>(auto states, const std::string& name, const Tensor<T, D>& value, const auto&... parts) {
    members.list.emplace_back(name, nn::AnyBuffer<D>(nn::Buffer<T, D>(value)));
    if (state.contains(name))
      own.add(name, detail::part_of_file(states, name, state.template get<T>(name), value.shape(), named, parts...));
  };
  model.members(detail::visitor<D, B...>(add));
  std::set<std::string_view> names;
  for (const auto& member : members.list) names.insert(member.first);
  for (const auto& entry : state)
    if (!names.contains(entry.name)) own.add(entry);
  for (const auto& each : state.unread()) own.add_unread(each.name, each.type);
  own.set_file(state.file());
  return nn::load_state_dict(members, own, options);
}

#include <locus/refuse/distributed/spread/state.inc>

}}}  // namespace locus::LOCUS_ABI::dist
