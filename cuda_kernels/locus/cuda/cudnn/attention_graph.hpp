#pragma once
// The cuDNN graphs of attention, forward and backward, in the form that its fused engines recognize: the pattern of
// "SDPA" in NVIDIA's cudnn-frontend. Scores are never stored.

#include <locus/cuda/cudnn/launch.hpp>
#include <locus/cuda/cudnn/operation_graph.hpp>
#include <locus/cuda/cudnn/switches.hpp>
#include <locus/cuda/gemm_plan_table.hpp>
#include <locus/device/attention.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// Element types that cuDNN's fused attention takes.
template <class T>
inline constexpr bool is_attended = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// Heads in memory, (batch, heads, rows or keys, elements).
struct DnnHeads {
  void* data = nullptr;
  Strides strides{0, 0, 0, 0};
  DnnHeads() = default;
  /// A dimension of one element, whose stride says nothing, gets its row-major stride.
  template <class T>
  DnnHeads(const AttentionHeads<T>& of, const Shape& extents)
      : data(const_cast<std::remove_const_t<T>*>(of.data)), strides(row_major(extents)) {
    for (int d = 0; d < 4; ++d)
      if (extents[d] != 1) strides[d] = of.stride[d];
  }
};

/// One pass, without masks and dropout. Backward also has g and the gradients.
struct DnnAttention {
  bool is_backward = false;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  AttentionShape shape;
  bool is_causal = false;
  float scale = 1;
  DnnHeads q{}, k{}, v{}, y{}, g{}, dq{}, dk{}, dv{};
  float* stats = nullptr;  ///< of each query the logarithm of the sum of e^score
  float* sums = nullptr;   ///< memory for a number of each query, in backward

  [[nodiscard]] Shape extents(std::int64_t rows, std::int64_t width) const {
    return {shape.batch, shape.heads, rows, width};
  }
  template <class T>
  [[nodiscard]] DnnHeads of_rows(const AttentionHeads<T>& heads, std::int64_t width) const {
    return {heads, extents(shape.rows, width)};
  }
  template <class T>
  [[nodiscard]] DnnHeads of_keys(const AttentionHeads<T>& heads, std::int64_t width) const {
    return {heads, extents(shape.keys, width)};
  }

  using Key = cuda::detail::PlanKey<33>;
  [[nodiscard]] Key key() const {
    Key key{{is_backward + 2 * is_causal + 4 * nondeterministic_cudnn_allowed(), type, shape.batch, shape.heads,
             shape.rows, shape.keys, shape.width, shape.value_width}};
    std::size_t at = 8;
    for (const DnnHeads* const heads : {&q, &k, &v, &y, &g, &dq, &dk, &dv})
      for (int d = 0; d < 3; ++d) key.values[at++] = heads->strides[d];
    key.values[at] = cudnn_workspace_limit();
    return key;
  }
  /// Whether the operands are such as cuDNN's fused engines read: rows at multiples of 16 bytes.
  [[nodiscard]] bool is_aligned() const {
    if (shape.width % 8 != 0 || shape.value_width % 8 != 0) return false;
    for (const DnnHeads* const heads : {&q, &k, &v, &y, &g, &dq, &dk, &dv}) {
      if (!heads->data) continue;
      bool is_regular = heads->strides[3] == 1 && reinterpret_cast<std::uintptr_t>(heads->data) % 16 == 0;
      for (int d = 0; d < 3; ++d) is_regular = is_regular && heads->strides[d] > 0 && heads->strides[d] % 8 == 0;
      if (!is_regular) return false;
    }
    return true;
  }
};

[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string text_of(const DnnAttention& call) {
  const AttentionShape& shape = call.shape;
  return join(call.is_backward ? "gradients of attention" : "attention", " of queries ",
              Shape{shape.batch, shape.heads, shape.rows, shape.width}, ", keys ",
              Shape{shape.batch, shape.heads, shape.keys, shape.width}, " and values ",
              Shape{shape.batch, shape.heads, shape.keys, shape.value_width}, " of ", name_of(call.type),
              call.is_causal ? ", causal" : "");
}

/// Whether an engine keeps Locus's promises: sums in float, deterministic unless the program allows otherwise.
[[nodiscard]] inline bool is_allowed(const DnnAttention&, const cudnnBackendNumericalNote_t* notes,
                                     std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && !nondeterministic_cudnn_allowed()) return false;
  }
  return true;
}

