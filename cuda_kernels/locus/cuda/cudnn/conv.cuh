#pragma once
// Convolution passes on a GPU by cuDNN; device/convolution.hpp specifies them.

#include <locus/cuda/cudnn/convolver.hpp>
#include <locus/cuda/cudnn/operands.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

namespace detail {
/// Whether images are dense, in channels-last order or channel after channel.
template <class T>
[[nodiscard]] bool is_dense(const ConvImages<T>& x, const Shape& shape, bool channels_last) {
  constexpr int order[2][5] = {{4, 3, 2, 1, 0}, {1, 4, 3, 2, 0}};
  const std::int64_t* const extents = shape.begin();  // by plain positions: none counts from the end
  std::int64_t stride = 1;
  for (const int d : order[channels_last]) {
    if (extents[d] != 1 && x.stride[d] != stride) return false;
    stride *= extents[d];
  }
  return true;
}

/// Images of a pass, and whether they lie in both orders, as those of one channel or of one element do.
struct FoundImages {
  Images images;
  bool fits_both = false;
};
/// Images for cuDNN to read: in place if dense, otherwise a dense copy.
template <class T>
[[nodiscard]] FoundImages images_of(Context& context, const ConvImages<const T>& x, const Shape& shape, Scratch& copy) {
  const bool by_channels = is_dense(x, shape, false), channels_last = is_dense(x, shape, true);
  if (by_channels || channels_last) return {{const_cast<T*>(x.data), !by_channels}, by_channels && channels_last};
  const Strides from{x.stride[0], x.stride[1], x.stride[2], x.stride[3], x.stride[4]};
  return {{copy_dense(context, x.data, shape, from, copy), false}, false};
}
/// Results for cuDNN to write: dense, in either order.
template <class T>
[[nodiscard]] FoundImages results_of(const ConvImages<T>& y, const Shape& shape) {
  const bool by_channels = is_dense(y, shape, false);
  return {{y.data, !by_channels}, by_channels && is_dense(y, shape, true)};
}
/// One pass; images that lie in both orders take the other ones' order.
template <class T>
[[nodiscard]] ConvCall call_of(Pass pass, const ConvShape& shape, FoundImages x, FoundImages y, T* w, bool accumulate) {
  if (x.fits_both) x.images.channels_last = y.images.channels_last;
  if (y.fits_both) y.images.channels_last = x.images.channels_last;
  return {pass, type_of<T>(), shape, x.images, y.images, w, accumulate};
}

/// (batch, channels, ...) of a convolution's input, or of its result.
[[nodiscard]] inline Shape input_shape(const ConvShape& shape) {
  return {shape.batch, shape.in, shape.axis[0].extent, shape.axis[1].extent, shape.axis[2].extent};
}
[[nodiscard]] inline Shape result_shape(const ConvShape& shape) {
  return {shape.batch, shape.out, shape.axis[0].outputs, shape.axis[1].outputs, shape.axis[2].outputs};
}

/// What follows a convolution: an element of bias, unless that is null, is added to each channel, and then relu
/// applied.
template <class T>
struct DnnEpilogue {
  const T* bias = nullptr;
  bool relu = false;
  [[nodiscard]] int number() const { return (bias ? 1 : 0) + (relu ? 2 : 0); }
};
template <class T>
struct FinishChannel {
  bool relu;
  LOCUS_FN void operator()(compute_t<T> y, compute_t<T> bias, compute_t<T>& out) const {
    const compute_t<T> sum = y + bias;
    out = relu && sum < compute_t<T>(0) ? compute_t<T>(0) : sum;  // NaN stays
  }
};
/// The epilogue in a launch of its own.
template <class T>
void finish(Context& context, const Shape& shape, const DnnEpilogue<T>& epilogue, const ConvImages<T>& y) {
  const Strides strides{y.stride[0], y.stride[1], y.stride[2], y.stride[3], y.stride[4]};
  const std::array<Strides, 3> operands{strides, Strides{0, 1, 0, 0, 0}, strides};
  map(context, in_memory_order(make_plan<3>(shape, operands)), FinishChannel<T>{epilogue.relu},
      Pack<const T*, const T*>{y.data, epilogue.bias}, Pack<T*>{y.data});
}

/// The pass, and its epilogue in a launch of its own, of which y are the results. by_verbs does the same work; it is
/// not timed where the epilogue belongs to a sum that y has already, as timing repeats launches.
template <class T>
[[nodiscard]] bool run_and_finish(Context& context, ConvCall call, const DnnEpilogue<T>& epilogue, const Shape& shape,
                                  const ConvImages<T>& y, const ConvLaunches* by_verbs) {
  auto& convolver = context.state<Convolver>(Context::convolver);
  call.finish = epilogue.number();
  if (call.finish == 0) return convolver.run(call, {by_verbs});
  const auto last = [&] { finish(context, shape, epilogue, y); };
  const ConvLaunches finishing(last);
  return convolver.run(call, {call.accumulate ? nullptr : by_verbs, &finishing});
}

/// Whether cuDNN may be asked. It may be missing in programs that load it at their first convolution
/// (cuda_kernels/cudnn_at_first_use.cpp).
[[nodiscard]] inline bool may_ask(const ConvShape& shape) {
  return cudnn_version() != 0 && cudnn_allowed() && shape.has_products();
}
}  // namespace detail

