#pragma once
// A model, or a part of one, whose layers act as in inference while it is trained.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// A struct of tensors, such as the result of a recurrent layer: x.transformed(f) is the struct with f of each.
struct Unchanged {
  template <class X> const X& operator()(const X& x) const { return x; }
};
template <class X>
concept StructOfTensors = requires(const X& x) { x.transformed(Unchanged{}); };

/// An argument of a layer: a traced one frozen, also within a struct of tensors or a Tuple; others unchanged.
template <class X>
[[nodiscard]] auto as_frozen(const X& x) {
  if constexpr (locus::detail::IsTraced<X>) return locus::frozen(x);
  else if constexpr (StructOfTensors<X>) return x.transformed([](const auto& part) { return as_frozen(part); });
  else return x;
}
template <class... X>
[[nodiscard]] auto as_frozen(const Tuple<X...>& tuple) {
  return locus::detail::unpack(tuple, [](const auto&... x) { return Tuple(as_frozen(x)...); });
}
template <class X>
[[nodiscard]] bool is_frozen([[maybe_unused]] const X& x) {
  if constexpr (locus::detail::IsTraced<X>) {
    return x.is_frozen();
  } else if constexpr (StructOfTensors<X>) {
    bool any = false;
    (void)x.transformed([&](const auto& part) {
      any |= is_frozen(part);
      return part;
    });
    return any;
  } else {
    return false;
  }
}
template <class... X>
[[nodiscard]] bool is_frozen(const Tuple<X...>& tuple) {
  return locus::detail::unpack(tuple, [](const auto&... x) { return (is_frozen(x) || ...); });
}
/// A result whose later layers act as in inference, or as in training.
template <class Y>
[[nodiscard]] auto with_frozen(const Y& y, [[maybe_unused]] bool frozen) {
  if constexpr (locus::detail::IsTraced<Y>) {
    const auto& traced = y.eval();
    return Traced<value_of<Y>, device_of<Y>>(traced.value(), traced.node(), frozen);
  } else if constexpr (StructOfTensors<Y>) {
    return y.transformed([&](const auto& part) { return with_frozen(part, frozen); });
  } else {
    return y;
  }
}
template <class... Y>
[[nodiscard]] auto with_frozen(const Tuple<Y...>& tuple, bool frozen) {
  return locus::detail::unpack(tuple, [&](const auto&... y) { return Tuple(with_frozen(y, frozen)...); });
}
}  // namespace detail

/// A model whose layers act as in inference on traced tensors, too, as on frozen(x): batch norm uses its running
/// statistics and leaves them unchanged, dropout drops nothing. PyTorch's eval() of a model, or of a part of it, that
/// is trained. Parameters get their gradients as usual: requires_grad_(false) leaves them out. Layers after it act as
/// in training, unless x itself is frozen: results are tensors, or Tuples or results of recurrent layers. It has the
/// model's names, and shares its parameters and buffers.
///
///     model.requires_grad_(false);
///     model.fc = nn::Linear<float, D>{512, 10, true, device};                    // the layer that is trained
///     optim::Adam optimizer{model.fc.parameters(), {.lr = 0.01}};
///     fit(nn::Frozen{model}, optimizer, train, valid, history, {.epochs = 5});
///
///     nn::Sequential<float, D> net{nn::Frozen{backbone}, nn::Dropout{0.5}, head};  // the dropout drops
template <class M>
  requires detail::ListsMembers<M>
class Frozen final : public Layer<Frozen<M>, value_of<M>, device_of<M>>, public detail::InputTypeOf<M> {
  using T = value_of<M>;
  using D = device_of<M>;

 public:
  using model_type = M;

  explicit Frozen(M model) : model_(std::move(model)) {}
  /// The model itself.
  [[nodiscard]] const M& module() const { return model_; }

  template <class X, class... More>
  [[nodiscard]] auto forward(const X& x, const More&... more) const {
    return detail::with_frozen(model_(detail::as_frozen(x), detail::as_frozen(more)...),
                               (detail::is_frozen(x) || ... || detail::is_frozen(more)));
  }

  void walk_members(detail::Depth depth, const std::string& prefix, detail::MemberWalk<T, D>& walk) const {
    if (depth == detail::Depth::all) detail::walk_members<detail::Depth::all, T, D>(model_, prefix, walk);
    else detail::walk_members<detail::Depth::children, T, D>(model_, prefix, walk);
  }
  template <class U, class E, class... Own>
  [[nodiscard]] auto copied(detail::ModelCopy<T, D, U, E, Own...>& copy) const {
    return Frozen<decltype(copy.layer(model_))>(copy.layer(model_));
  }

  // Of a model of several ranks.
  [[nodiscard]] const auto& communicator() const
    requires requires(const M& model) { model.communicator(); }
  {
    return model_.communicator();
  }
  [[nodiscard]] auto no_sync() const
    requires requires(const M& model) { model.no_sync(); }
  {
    return model_.no_sync();
  }

 private:
  M model_;
};

namespace detail {
/// A call of the wrapper is checked as a call of the model.
template <class M, class... X>
struct CallMistake<Frozen<M>, X...> : CallMistake<M, X...> {};
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
