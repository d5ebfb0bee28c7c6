#pragma once
// Layers one after the other.

#include <locus/nn/activation.hpp>

namespace locus::inline LOCUS_ABI::nn {

/// Applies its modules in order; their names are "0", "1", ... An activation after a layer that can compute it in its
/// own launch costs none.
///
///     nn::Sequential<float, D> net{nn::Linear<float, D>{784, 32}, nn::ReLU{}, ...};
template <class T, class D>
class Sequential : public Layer<Sequential<T, D>, T, D> {
 public:
  using input_type = T;

  Sequential() = default;
  template <class... M>
    requires(sizeof...(M) > 0 && (std::is_constructible_v<Module<T, D>, M&&> && ...) &&
             !(sizeof...(M) == 1 && (std::is_same_v<std::remove_cvref_t<M>, Sequential> && ...)))
  explicit(false) Sequential(M&&... modules) {
    // Module asks the same. Asked here first, the compiler's path from your program to a mistake in yours is short.
    const auto check = [](const auto& layer) {
      if constexpr (detail::HasMembers<std::remove_cvref_t<decltype(layer)>>) {
        layer.members(detail::CheckMembers<T, D>{});
      }
    };
    if (false) (check(modules), ...);
    using Outputs [[maybe_unused]] =
        void(decltype(std::declval<const std::remove_cvref_t<M>&>().forward(std::declval<const Tensor<T, D>&>()))...);
    if constexpr ((detail::Forwards<std::remove_cvref_t<M>, Tensor<T, D>> && ...)) {
      using Recorded [[maybe_unused]] =
          void(decltype(std::declval<const std::remove_cvref_t<M>&>().forward(std::declval<const Traced<T, D>&>()))...);
    }
    if constexpr ((detail::ForwardsAndRecords<std::remove_cvref_t<M>, T, D> && ...)) {
      (modules_.push_back(Module<T, D>(std::forward<M>(modules))), ...);
    }
  }

#include <locus/refuse/nn/sequential.inc>

  /// Appends a module, which is shared, not copied.
  void push_back(Module<T, D> module) { modules_.push_back(std::move(module)); }
  [[nodiscard]] std::size_t size() const { return modules_.size(); }
  [[nodiscard]] const Module<T, D>& operator[](std::size_t i) const {
    if (i >= modules_.size()) fail<IndexError>({"Sequential: module ", i, " of ", modules_.size()});
    return modules_[i];
  }

  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x) const { return run(x); }
  [[nodiscard]] Traced<T, D> forward(const Traced<T, D>& x) const { return run(x); }

  void members(const auto& visit) const {
    for (std::size_t i = 0; i < modules_.size(); ++i) visit(std::to_string(i), modules_[i]);
  }

 private:
  template <class X>
  [[nodiscard]] X run(const X& input) const {
    X x = input;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const Activation next = i + 1 < modules_.size() ? modules_[i + 1].activation() : Activation::none;
      if (modules_[i].absorbs(next)) x = modules_[i++].forward_with(x, next);
      else x = modules_[i].forward(x);
    }
    return x;
  }

  std::vector<Module<T, D>> modules_;
};

namespace detail {
template <class M>
inline constexpr bool is_sequential = false;
template <class T, class D>
inline constexpr bool is_sequential<Sequential<T, D>> = true;
}  // namespace detail

/// The network lives where the first of its layers with parameters does. Of a network alone, it is a copy.
template <class M, class... Rest>
  requires(sizeof...(Rest) > 0 || !detail::is_sequential<std::remove_cvref_t<M>>)
Sequential(M&&, Rest&&...)
    -> Sequential<value_of<detail::first_with_place_t<M, Rest...>>, device_of<detail::first_with_place_t<M, Rest...>>>;

}  // namespace locus::inline LOCUS_ABI::nn

#include <locus/instances/nn/sequential.inc>
