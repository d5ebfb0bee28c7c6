#pragma once
// What a layer is, and the type-erased module that networks are composed of at run time.

#include <locus/expr/chosen_activation.hpp>
#include <locus/nn/forward.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI::nn {

using functor::Activation;

template <class T, class D>
struct NamedParameter {
  std::string name;
  Parameter<T, D> parameter;
};

namespace detail {
/// What is wrong with a layer M in a network of T on D. (Layers without parameters have neither.)
template <class M, class T, class D>
struct LayerMistake : NoMistake {};
template <HasPlace M, class T, class D>
struct LayerMistake<M, T, D>
    : FirstMistake<
          PlaceMistake<Tensor<T, D>, M, error::network_is_on, error::layer_is_on, error::make_all_layers_on_one_device>,
          std::conditional_t<std::is_same_v<value_of<M>, T>, NoMistake, TypeMistake<T, value_of<M>>>, ForwardMistake<M>,
          NoMembersMistake<M>, ArgumentMistake<M, Tensor<T, D>>, ArgumentMistake<M, Traced<T, D>>> {};
template <class T, class D, class... M>
struct NetworkMistake : FirstMistake<LayerMistake<M, T, D>...> {};
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// Base of a layer with parameters of T on D, and of your own modules. A derived class lists its parameters and
/// children, and computes:
///
///     template <Device D>
///     struct Residual : nn::Layer<Residual<D>, float, D> {
///       nn::Linear<float, D> inner{64, 64};
///       auto forward(const auto& x) const { return relu(x + inner(x)); }   // x: Tensor or Traced
///       void members(const auto& visit) const { visit("inner", inner); }
///     };
///
/// Copies share parameters, as in PyTorch.
template <class Derived, class T, class D>
class Layer {
 public:
  using value_type = T;
  using device_type = D;

  /// Records if x is traced; a plain tensor is inference.
  template <TensorLike X, class Self = Derived>
    requires detail::IsWrong<detail::CallMistake<Self, X>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& x) const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::VisitNothing{});  // nvcc warns of what is asked for and not called
    }
    return derived().forward(x.eval());
  }
#include <locus/refuse/nn/module_layer.inc>

  /// Parameters with their full names, such as "0.weight"; each once.
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<NamedParameter<T, D>> named_parameters() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    std::vector<NamedParameter<T, D>> result;
    detail::visit_parameters<T, D>(derived(), "", [&](const std::string& name, const Parameter<T, D>& parameter) {
      for (const auto& known : result)
        if (known.parameter == parameter) return;
      result.push_back({name, parameter});
    });
    return result;
  }
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<Parameter<T, D>> parameters() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    std::vector<Parameter<T, D>> result;
    detail::visit_parameters<T, D>(derived(), "", [&](const std::string&, const Parameter<T, D>& parameter) {
      for (const auto& known : result)
        if (known == parameter) return;
      result.push_back(parameter);
    });
    return result;
  }

  /// The modules directly below, with their names.
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<std::pair<std::string, Module<T, D>>> children() const {
    if constexpr (detail::HasMembers<Self>) {
      if (false) derived().members(detail::CheckMembers<T, D>{});  // for the compiler alone, as below
    }
    std::vector<std::pair<std::string, Module<T, D>>> result;
    const detail::VisitChild<T, D> add = [](void* list, std::string_view name, const Module<T, D>& module) {
      static_cast<decltype(result)*>(list)->emplace_back(std::string(name), module);
    };
    detail::visit_children<T, D>(derived(), add, &result);
    return result;
  }

  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  void zero_grad() const {
    for (const auto& parameter : parameters()) parameter.zero_grad();
  }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
  /// For detail::Overtaken: here, so that a layer can make Layer its friend and keep its forward private.
  template <class Self, class Takes>
  struct Or : Self, Takes {
    using Self::forward;
    using Takes::forward;
  };
#pragma GCC diagnostic pop

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }
};
LOCUS_REFUSALS_END

/// Any module on D that maps a tensor of T to a tensor of T, its type erased. Copies share the layer.
template <class T, class D>
class Module : public Layer<Module<T, D>, T, D> {
 public:
  using input_type = T;

