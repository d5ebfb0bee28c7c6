#pragma once
// Attention as an operation: forward and backward passes for heads that are a dimension of their own or lie side by
// side.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/attention/device_attention.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// (batch, heads, rows, width) of a shape of four or more dimensions: all before the last three merged.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape merged_batches(const Shape& shape) {
  std::int64_t merged = 1;
  for (int d = 0; d + 3 < shape.rank(); ++d) merged = product_or_most(merged, shape[d]);
  return {merged, shape[-3], shape[-2], shape[-1]};
}
/// x of four or more dimensions, with all before the last three merged: a copy if they do not merge.
template <class T, class D>
[[nodiscard]] Tensor<T, D> with_merged_batches(const Tensor<T, D>& x) {
  return x.rank() == 4 ? x : x.reshape(merged_batches(x.shape()));
}
/// x, (..., rows, width), as (batch, heads, rows, width), expanded to the leading dimensions `batch`. If the dimensions
/// before the last three do not merge, a copy: of x as it is, if these merge in the copy.
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_heads(const Tensor<T, D>& x, const Shape& batch) {
  Shape shape = batch;
  for (const int d : {-2, -1}) shape.push_back(x.size(d));
  Tensor<T, D> heads = x.expand(shape);
  while (heads.rank() < 4) heads = heads.unsqueeze(0);
  if (auto layout = heads.layout(); heads.rank() > 4 && !layout.reshape(merged_batches(heads.shape())))
    heads = x.contiguous().expand(shape);
  return with_merged_batches(heads);
}
/// x, (batch, rows, heads width) or without the batch, as (batch, heads, rows, width): a view.
template <class T, class D>
[[nodiscard]] Tensor<T, D> split_heads(const Tensor<T, D>& x, std::int64_t heads) {
  const Tensor<T, D> batch = x.rank() == 2 ? x.unsqueeze(0) : x;
  return batch.reshape({batch.size(0), batch.size(1), heads, batch.size(2) / heads}).transpose(1, 2);
}

/// throws ShapeError
LOCUS_OUT_OF_LINE inline Shape attention_batch(const Shape& q, const Shape& k, const Shape& v) {
  const auto refuse = [&](const char* why) {
    fail<ShapeError>({"scaled_dot_product_attention: queries of shape ", q, ", keys ", k, " and values ", v, ": ", why,
                      "; expected (..., l, e), (..., s, e) and (..., s, ev)"});
  };
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) refuse("one has fewer than two dimensions");
  if (q[-1] != k[-1]) refuse("queries and keys are of other widths");
  if (k[-2] != v[-2]) refuse("there are not as many values as keys");
  Shape batch;
  for (const Shape* const shape : {&q, &k, &v}) {
    const Shape one = batch_shape(*shape);
    for (int i = 1; i <= batch.rank() && i <= one.rank(); ++i)
      if (batch[-i] != one[-i] && batch[-i] != 1 && one[-i] != 1)
        refuse("batches broadcast only where their extents are equal or 1");
    batch = broadcast(batch, one);
  }
  return batch;
}

template <class R, class D>
[[nodiscard]] Tensor<R, D> numbers_of_rows(const Shape& q, D device) {
  return Tensor<R, D>({2, product_or_most(product_or_most(q[0], q[1]), q[2])}, device);
}

}  // namespace detail

namespace operation {

/// softmax(scale q k^T) v for q (..., l, e), k (..., s, e), v (..., s, ev). With `heads`, operands and result are
/// (batch, l, heads e) and so on. `drops`: whether there may be dropout.
template <class T, class D, bool drops>
struct Attention {
  static constexpr const char* name = "scaled_dot_product_attention";
  static constexpr bool runs_on_duals = true;
  static constexpr bool records = drops;
  using R = compute_t<T>;
  using Marks = Tensor<std::uint8_t, D>;
  /// q, k and v as (batch, heads, ...), masks, two numbers for each row, the result if the device computed it by itself
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Marks, Tensor<T, D>, Marks, Tensor<T, D>, Tensor<R, D>,
                      Tensor<T, D>>;
  detail::AttentionSettings<T, D> settings;
  std::int64_t heads = 0;

  /// The operation on duals.
  [[nodiscard]] Attention<Dual<T>, D, drops> on_duals() const { return {settings.on_duals(), heads}; }

