#pragma once
// The operands of an attention, and optional attentions of a device that never store scores.
// ops/attention/attention_operation.hpp tests the concept of this header; without it, scores are computed in parts, by
// matrix products.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, rows = 0, keys = 0;  ///< rows: queries of a head
  std::int64_t width = 0, value_width = 0;                ///< of queries and keys; of values and results

  [[nodiscard]] bool has_products() const { return batch != 0 && heads != 0 && rows != 0 && keys != 0; }
};

/// Heads in memory: strides of (batch, head, row or key, element), in elements. data: null for a gradient that is not
/// wanted
template <class T>
struct AttentionHeads {
  T* data = nullptr;
  std::int64_t stride[4] = {};

  [[nodiscard]] LOCUS_FN T* head(std::int64_t batch, std::int64_t head) const {
    return data + batch * stride[0] + head * stride[1];
  }
};

/// Marks that exclude keys, or numbers that are added to scores; none if both are null. Strides of (batch, head, row,
/// key), 0 where the mask is repeated.
template <class T>
struct ScoreMask {
  const std::uint8_t* marks = nullptr;
  std::uint8_t allowed = 1;  ///< the mark of keys that are attended to
  const T* added = nullptr;
  std::int64_t stride[4] = {};

  [[nodiscard]] LOCUS_FN bool is_empty() const { return !marks && !added; }
};

/// softmax(scale q k^T + masks) v for each head.
template <class T>
struct AttentionCall {
  AttentionShape shape;
  AttentionHeads<const T> q, k, v;
  ScoreMask<T> masks[2];
  bool is_causal = false;  ///< query i attends to keys 0 to i alone
  compute_t<T> scale = 1;

  /// Pairs of a query and a key that a causal mask admits.
  [[nodiscard]] double pairs() const {
    const auto rows = static_cast<double>(shape.rows), keys = static_cast<double>(shape.keys);
    const double of_head = !is_causal     ? rows * keys
                           : keys >= rows ? rows * (rows + 1) / 2
                                          : keys * (rows - (keys - 1) / 2);
    return static_cast<double>(shape.batch) * static_cast<double>(shape.heads) * of_head;
  }
};

/// Two numbers for each query, (batch, heads, rows), that turn scores into probabilities p = e^(score - largest) scale:
/// the largest score, 0 if all are -infinity; and 1 over the sum of e^(score - largest), 0 if the sum is 0. Or the
/// logarithm of the sum of e^score, and 1.
template <class R>
struct AttentionNumbers {
  R *largests, *scales;
};

/// A gradient to write or, with `accumulate`, to add to.
template <class T>
struct AttentionGradientHeads {
  AttentionHeads<T> out;
  bool accumulate = false;
};

/// Attention in few launches on a device, for the element types that it supports; specialize it to add it.
///
///     FusedAttention<D>::forward(device, call, drop, y, numbers)
///     FusedAttention<D>::backward(device, call, drop, y, numbers, g, dq, dk, dv)
///
/// drop(p, row, key) is the probability after dropout, if drop.acts; rows are numbered through all heads. Both return
/// false, without effect, if the device has no such attention, or its verbs are faster. y and numbers of backward are
/// forward's.
template <class D>
struct FusedAttention;

namespace detail {
struct ProbeAttentionDropout {
  bool acts = false;
  template <class R> LOCUS_FN R operator()(R p, std::int64_t, std::int64_t) const { return p; }
};
}  // namespace detail

template <class D, class T>
concept AttendingDevice =
    Device<D> && !is_dual<T> &&
    requires(D device, const AttentionCall<T>& call, const detail::ProbeAttentionDropout& drop,
             const AttentionHeads<T>& y, const AttentionHeads<const T>& g,
             const AttentionNumbers<compute_t<T>>& numbers, const AttentionGradientHeads<T>& gradient) {
      { FusedAttention<D>::forward(device, call, drop, y, numbers) } -> std::same_as<bool>;
      {
        FusedAttention<D>::backward(device, call, drop, g, numbers, g, gradient, gradient, gradient)
      } -> std::same_as<bool>;
    };

}}  // namespace locus::LOCUS_ABI
