#pragma once
// The type-erased module that networks are composed of at run time.

#include <locus/expr/chosen_activation.hpp>
#include <locus/nn/layer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

using functor::Activation;

namespace detail {
/// Whether a layer declares which activation it is, and which activations it computes in its own launch. Only static
/// members count; others of these names have a meaning of their own.
template <class M>
concept SaysActivation = requires { requires std::is_same_v<decltype(&M::activation), const Activation*>; };
template <class M>
concept SaysAbsorbed = requires { M::absorbs(Activation::relu); };
}  // namespace detail

/// Any module on D that maps a tensor of In to a tensor of T, its type erased. Copies share the layer.
template <class T, class D, class In>
class Module : public Layer<Module<T, D, In>, T, D> {
 public:
  using input_type = In;

  /// Wraps a layer: anything with forward(x) for plain and traced x.
  template <class M>
    requires(!std::is_same_v<std::remove_cvref_t<M>, Module> && detail::HasForward<std::remove_cvref_t<M>> &&
             detail::IsWrong<detail::LayerMistake<std::remove_cvref_t<M>, T, D, In>, detail::Wrong::nothing>)
  Module(M&& layer) {
    using Given = std::remove_cvref_t<M>;
    // Named here to shorten the compiler's path from your program to a mistake in the layer's forward.
    using Output [[maybe_unused]] =
        decltype(std::declval<const Given&>().forward(std::declval<const Tensor<In, D>&>()));
    if constexpr (detail::Forwards<Given, Tensor<In, D>>) {
      using Recorded [[maybe_unused]] =
          decltype(std::declval<const Given&>().forward(std::declval<const Traced<In, D>&>()));
    }
    const detail::CheckMembers<T, D> check;
    if constexpr (requires { layer.members(check); }) {
      if (false) layer.members(check);
    }
    if constexpr (detail::ForwardsAndRecords<Given, In, D>) {
      model_ = Shared<const Interface>(new ModelOf<Given>(std::forward<M>(layer)));
    }
  }
  /// For children(): wraps any layer. Calls throw ArgumentError if the layer cannot be called like a module.
  template <class M>
  Module(detail::AnyLayer, const M& layer) {
    if constexpr (std::is_same_v<M, Module>) *this = layer;
    else model_ = Shared<const Interface>(new ModelOf<M, true>(layer));
  }

#include <locus/refuse/nn/module.inc>

  [[nodiscard]] Tensor<T, D> forward(const Tensor<In, D>& x) const {
    const detail::ObservedCall call({model_->address(), &model_->type()}, x);
    auto y = model_->forward(x);
    call.end(y);
    return y;
  }
  [[nodiscard]] Traced<T, D> forward(const Traced<In, D>& x) const {
    const detail::ObservedCall call({model_->address(), &model_->type()}, x);
    auto y = model_->forward(x);
    call.end(y);
    return y;
  }

  /// The activation that this module is, if another module can compute it in its own launch.
  [[nodiscard]] Activation activation() const { return model_->activation(); }
  /// Whether this module can compute `next`, the activation after it, in its own launch.
  [[nodiscard]] bool absorbs(Activation next) const { return next != Activation::none && model_->absorbs(next); }
  [[nodiscard]] Tensor<T, D> forward_with(const Tensor<In, D>& x, Activation next) const {
    return model_->forward_with(x, next);
  }
  [[nodiscard]] Traced<T, D> forward_with(const Traced<In, D>& x, Activation next) const {
    return model_->forward_with(x, next);
  }

  void walk_members(detail::Depth depth, const std::string& prefix, detail::MemberWalk<T, D>& walk) const {
    model_->walk_members(depth, prefix, walk);
  }

  /// The wrapped layer if it is an M, otherwise null.
  template <class M>
  [[nodiscard]] const M* target() const {
    return type() == typeid(M) ? static_cast<const M*>(model_->address()) : nullptr;
  }
  /// The type of the wrapped layer.
  [[nodiscard]] const std::type_info& type() const { return model_->type(); }

  /// A copy of this module.
  template <class U, class E, class... Own>
  [[nodiscard]] auto copied(detail::ModelCopy<T, D, U, E, Own...>& copy) const {
    if constexpr (std::is_same_v<T, U> && std::is_same_v<D, E>) return Module(model_->copied(copy));
    else return copy.module(*this);
  }

 private:
  /// Functions independent of the layer's type are not virtual: virtual functions are compiled for every type of layer.
  struct Interface : Counted {
    static constexpr const char* handle_name = "Module";
    Interface(const std::type_info& type, const void* layer, Activation activation, unsigned absorbed)
        : type_(type), address_(layer), activation_(activation), absorbed_(absorbed) {}
    virtual ~Interface() = default;
    virtual Tensor<T, D> forward(const Tensor<In, D>& x) const = 0;
    virtual Traced<T, D> forward(const Traced<In, D>& x) const = 0;
    virtual Tensor<T, D> forward_with(const Tensor<In, D>& x, Activation) const {
      fail_to_absorb();
      return forward(x);
    }
    virtual Traced<T, D> forward_with(const Traced<In, D>& x, Activation) const {
      fail_to_absorb();
      return forward(x);
    }
    virtual void walk_members(detail::Depth depth, const std::string& prefix, detail::MemberWalk<T, D>& walk) const = 0;
    virtual Shared<const Interface> copied(detail::ModelCopy<T, D, T, D>& copy) const = 0;

