#pragma once
// Attention on a GPU by cuDNN; device/attention.hpp specifies it.

#include <locus/cuda/cudnn/attender.hpp>
#include <locus/cuda/cudnn/operands.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

namespace detail {
/// Whether cuDNN's fused engines take the call: 16 bits, without masks and dropout.
template <class T, class Drop>
[[nodiscard]] bool may_attend(const AttentionCall<T>& call, const Drop& drop) {
  return is_attended<T> && cudnn_version() != 0 && cudnn_allowed() && call.shape.has_products() && !drop.acts &&
         call.masks[0].is_empty() && call.masks[1].is_empty();
}
template <class T>
[[nodiscard]] DnnAttention attention_call(const AttentionCall<T>& call, bool is_backward) {
  DnnAttention it{is_backward, type_of<T>(), call.shape, call.is_causal, call.scale};
  it.q = it.of_rows(call.q, call.shape.width), it.k = it.of_keys(call.k, call.shape.width);
  it.v = it.of_keys(call.v, call.shape.value_width);
  return it;
}

struct Fill {
  float value;
  LOCUS_FN void operator()(int64_t, float& out) const { out = value; }
};

/// An adjoint for cuDNN to read: in place if its elements lie apart, otherwise a dense copy.
template <class T>
[[nodiscard]] AttentionHeads<const T> spread_heads(Context& context, const AttentionHeads<const T>& x,
                                                   const Shape& extents, Scratch& copy) {
  bool is_spread = extents[3] == 1 || x.stride[3] == 1;
  for (int d = 0; d < 3; ++d) is_spread = is_spread && (extents[d] == 1 || x.stride[d] > 0);
  if (is_spread) return x;
  const Strides from{x.stride[0], x.stride[1], x.stride[2], x.stride[3]}, to = row_major(extents);
  return {copy_dense(context, x.data, extents, from, copy), {to[0], to[1], to[2], to[3]}};
}

/// Memory for a gradient that cuDNN writes: the gradient's, or other memory if it is to be added to, or is not wanted.
template <class T>
class AttentionTarget {
 public:
  AttentionTarget(Context& context, const AttentionGradientHeads<T>& to, const AttentionShape& shape, int64_t rows,
                  int64_t width)
      : context_(context), to_(to), extents_{shape.batch, shape.heads, rows, width}, own_(context) {
    heads = to.out;
    if (to.out.data && !to.accumulate) return;
    own_.reserve(static_cast<std::size_t>(elements(extents_)) * sizeof(T));
    const Strides strides = row_major(extents_);
    heads = {own_.template as<T>(), {strides[0], strides[1], strides[2], strides[3]}};
  }
  /// Adds the written gradient where it is to be added.
  void finish() const {
    if (!to_.out.data || !to_.accumulate) return;
    const auto strides = [](const AttentionHeads<T>& of) {
      return Strides{of.stride[0], of.stride[1], of.stride[2], of.stride[3]};
    };
    map(context_, make_plan<3>(extents_, std::array<Strides, 3>{strides(heads), strides(to_.out), strides(to_.out)}),
        AddTo<T>{}, Pack<const T*, const T*>{heads.data, to_.out.data}, Pack<T*>{to_.out.data});
  }
  AttentionHeads<T> heads;

 private:
  Context& context_;
  AttentionGradientHeads<T> to_;
  Shape extents_;
  Scratch own_;
};
}  // namespace detail

/// Implement AttendingDevice. False, without effect, where cuDNN must not compute the pass, or does not support it.
template <class T, class Drop>
[[nodiscard]] bool attend(Context& context, const AttentionCall<T>& call, const Drop& drop, const AttentionHeads<T>& y,
                          const AttentionNumbers<compute_t<T>>& numbers) {
  if constexpr (is_attended<T>) {
    if (!detail::may_attend(call, drop)) return false;
    DnnAttention pass = detail::attention_call(call, false);
    pass.y = pass.of_rows(y, call.shape.value_width), pass.stats = numbers.largests;
    if (!pass.is_aligned() || !context.state<Attender>(Context::attender).run(pass)) return false;
    // p = e^(score - stats)
    const Shape rows{call.shape.batch * call.shape.heads * call.shape.rows};
    map(context, make_plan<2>(rows, std::array<Strides, 2>{Strides{1}, Strides{1}}), detail::Fill{1},
        Pack<LinearIndex>{LinearIndex{}}, Pack<float*>{numbers.scales});
    return true;
  }
  return false;
}
template <class T, class Drop>
[[nodiscard]] bool attend_backward(Context& context, const AttentionCall<T>& call, const Drop& drop,
                                   const AttentionHeads<const T>& y, const AttentionNumbers<compute_t<T>>& numbers,
                                   const AttentionHeads<const T>& g, const AttentionGradientHeads<T>& dq,
                                   const AttentionGradientHeads<T>& dk, const AttentionGradientHeads<T>& dv) {
  if constexpr (is_attended<T>) {
    if (!detail::may_attend(call, drop)) return false;
    const AttentionShape& shape = call.shape;
    DnnAttention pass = detail::attention_call(call, true);
    const Shape results = pass.extents(shape.rows, shape.value_width);
    pass.y = {y, results};
    if (!pass.is_aligned()) return false;  // before memory for gradients is allocated
    const detail::AttentionTarget<T> to_q(context, dq, shape, shape.rows, shape.width);
    const detail::AttentionTarget<T> to_k(context, dk, shape, shape.keys, shape.width);
    const detail::AttentionTarget<T> to_v(context, dv, shape, shape.keys, shape.value_width);
    const Scratch sums(context, sizeof(float) * static_cast<std::size_t>(shape.batch * shape.heads * shape.rows));
    Scratch g_copy(context);
    pass.g = {detail::spread_heads(context, g, results, g_copy), results};
    pass.dq = pass.of_rows(to_q.heads, shape.width), pass.dk = pass.of_keys(to_k.heads, shape.width);
    pass.dv = pass.of_keys(to_v.heads, shape.value_width);
    pass.stats = numbers.largests, pass.sums = sums.template as<float>();
    if (!pass.is_aligned() || !context.state<Attender>(Context::attender).run(pass)) return false;
    for (const auto* const target : {&to_q, &to_k, &to_v}) target->finish();
    return true;
  }
  return false;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
