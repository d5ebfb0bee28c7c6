#pragma once
// Unrecorded functions: the forward pass of a checkpoint notes the operands that it takes from the outer graph instead
// of recording operations, because the backward pass computes the function again.

#include <locus/autograd/saved_values.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Keeps a buffer of any place alive, for its version.
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

/// The outer operands of an unrecorded function: its arguments, parameters, and tensors that collect gradients.
class OutsideOperands {
 public:
  /// Adds an argument, for the stale check. Its gradient counts only once the function uses it: see note().
  template <class X> void keep(const X& x) { keep(nullptr, false, x.value()); }
  /// Notes an operand used within the function, and whether its gradient counts there. Results of the function itself
  /// have no node and are skipped. Frozen parameters are noted, too: they must not change before the function is
  /// computed again.
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
  /// A unique number of the function; never 0.
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

/// Where this thread notes operands instead of recording operations; null: operations are recorded.
inline thread_local OutsideOperands* unrecorded = nullptr;

/// Whether parameters collect no gradients from operations that this thread records.
inline thread_local bool leaves_parameters_out = false;

/// The number of the unrecorded function that this thread computes; 0 if operations are recorded.
[[nodiscard]] inline std::uint64_t unrecorded_function() { return unrecorded ? unrecorded->number() : 0; }

/// Whether operations are recorded. If not, notes the operands x; `has_gradients`: the result's type can have a
/// gradient.
template <class... X>
[[nodiscard]] bool is_recorded(bool has_gradients, const X&... x) {
  if (!unrecorded) [[likely]]
    return true;
  (unrecorded->note(x, has_gradients), ...);
  return false;
}

/// Sets a thread-local variable, and restores it on destruction.
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