  /// Wraps a layer: anything with forward(x) for plain and traced x.
  template <class M>
    requires(!std::is_same_v<std::remove_cvref_t<M>, Module> && detail::HasForward<std::remove_cvref_t<M>> &&
             detail::IsWrong<detail::LayerMistake<std::remove_cvref_t<M>, T, D>, detail::Wrong::nothing>)
  Module(M&& layer) {
    using Given = std::remove_cvref_t<M>;
    // Named here, the compiler's path from your program to a mistake in its forward is short.
    using Output [[maybe_unused]] = decltype(std::declval<const Given&>().forward(std::declval<const Tensor<T, D>&>()));
    if constexpr (detail::Forwards<Given, Tensor<T, D>>) {
      using Recorded [[maybe_unused]] =
          decltype(std::declval<const Given&>().forward(std::declval<const Traced<T, D>&>()));
    }
    const detail::CheckMembers<T, D> check;
    if constexpr (requires { layer.members(check); }) {
      if (false) layer.members(check);
    }
    if constexpr (detail::ForwardsAndRecords<Given, T, D>) {
      model_ = Shared<const Interface>(new Model<Given>(std::forward<M>(layer)));
    }
  }

#include <locus/refuse/nn/module.inc>

  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x) const { return model_->forward(x); }
  [[nodiscard]] Traced<T, D> forward(const Traced<T, D>& x) const { return model_->forward(x); }

  /// What this module is, if another can compute it in its own launch.
  [[nodiscard]] Activation activation() const { return model_->activation(); }
  /// Whether this module can compute the activation after it in its own launch, and that.
  [[nodiscard]] bool absorbs(Activation next) const { return next != Activation::none && model_->absorbs(next); }
  [[nodiscard]] Tensor<T, D> forward_with(const Tensor<T, D>& x, Activation next) const {
    return model_->forward_with(x, next);
  }
  [[nodiscard]] Traced<T, D> forward_with(const Traced<T, D>& x, Activation next) const {
    return model_->forward_with(x, next);
  }

  template <class Visit>
  void visit_parameters(const std::string& prefix, const Visit& visit) const {
    model_->visit_parameters(prefix, &call_visit<Visit>, const_cast<void*>(static_cast<const void*>(&visit)));
  }

  void visit_children(detail::VisitChild<T, D> visit, void* state) const { model_->visit_children(visit, state); }

  /// The module itself, if it is an M.
  template <class M>
  [[nodiscard]] const M* target() const {
    const auto* model = dynamic_cast<const Model<M>*>(model_.get());
    return model ? &model->layer : nullptr;
  }

 private:
  using ErasedVisit = void (*)(void* visit, const std::string& name, const Parameter<T, D>& parameter);
  template <class Visit>
  static void call_visit(void* visit, const std::string& name, const Parameter<T, D>& parameter) {
    (*static_cast<const Visit*>(visit))(name, parameter);
  }

  struct Interface : Counted {
    virtual ~Interface() = default;
    virtual Tensor<T, D> forward(const Tensor<T, D>& x) const = 0;
    virtual Traced<T, D> forward(const Traced<T, D>& x) const = 0;
    virtual Tensor<T, D> forward_with(const Tensor<T, D>& x, Activation next) const = 0;
    virtual Traced<T, D> forward_with(const Traced<T, D>& x, Activation next) const = 0;
    virtual Activation activation() const = 0;
    virtual bool absorbs(Activation next) const = 0;
    virtual void visit_parameters(const std::string& prefix, ErasedVisit visit, void* state) const = 0;
    virtual void visit_children(detail::VisitChild<T, D> visit, void* state) const = 0;
  };

  template <class M>
  struct Model final : Interface {
    M layer;
    template <class Source>
    explicit Model(Source&& source) : layer(std::forward<Source>(source)) {}
    static constexpr bool absorbing =
        requires(const M& m, const Tensor<T, D>& x) { m.forward_with(x, Activation::relu); };

    Tensor<T, D> forward(const Tensor<T, D>& x) const override { return layer.forward(x).eval(); }
    Traced<T, D> forward(const Traced<T, D>& x) const override { return layer.forward(x).eval(); }
    Tensor<T, D> forward_with(const Tensor<T, D>& x, Activation next) const override { return with(x, next); }
    Traced<T, D> forward_with(const Traced<T, D>& x, Activation next) const override { return with(x, next); }
    Activation activation() const override {
      if constexpr (requires { requires std::is_same_v<decltype(M::activation), const Activation>; })
        return M::activation;
      else return Activation::none;
    }
    bool absorbs(Activation) const override { return absorbing; }
    void visit_parameters(const std::string& prefix, ErasedVisit visit, void* state) const override {
      detail::visit_parameters<T, D>(layer, prefix, [=](const std::string& name, const Parameter<T, D>& parameter) {
        visit(state, name, parameter);
      });
    }
    void visit_children(detail::VisitChild<T, D> visit, void* state) const override {
      detail::visit_children<T, D>(layer, visit, state);
    }

   private:
    template <class X>
    X with(const X& x, Activation next) const {
      if constexpr (absorbing) return layer.forward_with(x, next);
      else fail<ArgumentError>({"forward_with: this module cannot compute an activation in its own launch"});
    }
  };

  Shared<const Interface> model_;
};

}  // namespace locus::inline LOCUS_ABI::nn

#include <locus/instances/nn/module.inc>
