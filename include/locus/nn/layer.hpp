#pragma once
// The base class of layers: their parameters and buffers, calls, freezing, and moves to other places and types.

#include <locus/nn/forward.hpp>
#include <locus/nn/model_copy.hpp>
#include <locus/nn/observe.hpp>
#include <locus/nn/requires_grad.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

template <class T, class D>
struct NamedParameter {
  std::string name;
  Parameter<T, D> parameter;
};

namespace detail {
#include <locus/refuse/nn/layer_mistakes.inc>

/// Members that a layer lists, each under its first name. One class for each kind: most programs list parameters alone.
template <class T, class D>
struct ListParameters final : MemberWalk<T, D> {
  static constexpr Depth depth = Depth::all;
  std::vector<NamedParameter<T, D>> list;
  void parameter(const std::string& name, const Parameter<T, D>& parameter) override {
    for (const auto& known : list)
      if (known.parameter == parameter) return;
    list.push_back({name, parameter});
  }
};
template <class T, class D>
struct ListBuffers final : MemberWalk<T, D> {
  static constexpr Depth depth = Depth::all;
  std::vector<NamedBuffer<D>> list;
  void buffer(const std::string& name, const AnyBuffer<D>& buffer) override {
    for (const auto& known : list)
      if (known.buffer == buffer) return;
    list.push_back({name, buffer});
  }
};
template <class T, class D>
struct ListChildren final : MemberWalk<T, D> {
  static constexpr Depth depth = Depth::children;
  std::vector<std::pair<std::string, Module<T, D>>> list;
  void child(const std::string& name, const Module<T, D>& module) override { list.emplace_back(name, module); }
};
template <class List, class T, class D, class M>
[[nodiscard]] auto listed(const M& layer) {
  List walk;
  walk_members<List::depth, T, D>(layer, "", walk);
  return std::move(walk.list);
}

/// Looks for parameters and buffers of a layer outside `place`.
template <class T, class D>
struct LookElsewhere final : MemberWalk<T, D> {
  D place;
  bool found = false;
  explicit LookElsewhere(D its_place) : place(its_place) {}
  void parameter(const std::string&, const Parameter<T, D>& parameter) override {
    found = found || !(parameter.device() == place);
  }
  void buffer(const std::string&, const AnyBuffer<D>& buffer) override { found = found || !(buffer.device() == place); }
};
template <class T, class D, class M>
[[nodiscard]] bool is_all_in(const M& layer, D place) {
  LookElsewhere<T, D> walk(place);
  walk_members<Depth::all, T, D>(layer, "", walk);
  return !walk.found;
}
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// Base of layers with parameters of T on D, including your own modules. A derived class lists its parameters, buffers
/// and children, and computes from one or several arguments:
///
///     template <Device D>
///     struct Residual : nn::Layer<Residual<D>, float, D> {
///       nn::Linear<float, D> inner{64, 64};
///       auto forward(const auto& x) const { return relu(x + inner(x)); }   // x: Tensor or Traced
///       void members(const auto& visit) const { visit("inner", inner); }
///     };
///
/// Copies share parameters and buffers, as in PyTorch. A layer that was moved to another object, as by
/// `auto net = std::move(layer)`, throws ArgumentError when it is called or listed.
template <class Derived, class T, class D>
class Layer : public detail::Movable, public locus::detail::OtherNamesOfModels {
 public:
  using value_type = T;
  using device_type = D;

  /// Records if an argument is traced; plain tensors are inference.
  ///
  ///     attention(query, key, value)
  template <TensorLike X, class... More, class Self = Derived>
    requires detail::IsWrong<detail::CallMistake<Self, X, More...>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& x, const More&... more) const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::VisitNothing{});  // nvcc warns of functions that are named but not called
    }
    detail::require_present(derived());
    const detail::ObservedCall call({&derived(), &typeid(Derived)}, x, more...);
    auto y = derived().forward(detail::argument_of<Self>(x), detail::argument_of<Self>(more)...);
    call.end(y);
    return y;
  }