  Forwarded<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Marks, Tensor<T, D>, Marks, Tensor<T, D>,
            Tensor<R, D>, Tensor<T, D>>
  forward(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    detail::require_same_ordinal(name, q, k, v);
    if (heads > 0) {
      Shape shape = q.shape();
      shape[-1] = v.size(-1);
      const Tensor<T, D> y(shape, q.device());
      return computed(y, split(y), split(q), split(k), split(v));
    }
    const Shape batch = detail::attention_batch(q.shape(), k.shape(), v.shape());
    Shape shape = batch;
    shape.push_back(q.size(-2));
    shape.push_back(v.size(-1));
    const Tensor<T, D> y(shape, q.device());
    return computed(y, detail::as_heads(y, batch), detail::as_heads(q, batch), detail::as_heads(k, batch),
                    detail::as_heads(v, batch));
  }

  void backward(const Saved& saved, const Tensor<T, D>& g, Gradient<T, D>& dq, Gradient<T, D>& dk,
                Gradient<T, D>& dv) const {
    // One tensor may be several operands; their gradients are then written one after the other.
    const Target q = target(g, dq, false), k = target(g, dk, dk.node() == dq.node());
    const Target v = target(g, dv, dv.node() == dq.node() || dv.node() == dk.node());
    propagate(saved, heads > 0 ? split(g) : detail::as_heads(g, detail::batch_shape(g.shape())), q.gradient, k.gradient,
              v.gradient);
    if (q.apart.buffer()) detail::sum_to(q.apart, dq);
    if (k.apart.buffer()) detail::sum_to(k.apart, dk);
    if (v.apart.buffer()) detail::sum_to(v.apart, dv);
  }

  /// The mean of the heads' weights, (batch, l, s), or without the batch if heads lie side by side, of a call with
  /// these operands. Without `heads`, batch is all dimensions before the last three, merged.
  [[nodiscard]] Tensor<T, D> weights(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    if (heads == 0) {
      const Shape batch = detail::attention_batch(q.shape(), k.shape(), v.shape());
      return mean_weights(detail::as_heads(q, batch), detail::as_heads(k, batch), detail::as_heads(v, batch));
    }
    const Tensor<T, D> mean = mean_weights(split(q), split(k), split(v));
    return q.rank() == 2 ? mean.select(0, 0) : mean;
  }

 protected:
  [[nodiscard]] Tensor<T, D> split(const Tensor<T, D>& x) const { return detail::split_heads(x, heads); }

  /// Computes `to`, which is y as (batch, heads, ...).
  [[nodiscard]] auto computed(const Tensor<T, D>& y, const Tensor<T, D>& to, const Tensor<T, D>& q,
                              const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    for (const auto& mask : settings.masks) {
      if (mask.marks.buffer()) detail::require_same_ordinal(name, q, mask.marks);
      if (mask.added.buffer()) detail::require_same_ordinal(name, q, mask.added);
    }
    const auto of_rows = detail::numbers_of_rows<R>(q.shape(), q.device());
    const auto passes = detail::attention_passes(settings, q, k, v);
    const bool is_fused = fused(passes, [&](const auto& device) { return device.forward(to, of_rows); });
    if (!is_fused) compute(passes, to, of_rows);
    const auto& [first, second] = settings.masks;
    return Forwarded{y, Tuple(q, k, v, first.marks, first.added, second.marks, second.added, of_rows,
                              is_fused ? to : Tensor<T, D>())};
  }
  [[nodiscard]] Tensor<T, D> mean_weights(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    const auto of_rows = detail::numbers_of_rows<R>(q.shape(), q.device());
    const Tensor<T, D> mean({q.size(0), q.size(2), k.size(2)}, q.device());
    const auto passes = detail::attention_passes(settings, q, k, v);
    detail::with_attention_dropout<drops>(settings, k.size(2),
                                          [&](const auto& drop) { passes.mean_probabilities(mean, of_rows, drop); });
    return mean;
  }
  void propagate(const Saved& saved, const Tensor<T, D>& g, const detail::AttentionGradient<T, D>& dq,
                 const detail::AttentionGradient<T, D>& dk, const detail::AttentionGradient<T, D>& dv) const {
    const auto passes = detail::attention_passes(settings, get<0>(saved), get<1>(saved), get<2>(saved));
    const auto& of_rows = get<7>(saved);
    if (fused(passes, [&](const auto& device) { return device.backward(get<8>(saved), of_rows, g, dq, dk, dv); }))
      return;
    const detail::MergedResult<T, D> to_q(dq), to_k(dk), to_v(dv);
    const auto products = merged(passes, true);
    detail::with_attention_dropout<drops>(settings, passes.k.size(2), [&](const auto& drop) {
      products.backward(detail::merged_heads(g), of_rows, drop, to_q.heads(), to_k.heads(), to_v.heads());
    });
    for (const auto* const gradient : {&to_q, &to_k, &to_v}) gradient->finish();
  }

