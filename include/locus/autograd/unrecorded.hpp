#pragma once
// A function that is computed now without being recorded, because its backward pass computes it again, and what it
// uses of the graph around it.

#include <locus/autograd/graph.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Memory of any place that is kept, for its version.
class KeptMemory : public Counted {
 public:
  virtual ~KeptMemory() = default;
  [[nodiscard]] virtual std::uint32_t version() const = 0;
};
template <class D>
class KeptMemoryOn final : public KeptMemory {
 public:
  explicit KeptMemoryOn(const Buffer<D>& buffer) : buffer_(buffer) {}
  [[nodiscard]] std::uint32_t version() const override { return buffer_.version(); }

 private:
  Buffer<D> buffer_;
};

/// The tensors that a function computes with, where they are its arguments, parameters, or collect gradients.
class OutsideOperands {
 public:
  /// An argument, whether it collects a gradient or not: the gradient counts where the function uses it.
  template <class X>
  void keep(const X& x) {
    keep(nullptr, false, x.value());
  }
  /// An operand within the function, and whether its gradient counts there. What the function computed itself has no
  /// node. A frozen parameter, too, has to be the same when the function is computed again.
  template <class X>
  void note([[maybe_unused]] const X& x, [[maybe_unused]] bool counts = false) {
    if constexpr (X::role == Role::parameter) {
      if (x.defined()) note(x.leaf().get(), counts && x.requires_grad(), x.value());
    } else if constexpr (X::role == Role::traced) {
      if (x.node()) note(x.node().get(), counts, x.value());
    }
  }
  [[nodiscard]] bool collect_gradients() const {
    for (const Operand& operand : operands_)
      if (operand.collects) return true;
    return false;
  }
  void visit_nodes(void (*visit)(GraphNode&, void*), void* state) const {
    for (const Operand& operand : operands_)
      if (operand.collects) visit(*operand.node, state);
  }
  /// Of the function, unlike that of any other; never 0.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// throws StaleError naming the operation
  void require_unchanged(const char* operation) const {
    for (const Operand& operand : operands_) {
      const SavedState now{&operand.shape, operand.memory->version()};
      locus::detail::require_unchanged(operation, {&now, 1}, &operand.version);
    }
  }

 private:
  struct Operand {
    Shared<GraphNode> node;
    bool collects;
    Shared<KeptMemory> memory;
    Shape shape;
    std::uint32_t version;
  };
  template <class T, class D>
  void keep(GraphNode* node, bool collects, const Tensor<T, D>& value) {
    operands_.push_back({Shared<GraphNode>(node), collects, Shared<KeptMemory>(new KeptMemoryOn<D>(value.buffer())),
                         value.shape(), value.version()});
  }
  template <class T, class D>
  void note(GraphNode* node, bool collects, const Tensor<T, D>& value) {
    for (Operand& operand : operands_) {
      if (operand.node.get() != node) continue;
      operand.collects = operand.collects || collects;
      return;
    }
    keep(node, collects, value);
  }

  std::uint64_t number_ = next_node_number.fetch_add(1, Order::relaxed);
  std::vector<Operand> operands_;
};

/// Where this thread notes operands in place of recording operations; null: it records them.
inline thread_local OutsideOperands* unrecorded = nullptr;

/// The number of the unrecorded function that this thread computes; 0 where it records operations.
[[nodiscard]] inline std::uint64_t unrecorded_function() { return unrecorded ? unrecorded->number() : 0; }

/// Whether operations are recorded; otherwise, the operands of this one are noted, whose result has gradients or not.
template <class... X>
[[nodiscard]] bool is_recorded(bool has_gradients, const X&... x) {
  if (!unrecorded) [[likely]]
    return true;
  (unrecorded->note(x, has_gradients), ...);
  return false;
}

/// While it lives, a variable of this thread has another value.
template <class V>
class Within {
 public:
  Within(V& variable, V value) : variable_(variable), outer_(std::exchange(variable, value)) {}
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { variable_ = outer_; }

 private:
  V& variable_;
  V outer_;
};

}}}  // namespace locus::LOCUS_ABI::detail
