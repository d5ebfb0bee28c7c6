#pragma once
// The values that operations save for the backward pass, guarded against modification in between.

#include <locus/autograd/graph.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Shape and version of a saved tensor, for the stale check; other saved values have none.
struct SavedState {
  const Shape* shape = nullptr;
  std::uint32_t version = 0;
};
template <class T, class D>
[[nodiscard]] SavedState saved_state(const Tensor<T, D>& tensor) {
  return {&tensor.shape(), tensor.version()};
}
template <class X>
[[nodiscard]] SavedState saved_state(const X&) {
  return {};
}

/// throws StaleError naming the operation
LOCUS_OUT_OF_LINE inline void require_unchanged(const char* operation, Span<const SavedState> values,
                                                const std::uint32_t* versions) {
  for (const SavedState& value : values) {
    if (value.version == *versions++) continue;
    fail<StaleError>(
        {"backward of ", operation, ": a tensor of shape ", *value.shape,
         " that it needs was modified in place after the forward pass, or is a gradient that this pass writes; ",
         "use a .clone()"});
  }
}
}  // namespace detail

/// Values that an operation saved for its backward pass: tensors, guarded against modification in between, and shapes.
template <class... S>
class SavedValues {
 public:
  explicit SavedValues(Tuple<S...> values) : values_(std::move(values)) {
    detail::unpack(values_, [&](const auto&... value) {
      [[maybe_unused]] std::size_t i = 0;
      ((versions_[i++] = detail::saved_state(value).version), ...);
    });
  }
  [[nodiscard]] const Tuple<S...>& values() const { return values_; }
  /// throws StaleError naming the operation
  void require_unchanged(const char* operation) const {
    detail::unpack(values_, [&](const auto&... value) {
      const detail::SavedState now[] = {detail::saved_state(value)..., {}};
      detail::require_unchanged(operation, {now, sizeof...(S)}, versions_);
    });
  }
  /// The values, for the backward pass: owners of lent memory bring them back first.
  [[nodiscard]] const Tuple<S...>& used() const {
    detail::unpack(values_, [](const auto&... value) { detail::bring(value...); });
    return values_;
  }
  void free() { values_ = Tuple<S...>(); }

 private:
  Tuple<S...> values_;
  std::uint32_t versions_[sizeof...(S) + 1] = {};
};

}}  // namespace locus::LOCUS_ABI
