#pragma once
// Copies of models: with parameters and buffers of their own, in another place, of another element type.

#include <locus/nn/members.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/random.hpp>

#include <cstdlib>
#include <typeinfo>

#include <cxxabi.h>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// Layers of Locus that a copied type-erased module may hold; defined in nn/shipped_layers.hpp.
template <class T, class D>
struct ShippedLayers;
template <class... M>
struct Layers {
  template <class L>
  static constexpr bool has = (std::is_same_v<L, M> || ...);
};

template <class M, class U, class E>
concept OfTypeAndPlace = HasPlace<M> && std::is_same_v<value_of<M>, U> && std::is_same_v<device_of<M>, E>;
/// Whether a module of T on D can hold all layers that a move to U on E names.
template <class T, class D, class U, class E, class... Own>
concept NamesHeldLayers =
    (std::is_same_v<T, U> && std::is_same_v<D, E>) || ((!HasPlace<Own> || OfTypeAndPlace<Own, T, D>)&&...);

/// The copy of a model that names own layers. Where types stay, modules copy their layers themselves.
template <class T, class D, class U, class E, class... Own>
using CopyNaming = std::conditional_t<std::is_same_v<T, U> && std::is_same_v<D, E>, ModelCopy<T, D, U, E>,
                                      ModelCopy<T, D, U, E, Own...>>;

/// Restores the default generator of E at the end of its scope, as if nothing had been drawn in between.
template <class E>
class KeepGenerator {
 public:
  KeepGenerator() = default;
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;
  ~KeepGenerator() { restore_default_generator<E>(before_); }

 private:
  DefaultGenerator<E> before_ = default_generator<E>();
};