/// Whether cuDNN computes the passes over these images with weights, and their gradient, channels-last: where the
/// images are, and the order of weights matters.
template <class T>
[[nodiscard]] bool reads_weights_channels_last(const ConvShape& shape, const ConvImages<const T>& x,
                                               const ConvImages<const T>& y) {
  if (shape.taps() == 1 || shape.group_in() == 1 || !detail::may_ask(shape)) return false;
  const Shape inputs = detail::input_shape(shape), results = detail::result_shape(shape);
  return detail::is_dense(x, inputs, true) && detail::is_dense(y, results, true) &&
         !(detail::is_dense(x, inputs, false) && detail::is_dense(y, results, false));
}

/// w and dw are in the order that reads_weights_channels_last says. by_verbs, if not null, computes the same, and is
/// timed beside cuDNN's engines, where these are. Each returns false, without effect, where cuDNN must not compute the
/// pass, does not support it, or is slower.
///
/// relu is not for values that are accumulated. An epilogue is computed in the launch of the convolution where an
/// engine does so, unless two launches were timed to be faster; relu only after allow_fused_relu(true), and only if two
/// were timed to be slower.
template <class T>
[[nodiscard]] bool forward(Context& context, const ConvShape& shape, const ConvImages<const T>& x, const T* w,
                           const detail::DnnEpilogue<T>& epilogue, const ConvImages<T>& y, bool accumulate,
                           const ConvLaunches* by_verbs = nullptr) {
  if (!detail::may_ask(shape)) return false;
  Scratch x_copy(context);
  const Shape results = detail::result_shape(shape);
  const ConvCall call =
      detail::call_of(Pass::forward, shape, detail::images_of(context, x, detail::input_shape(shape), x_copy),
                      detail::results_of(y, results), const_cast<T*>(w), accumulate);
  const auto in_two = [&] { return detail::run_and_finish(context, call, epilogue, results, y, by_verbs); };
  if (epilogue.number() != 0 && !accumulate && (!epilogue.relu || fused_relu_allowed())) {
    ConvCall fused = call;
    fused.bias = const_cast<T*>(epilogue.bias), fused.relu = epilogue.relu;
    const auto apart = [&] {
      if (!in_two()) (*by_verbs)();
    };
    const ConvLaunches others(apart);
    if (context.state<Convolver>(Context::convolver).run(fused, {by_verbs ? &others : nullptr, nullptr, true}))
      return true;
  }
  return in_two();
}
/// y = conv(x, w), and the sums of its channels, then of their squares, where timing found that faster than `apart`,
/// which measures the channels after the convolution. False, without effect, otherwise.
template <class T>
[[nodiscard]] bool forward_with_sums(Context& context, const ConvShape& shape, const ConvImages<const T>& x, const T* w,
                                     const ConvImages<T>& y, float* sums, const ConvLaunches& apart) {
  if (!detail::may_ask(shape)) return false;
  Scratch x_copy(context);
  ConvCall call =
      detail::call_of(Pass::forward, shape, detail::images_of(context, x, detail::input_shape(shape), x_copy),
                      detail::results_of(y, detail::result_shape(shape)), const_cast<T*>(w), false);
  call.sums = sums;
  return context.state<Convolver>(Context::convolver).run(call, {&apart, nullptr, true});
}
template <class T>
[[nodiscard]] bool input_gradient(Context& context, const ConvShape& shape, const ConvImages<const T>& g, const T* w,
                                  const T* bias, const ConvImages<T>& dx, bool accumulate,
                                  const ConvLaunches* by_verbs = nullptr) {
  if (!detail::may_ask(shape)) return false;
  Scratch g_copy(context);
  const Shape inputs = detail::input_shape(shape);
  const ConvCall call = detail::call_of(Pass::input_gradient, shape, detail::results_of(dx, inputs),
                                        detail::images_of(context, g, detail::result_shape(shape), g_copy),
                                        const_cast<T*>(w), accumulate);
  return detail::run_and_finish(context, call, {bias, false}, inputs, dx, by_verbs);
}
template <class T>
[[nodiscard]] bool weight_gradient(Context& context, const ConvShape& shape, const ConvImages<const T>& g,
                                   const ConvImages<const T>& x, T* dw, bool accumulate,
                                   const ConvLaunches* by_verbs = nullptr) {
  if (!detail::may_ask(shape)) return false;
  Scratch g_copy(context), x_copy(context);
  const ConvCall call =
      detail::call_of(Pass::weight_gradient, shape, detail::images_of(context, x, detail::input_shape(shape), x_copy),
                      detail::images_of(context, g, detail::result_shape(shape), g_copy), dw, accumulate);
  return context.state<Convolver>(Context::convolver).run(call, {by_verbs});
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
