#pragma once
// Attention on plain tensors, part by part: the scores of some rows are computed, used, and recomputed for the
// gradients, so that they are never stored whole (Dao, Fu, Ermon, Rudra and Re, 2022). Two numbers per row are saved,
// which turn its scores back into probabilities.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/attention/attention_rows.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Bytes of scores and their workspace that a device computes at once; up to four times as many if a part would
/// otherwise have fewer than `few_rows` rows, since packing makes small products expensive.
template <class D>
inline constexpr std::int64_t score_bytes = HostAccessible<D> ? std::int64_t{1} << 20 : std::int64_t{64} << 20;
inline constexpr std::int64_t few_rows = 128;
/// The most rows of a part in causal attention: keys behind the part are not computed.
template <class D>
inline constexpr std::int64_t causal_rows = HostAccessible<D> ? 128 : 512;

/// Rows that are computed together: all heads of several batches, several heads of one batch, or some rows of one head.
/// They attend to the keys before `keys`.
struct AttentionPart {
  std::int64_t batch, batches, head, heads, row, rows, keys;
};

/// All rows, in parts of nearly equal size: at most so many elements, or one row. Parts of the same heads are
/// neighbours, last rows first, so that no later part attends to more keys.
class AttentionParts {
 public:
  /// per_row: elements that a row needs
  AttentionParts(std::int64_t batches, std::int64_t heads, std::int64_t rows, std::int64_t keys, std::int64_t per_row,
                 std::int64_t most, std::int64_t most_rows, bool is_causal)
      : batches_(batches), heads_(heads), rows_(rows), keys_(keys), is_causal_(is_causal) {
    std::int64_t left = larger(most / larger(per_row, std::int64_t{1}), std::int64_t{1});
    rows_at_once_ = equal_part(rows, smaller(left, most_rows));
    left /= rows_at_once_;
    heads_at_once_ = equal_part(heads, larger(left, std::int64_t{1}));
    batches_at_once_ = heads_at_once_ < heads ? 1 : equal_part(batches, larger(left / heads, std::int64_t{1}));
  }

  /// Calls f(part, is_first, is_last); first and last among the parts of the same heads.
  template <class F>
  void for_each(const F& f) const {
    const std::int64_t count = (rows_ - 1) / rows_at_once_ + 1;
    for (std::int64_t b = 0; b < batches_; b += batches_at_once_) {
      for (std::int64_t h = 0; h < heads_; h += heads_at_once_) {
        for (std::int64_t i = count - 1; i >= 0; --i) {
          const std::int64_t row = i * rows_at_once_, rows = smaller(rows_at_once_, rows_ - row);
          f(AttentionPart{b, smaller(batches_at_once_, batches_ - b), h, smaller(heads_at_once_, heads_ - h), row, rows,
                          is_causal_ ? smaller(keys_, row + rows) : keys_},
            i == count - 1, i == 0);
        }
      }
    }
  }
  [[nodiscard]] std::int64_t rows_at_once() const { return rows_at_once_; }
  /// The rows of the largest part.
  [[nodiscard]] std::int64_t most_rows() const { return batches_at_once_ * heads_at_once_ * rows_at_once_; }

 private:
  std::int64_t batches_, heads_, rows_, keys_, rows_at_once_, heads_at_once_, batches_at_once_;
  bool is_causal_;
};

/// The rows (or keys) of a part, of tensors (batch, heads, rows or keys, ...).
template <class T, class D>
[[nodiscard]] Tensor<T, D> heads_of(const Tensor<T, D>& x, const AttentionPart& part) {
  return x.slice(0, part.batch, part.batch + part.batches).slice(1, part.head, part.head + part.heads);
}
template <class T, class D>
[[nodiscard]] Tensor<T, D> rows_of(const Tensor<T, D>& x, const AttentionPart& part) {
  return heads_of(x, part).slice(2, part.row, part.row + part.rows);
}
template <class T, class D>
[[nodiscard]] Tensor<T, D> keys_of(const Tensor<T, D>& x, const AttentionPart& part) {
  return heads_of(x, part).slice(2, 0, part.keys);
}