#include <locus/refuse/nn/layer_class.inc>

  /// Parameters with their full names, such as "0.weight"; each once.
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<NamedParameter<T, D>> named_parameters() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    return detail::listed<detail::ListParameters<T, D>, T, D>(derived());
  }
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<Parameter<T, D>> parameters() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    std::vector<Parameter<T, D>> result;
    for (const auto& [name, parameter] : detail::listed<detail::ListParameters<T, D>, T, D>(derived()))
      result.push_back(parameter);
    return result;
  }

  /// Buffers with their full names, such as "1.running_mean"; each once.
  ///
  ///     for (const auto& [name, buffer] : model.named_buffers()) ... buffer.template value<float>() ...
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<NamedBuffer<D>> named_buffers() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    return detail::listed<detail::ListBuffers<T, D>, T, D>(derived());
  }
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<AnyBuffer<D>> buffers() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    std::vector<AnyBuffer<D>> result;
    for (const auto& [name, buffer] : detail::listed<detail::ListBuffers<T, D>, T, D>(derived()))
      result.push_back(buffer);
    return result;
  }

  /// The modules directly below, with their names.
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<std::pair<std::string, Module<T, D>>> children() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    return detail::listed<detail::ListChildren<T, D>, T, D>(derived());
  }

  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  void zero_grad() const {
    for (const auto& parameter : parameters()) parameter.zero_grad();
  }

  /// Freezes all parameters (false) or trains them again: see Parameter::requires_grad_. With names, only the named
  /// parameters and the parameters of named layers; `*` stands for any characters.
  /// throws ArgumentError for a name that no parameter or layer has; then nothing was changed. A name alone, which C++
  /// would take for true, does not compile
  ///
  ///     model.requires_grad_(false);                       // all of them
  ///     model.requires_grad_(true, "layer4", "fc");        // parameters of these layers
  ///     model.requires_grad_(false, "*.bias");
  template <class... Names, class Self = Derived>
    requires(detail::ListsMembers<Self> && (std::is_convertible_v<const Names&, std::string_view> && ...))
  void requires_grad_(bool wanted = true, const Names&... names) const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    detail::ListAllNames<T, D> all;
    detail::walk_members<detail::Depth::all, T, D>(derived(), "", all);
    const std::string_view patterns[] = {std::string_view(names)..., {}};
    detail::require_gradients(all, wanted, {patterns, sizeof...(Names)});
  }

  /// A copy with parameters and buffers of its own, under the same names and on the same ordinals; members that layers
  /// share are shared in the copy. It has no gradients.
  /// cost: a copy of each
  /// throws ArgumentError for a member that a layer holds by a pointer, and for a model that was moved
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] Self clone() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as above
    }
    return detail::ModelCopy<T, D, T, D>().layer(derived());
  }

  /// The same model on E: std::move(model).to<Cpu>(), or .to(Cuda{1}) for an ordinal. The model that was moved, its
  /// copies and optimizers made of it throw ArgumentError when they are used. A model that is entirely there already is
  /// returned itself, like a tensor. A layer of your own needs one line, twin() with the constructor's arguments:
  ///
  ///     template <class U, class E>
  ///     auto twin() const { return Residual<U, E>{width}; }   // its members become copies of this one's
  ///
  /// and, where a Module or Sequential holds it, its name at the move: std::move(model).to<Cpu, Residual<float,
  /// Cuda>>(). If you name the layers of Locus that they hold, too, only the named layers are compiled for the new
  /// place, and others throw ArgumentError. cost: a copy of each parameter and buffer. They are released when all are
  /// copied
  template <Device E, class... Own, class Self = Derived>
    requires detail::IsWrong<detail::CopyMistakeOf<Self, T, D, T, E>, detail::Wrong::nothing> &&
             detail::NamesHeldLayers<T, D, T, E, Own...>
  [[nodiscard]] auto to(E device = {}) const&& {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckCopies<T, D, T, E>{});  // for the compiler alone, as above
    }
    if constexpr (std::is_same_v<D, E>) {
      if (detail::is_all_in<T, D>(derived(), device)) return derived();
    }
    return moved(detail::CopyNaming<T, D, T, E, Own...>(device));
  }
  /// The same model computed in another floating type: parameters and buffers of T are converted to U. Name layers as
  /// in to(), with the same errors.
  ///
  ///     auto model16 = std::move(model).as<bfloat16>();
  template <FloatingDType U, class... Own, class Self = Derived>
    requires detail::IsWrong<detail::CopyMistakeOf<Self, T, D, U, D>, detail::Wrong::nothing> &&
             detail::NamesHeldLayers<T, D, U, D, Own...>
  [[nodiscard]] auto as() const&& {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckCopies<T, D, U, D>{});  // for the compiler alone, as above
    }
    if constexpr (std::is_same_v<T, U>) return derived();
    else return moved(detail::CopyNaming<T, D, U, D, Own...>());
  }
  /// A converted copy: the model itself stays as it is.
  template <FloatingDType U, class... Own, class Self = Derived>
    requires detail::IsWrong<detail::CopyMistakeOf<Self, T, D, U, D>, detail::Wrong::nothing> &&
             detail::NamesHeldLayers<T, D, U, D, Own...>
  [[nodiscard]] auto as() const& {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckCopies<T, D, U, D>{});  // for the compiler alone, as above
    }
    detail::CopyNaming<T, D, U, D, Own...> copy;
    return copy.layer(derived());
  }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
  /// For detail::Overtaken. A member of Layer, so that a layer can make Layer its friend and keep its forward private.
  template <class Self, class Takes>
  struct Or : Self, Takes {
    using Self::forward;
    using Takes::forward;
  };
#pragma GCC diagnostic pop

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }
  template <class Copy>
  [[nodiscard]] auto moved(Copy copy) const {
    auto result = copy.layer(derived());
    copy.retire();
    return result;
  }
};
LOCUS_REFUSALS_END

}}}  // namespace locus::LOCUS_ABI::nn
