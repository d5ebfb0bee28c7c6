#pragma once
// The settings of an attention: everything but its operands.

#include <locus/ops/attention/attention_passes.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class T, class D>
struct AttentionSettings {
  ExpandedMask<T, D> masks[2] = {};  ///< as (batch, heads, l, s), whose extents may be 1
  bool is_causal = false;
  std::optional<double> scale = {};
  double dropout = 0;
  Draw<D> draw = {};  ///< one number for each weight, if `dropout` is not 0
  std::int64_t bytes = score_bytes<D>;
  bool fuses = true;  ///< whether a device's own attention may compute it

  /// The settings for operands of duals.
  [[nodiscard]] AttentionSettings<Dual<T>, D> on_duals() const {
    AttentionSettings<Dual<T>, D> settings{{}, is_causal, scale, dropout, draw, bytes, false};
    for (int i = 0; i < 2; ++i) {
      settings.masks[i].allowed = masks[i].allowed;
      settings.masks[i].marks = masks[i].marks;
      if (masks[i].added.buffer()) settings.masks[i].added = masks[i].added.template as<Dual<T>>().eval();
    }
    return settings;
  }
};

/// The settings for operands of U: T, or duals of it.
template <class U, class T, class D>
[[nodiscard]] AttentionSettings<U, D> settings_for(const AttentionSettings<T, D>& settings) {
  if constexpr (std::is_same_v<U, T>) return settings;
  else return settings_for<U>(settings.on_duals());
}

/// Calls f(drop) with the functor that drops weights.
template <bool drops, class T, class D, class F>
void with_attention_dropout(const AttentionSettings<T, D>& settings, std::int64_t keys, const F& f) {
  if constexpr (drops) {
    if (settings.dropout > 0)
      return f(AttentionDropout<D>{functor::Dropout(settings.dropout), settings.draw.numbers(), keys});
  }
  f(NoAttentionDropout{});
}

template <class T, class D>
[[nodiscard]] AttentionPasses<T, D> attention_passes(const AttentionSettings<T, D>& settings, const Tensor<T, D>& q,
                                                     const Tensor<T, D>& k, const Tensor<T, D>& v) {
  using R = compute_t<T>;
  const double scale =
      settings.scale ? *settings.scale : 1 / math::sqrt(static_cast<double>(larger(q.size(3), std::int64_t{1})));
  AttentionPasses<T, D> passes{q, k, v, {}, settings.is_causal, static_cast<R>(scale), settings.bytes};
  const Shape scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  for (int i = 0; i < 2; ++i) {
    const auto& mask = settings.masks[i];
    auto& expanded = passes.masks[i];
    expanded.allowed = mask.allowed;
    if (mask.marks.buffer()) expanded.marks = mask.marks.expand(scores);
    if (mask.added.buffer()) expanded.added = mask.added.expand(scores);
  }
  return passes;
}

}}}  // namespace locus::LOCUS_ABI::detail