/// A mask expanded to scores of shape (batch, heads, rows, keys): one of the two tensors, or none.
template <class T, class D>
struct ExpandedMask {
  Tensor<std::uint8_t, D> marks;
  Tensor<T, D> added;
  std::uint8_t allowed = 1;  ///< the mark of keys that are attended to
};
/// A view of marks as bytes, 0 or 1.
template <class D>
[[nodiscard]] Tensor<std::uint8_t, D> as_bytes(const Tensor<bool, D>& marks) {
  return {marks.buffer(), reinterpret_cast<std::uint8_t*>(marks.data()), marks.shape(), marks.strides()};
}

/// A gradient of shape (batch, heads, rows or keys, ...), to be written or added to; empty if not wanted.
template <class T, class D>
struct AttentionGradient {
  Tensor<T, D> out;
  bool accumulate = false;
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(out.buffer()); }
};

/// Whether one product takes the heads of all batches, or may as well take those of one batch at a time.
template <class T, class D>
[[nodiscard]] bool heads_merge(const Tensor<T, D>& x) {
  if (HostAccessible<D> || x.size(0) <= 1 || x.size(1) <= 1) return true;
  return x.strides()[0] == x.size(1) * x.strides()[1];
}
/// The heads, or a copy of those that do not merge: a copy takes less than more launches.
template <class T, class D>
[[nodiscard]] Tensor<T, D> merged_heads(const Tensor<T, D>& x) {
  return heads_merge(x) ? x : x.contiguous();
}
/// Memory for a result or a gradient whose heads merge: its own, or other memory that finish() brings to it.
template <class T, class D>
class MergedResult {
 public:
  explicit MergedResult(const AttentionGradient<T, D>& to) : to_(to), heads_(to) {
    if (to && !heads_merge(to.out)) heads_ = {Tensor<T, D>(to.out.shape(), to.out.device()), false};
  }
  [[nodiscard]] const AttentionGradient<T, D>& heads() const { return heads_; }
  void finish() const {
    if (heads_.out.data() == to_.out.data()) return;
    if (to_.accumulate) to_.out += heads_.out;
    else to_.out.copy_(heads_.out);
  }

 private:
  AttentionGradient<T, D> to_, heads_;
};

/// The gradient of keys or values, summed over the parts of a head; 16-bit types are summed in float.
template <class T, class D>
class KeyGradient {
  using R = compute_t<T>;

 public:
  explicit KeyGradient(const AttentionGradient<T, D>& to) : to_(to) {}

  /// Adds a^T b.
  void add(const AttentionPart& part, bool is_first, bool is_last, const Tensor<T, D>& a, const Tensor<T, D>& b) {
    if (!to_) return;
    const Tensor<T, D> all = heads_of(to_.out, part), reached = all.slice(2, 0, part.keys), columns = a.transpose();
    if constexpr (!std::is_same_v<T, R>) {
      if (!(is_first && is_last)) {
        if (is_first) begin(all);
        const Tensor<T, D> product(reached.shape(), reached.device());
        multiply_into(product, columns, b, plain_epilogue<T>());
        const Tensor<R, D> sums = sum_.slice(2, 0, part.keys);
        sums += product.template as<R>();
        if (is_last) all.copy_(sum_.template as<T>());
        return;
      }
    }
    const bool adds = to_.accumulate || !is_first;
    if (!adds && part.keys < all.size(2)) all.slice(2, part.keys).fill_(T(0.f));
    multiply_into(reached, columns, b, plain_epilogue<T>(adds));
  }

 private:
  void begin(const Tensor<T, D>& all) {
    sum_ = Tensor<R, D>(all.shape(), all.device());
    if (to_.accumulate) sum_.copy_(all.template as<R>());
    else sum_.fill_(R(0));
  }
  AttentionGradient<T, D> to_;
  Tensor<R, D> sum_;
};