/// Names of the operands in the variant pack of a launch.
enum class AttentionName : std::int64_t { q = 1, k, v, y, stats, g, sums, dq, dk, dv, scale, excluded, one };

[[nodiscard]] inline Operands operands_of(const DnnAttention& call) {
  static constexpr float low = -__builtin_huge_valf(), unit = 1;
  using enum AttentionName;
  Operands it;
  const auto add = [&](AttentionName name, const void* at, bool is_written = false) {
    it.add(static_cast<std::int64_t>(name), at, is_written);
  };
  add(q, call.q.data), add(k, call.k.data), add(v, call.v.data);
  add(y, call.y.data, !call.is_backward), add(stats, call.stats, !call.is_backward);
  add(scale, &call.scale);
  if (call.is_causal) add(excluded, &low);
  if (!call.is_backward) return it;
  add(g, call.g.data), add(sums, call.sums, true), add(one, &unit);
  add(dq, call.dq.data, true), add(dk, call.dk.data, true), add(dv, call.dv.data, true);
  return it;
}
[[nodiscard]] inline LaunchName launch_name(const DnnAttention& call) {
  const AttentionShape& shape = call.shape;
  return {"attention", {shape.batch, shape.heads, shape.rows, shape.keys}};
}
[[nodiscard]] LOCUS_COLD inline locus::detail::LaunchDescription description_of(const DnnAttention& call) {
  return {call.is_backward ? "attention's gradients by cuDNN" : "attention by cuDNN", nullptr,
          launch_name(call).extents};
}

/// The graph of a pass.
class AttentionGraph {
 public:
  AttentionGraph(Calls& calls, const DnnAttention& call) : graph_(calls), call_(call) {
    const AttentionShape& s = call.shape;
    scores_ = {s.batch, s.heads, s.rows, s.keys}, of_rows_ = {s.batch, s.heads, s.rows, 1};
    scale_ = given(AttentionName::scale);
    if (call.is_backward) backward();
    else forward();
  }
  [[nodiscard]] Descriptor finish(const Machine& machine) { return graph_.finish(machine); }

 private:
  using T = GraphTensor;
  using Name = AttentionName;

  void forward() {
    const AttentionShape& s = call_.shape;
    const T q = heads(Name::q, call_.q, s.rows, s.width), k = transposed(Name::k, call_.k, s.keys, s.width);
    const T v = heads(Name::v, call_.v, s.keys, s.value_width), y = heads(Name::y, call_.y, s.rows, s.value_width);
    const T stats = numbers(Name::stats);
    const T scores = masked(scaled(graph_.product(q, k, graph_.value(scores_)), graph_.value(scores_)));
    const T largest = graph_.fold(CUDNN_REDUCE_TENSOR_MAX, scores, graph_.value(of_rows_));
    const T below = graph_.pointwise(CUDNN_POINTWISE_SUB, scores, largest, graph_.value(scores_));
    const T exponentials = graph_.pointwise(CUDNN_POINTWISE_EXP, below, graph_.value(scores_));
    const T sum = graph_.fold(CUDNN_REDUCE_TENSOR_ADD, exponentials, graph_.value(of_rows_));
    const T log = graph_.pointwise(CUDNN_POINTWISE_LOG, sum, graph_.value(of_rows_));
    graph_.pointwise(CUDNN_POINTWISE_ADD, largest, log, stats);
    graph_.product(graph_.pointwise(CUDNN_POINTWISE_DIV, exponentials, sum, graph_.value(scores_, call_.type)), v, y);
  }

