#pragma once
// The three passes of a convolution on plain tensors: its value, and the gradients of its input and its weights. A
// transposed convolution exchanges the first two.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/conv/conv.hpp>
#include <locus/cuda/convolution.hpp>
#include <locus/ops/conv/conv_by_verbs.hpp>
#include <locus/ops/conv/conv_widened.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Bytes of columns that a device computes at once.
template <class D>
inline constexpr std::int64_t column_bytes = HostAccessible<D> ? std::int64_t{4} << 20 : gpu_column_bytes;

/// The passes for one shape on one device.
///
/// Launches: by columns, two forward for each part of them, two for dx, and three for dw, five for several parts of 16
/// bits, which are summed in float; and one product for each group. A product of channels takes one. Groups of few
/// channels take one, one for dx, and for dw one for each tap and one more. Columns take 64 MiB on Cuda, 4 MiB on
/// hosts, or as many elements as the weights. Passes in float take 4 MiB of the batch as floats, with its results, or
/// as many elements as the weights, at a time: one launch converts each operand, and one the result, which is rounded
/// once. With cuDNN a pass is one launch, its bias included, two where no engine adds the bias; its
/// workspace is bounded, so that a batch may take several launches. Images that are neither dense nor channels-last are
/// copied.
///
/// relu is applied as the verbs store results. Convolutions of Cpu's own need one launch more for it; cuDNN needs a
/// second launch, shared with the bias, unless it may fuse relu (cuda::allow_fused_relu) and was timed to be faster so.
///
/// Images have five dimensions. Weights (out, in / groups, three dimensions) are read channels-last by cuDNN where
/// images and results are channels-last, otherwise row-major; a further launch permutes weights, or their gradient,
/// that lie otherwise. The written tensors y, dx and dw are dense: row-major or channels-last.
template <class T, class D>
class ConvPasses {
 public:
  /// most: elements of columns at once; at least as many as the weights, all of which are read for each part
  ConvPasses(const ConvShape& shape, D device, std::int64_t most = column_bytes<D> / std::int64_t{sizeof(T)})
      : shape_(shape), device_(device), most_(larger(most, shape.weights())) {}

  /// y = conv(x, w) + bias (+ y), or relu of the sum, which is not accumulated
  void forward(const Tensor<T, D>& y, bool accumulate, const Tensor<T, D>& x, const Tensor<T, D>& w, const T* bias,
               bool relu = false) const {
    if (y.empty()) return;
    if constexpr (WidensConvolutions<D, T>)
      if (is_widened<T, D>(shape_)) return widened().forward(y, accumulate, x, w, bias, relu);
    count();
    const auto by_verbs = [&](const Tensor<T, D>& to, bool adds) {
      on_verbs().forward(to, x, w.contiguous().data(), {bias, adds, relu});
    };
    if constexpr (ConvolvingDevice<D, T>) {
      const Tensor<T, D> in_order = in_order_of(w, x, y);
      const auto by_device = [&](const auto&... verbs) {
        if constexpr (RectifiesConvolutions<D, T>)
          if (relu)
            return Convolution<D>::forward_with_relu(device_, shape_, images_of(x), in_order.data(), bias,
                                                     results_of(y), verbs...);
        return Convolution<D>::forward(device_, shape_, images_of(x), in_order.data(), bias, results_of(y), accumulate,
                                       verbs...);
      };
      if (beside_verbs(y, accumulate, by_verbs, by_device)) {
        if constexpr (!RectifiesConvolutions<D, T>)
          if (relu) map_into(y, functor::Relu{}, y);
        return;
      }
    }
    by_verbs(y, accumulate);
  }

  /// y = conv(x, w). True: `sums` has the sum of each channel of y, and then the sums of squares, because the device
  /// found that faster than measure() afterwards.
  template <class M>
  [[nodiscard]] bool forward_with_sums(const Tensor<T, D>& y, const Tensor<T, D>& x, const Tensor<T, D>& w,
                                       [[maybe_unused]] const Tensor<float, D>& sums,
                                       [[maybe_unused]] const M& measure) const {
    if constexpr (SumsConvolutions<D, T>) {
      const auto apart = [&] { forward(y, false, x, w, nullptr), measure(); };
      const bool fits = !y.empty() && w.layout().is_dense(format_of_weights(x, y));  // to turn weights is a launch
      if (fits && Convolution<D>::forward_with_sums(device_, shape_, images_of(x), w.data(), results_of(y), sums.data(),
                                                    ConvLaunches(apart))) {
        count();
        return true;
      }
    }
    forward(y, false, x, w, nullptr);
    return false;
  }

