#pragma once
// Hooks: functions that are called with a gradient as soon as it is complete.

#include <locus/core/std/shared.hpp>
#include <locus/tensor/tensor.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

template <class F, class T, class D>
concept TakesGradient = std::is_invocable_v<F&, const Tensor<T, D>&>;
/// A function of the gradient of a tensor of T on D that returns nothing.
template <class F, class T, class D>
concept GradientFunction = TakesGradient<F, T, D> && std::is_void_v<std::invoke_result_t<F&, const Tensor<T, D>&>>;
/// A function of gradients on E instead of D. TakesNoGradient: a function of gradients on no place.
template <class F, class T, class D, class E>
concept TakesGradientOn = !TakesGradient<F, T, D> && TakesGradient<F, T, E>;
template <class F, class T, class D>
concept TakesNoGradient = !TakesGradient<F, T, D> && !TakesGradientOn<F, T, D, Cpu> && !TakesGradientOn<F, T, D, Cuda>;

/// A hook's function. `gradient` points to the const Tensor<T, D> of its node.
class HookFunction : public Counted {
 public:
  virtual ~HookFunction() = default;
  virtual void call(const void* gradient) = 0;

 private:
  friend class Hooks;
  std::uint64_t number_ = 0;
  bool last_ = false;
};
template <class F, class T, class D>
class HookFunctionOf final : public HookFunction {
 public:
  explicit HookFunctionOf(F f) : f_(std::move(f)) {}
  void call(const void* gradient) override { f_(*static_cast<const Tensor<T, D>*>(gradient)); }

 private:
  F f_;
};

/// The hooks of one node, in order of creation. They may be added and removed while they are called.
class Hooks : public Counted {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
#if LOCUS_DOUBLE_BACKWARD
  /// Whether there are functions that are not `last`.
  [[nodiscard]] bool any_but_last() const {
    for (const auto& one : functions_)
      if (one && !one->last_) return true;
    return false;
  }
#endif
  /// Adds a function that passes with a higher number than `number` call; `last` functions are called after all others.
  void add(Shared<HookFunction> function, std::uint64_t number, bool last) {
    function->number_ = number;
    function->last_ = last;
    functions_.push_back(std::move(function));
    ++count_;
  }
  void remove(const HookFunction* function) noexcept {
    for (auto& one : functions_) {
      if (one.get() != function) continue;
      const Shared<HookFunction> removed = std::move(one);  // its destructor may remove other hooks
      one = {};
      --count_;
      if (calls_ == 0) tidy();
      return;
    }
  }
  /// Without `with_last`, the `last` functions are left out.
  void call(const void* gradient, std::uint64_t pass, bool with_last) {
    const Calling calling(*this);
    for (const bool last : {false, true}) {
      if (last && !with_last) break;
      for (std::size_t i = 0, n = functions_.size(); i < n; ++i) {
        const Shared<HookFunction> function = functions_[i];  // keeps it alive if it removes itself during the call
        if (function && function->last_ == last && function->number_ < pass) function->call(gradient);
      }
    }
  }

 private:
  class Calling {
   public:
    explicit Calling(Hooks& hooks) : hooks_(hooks) { ++hooks_.calls_; }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;
    ~Calling() {
      if (--hooks_.calls_ == 0) hooks_.tidy();
    }

   private:
    Hooks& hooks_;
  };
  /// Erases the empty entries of removed hooks.
  void tidy() noexcept {
    std::size_t kept = 0;
    for (auto& one : functions_)
      if (one) std::swap(functions_[kept++], one);
    functions_.resize(kept);
  }

  std::vector<Shared<HookFunction>> functions_;
  std::size_t count_ = 0;
  int calls_ = 0;
};

}  // namespace detail

/// The handle of a hook: the function is called as long as the handle lives. Handles are moved, not copied.
class GradientHook {
 public:
  GradientHook() = default;
  GradientHook(Shared<detail::Hooks> hooks, Shared<detail::HookFunction> function)
      : hooks_(std::move(hooks)), function_(std::move(function)) {}
  GradientHook(GradientHook&& other) noexcept = default;
  GradientHook& operator=(GradientHook&& other) noexcept {
    if (this != &other) {
      unhook();
      hooks_ = std::move(other.hooks_);
      function_ = std::move(other.function_);
    }
    return *this;
  }
  GradientHook(const GradientHook&) = delete;
  GradientHook& operator=(const GradientHook&) = delete;
  ~GradientHook() { unhook(); }

  /// Removes and deletes the function. Also allowed within the function.
  void unhook() noexcept {
    if (hooks_) hooks_->remove(function_.get());
    hooks_ = {};
    function_ = {};
  }
  /// False for a handle that is empty, moved from or unhooked.
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(hooks_); }

 private:
  Shared<detail::Hooks> hooks_;
  Shared<detail::HookFunction> function_;
};

}}  // namespace locus::LOCUS_ABI
