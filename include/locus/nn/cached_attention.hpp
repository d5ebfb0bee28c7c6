#pragma once
// Attention of new tokens to a cache.

#include <locus/nn/key_value_cache.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/index.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct CachedAttentionOptions {
  std::optional<double> scale = {};  ///< factor of q k^T; absent: 1 / sqrt(e)
};

namespace detail {
/// Rows of keys, then of values, (batch, heads, count, width) each, written behind the tokens of their sequences.
template <class T>
struct WriteToCache {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* from[2];
  std::int64_t strides[2][4];
  const std::int64_t* starts;
  T* to;  ///< (2, batch, heads, capacity, width)
  std::int64_t batch, heads, count, capacity;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t j = row % count, head = row / count % heads, b = row / (count * heads) % batch;
    const std::int64_t of_all = row / count, at = starts[b] + j;
    const bool values = of_all >= batch * heads;
    if (at >= capacity) return;  // padding
    const std::int64_t* const stride = strides[values ? 1 : 0];
    const RowInput<T> source{from[values ? 1 : 0] + b * stride[0] + head * stride[1] + j * stride[2], stride[3]};
    const auto elements = team.load(source);
    team.store(
        RowOutput<T>{to + (of_all * capacity + at) * team.cols()},
        [](compute_t<T> v, std::int64_t) LOCUS_INLINED { return v; }, elements);
  }
};

/// throws ShapeError unless q, k and v fit each other and the step
LOCUS_OUT_OF_LINE inline void require_heads(const Shape& q, const Shape& k, const Shape& v, const CacheOptions& options,
                                            std::int64_t count) {
  const Shape keys{options.batch, options.heads, count, options.head_width};
  const bool fits = q.rank() == 4 && q[0] == keys[0] && q[1] > 0 && q[1] % keys[1] == 0 && q[2] == count &&
                    q[3] == keys[3] && k == keys && v == keys;
  if (!fits)
    fail<ShapeError>({"cached_attention: queries of shape ", q, ", keys ", k, " and values ", v,
                      "; expected keys and values ", keys, ", and queries of a multiple of ", keys[1], " heads"});
}

/// Attention where each `heads of q / heads of k` queries share a head of keys, which are not copied. mask: as
/// (batch or 1, count, keys), or empty.
template <class T, class D>
[[nodiscard]] Tensor<T, D> grouped_attention(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v,
                                             const Tensor<bool, D>& mask, bool is_causal,
                                             const CachedAttentionOptions& options) {
  AttentionOptions<T, D> all{.is_causal = is_causal, .scale = options.scale};
  const std::int64_t batch = q.size(0), heads = k.size(1), group = q.size(1) / heads, count = q.size(2);
  const bool masks = static_cast<bool>(mask.buffer());
  if (group == 1 || count == 1) {  // the queries of a group as rows
    if (masks) all.mask = mask.unsqueeze(1);
    const auto rows = group == 1 ? q : q.reshape({batch, heads, group, q.size(3)});
    return scaled_dot_product_attention(rows, k, v, all).reshape(q.shape());
  }
  if (masks) all.mask = mask.unsqueeze(1).unsqueeze(1);
  const auto groups = q.reshape({batch, heads, group, count, q.size(3)});
  return scaled_dot_product_attention(groups, k.unsqueeze(2), v.unsqueeze(2), all).reshape(q.shape());
}

/// The same for sequences first, first + 1, ... that have the same length, on a device that reads these tokens alone.
template <class T, class D>
[[nodiscard]] Tensor<T, D> attend_to_filled(const Tensor<T, D>& q, const Tensor<T, D>& memory, std::int64_t length,
                                            const Tensor<std::int64_t, D>& starts, std::int64_t window,
                                            const CachedAttentionOptions& options) {
  const std::int64_t count = q.size(2), end = locus::detail::smaller(length + count, memory.size(3));
  const std::int64_t first = window == 0 ? 0 : locus::detail::within(length + 1 - window, std::int64_t{0}, end);
  const auto seen = memory.slice(3, first, end);
  Tensor<bool, D> mask;
  const bool is_causal = length == 0 && (window == 0 || window >= count) && end == count;
  if (count > 1 && !is_causal)
    mask = of_starts<bool>(starts.slice(0, 0, 1), {1, count, end - first}, SeenKey{count, end - first, first, window});
  return grouped_attention(q, seen.select(0, 0), seen.select(0, 1), mask, is_causal && count > 1, options);
}