/// The passes of one call. q is (batch, heads, rows, e), k (batch, heads, keys, e), v (batch, heads, keys, ev), with
/// any strides.
template <class T, class D>
class AttentionPasses {
  using R = compute_t<T>;

 public:
  Tensor<T, D> q, k, v;
  ExpandedMask<T, D> masks[2];
  bool is_causal;
  R scale;
  std::int64_t bytes;  ///< see score_bytes

  /// out, (batch, heads, rows, ev), and the two numbers of each row for backward, (2, batch heads rows).
  template <class Drop>
  void forward(const Tensor<T, D>& out, const Tensor<R, D>& of_rows, const Drop& drop) const {
    if (of_rows.empty()) return;
    if (k.size(2) == 0) {
      out.fill_(T(0.f));
      return;
    }
    const AttentionParts parts = cut(k.size(2) + q.size(3), 1);
    const Room room(*this, parts);
    parts.for_each([&](const AttentionPart& part, bool, bool) {
      const Tensor<T, D> p = probabilities(room, part, of_rows, drop);
      multiply_into(rows_of(out, part), p, keys_of(v, part), plain_epilogue<T>());
    });
  }

  /// The mean over the heads of the probabilities, (batch, rows, keys).
  template <class Drop>
  void mean_probabilities(const Tensor<T, D>& out, const Tensor<R, D>& of_rows, const Drop& drop) const {
    if (out.empty()) return;
    if (is_causal) out.fill_(T(0.f));
    const AttentionParts parts = cut(k.size(2) + q.size(3), q.size(1));
    const Room room(*this, parts, q.size(1));
    parts.for_each([&](AttentionPart part, bool, bool) {
      part.heads = q.size(1);
      const Tensor<T, D> p = probabilities(room, part, of_rows, drop);
      const FoldedAxes axes("mean", p.shape(), 1);
      const Tensor<T, D> means(axes.squeezed, p.device());
      reduce_into(means, false, p.shape(), axes, Symbol<0>{}, fold::Mean<T>(part.heads), p);
      out.slice(0, part.batch, part.batch + part.batches)
          .slice(1, part.row, part.row + part.rows)
          .slice(2, 0, part.keys)
          .copy_(means);
    });
  }

  /// The gradients of q, k and v, given g, the gradient of out.
  template <class Drop>
  void backward(const Tensor<T, D>& g, const Tensor<R, D>& of_rows, const Drop& drop, const AttentionGradient<T, D>& dq,
                const AttentionGradient<T, D>& dk, const AttentionGradient<T, D>& dv) const {
    if (of_rows.empty() || k.size(2) == 0) {
      for (const auto* const gradient : {&dq, &dk, &dv})
        if (*gradient && !gradient->accumulate) gradient->out.fill_(T(0.f));
      return;
    }
    const AttentionParts parts = cut(2 * k.size(2) + q.size(3), 1);
    const Room room(*this, parts);
    const Tensor<T, D> adjoint_room({parts.most_rows() * k.size(2)}, q.device());
    KeyGradient<T, D> for_keys(dk), for_values(dv);
    parts.for_each([&](const AttentionPart& part, bool is_first, bool is_last) {
      const Tensor<T, D> p = scores(room, part), ds = view(adjoint_room, p.shape()), out = rows_of(g, part);
      multiply_into(ds, out, keys_of(v, part).transpose(), plain_epilogue<T>());
      const AttentionRowBackward<T, Drop> row{p.data(),          ds.data(),       numbers(part), drop,
                                              largests(of_rows), scales(of_rows), scale};
      Backend<D>::for_each_row(q.device(), p.elements() / part.keys, part.keys, row);
      for_values.add(part, is_first, is_last, p, out);
      for_keys.add(part, is_first, is_last, ds, rows_of(q, part));
      if (dq) multiply_into(rows_of(dq.out, part), ds, keys_of(k, part), plain_epilogue<T>(dq.accumulate));
    });
  }

