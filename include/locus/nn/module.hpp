#pragma once
// What a layer is, and the type-erased module that networks are composed of at run time.

#include <locus/autograd/parameter.hpp>
#include <locus/expr/chosen_activation.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI::nn {

template <class T, class D>
class Module;

using functor::Activation;

template <class T, class D>
struct NamedParameter {
  std::string name;
  Parameter<T, D> parameter;
};

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

struct VisitNothing {
  void operator()(std::string_view, const auto&) const {}
};
/// Whether a layer lists its parameters and children, itself or through the module it wraps.
template <class M>
concept ListsMembers = requires(const M& layer, const VisitNothing& visit) { layer.members(visit); } ||
                       requires(const M& layer, const VisitNothing& visit) { layer.visit_parameters("", visit); };

/// Calls visit(name, member) for the members that a layer lists. One that has a place has parameters: it must.
template <class M, class Visit>
void visit_members(const M& layer, const Visit& visit) {
  if constexpr (ListsMembers<M>) {
    layer.members([&](std::string_view name, const auto& member) { visit_each(name, member, visit); });
  } else {
    static_assert(!HasPlace<M>,
                  "a layer lists its parameters and children in void members(const auto& visit) const, or they would "
                  "not be trained; one that has none derives from nn::Stateless");
  }
}

template <class X>
struct IsParameterType : std::false_type {};
template <class T, class D>
struct IsParameterType<Parameter<T, D>> : std::true_type {};

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
        static_assert(!TensorLike<Member> || IsParameterType<Member>::value,
                      "members() lists a tensor: make it a Parameter, which is trained, or do not list it");
        static_assert(!IsParameterType<Member>::value,
                      "a layer's Parameter has another element type or device than the layer that lists it");
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
      if constexpr (!IsParameterType<std::remove_cvref_t<decltype(member)>>::value) {
        visit(state, name, Module<T, D>(member));
      }
    });
  }
}

/// Whether a class has a member named forward, whatever its parameters: two bases that both have one make the name
/// ambiguous. (A call would compile the body, and its mistakes be reported here too.) A final class is believed.
struct NamesForward {
  int forward;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
template <class M>
struct AlsoNamesForward : M, NamesForward {};
#pragma GCC diagnostic pop
template <class M>
concept ForwardIsNoMember = requires { &AlsoNamesForward<M>::forward; };
template <class M>
concept HasForward = std::is_class_v<M> && requires { sizeof(M); } && (std::is_final_v<M> || !ForwardIsNoMember<M>);

using NoForward =
    MistakeOf<Wrong::no_forward,
              error::not_possible<error::layer_without_forward, error::write_auto_forward_const_auto_x_const>>;

/// A forward that is no template and does not take X. (Asking a template would compile its body.)
template <class M, class X>
struct ArgumentMistake : NoMistake {};
template <class M, class X>
  requires(
      requires { &M::forward; } && !requires(const M& layer, const X& x) { layer.forward(x.eval()); })
struct ArgumentMistake<M, X>
    : MistakeOf<Wrong::no_such_forward, error::not_possible<error::forward_does_not_take_this_argument,
                                                            error::write_auto_forward_const_auto_x_const>> {};

/// Layers that compute in one element type name it as their input_type.
template <class M, class X>
struct InputTypeMistake : NoMistake {};
template <class M, TensorLike X>
  requires requires {
    typename M::input_type;
    requires !std::is_same_v<typename M::input_type, value_of<X>>;
  }
struct InputTypeMistake<M, X> : TypeMistake<typename M::input_type, value_of<X>> {};

/// What is wrong with calling a layer M on X.
template <class M, class X>
struct CallMistake
    : FirstMistake<PlaceMistake<M, X, error::model_is_on, error::input_is_on, error::move_the_input_with_to_D>,
                   OperandMistake<X>, std::conditional_t<HasForward<M>, NoMistake, NoForward>, InputTypeMistake<M, X>,
                   ArgumentMistake<M, X>> {};

/// What is wrong with a layer M in a network of T on D. (Layers without parameters have neither.)
template <class M, class T, class D>
struct LayerMistake : NoMistake {};
template <HasPlace M, class T, class D>
struct LayerMistake<M, T, D>
    : FirstMistake<
          PlaceMistake<Tensor<T, D>, M, error::network_is_on, error::layer_is_on, error::make_all_layers_on_one_device>,
          std::conditional_t<std::is_same_v<value_of<M>, T>, NoMistake, TypeMistake<T, value_of<M>>>,
          std::conditional_t<HasForward<M>, NoMistake, NoForward>> {};
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
    return derived().forward(x.eval());
  }