/// The attention of a step whose keys and values are written.
template <class T, class D>
[[nodiscard]] Tensor<T, D> attend_to_cache(const Tensor<T, D>& q, const Tensor<T, D>& memory,
                                           const CacheStep<T, D>& step, const CachedAttentionOptions& options) {
  const auto& cache = step.cache();
  if constexpr (!reads_filled_part<D>) {
    const auto seen = step.is_causal() ? memory.slice(3, 0, step.count()) : memory;
    const bool is_causal = step.is_causal() && step.count() > 1;  // a first token is alone
    return grouped_attention(q, seen.select(0, 0), seen.select(0, 1), step.mask(), is_causal, options);
  } else {
    const auto& lengths = cache.lengths();
    const auto attended = [&](std::int64_t b, std::int64_t end) {
      return attend_to_filled(q.slice(0, b, end), memory.slice(1, b, end), lengths[static_cast<std::size_t>(b)],
                              cache.device_lengths().slice(0, b, end), cache.options().window, options);
    };
    bool alike = true;
    for (const std::int64_t length : lengths) alike = alike && length == lengths[0];
    if (alike) return attended(0, cache.batch());
    const Tensor<T, D> y(q.shape(), q.device());
    for (std::int64_t b = 0; b < cache.batch(); ++b) y.slice(0, b, b + 1).copy_(attended(b, b + 1));
    return y;
  }
}
#include <locus/refuse/nn/cached_attention_mistakes.inc>
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// softmax(scale q k^T) v over the tokens of a cache and the new ones, causal: writes k and v behind the tokens of
/// their sequences, and attends from each query to the tokens up to its own, or to a window of them. Where q has more
/// heads than the cache, each head of keys serves as many neighbouring heads of queries (grouped-query attention).
/// shape: q (batch, heads, count, e), k and v (batch, cache heads, count, e) -> (batch, heads, count, e)
/// cost:  one launch that writes, and scaled_dot_product_attention. Hosts read the tokens that are there; sequences of
///        several lengths are computed one by one. On Cuda a step reads the whole capacity, so that a captured step
///        replays; the first tokens of empty sequences attend among themselves. Keys are not copied for their group of
///        queries
/// No gradient: the cache holds numbers. Train without a cache.
/// throws ShapeError; DeviceError for another ordinal; IndexError for a layer that the cache lacks
///
///     template <TensorLike X>
///     auto forward(const X& x, const nn::CacheStep<T, D>& step, std::int64_t layer) const {   // in an attention
///       const auto [q, k, v] = heads_of(x);
///       return out(merged(nn::cached_attention(q, k, v, step, layer)));
///     }
///     ...
///     const auto step = cache.step(tokens.shape());                                           // in the model
///     auto x = (words(tokens) + positions(step.positions())).eval();
///     for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x, step, i);
///     step.commit();
template <TensorLike Q, TensorLike K, TensorLike V, class T, class D>
  requires locus::detail::IsWrong<detail::CachedAttentionMistake<Q, K, V, CacheStep<T, D>>,
                                  locus::detail::Wrong::nothing> &&
           (Q::role == Role::plain && K::role == Role::plain && V::role == Role::plain)
[[nodiscard]] Tensor<T, D> cached_attention(const Q& q, const K& k, const V& v, const CacheStep<T, D>& step,
                                            std::int64_t layer, const CachedAttentionOptions& options = {}) {
  const Tensor<T, D> queries = q.eval(), keys = k.eval(), values = v.eval();
  const CacheOptions& sizes = step.cache().options();
  detail::require_heads(queries.shape(), keys.shape(), values.shape(), sizes, step.count());
  const Tensor<T, D> memory = step.cache().layer(layer);
  locus::detail::require_same_ordinal("cached_attention", queries, keys, values, memory);
  const Strides &ks = keys.strides(), &vs = values.strides();
  const detail::WriteToCache<T> write{{keys.data(), values.data()},
                                      {{ks[0], ks[1], ks[2], ks[3]}, {vs[0], vs[1], vs[2], vs[3]}},
                                      step.cache().device_lengths().data(),
                                      memory.data(),
                                      sizes.batch,
                                      sizes.heads,
                                      step.count(),
                                      sizes.capacity};
  Backend<D>::for_each_row(memory.device(), 2 * sizes.batch * sizes.heads * step.count(), sizes.head_width, write);
  return detail::attend_to_cache(queries, memory, step, options);
}
#include <locus/refuse/nn/cached_attention.inc>
LOCUS_REFUSALS_END

/// The vectors of the last token of each sequence of a step, without padding: those that predict the next token.
/// shape: (batch, count, width) -> (batch, width)
template <class T, class D>
[[nodiscard]] Tensor<T, D> last_of_step(const Tensor<T, D>& x, const CacheStep<T, D>& step) {
  bool whole = true;
  for (const std::int64_t n : step.counts()) whole = whole && n == step.count();
  if (whole) return x.select(1, step.count() - 1);
  std::vector<std::int64_t> rows;
  for (const std::int64_t n : step.counts())
    rows.push_back(std::ssize(rows) * step.count() + locus::detail::larger(n, std::int64_t{1}) - 1);
  return index_select(x.reshape({-1, x.size(2)}), 0, from(rows, {std::ssize(rows)}, x.device()));
}

}}}  // namespace locus::LOCUS_ABI::nn
