#pragma once
// A chain of layers.

#include <locus/nn/activation.hpp>
#include <locus/nn/shipped_layers.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// The first module, if it takes another element type than the others.
template <class T, class D, class In>
class FirstModule {
 public:
  void set(Module<T, D, In> module) { module_.push_back(std::move(module)); }
  [[nodiscard]] const Module<T, D, In>& get() const {
    if (module_.empty())
      fail<ArgumentError>({"Sequential: there is no layer that makes ", dtype_name<T>(), " of ", dtype_name<In>(),
                           "; give it one, such as nn::Embedding, first"});
    return module_.front();
  }
  [[nodiscard]] std::size_t size() const { return module_.size(); }

 private:
  std::vector<Module<T, D, In>> module_;  ///< one, or none
};
template <class T, class D>
class FirstModule<T, D, T> {
 public:
  [[nodiscard]] static constexpr std::size_t size() { return 0; }
};
}  // namespace detail

/// Applies its modules in order; their names are "0", "1", ... An activation after a layer that can compute it in its
/// own launch costs none. If In differs from T, the first module maps In to T: a network that begins with an Embedding
/// takes int64, and is an nn::Sequential<float, D, std::int64_t>.
///
///     nn::Sequential<float, D> net{nn::Linear<float, D>{784, 32}, nn::ReLU{}, ...};
///     nn::Sequential words{nn::Embedding<float, D>{27, 16}, nn::Flatten{}, ...};   // In is deduced
template <class T, class D, class In>
class Sequential : public Layer<Sequential<T, D, In>, T, D> {
 public:
  using input_type = In;

  Sequential() = default;
  template <class First, class... M>
    requires(std::is_constructible_v<Module<T, D, In>, First &&> &&
             (std::is_constructible_v<Module<T, D>, M&&> && ...) &&
             !(sizeof...(M) == 0 && std::is_same_v<std::remove_cvref_t<First>, Sequential>))
  explicit(false) Sequential(First&& first, M&&... modules) {
    // Module checks the same. Checked here first to shorten the compiler's path from your program to its mistake.
    const auto check = [](const auto& layer) {
      if constexpr (detail::HasMembers<std::remove_cvref_t<decltype(layer)>>) {
        layer.members(detail::CheckMembers<T, D>{});
      }
    };
    if (false) check(first), (check(modules), ...);
    using Input = Tensor<In, D>;
    using Outputs [[maybe_unused]] =
        void(decltype(std::declval<const std::remove_cvref_t<First>&>().forward(std::declval<const Input&>())),
             decltype(std::declval<const std::remove_cvref_t<M>&>().forward(std::declval<const Tensor<T, D>&>()))...);
    if constexpr (detail::Forwards<std::remove_cvref_t<First>, Input> &&
                  (detail::Forwards<std::remove_cvref_t<M>, Tensor<T, D>> && ...)) {
      using Traces = Traced<In, D>;
      using Recorded [[maybe_unused]] =
          void(decltype(std::declval<const std::remove_cvref_t<First>&>().forward(std::declval<const Traces&>())),
               decltype(std::declval<const std::remove_cvref_t<M>&>().forward(std::declval<const Traced<T, D>&>()))...);
    }
    if constexpr (detail::ForwardsAndRecords<std::remove_cvref_t<First>, In, D> &&
                  (detail::ForwardsAndRecords<std::remove_cvref_t<M>, T, D> && ...)) {
      start(Module<T, D, In>(std::forward<First>(first)));
      (modules_.push_back(Module<T, D>(std::forward<M>(modules))), ...);
    }
  }

#include <locus/refuse/nn/sequential.inc>

