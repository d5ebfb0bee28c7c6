#pragma once
// An activation chosen at run time, when networks are composed, so that a layer can fuse the activation after it.

#include <locus/expr/functions/activation.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

/// Activations that the preceding layer can fuse into its own launch.
enum class Activation { none, relu, tanh, sigmoid };
inline constexpr Activation every_activation[] = {Activation::none, Activation::relu, Activation::tanh,
                                                  Activation::sigmoid};

/// An activation chosen at run time, so that one kernel serves all. Its derivative needs the output alone.
struct ChosenActivation {
  static constexpr bool may_select = true;  // relu selects
  Activation kind = Activation::none;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    if (kind == Activation::none) return x;
    if (kind == Activation::relu) return Relu{}(x);
    return kind == Activation::tanh ? Tanh{}(x) : Sigmoid{}(x);
  }
  template <class T>
  LOCUS_FN T by_output(T y) const {
    if (kind == Activation::none) return T(1);
    if (kind == Activation::relu) return Relu{}.by_output(y);
    return kind == Activation::tanh ? Tanh{}.by_output(y) : Sigmoid{}.by_output(y);
  }
  /// Calls use(activation) with the activation's own type, so that host loops do not branch (loop unswitching).
  template <class Use>
  void visit(const Use& use) const {
    switch (kind) {
      case Activation::none: return use(Identity{});
      case Activation::relu: return use(Relu{});
      case Activation::tanh: return use(Tanh{});
      case Activation::sigmoid: return use(Sigmoid{});
    }
  }
};

/// f as a ChosenActivation; `none` if it is not in the list.
template <class F>
[[nodiscard]] constexpr ChosenActivation chosen(const F& f) {
  if constexpr (std::is_same_v<F, ChosenActivation>) return f;
  else if constexpr (std::is_same_v<F, Relu>) return {Activation::relu};
  else if constexpr (std::is_same_v<F, Tanh>) return {Activation::tanh};
  else if constexpr (std::is_same_v<F, Sigmoid>) return {Activation::sigmoid};
  else return {};
}

/// Whether an activation is the identity.
template <class F>
[[nodiscard]] constexpr bool is_identity(const F& f) {
  if constexpr (requires { f.kind == Activation::none; }) return f.kind == Activation::none;
  else return requires { requires F::is_identity; };
}

}}}  // namespace locus::LOCUS_ABI::functor
