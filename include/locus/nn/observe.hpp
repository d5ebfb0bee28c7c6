#pragma once
// Calls of layers as an observer sees them: nn::summary and the graph of a model.

#include <locus/core/dtype.hpp>
#include <locus/core/shape.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/std/span.hpp>
#include <locus/expr/expr.hpp>

#include <typeinfo>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// Keeps a tensor's memory, so that no later tensor has the same address.
struct KeptTensor : Counted {
  virtual ~KeptTensor() = default;
};
template <class X>
struct KeptTensorOf final : KeptTensor {
  X x;
  explicit KeptTensorOf(const X& kept) : x(kept) {}
};

/// A tensor that a layer takes or returns.
struct SeenTensor {
  Shape shape;
  std::string_view type = {};    ///< name of the element type
  std::int64_t bytes = 0;        ///< of its elements
  const void* memory = nullptr;  ///< of its elements; null for an expression that is not computed yet
  Shared<KeptTensor> kept = {};  ///< for an observer that keeps()
};
/// A layer that is called. A layer and its first member may have one address.
struct LayerId {
  const void* address;
  const std::type_info* type;  ///< of the layer, or of a base class
};
/// Told of each call of a layer on a thread, in nested pairs of enter() and leave(); result() comes before leave(),
/// unless the layer throws.
class LayerObserver {
 public:
  virtual void enter(const LayerId& layer, Span<const SeenTensor> inputs) = 0;
  virtual void result(const SeenTensor& output) = 0;
  virtual void leave() noexcept = 0;
  [[nodiscard]] virtual bool keeps() const { return false; }

 protected:
  ~LayerObserver() = default;
};
inline thread_local LayerObserver* layer_observer = nullptr;

template <class X>
[[nodiscard]] SeenTensor seen_tensor(const X& x, bool keeps) {
  if constexpr (TensorLike<X>) {
    SeenTensor seen{Shape(x.shape()), dtype_name<value_of<X>>(), 0, nullptr, {}};
    seen.bytes = elements(seen.shape) * static_cast<std::int64_t>(sizeof(value_of<X>));
    if constexpr (requires { x.value().data(); }) {
      seen.memory = x.value().data();
      if (keeps) seen.kept = Shared<KeptTensor>(new KeptTensorOf<std::remove_cvref_t<decltype(x.value())>>(x.value()));
    }
    return seen;
  } else if constexpr (requires { x.output; }) {  // of a recurrent layer
    return seen_tensor(x.output, keeps);
  } else {
    return {};
  }
}

/// A call of a layer, for the observer of this thread. cost without one: a load and a branch
class ObservedCall {
 public:
  template <class... X>
  explicit ObservedCall(const LayerId& layer, const X&... x) {
    if (!observer_) [[likely]]
      return;
    const SeenTensor inputs[] = {seen_tensor(x, observer_->keeps())...};
    observer_->enter(layer, {inputs, sizeof...(X)});
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;
  ~ObservedCall() {
    if (observer_) [[unlikely]]
      observer_->leave();
  }
  template <class Y>
  void end(const Y& y) const {
    if (observer_) [[unlikely]]
      observer_->result(seen_tensor(y, observer_->keeps()));
  }

 private:
  LayerObserver* observer_ = layer_observer;
};

/// Makes an observer this thread's, until the end of its scope.
class Observing {
 public:
  explicit Observing(LayerObserver& observer) { layer_observer = &observer; }
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;
  ~Observing() { layer_observer = before_; }

 private:
  LayerObserver* before_ = layer_observer;
};

}}}  // namespace locus::LOCUS_ABI::nn::detail