 private:
  /// Computes the result in parts.
  void compute(const detail::AttentionPasses<T, D>& passes, const Tensor<T, D>& y, const Tensor<R, D>& of_rows) const {
    const detail::MergedResult<T, D> to({y, false});
    const auto products = merged(passes, false);
    detail::with_attention_dropout<drops>(settings, passes.k.size(2),
                                          [&](const auto& drop) { products.forward(to.heads().out, of_rows, drop); });
    to.finish();
  }
  /// The same with keys and values whose heads merge, and, for gradients, queries; results use a scaled copy of these.
  [[nodiscard]] static detail::AttentionPasses<T, D> merged(detail::AttentionPasses<T, D> passes, bool with_queries) {
    if (with_queries) passes.q = detail::merged_heads(passes.q);
    passes.k = detail::merged_heads(passes.k), passes.v = detail::merged_heads(passes.v);
    return passes;
  }
  /// f(a device's own attention), if D has one; else false.
  template <class F>
  [[nodiscard]] bool fused(const detail::AttentionPasses<T, D>& passes, const F& f) const {
    if constexpr (AttendingDevice<D, T>) return f(detail::DeviceAttention<T, D, drops>(settings, passes));
    else return false;
  }
  struct Target {
    detail::AttentionGradient<T, D> gradient;
    Tensor<T, D> apart;  ///< added to the gradient afterwards; empty if the gradient is written directly
  };
  [[nodiscard]] Target target(const Tensor<T, D>& g, Gradient<T, D>& gradient, bool is_shared) const {
    if (!gradient) return {};
    Shape shape = gradient.shape();
    const Shape batch = heads > 0 ? Shape{} : detail::batch_shape(g.shape());
    if (heads == 0) {
      shape = batch;
      for (const int d : {-2, -1}) shape.push_back(gradient.shape()[d]);
    }
    const auto viewed = [&](const Tensor<T, D>& x) { return heads > 0 ? split(x) : detail::as_heads(x, batch); };
    if (is_shared || !(shape == gradient.shape())) {
      const Tensor<T, D> apart(shape, g.device());
      return {{viewed(apart), false}, apart};
    }
    const auto [out, accumulate] = gradient.open();
    return {{viewed(out), accumulate}, {}};
  }
};

/// The same for queries, keys and values side by side in one tensor, (batch, l, 3 heads e) or without the batch.
template <class T, class D, bool drops>
struct PackedAttention : Attention<T, D, drops> {
  [[nodiscard]] PackedAttention<Dual<T>, D, drops> on_duals() const {
    return {{this->settings.on_duals(), this->heads}};
  }
  auto forward(const Tensor<T, D>& x) const {
    Shape shape = x.shape();
    shape[-1] /= 3;
    const Tensor<T, D> y(shape, x.device());
    return this->computed(y, this->split(y), third(x, 0), third(x, 1), third(x, 2));
  }
  [[nodiscard]] Tensor<T, D> weights(const Tensor<T, D>& x) const {
    const Tensor<T, D> mean = this->mean_weights(third(x, 0), third(x, 1), third(x, 2));
    return x.rank() == 2 ? mean.select(0, 0) : mean;
  }
  void backward(const typename Attention<T, D, drops>::Saved& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (!dx) return;
    const auto [out, accumulate] = dx.open();
    this->propagate(saved, this->split(g), {third(out, 0), accumulate}, {third(out, 1), accumulate},
                    {third(out, 2), accumulate});
  }

 private:
  [[nodiscard]] Tensor<T, D> third(const Tensor<T, D>& x, int i) const {
    const std::int64_t width = x.size(-1) / 3;
    return this->split(x.slice(x.rank() - 1, i * width, (i + 1) * width));
  }
};

}  // namespace operation

}}  // namespace locus::LOCUS_ABI
