#pragma once
// The parameters and children that a layer lists in members(visit).

#include <locus/autograd/parameter.hpp>

namespace locus::inline LOCUS_ABI::nn {

template <class T, class D>
class Module;

namespace detail {
using namespace locus::detail;

[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string child_name(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : join(prefix, ".", name);
}

template <class X>
concept ListOfMembers = requires(const X& list) { list.begin(), list.end(), list.size(); };

/// Calls visit(name, member) for a member, or for those of a list of them, "name.0", "name.1", ...
template <class X, class Visit>
void visit_each(std::string_view name, const X& member, const Visit& visit) {
  if constexpr (ListOfMembers<X>) {
    std::size_t i = 0;
    for (const auto& one : member) visit_each(join(name, ".", i++), one, visit);
  } else {
    visit(name, member);
  }
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

/// Whether a layer has a forward. A final class is believed.
template <class M>
concept HasForward =
    std::is_class_v<M> && requires { sizeof(M); } && (std::is_final_v<M> || !requires { &AlsoNames<M>::forward; });

struct VisitNothing {
  void operator()(std::string_view, const auto&) const {}
};
template <class M>
concept HasMembers = requires(const M& layer, const VisitNothing& visit) { layer.members(visit); };
/// Whether a layer lists its parameters and children, itself or through the module it wraps.
template <class M>
concept ListsMembers =
    HasMembers<M> || requires(const M& layer, const VisitNothing& visit) { layer.visit_parameters("", visit); };
/// Whether it has functions of that name that cannot be called.
template <class M>
concept HidesMembers = std::is_class_v<M> && !std::is_final_v<M> && !ListsMembers<M> &&
                       !requires { &AlsoNames<M>::members; } && !requires { &M::members; };

#include <locus/refuse/nn/members_mistakes.inc>

LOCUS_REFUSALS_BEGIN
/// Says at compile time, in the lines of members(visit) that list them, which members of a layer of T on D are none.
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

/// Calls visit(name, member) for the members that a layer lists.
template <class M, class Visit>
void visit_members(const M& layer, const Visit& visit) {
  if constexpr (HasMembers<M>) {
    layer.members([&](std::string_view name, const auto& member) { visit_each(name, member, visit); });
  }
}

/// Calls visit(full name, parameter) for all parameters of T on D below a layer, depth first.
template <class T, class D, class M, class Visit>
void visit_parameters(const M& layer, const std::string& prefix, const Visit& visit) {
  if constexpr (requires { layer.visit_parameters(prefix, visit); }) {
    layer.visit_parameters(prefix, visit);
  } else {
    visit_members(layer, [&](std::string_view name, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, Parameter<T, D>>) {
        if (member.defined()) visit(child_name(prefix, name), member);
      } else {
        visit_parameters<T, D>(member, child_name(prefix, name), visit);
      }
    });
  }
}

/// Calls visit(state, name, module) for the members that are modules themselves.
template <class T, class D>
using VisitChild = void (*)(void* state, std::string_view name, const Module<T, D>& module);
template <class T, class D, class M>
void visit_children(const M& layer, VisitChild<T, D> visit, void* state) {
  if constexpr (requires { layer.visit_children(visit, state); }) {
    layer.visit_children(visit, state);
  } else {
    visit_members(layer, [&](std::string_view name, const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      // What is no member was refused where it is listed.
      if constexpr (!IsParameter<Member> && IsWrong<MemberMistake<Member, T, D>, Wrong::nothing>)
        visit(state, name, Module<T, D>(member));
    });
  }
}

}  // namespace detail
}  // namespace locus::inline LOCUS_ABI::nn