/// The name of a type as a program writes it, without the inline namespace of Locus.
[[nodiscard]] LOCUS_COLD LOCUS_OUT_OF_LINE inline std::string name_of(const std::type_info& type) {
  int status = 0;
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = text ? text : type.name();
  std::free(text);
  constexpr std::string_view abi = LOCUS_TEXT_OF(LOCUS_ABI) "::";
  for (std::size_t at = 0; (at = name.find(abi, at)) != std::string::npos;) name.erase(at, abi.size());
  return name;
}
[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_unknown_layer(const std::type_info& type) {
  const std::string name = name_of(type);
  fail<ArgumentError>(
      {"moving a model: one of its modules holds a layer of your own, or one of Locus that is not among ",
       "those you name, ", name,
       ", and has forgotten that type; name it where you move the model: std::move(model).to<D, ", name,
       ">(), or .as<T, ", name, ">()"});
}

/// Whether a layer of T on D has a copy for U on E.
template <class M, class T, class D, class U, class E>
concept Copies =
    (std::is_same_v<T, U> && std::is_same_v<D, E>) || !HasPlace<M> ||
    requires(const M& layer, ModelCopy<T, D, U, E>& copy) { layer.copied(copy); } || requires(const M& layer) {
      { layer.template twin<U, E>() } -> OfTypeAndPlace<U, E>;
    };

/// Copies the parameters, buffers and layers of a model of T on D for U on E; members shared by several layers once.
/// `Own` are layers that type-erased modules may hold in addition to all layers of Locus. If `Own` includes a layer of
/// Locus, modules may hold only `Own` and Sequential, and only these are compiled.
template <class T, class D, class U, class E, class... Own>
class ModelCopy {
 public:
  static constexpr bool keeps_types = std::is_same_v<T, U> && std::is_same_v<D, E>;
  /// Input type of the copy of a module of In.
  template <class In>
  using input = std::conditional_t<std::is_same_v<In, T>, U, In>;

  explicit ModelCopy(E device) : device_(device), keeps_places_(false) {}
  /// Each parameter and buffer is copied to the ordinal where it is.
  ModelCopy()
    requires std::is_same_v<D, E>
      : keeps_places_(true) {}

  [[nodiscard]] Parameter<U, E> operator()(const Parameter<T, D>& source) {
    if (!source.defined()) return {};
    for (const auto& [known, copy] : parameters_)
      if (known == source) return copy;
    parameters_.emplace_back(source, Parameter<U, E>(converted<U>(source.value())));
    const Parameter<U, E>& copy = parameters_.back().second;
    if (!source.requires_grad()) copy.state_->node = {};
    return copy;
  }
  template <class B, class A>
  [[nodiscard]] Buffer<B, E> buffer(const Buffer<A, D>& source) {
    Buffer<B, E> result;
    if (!source.defined()) return result;
    for (const auto& [known, copy] : buffers_) {
      if (known.get() != source.state_.get()) continue;
      if (copy->type() != element_type<B>)
        fail<ArgumentError>({"a buffer that layers share would be ", dtype_name(copy->type()), " in one of them and ",
                             dtype_name<B>(), " in another; give each layer a buffer of its own"});
      result.state_ = Shared(static_cast<TypedBufferState<B, E>*>(copy.get()));
      return result;
    }
    result = Buffer<B, E>(converted<B>(source.value()));
    buffers_.emplace_back(Shared<BufferState<D>>(source.state_.get()), Shared<BufferState<E>>(result.state_.get()));
    return result;
  }
  /// Copies a layer: listed members are copied, everything else is taken from its twin(), or, if types stay, from
  /// itself. A copy of other types then lays out its weights for its place: lay_out(), if it has that.
  template <class M>
  [[nodiscard]] auto layer(const M& source) {
    require_present(source);
    if constexpr (requires { source.copied(*this); }) {
      return source.copied(*this);
    } else if constexpr (keeps_types || !HasPlace<M>) {
      M copy(source);
      if constexpr (HasMembers<M>) copy_members(copy, source);
      if constexpr (requires { copy.separate_from_original(); }) copy.separate_from_original();
      return copy;
    } else {
      auto copy = twin(source);
      if constexpr (HasMembers<M>) copy_members(copy, source);
      if constexpr (requires { copy.lay_out(); }) copy.lay_out();
      return copy;
    }
  }
  /// Copies a module whose layer changes its type.
  template <class In>
  [[nodiscard]] Module<U, E, input<In>> module(const Module<T, D, In>& source) {
    static_assert(
        requires { sizeof(ShippedLayers<T, D>); },
        "moving a Module needs #include <locus/nn/sequential.hpp> (or <locus/locus.hpp>)");
    std::vector<Module<U, E, input<In>>> found;
    using Shipped = typename ShippedLayers<T, D>::list;
    if (!(look_for<Own>(source, found) || ...)) {
      if constexpr ((Shipped::template has<Own> || ...)) look_for<Sequential<T, D, In>>(source, found);
      else find(source, found, Shipped{});
    }
    if (found.empty()) fail_unknown_layer(source.type());
    return std::move(found.front());
  }

  /// Takes parameters and buffers away from the copied model; its use throws from then on.
  void retire() {
    for (const auto& [source, copy] : parameters_) source.retire();
    for (const auto& [source, copy] : buffers_) source->retire();
  }

 private:
  template <class B, class A>
  [[nodiscard]] Tensor<B, E> converted(const Tensor<A, D>& source) const {
    if constexpr (std::is_same_v<D, E>) {
      const auto moved = source.template as<B>().template to<E>(keeps_places_ ? source.device() : device_);
      return moved.buffer() == source.buffer() ? locus::detail::cloned_in_format(moved) : moved;
    } else {
      return source.template as<B>().template to<E>(device_);
    }
  }
  template <class M>
  [[nodiscard]] static auto twin(const M& source) {
    const KeepGenerator<E> keep;
    return source.template twin<U, E>();
  }

  template <class... M, class In>
  void find(const Module<T, D, In>& source, std::vector<Module<U, E, input<In>>>& found, Layers<M...>) {
    (void)(look_for<M>(source, found) || ...);
  }
  template <class M, class In>
  bool look_for([[maybe_unused]] const Module<T, D, In>& source,
                [[maybe_unused]] std::vector<Module<U, E, input<In>>>& found) {
    if constexpr (std::is_same_v<typename InputOf<T, M>::type, In>) {
      const M* const held = source.template target<M>();
      if (held) found.push_back(Module<U, E, input<In>>(layer(*held)));
      return held != nullptr;
    } else {
      return false;
    }
  }

  // Classes rather than lambdas, so that code independent of the layer is compiled once.
  struct Count {
    std::size_t& members;
    template <class X> void operator()(std::string_view, const X&) const { ++members; }
  };
  /// Makes `place` a copy of the layer's member number `wanted`, if that has the same name.
  template <class P>
  struct AssignTo {
    ModelCopy& copy;
    const P& place;
    std::string_view name;
    std::size_t wanted;
    std::size_t& at;
    bool& found;
    template <class X>
    void operator()(std::string_view other, const X& member) const {
      if (at++ == wanted && other == name) found = copy.assign(place, member, name);
    }
  };
  /// Makes each member of `copy` a copy of the member of `source` at the same position in the list, of the same name.
  template <class Copy, class M>
  void copy_members(const Copy& copy, const M& source) {
    std::size_t members = 0, copied = 0;
    source.members(Count{members});
    copy.members([&]<class P>(std::string_view name, const P& place) {
      std::size_t at = 0;
      bool found = false;
      source.members(AssignTo<P>{*this, place, name, copied++, at, found});
      if (!found) fail_unlike(name);
    });
    if (members != copied) fail_unlike("");
  }
  [[noreturn]] LOCUS_COLD static void fail_unlike(std::string_view name) {
    fail<ArgumentError>({"copying a model: twin() of a layer makes one whose members are others than the layer's own",
                         name.empty() ? "" : ", from '", name, name.empty() ? "" : "' on",
                         "; let it make a layer of the same configuration"});
  }
  /// Makes `place` a copy of `member`; false if their types do not allow it. `place` is const because members(visit)
  /// is; the copy that it belongs to is not.
  template <class P, class X>
  bool assign(const P& place, const X& member, std::string_view name) {
    P& target = const_cast<P&>(place);
    if constexpr (std::is_same_v<P, X>) {
      if (&place == &member)
        fail<ArgumentError>({"copying a model: member '", name,
                             "' is held by a pointer, which a copy of the layer shares; ", "hold it by value"});
    }
    if constexpr (std::is_same_v<X, Parameter<T, D>> && std::is_same_v<P, Parameter<U, E>>) {
      target = (*this)(member);
    } else if constexpr (is_buffer<X> && is_buffer<P>) {
      target = buffer<value_of<P>>(member);
    } else if constexpr (ListOfMembers<X> && ListOfMembers<P>) {
      return assign_list(target, member, name);
    } else if constexpr (HasForward<X> && Copies<X, T, D, U, E>) {
      if constexpr (std::is_same_v<P, decltype(layer(member))>) target = layer(member);
      else return false;
    } else {
      return false;
    }
    return true;
  }
  template <class P, class X>
  bool assign_list(P& target, const X& list, std::string_view name) {
    using One = std::remove_cvref_t<decltype(*target.begin())>;
    using Source = std::remove_cvref_t<decltype(*list.begin())>;
    if constexpr (HasForward<Source> && Copies<Source, T, D, U, E> && requires(One one) { target.push_back(one); }) {
      if constexpr (std::is_same_v<One, decltype(layer(*list.begin()))>) {
        P copies;
        for (const auto& one : list) copies.push_back(layer(one));
        target = std::move(copies);
        return true;
      }
    } else {
      if constexpr (requires { target.resize(list.size()); } && std::is_default_constructible_v<One>)
        target.resize(list.size());
      auto one = list.begin();
      bool assigned = target.size() == list.size();
      for (auto place = target.begin(); assigned && place != target.end(); ++place)
        assigned = assign(*place, *one++, name);
      return assigned;
    }
    return false;
  }

  E device_{};
  bool keeps_places_;
  std::vector<std::pair<Parameter<T, D>, Parameter<U, E>>> parameters_;
  std::vector<std::pair<Shared<BufferState<D>>, Shared<BufferState<E>>>> buffers_;
};

}}}  // namespace locus::LOCUS_ABI::nn::detail