 private:
  /// Memory for the largest part.
  struct Room {
    Tensor<T, D> scores, queries;
    Tensor<std::uint8_t, D> triangle;  ///< the causal mask of a part's rows
    Room(const AttentionPasses& passes, const AttentionParts& parts, std::int64_t heads = 1)
        : scores({parts.most_rows() * heads * passes.k.size(2)}, passes.q.device()),
          queries({parts.most_rows() * heads * passes.q.size(3)}, passes.q.device()) {
      const std::int64_t n = parts.rows_at_once();
      if (passes.is_causal) triangle = from_indices<std::uint8_t>({n, n}, passes.q.device(), LowerTriangle{n});
    }
  };
  [[nodiscard]] static Tensor<T, D> view(const Tensor<T, D>& room, const Shape& shape) {
    return room.slice(0, 0, elements(shape)).reshape(shape);
  }

  /// together: heads whose rows are in one part
  [[nodiscard]] AttentionParts cut(std::int64_t per_row, std::int64_t together) const {
    const std::int64_t elements_of_row = product_or_most(per_row, together);
    const std::int64_t most = bytes / std::int64_t{sizeof(T)}, few = product_or_most(few_rows, elements_of_row);
    return {q.size(0),
            q.size(1) / together,
            q.size(2),
            k.size(2),
            elements_of_row,
            within(few, most, 4 * most),
            is_causal ? causal_rows<D> : q.size(2),
            is_causal};
  }
  [[nodiscard]] AttentionRowNumbers numbers(const AttentionPart& part) const {
    return {(part.batch * q.size(1) + part.head) * q.size(2) + part.row, part.rows, q.size(2)};
  }
  [[nodiscard]] static R* largests(const Tensor<R, D>& of_rows) { return of_rows.data(); }
  [[nodiscard]] static R* scales(const Tensor<R, D>& of_rows) { return of_rows.data() + of_rows.size(1); }

  /// scale q k^T, masked.
  [[nodiscard]] Tensor<T, D> scores(const Room& room, const AttentionPart& part) const {
    const Tensor<T, D> s = view(room.scores, {part.batches, part.heads, part.rows, part.keys});
    const Tensor<T, D> queries = view(room.queries, {part.batches, part.heads, part.rows, q.size(3)});
    map_elements(queries, ScaledQuery<R>{scale}, rows_of(q, part));
    multiply_into(s, queries, keys_of(k, part).transpose(), plain_epilogue<T>());
    for (const auto& mask : masks) {
      const MaskedScore<R> marked{mask.allowed};
      if (mask.marks.buffer()) map_elements(s, marked, s, rows_of(mask.marks, part).slice(3, 0, part.keys));
      if (mask.added.buffer()) map_elements(s, AddedScore<R>{}, s, rows_of(mask.added, part).slice(3, 0, part.keys));
    }
    if (is_causal && part.row < part.keys) {
      const Tensor<T, D> last = s.slice(3, part.row, part.keys);
      const auto triangle = room.triangle.slice(0, 0, part.rows).slice(1, 0, part.keys - part.row);
      map_elements(last, MaskedScore<R>{1}, last, triangle.expand(last.shape()));
    }
    return s;
  }
  template <class Drop>
  [[nodiscard]] Tensor<T, D> probabilities(const Room& room, const AttentionPart& part, const Tensor<R, D>& of_rows,
                                           const Drop& drop) const {
    const Tensor<T, D> p = scores(room, part);
    const AttentionRow<T, Drop> row{p.data(), numbers(part), drop, largests(of_rows), scales(of_rows)};
    Backend<D>::for_each_row(q.device(), p.elements() / part.keys, part.keys, row);
    return p;
  }
  /// out = f(inputs...), of one shape. One launch.
  template <class F, class... In>
  static void map_elements(const Tensor<T, D>& out, const F& f, const Tensor<In, D>&... inputs) {
    const auto plan =
        make_plan<static_cast<int>(sizeof...(In)) + 1>(out.shape(), {operand_of(inputs)..., operand_of(out)});
    Backend<D>::map(out.device(), plan, f, Pack<const In*...>(inputs.data()...), Pack<T*>(out.data()));
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
