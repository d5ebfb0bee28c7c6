#pragma once
// The parameters, buffers and children that a layer lists in members(visit).

#include <locus/device/trace/expression_text.hpp>
#include <locus/fwd.hpp>
#include <locus/nn/buffer.hpp>
#include <locus/nn/layer_text.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {
namespace detail {

[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string child_name(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : join(prefix, ".", name);
}

/// Base of all layers; notes whether the members were moved to another layer.
class Movable {
  template <class M>
  friend void require_present(const M& layer);
  locus::detail::Presence presence_;
};
/// throws ArgumentError naming the layer if it was moved from
template <class M>
void require_present([[maybe_unused]] const M& layer) {
  if constexpr (std::is_base_of_v<Movable, M>)
    if (!static_cast<const Movable&>(layer).presence_) [[unlikely]]
      locus::detail::fail_moved_from(locus::detail::function_text(locus::detail::type_text<M>()).view());
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
/// Whether a class has a member named forward or members, whatever its parameters: two bases that both have one make
/// the name ambiguous. (A call would compile the body, and its mistakes be reported here too.)
struct Names {
  int forward, members;
};
template <class M>
struct AlsoNames : M, Names {};
#pragma GCC diagnostic pop

/// Whether a layer has a forward. A final class is assumed to have one.
template <class M>
concept HasForward =
    std::is_class_v<M> && requires { sizeof(M); } && (std::is_final_v<M> || !requires { &AlsoNames<M>::forward; });

struct VisitNothing {
  void operator()(std::string_view, const auto&) const {}
};
template <class M>
concept HasMembers = requires(const M& layer, const VisitNothing& visit) { layer.members(visit); };
/// A list of members, rather than a layer that can be walked through like one.
template <class X>
concept ListOfMembers = requires(const X& list) { list.begin(), list.end(), list.size(); } && !HasMembers<X>;

/// Input element type of a network whose first layer is M: M::input_type, or T.
template <class T, class M>
struct InputOf {
  using type = T;
};
template <class T, class M>
  requires requires { typename M::input_type; }
struct InputOf<T, M> {
  using type = typename M::input_type;
};

/// Base of a wrapper of M: the input_type of M, if it names one.
template <class M>
struct InputTypeOf {};
template <class M>
  requires requires { typename M::input_type; }
struct InputTypeOf<M> {
  using input_type = typename M::input_type;
};

/// Tag: wrap any layer as a module, to list it, even if it cannot be called like a module.
struct AnyLayer {};

/// How to read the shapes of a layer's weights, as its weight_use() returns it; without, weights are (out, in, ...).
struct WeightUse {
  bool looked_up = false;             ///< a table, whose rows are looked up
  bool transposed = false;            ///< (in, out, ...)
  std::int64_t groups = 1;            ///< of a convolution
  std::int64_t width = 0, heads = 0;  ///< of an attention, whose weights are its own and its layers'
};

/// Visitor of the members that walk_members finds below a layer of T on D. Names are full, such as "0.weight".
template <class T, class D>
class MemberWalk {
 public:
  virtual void parameter(const std::string& /*name*/, const Parameter<T, D>& /*parameter*/) {}
  virtual void buffer(const std::string& /*name*/, const AnyBuffer<D>& /*buffer*/) {}
  virtual void child(const std::string& /*name*/, const Module<T, D>& /*module*/) {}
  /// Called before the members of a layer that has weight_use().
  virtual void layer(const std::string& /*name*/, const WeightUse& /*use*/) {}
  /// Called before and after the members of each layer, also of one without parameters; by walks of Depth::all.
  virtual void begin(const std::string& /*name*/, const LayerText& /*layer*/) {}
  virtual void end() {}

 protected:
  ~MemberWalk() = default;
};
/// How far a walk goes: to all parameters and buffers, depth first, or to the layers directly below.
enum class Depth { all, children };

/// Whether a layer is a type-erased module, which walks its own members.
template <class M, class T, class D>
concept WalksItself = requires(const M& layer, const std::string& prefix, MemberWalk<T, D>& walk) {
  layer.walk_members(Depth::all, prefix, walk);
};
/// Whether a layer lists its members, itself or through the module it wraps.
template <class M>
concept ListsMembers = HasMembers<M> || (HasPlace<M> && WalksItself<M, value_of<M>, device_of<M>>);
/// Whether a layer has functions named members that cannot be called.
template <class M>
concept HidesMembers = std::is_class_v<M> && !std::is_final_v<M> && !ListsMembers<M> &&
                       !requires { &AlsoNames<M>::members; } && !requires { &M::members; };

#include <locus/refuse/nn/members_mistakes.inc>

LOCUS_REFUSALS_BEGIN
/// Reports invalid members of a layer of T on D at compile time, at the lines of members(visit) that list them.
template <class T, class D>
struct CheckMembers {
  template <class X>
    requires IsWrong<MemberMistake<X, T, D>, Wrong::nothing>
  void operator()(std::string_view name, const X& member) const {
    if constexpr (ListOfMembers<X>) {
      for (const auto& one : member) (*this)(name, one);
    } else if constexpr (HasMembers<X>) {
      member.members(*this);
    }
  }
#include <locus/refuse/nn/members.inc>
};
LOCUS_REFUSALS_END

template <Depth depth, class T, class D, class M>
void walk_members(const M& layer, const std::string& prefix, MemberWalk<T, D>& walk);

/// Visits a member under this name. The members of a list are "name.0", "name.1", ...
template <Depth depth, class T, class D, class X>
void walk_member(const std::string& name, const X& member, MemberWalk<T, D>& walk) {
  if constexpr (ListOfMembers<X>) {
    std::size_t i = 0;
    for (const auto& one : member) walk_member<depth>(join(name, ".", i++), one, walk);
  } else if constexpr (std::is_same_v<X, Parameter<T, D>>) {
    if (member.defined()) walk.parameter(name, member);
  } else if constexpr (is_buffer<X>) {
    if constexpr (std::is_same_v<device_of<X>, D>)
      if (member.defined()) walk.buffer(name, AnyBuffer<D>(member));
  } else if constexpr (depth == Depth::all) {
    walk_members<depth>(member, name, walk);
  } else if constexpr (IsWrong<MemberMistake<X, T, D>, Wrong::nothing>) {  // others were refused where listed
    walk.child(name, Module<T, D>(AnyLayer{}, member));
  }
}

/// The `visit` of a layer's members(visit). A class, not a lambda of walk_members, so that it is compiled once for each
/// type of member, not for each layer.
template <Depth depth, class T, class D>
struct WalkMember {
  const std::string& prefix;
  MemberWalk<T, D>& walk;
  template <class X>
  void operator()(std::string_view name, const X& member) const {
    walk_member<depth>(child_name(prefix, name), member, walk);
  }
};

/// Walks through the members of a layer.
template <Depth depth, class T, class D, class M>
void walk_members(const M& layer, const std::string& prefix, MemberWalk<T, D>& walk) {
  require_present(layer);
  if constexpr (WalksItself<M, T, D>) {
    layer.walk_members(depth, prefix, walk);
  } else {
    if constexpr (depth == Depth::all) walk.begin(prefix, layer_text(layer));
    if constexpr (HasMembers<M>) {
      if constexpr (requires { walk.layer(prefix, layer.weight_use()); }) walk.layer(prefix, layer.weight_use());
      layer.members(WalkMember<depth, T, D>{prefix, walk});
    }
    if constexpr (depth == Depth::all) walk.end();
  }
}

/// A walk that writes the layers.
template <class T, class D>
struct WriteLayers final : MemberWalk<T, D> {
  ModelWriter writer;
  void begin(const std::string& name, const LayerText& layer) override { writer.begin(name, layer); }
  void end() override { writer.end(); }
};
}  // namespace detail

template <class M>
  requires detail::PrintedLayer<M>
std::string to_string(const M& model) {
  if constexpr (locus::detail::HasPlace<M>) {
    detail::WriteLayers<value_of<M>, device_of<M>> walk;
    detail::walk_members<detail::Depth::all, value_of<M>, device_of<M>>(model, "", walk);
    return walk.writer.text();
  } else {
    detail::ModelWriter writer;
    writer.begin("", detail::layer_text(model));
    writer.end();
    return writer.text();
  }
}

}}}  // namespace locus::LOCUS_ABI::nn