  /// ds = scale p (dp - sum of y g), with dp = g v^T; dv = p^T g, dk = ds^T q, dq = ds k.
  void backward() {
    const AttentionShape& s = call_.shape;
    const T q = heads(Name::q, call_.q, s.rows, s.width), k = transposed(Name::k, call_.k, s.keys, s.width);
    const T v = transposed(Name::v, call_.v, s.keys, s.value_width), y = heads(Name::y, call_.y, s.rows, s.value_width);
    const T g = heads(Name::g, call_.g, s.rows, s.value_width), stats = numbers(Name::stats),
            sums = numbers(Name::sums);
    const T dq = heads(Name::dq, call_.dq, s.rows, s.width), dk = heads(Name::dk, call_.dk, s.keys, s.width);
    const T dv = heads(Name::dv, call_.dv, s.keys, s.value_width);
    const T yg = graph_.pointwise(CUDNN_POINTWISE_MUL, g, y, graph_.value(y.extents));
    const T sum = graph_.fold(CUDNN_REDUCE_TENSOR_ADD, yg, graph_.value(of_rows_));
    graph_.pointwise(CUDNN_POINTWISE_MUL, sum, given(Name::one), sums);

    const T scores = scaled(graph_.product(q, k, graph_.value(scores_)), graph_.value(scores_));
    const T p = graph_.pointwise(CUDNN_POINTWISE_EXP,
                                 masked(graph_.pointwise(CUDNN_POINTWISE_SUB, scores, stats, graph_.value(scores_))),
                                 graph_.value(scores_));
    graph_.product(by_keys(p), g, dv);
    const T dp = graph_.product(g, v, graph_.value(scores_));
    const T centred = graph_.pointwise(CUDNN_POINTWISE_SUB, dp, sums, graph_.value(scores_));
    const T ds = scaled(graph_.pointwise(CUDNN_POINTWISE_MUL, centred, p, graph_.value(scores_)),
                        graph_.value(scores_, call_.type));
    graph_.product(by_keys(ds), q, dk);
    const Strides& strides = call_.k.strides;
    graph_.product(ds, graph_.reshape(k, graph_.value({s.batch, s.heads, s.keys, s.width}, strides, call_.type)), dq);
  }

  [[nodiscard]] T heads(Name name, const DnnHeads& of, std::int64_t rows, std::int64_t width) {
    return graph_.operand(static_cast<std::int64_t>(name), call_.type,
                          {call_.shape.batch, call_.shape.heads, rows, width}, of.strides, 16);
  }
  /// The heads with rows as columns.
  [[nodiscard]] T transposed(Name name, const DnnHeads& of, std::int64_t rows, std::int64_t width) {
    const Strides& s = of.strides;
    return graph_.operand(static_cast<std::int64_t>(name), call_.type,
                          {call_.shape.batch, call_.shape.heads, width, rows}, {s[0], s[1], s[3], s[2]}, 16);
  }
  /// A float of each query.
  [[nodiscard]] T numbers(Name name) {
    return graph_.operand(static_cast<std::int64_t>(name), CUDNN_DATA_FLOAT, of_rows_, row_major(of_rows_), 16);
  }
  [[nodiscard]] T given(Name name) { return graph_.number(static_cast<std::int64_t>(name)); }
  [[nodiscard]] T scaled(const T& x, const T& into) { return graph_.pointwise(CUDNN_POINTWISE_MUL, x, scale_, into); }
  [[nodiscard]] T masked(const T& scores) {
    if (!call_.is_causal) return scores;
    const T row = graph_.indices(scores, 2), key = graph_.indices(scores, 3);
    const T is_before = graph_.pointwise(CUDNN_POINTWISE_CMP_GE, row, key, graph_.value(scores_, CUDNN_DATA_BOOLEAN));
    return graph_.select(scores, given(Name::excluded), is_before, graph_.value(scores_));
  }
  /// Scores as (batch, heads, keys, rows), in 16 bits.
  [[nodiscard]] T by_keys(const T& scores) {
    const Shape extents{scores_[0], scores_[1], scores_[3], scores_[2]};
    const Strides strides = row_major(scores_);
    return graph_.reshape(scores, graph_.value(extents, {strides[0], strides[1], strides[3], strides[2]}, call_.type));
  }

  OperationGraph graph_;
  const DnnAttention& call_;
  Shape scores_, of_rows_;
  T scale_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
