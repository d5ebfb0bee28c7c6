#pragma once
// Attention by a device's own kernels, without stored scores; device/attention.hpp specifies them.

#include <locus/cuda/attention.hpp>
#include <locus/ops/attention/attention_settings.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A device's own attention, where it has one and takes the call.
template <class T, class D, bool drops>
class DeviceAttention {
  using R = compute_t<T>;
  using Drop = std::conditional_t<drops, SomeAttentionDropout<D>, NoAttentionDropout>;

 public:
  DeviceAttention(const AttentionSettings<T, D>& settings, const AttentionPasses<T, D>& passes)
      : settings_(settings), device_(passes.q.device()) {
    const auto &q = passes.q, &k = passes.k, &v = passes.v;
    call_.shape = {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), v.size(3)};
    call_.q = heads<const T>(q), call_.k = heads<const T>(k), call_.v = heads<const T>(v);
    for (int i = 0; i < 2; ++i) {
      const auto& mask = passes.masks[i];
      if (mask.marks.buffer()) call_.masks[i] = {mask.marks.data(), mask.allowed, nullptr, {}};
      if (mask.added.buffer()) call_.masks[i] = {nullptr, 1, mask.added.data(), {}};
      const Strides& strides = mask.marks.buffer() ? mask.marks.strides() : mask.added.strides();
      for (int d = 0; d < 4 && !call_.masks[i].is_empty(); ++d) call_.masks[i].stride[d] = strides[d];
    }
    call_.is_causal = passes.is_causal, call_.scale = passes.scale;
  }

  [[nodiscard]] bool forward(const Tensor<T, D>& y, const Tensor<R, D>& of_rows) const {
    if (!settings_.fuses || !FusedAttention<D>::forward(device_, call_, drop(), heads<T>(y), numbers(of_rows)))
      return false;
    count(call_.shape.width + call_.shape.value_width);
    return true;
  }
  [[nodiscard]] bool backward(const Tensor<T, D>& y, const Tensor<R, D>& of_rows, const Tensor<T, D>& g,
                              const AttentionGradient<T, D>& dq, const AttentionGradient<T, D>& dk,
                              const AttentionGradient<T, D>& dv) const {
    if (!y.buffer() || !FusedAttention<D>::backward(device_, call_, drop(), heads<const T>(y), numbers(of_rows),
                                                    heads<const T>(g), gradient(dq), gradient(dk), gradient(dv)))
      return false;
    const std::int64_t q = call_.shape.width, v = call_.shape.value_width;
    count(q + v + (dq ? q : 0) + (dk ? q : 0) + (dv ? v : 0));
    return true;
  }

 private:
  template <class U>
  [[nodiscard]] static AttentionHeads<U> heads(const Tensor<T, D>& x) {
    const Strides& s = x.strides();
    return {x.data(), {s[0], s[1], s[2], s[3]}};
  }
  [[nodiscard]] static AttentionGradientHeads<T> gradient(const AttentionGradient<T, D>& of) {
    if (!of) return {};
    return {heads<T>(of.out), of.accumulate};
  }
  [[nodiscard]] static AttentionNumbers<R> numbers(const Tensor<R, D>& of_rows) {
    return {of_rows.data(), of_rows.data() + of_rows.size(1)};
  }
  [[nodiscard]] Drop drop() const {
    if constexpr (drops)
      return {settings_.dropout > 0, {functor::Dropout(settings_.dropout), settings_.draw.numbers(), call_.shape.keys}};
    else return {};
  }
  /// Counts products in which each pair of a query and a key takes so many multiply-adds.
  void count(std::int64_t of_pair) const { launches.operations += 2. * call_.pairs() * static_cast<double>(of_pair); }

  const AttentionSettings<T, D>& settings_;
  D device_;
  AttentionCall<T> call_;
};

}}}  // namespace locus::LOCUS_ABI::detail