  /// dx = the adjoint of conv in its input, applied to g (+ bias of dx's channels) (+ dx)
  void input_gradient(const Tensor<T, D>& dx, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& w,
                      const T* bias) const {
    if (dx.empty()) return;
    if constexpr (WidensConvolutions<D, T>)
      if (is_widened<T, D>(shape_)) return widened().input_gradient(dx, accumulate, g, w, bias);
    count();
    const auto by_verbs = [&](const Tensor<T, D>& to, bool adds) {
      on_verbs().input_gradient(to, adds, g, w.contiguous().data(), bias);
    };
    if constexpr (ConvolvingDevice<D, T>) {
      const Tensor<T, D> in_order = in_order_of(w, dx, g);
      const auto by_device = [&](const auto&... verbs) {
        return Convolution<D>::input_gradient(device_, shape_, images_of(g), in_order.data(), bias, results_of(dx),
                                              accumulate, verbs...);
      };
      if (beside_verbs(dx, accumulate, by_verbs, by_device)) return;
    }
    by_verbs(dx, accumulate);
  }

  /// dw = the adjoint of conv in its weights, applied to g (+ dw)
  void weight_gradient(const Tensor<T, D>& dw, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& x) const {
    if (dw.empty()) return;
    if (g.empty()) {
      if (!accumulate) dw.fill_(T(0.f));
      return;
    }
    if constexpr (WidensConvolutions<D, T>)
      if (is_widened<T, D>(shape_)) return widened().weight_gradient(dw, accumulate, g, x);
    count();
    const auto by_verbs = [&](const Tensor<T, D>& to, bool adds) {
      (void)write_in(MemoryFormat::row_major, to, adds, [&](const Tensor<T, D>& rows, bool adds_rows) {
        on_verbs().weight_gradient(rows, adds_rows, g, x);
        return true;
      });
    };
    if constexpr (ConvolvingDevice<D, T>) {
      const auto by_device = [&](const Tensor<T, D>& to, bool adds) {
        return beside_verbs(to, adds, by_verbs, [&](const auto&... verbs) {
          return Convolution<D>::weight_gradient(device_, shape_, images_of(g), images_of(x), to.data(), adds,
                                                 verbs...);
        });
      };
      if (write_in(format_of_weights(x, g), dw, accumulate, by_device)) return;
    }
    by_verbs(dw, accumulate);
  }

 private:
  /// by_device(), or by_device(the pass by verbs, written to memory of its own where it would be added), for a device
  /// that times both.
  template <class V, class F>
  [[nodiscard]] static bool beside_verbs([[maybe_unused]] const Tensor<T, D>& y, [[maybe_unused]] bool accumulate,
                                         [[maybe_unused]] const V& by_verbs, const F& by_device) {
    if constexpr (TimesConvolutionVerbs<D>) {
      const auto alone = [&] {
        by_verbs(accumulate ? Tensor<T, D>(y.shape(), y.layout().format(), y.device()) : y, false);
      };
      const ConvLaunches verbs(alone);
      return by_device(&verbs);
    } else {
      return by_device();
    }
  }

  /// The order of weights in which the device computes a pass over these images.
  [[nodiscard]] MemoryFormat format_of_weights([[maybe_unused]] const Tensor<T, D>& x,
                                               [[maybe_unused]] const Tensor<T, D>& y) const {
    if constexpr (requires { Convolution<D>::reads_weights_channels_last(shape_, images_of(x), images_of(y)); })
      if (Convolution<D>::reads_weights_channels_last(shape_, images_of(x), images_of(y)))
        return MemoryFormat::channels_last;
    return MemoryFormat::row_major;
  }
  [[nodiscard]] Tensor<T, D> in_order_of(const Tensor<T, D>& w, const Tensor<T, D>& x, const Tensor<T, D>& y) const {
    return format_of_weights(x, y) == MemoryFormat::channels_last ? w.channels_last() : w.contiguous();
  }
  /// compute(tensor of the format, whether to add), to dw if it has the format, else to a copy. False, without effect,
  /// where that returns false.
  template <class F>
  [[nodiscard]] bool write_in(MemoryFormat format, const Tensor<T, D>& dw, bool accumulate, const F& compute) const {
    if (dw.layout().is_dense(format)) return compute(dw, accumulate);
    const Tensor<T, D> turned(dw.shape(), format, device_);
    if (!compute(turned, false)) return false;
    if (accumulate) dw += turned;
    else copy_elements(turned, dw);
    return true;
  }

  [[nodiscard]] ConvByVerbs<T, D> on_verbs() const { return {shape_, device_, most_}; }
  /// Wide images get as many bytes as columns may take.
  [[nodiscard]] WidenedConvPasses<T, D> widened() const {
    return {shape_, device_,
            larger(most_ * std::int64_t{sizeof(T)} / std::int64_t{sizeof(compute_t<T>)}, shape_.weights())};
  }
  void count() const { count_products(shape_.batch, shape_.out, shape_.outputs(), shape_.group_in() * shape_.taps()); }

  ConvShape shape_;
  D device_;
  std::int64_t most_;
};

}}}  // namespace locus::LOCUS_ABI::detail