  /// Appends a module, which is shared, not copied.
  void push_back(Module<T, D> module) {
    detail::require_present(*this);
    modules_.push_back(std::move(module));
  }
  [[nodiscard]] std::size_t size() const {
    detail::require_present(*this);
    return first_.size() + modules_.size();
  }
  /// throws IndexError; also for module 0 if In is not T: use first()
  [[nodiscard]] const Module<T, D>& operator[](std::size_t i) const {
    if (i >= size()) fail<IndexError>({"Sequential: module ", i, " of ", size()});
    if constexpr (!std::is_same_v<In, T>) {
      if (i == 0) fail<IndexError>({"Sequential: module 0 takes ", dtype_name<In>(), "; say first()"});
    }
    return modules_[i - first_.size()];
  }
  /// The module that takes the input. throws IndexError or ArgumentError if there is none
  [[nodiscard]] const Module<T, D, In>& first() const {
    if constexpr (std::is_same_v<In, T>) return (*this)[0];
    else return first_.get();
  }

  [[nodiscard]] Tensor<T, D> forward(const Tensor<In, D>& x) const { return run<Tensor<T, D>>(x); }
  [[nodiscard]] Traced<T, D> forward(const Traced<In, D>& x) const { return run<Traced<T, D>>(x); }

  /// A copy, module by module.
  template <class U, class E, class... Own>
  [[nodiscard]] auto copied(detail::ModelCopy<T, D, U, E, Own...>& copy) const {
    using To = typename detail::ModelCopy<T, D, U, E, Own...>::template input<In>;
    Sequential<U, E, To> result;
    if constexpr (!std::is_same_v<In, T>) {
      if (first_.size() > 0) result.start(copy.layer(first_.get()));
    }
    for (const auto& module : modules_) result.push_back(copy.layer(module));
    return result;
  }

  void members(const auto& visit) const {
    if constexpr (!std::is_same_v<In, T>)
      if (first_.size() > 0) visit("0", first_.get());
    for (std::size_t i = 0; i < modules_.size(); ++i) visit(std::to_string(first_.size() + i), modules_[i]);
  }

 private:
  template <class, class, class>
  friend class Sequential;
  void start(Module<T, D, In> module) {
    if constexpr (std::is_same_v<In, T>) modules_.push_back(std::move(module));
    else first_.set(std::move(module));
  }
  /// Applies one module, together with the activation after it if the module absorbs it; then advances `next` past it.
  template <class M, class X>
  [[nodiscard]] auto apply(const M& module, const X& x, std::size_t& next) const {
    const Activation activation = next < modules_.size() ? modules_[next].activation() : Activation::none;
    if (!module.absorbs(activation) || detail::layer_observer) return module.forward(x);
    ++next;
    return module.forward_with(x, activation);
  }
  template <class Y, class X>
  [[nodiscard]] Y run(const X& input) const {
    detail::require_present(*this);
    std::size_t next = 0;
    Y x = [&] {
      if constexpr (std::is_same_v<In, T>) return input;
      else return apply(first_.get(), input, next);
    }();
    while (next < modules_.size()) {
      const auto& module = modules_[next++];
      x = apply(module, x, next);
    }
    return x;
  }

  detail::FirstModule<T, D, In> first_;
  std::vector<Module<T, D>> modules_;
};

namespace detail {
template <class M>
inline constexpr bool is_sequential = false;
template <class T, class D, class In>
inline constexpr bool is_sequential<Sequential<T, D, In>> = true;
}  // namespace detail

/// The network's type and place are taken from its first layer with parameters. A Sequential alone is copied, not
/// nested.
template <class M, class... Rest>
  requires(sizeof...(Rest) > 0 || !detail::is_sequential<std::remove_cvref_t<M>>)
Sequential(M&&, Rest&&...) -> Sequential<
    value_of<detail::first_with_place_t<M, Rest...>>, device_of<detail::first_with_place_t<M, Rest...>>,
    typename detail::InputOf<value_of<detail::first_with_place_t<M, Rest...>>, std::remove_cvref_t<M>>::type>;
#include <locus/refuse/nn/sequential_guide.inc>

}}}  // namespace locus::LOCUS_ABI::nn

#include <locus/instances/nn/sequential.inc>