#define LOCUS_REFUSED operator()(const X&) const
#define LOCUS_REFUSED_CALL "calling a layer"
#define LOCUS_REFUSED_TEMPLATE class X, class Self = Derived
#define LOCUS_REFUSED_MISTAKE detail::CallMistake<Self, X>
#define LOCUS_REFUSED_LEFT "the model is"
#define LOCUS_REFUSED_RIGHT "the input is"
#define LOCUS_REFUSED_REMEDY(model, input) "move the input with .to<" model ">()"
#include <locus/device/refuse.inc>

  /// Parameters with their full names, such as "0.weight"; each once.
  template <class Self = Derived>
    requires detail::ListsMembers<Self>
  [[nodiscard]] std::vector<NamedParameter<T, D>> named_parameters() const {
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

#define LOCUS_REFUSED to(const E&...) const
#define LOCUS_REFUSED_TEMPLATE class Place = void, class... E
#define LOCUS_REFUSED_TEXT \
  ".to<D>() of a model: it is made where it lives, as in nn::Linear<float, Cuda>{784, 10}, and stays there"
#define LOCUS_REFUSED_WHY \
  error::not_possible<error::model_moved_to_another_place, error::make_it_where_it_lives_as_in_nn_Linear_float_Cuda>
#include <locus/device/refuse_if.inc>
#define LOCUS_REFUSED_FUNCTION parameters
#include <locus/nn/refuse_without_members.inc>
#define LOCUS_REFUSED_FUNCTION named_parameters
#include <locus/nn/refuse_without_members.inc>
#define LOCUS_REFUSED_FUNCTION children
#include <locus/nn/refuse_without_members.inc>
#define LOCUS_REFUSED_FUNCTION zero_grad
#include <locus/nn/refuse_without_members.inc>

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
  Module(M&& layer)
      : model_(static_cast<const Interface*>(new Model<std::remove_cvref_t<M>>(std::forward<M>(layer)))) {}

#if LOCUS_CLANG_REFUSES
  template <class M>
    requires detail::WrongPlaces<detail::LayerMistake<M, T, D>, Cpu, Cuda>
  Module(const M&) LOCUS_UNAVAILABLE("the network is on Cpu, a layer is on Cuda; make all layers on one device");
  template <class M>
    requires detail::WrongPlaces<detail::LayerMistake<M, T, D>, Cuda, Cpu>
  Module(const M&) LOCUS_UNAVAILABLE("the network is on Cuda, a layer is on Cpu; make all layers on one device");
  template <class M>
    requires detail::IsWrong<detail::LayerMistake<M, T, D>, detail::Wrong::types>
  Module(const M&) LOCUS_UNAVAILABLE("a layer holds another element type than the network; make all layers of one");
  template <class M>
    requires detail::IsWrong<detail::LayerMistake<M, T, D>, detail::Wrong::no_forward>
  Module(const M&) LOCUS_UNAVAILABLE("a layer has no forward; write auto forward(const auto& x) const");
#else
  template <class M, class why = typename detail::LayerMistake<M, T, D>::why>
  Module(const M&) = delete;
#endif

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
      if constexpr (requires { M::activation; }) return M::activation;
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