    [[nodiscard]] Activation activation() const { return activation_; }
    [[nodiscard]] bool absorbs(Activation next) const { return (absorbed_ >> static_cast<unsigned>(next) & 1u) != 0; }
    [[nodiscard]] const std::type_info& type() const { return type_; }
    [[nodiscard]] const void* address() const { return address_; }

   private:
    static void fail_to_absorb() {
      fail<ArgumentError>({"forward_with: this module cannot compute an activation in its own launch"});
    }
    const std::type_info& type_;
    const void* address_;
    Activation activation_;
    unsigned absorbed_;  ///< a bit for each activation
  };
  explicit Module(Shared<const Interface> model) : model_(std::move(model)) {}

  template <class M>
  static constexpr bool is_absorbing =
      requires(const M& m, const Tensor<In, D>& x) { m.forward_with(x, Activation::relu); };
  template <class M>
  [[nodiscard]] static constexpr Activation activation_of() {
    if constexpr (detail::SaysActivation<M>) return M::activation;
    else return Activation::none;
  }
  template <class M>
  [[nodiscard]] static unsigned absorbed_by() {
    if constexpr (detail::SaysAbsorbed<M>) {
      unsigned absorbed = 0;
      for (const Activation next : functor::every_activation)
        absorbed |= static_cast<unsigned>(M::absorbs(next)) << static_cast<unsigned>(next);
      return absorbed;
    } else {
      return is_absorbing<M> ? ~0u : 0u;
    }
  }

  /// `any`: also a layer that does not map In to T.
  template <class M, bool any = false>
  struct Model : Interface {
    M layer;
    template <class Source>
    explicit Model(Source&& source)
        : Interface(typeid(M), &layer, activation_of<M>(), absorbed_by<M>()), layer(std::forward<Source>(source)) {}

    Tensor<T, D> forward(const Tensor<In, D>& x) const override {
      if constexpr (maps<Tensor<In, D>, Tensor<T, D>>()) return layer.forward(x).eval();
      else fail_to_map();
    }
    Traced<T, D> forward(const Traced<In, D>& x) const override {
      if constexpr (maps<Traced<In, D>, Traced<T, D>>()) return layer.forward(x).eval();
      else fail_to_map();
    }
    void walk_members(detail::Depth depth, const std::string& prefix, detail::MemberWalk<T, D>& walk) const override {
      if (depth == detail::Depth::all) detail::walk_members<detail::Depth::all, T, D>(layer, prefix, walk);
      else detail::walk_members<detail::Depth::children, T, D>(layer, prefix, walk);
    }
    Shared<const Interface> copied(detail::ModelCopy<T, D, T, D>& copy) const override {
      if constexpr (std::is_copy_constructible_v<M>)
        return Shared<const Interface>(new ModelOf<M, any>(copy.layer(layer)));
      else fail<ArgumentError>({"copying a model: one of its layers cannot be copied; give it a copy constructor"});
    }

   private:
    /// Whether the layer maps X to Y. (A layer that names another element type of its input is not asked: its forward
    /// might not compile.)
    template <class X, class Y>
    [[nodiscard]] static consteval bool maps() {
      if constexpr (!any) return true;
      else if constexpr (!std::is_same_v<typename detail::InputOf<In, M>::type, In>) return false;
      else return detail::Maps<M, X, Y>;
    }
    [[noreturn]] static void fail_to_map() {
      fail<ArgumentError>({"forward: this layer does not map one tensor of ", dtype_name<In>(), " to one of ",
                           dtype_name<T>(), "; call it through its own type"});
    }
  };
  /// A Model of a layer that computes an activation in its own launch.
  template <class M, bool any = false>
  struct AbsorbingModel final : Model<M, any> {
    using Model<M, any>::Model;
    Tensor<T, D> forward_with(const Tensor<In, D>& x, Activation next) const override {
      return this->layer.forward_with(x, next);
    }
    Traced<T, D> forward_with(const Traced<In, D>& x, Activation next) const override {
      return this->layer.forward_with(x, next);
    }
  };
  template <class M, bool any = false>
  using ModelOf = std::conditional_t<is_absorbing<M>, AbsorbingModel<M, any>, Model<M, any>>;

  Shared<const Interface> model_;
};

}}}  // namespace locus::LOCUS_ABI::nn

#include <locus/instances/nn/module.inc>
