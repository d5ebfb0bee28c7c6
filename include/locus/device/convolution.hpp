#pragma once
// The parameters of a convolution, and optional convolutions of a device, faster than its verbs.
// ops/conv/conv_passes.hpp tests the concept of this header; without it, windows become columns of a matrix product
// (im2col).

#include <locus/core/std/bounds.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// A position along a dimension of images: 32 bits, as 64 would take twice the registers on a GPU.
using ConvIndex = std::int32_t;
/// Upper bound of an extent and of its border, so that sums of three fit a ConvIndex.
inline constexpr std::int64_t most_convolved = std::int64_t{1} << 29;

/// Windows along one dimension: tap k of window o is element o * stride + k * dilation - before, or the border's 0.
struct ConvAxis {
  ConvIndex extent = 1, kernel = 1, stride = 1, dilation = 1, before = 0, outputs = 1;

  /// The element of tap k of window o; in the border if outside [0, extent).
  [[nodiscard]] LOCUS_FN ConvIndex source(ConvIndex o, ConvIndex k) const { return o * stride + k * dilation - before; }
  [[nodiscard]] LOCUS_FN bool holds(ConvIndex i) const {
    return static_cast<std::uint32_t>(i) < static_cast<std::uint32_t>(extent);
  }
  /// Calls f(k, o) for each window o in [first, end) in which element i is tap k.
  template <class F>
  LOCUS_FN void for_each_tap(ConvIndex i, ConvIndex first, ConvIndex end, const F& f) const {
    ConvIndex at = i + before;
    for (ConvIndex k = 0; k < kernel && at >= 0; ++k, at -= dilation) {
      const ConvIndex o = stride == 1 ? at : at / stride;
      if (o * stride == at && o >= first && o < end) f(k, o);
    }
  }
  /// The windows [begin, end) whose tap k lies inside the image.
  struct Range {
    ConvIndex begin, end;
    [[nodiscard]] ConvIndex count() const { return end - begin; }
  };
  [[nodiscard]] Range windows_inside(ConvIndex k) const {
    const ConvIndex least = before - k * dilation, most = extent - 1 + least;  // bounds of o * stride
    const ConvIndex begin = least <= 0 ? 0 : (least - 1) / stride + 1;
    const ConvIndex end = most < 0 ? 0 : detail::smaller(most / stride + 1, outputs);
    return {begin, detail::larger(begin, end)};
  }
  [[nodiscard]] bool is_plain() const { return kernel == 1 && stride == 1 && before == 0 && outputs == extent; }
};

/// y(n, o, ...) = sum over c and taps of x(n, c, ...) w(o, c, ...). Images and kernels have three dimensions; missing
/// leading dimensions have extent 1. Output channel o belongs to group o / (out / groups), which reads in / groups
/// channels of the input.
struct ConvShape {
  std::int64_t batch = 0, in = 0, out = 0, groups = 1;
  ConvAxis axis[3];
  bool exact = false;  ///< direct sums of products, without Winograd's transforms or TF32

  [[nodiscard]] std::int64_t taps() const { return std::int64_t{axis[0].kernel} * axis[1].kernel * axis[2].kernel; }
  [[nodiscard]] std::int64_t inputs() const {  ///< elements of an image's channel
    return std::int64_t{axis[0].extent} * axis[1].extent * axis[2].extent;
  }
  [[nodiscard]] std::int64_t outputs() const {  ///< windows of an image
    return std::int64_t{axis[0].outputs} * axis[1].outputs * axis[2].outputs;
  }
  /// Linear index of a window in its image.
  [[nodiscard]] std::int64_t window(const ConvIndex (&o)[3]) const {
    return (std::int64_t{o[0]} * axis[1].outputs + o[1]) * axis[2].outputs + o[2];
  }
  /// Whether the sums have any terms. Tests each number separately, because their product may overflow 64 bits.
  [[nodiscard]] bool has_products() const {
    return batch != 0 && in != 0 && out != 0 && inputs() != 0 && outputs() != 0;
  }
  [[nodiscard]] LOCUS_FN std::int64_t group_in() const { return in / groups; }
  [[nodiscard]] LOCUS_FN std::int64_t group_out() const { return out / groups; }
  [[nodiscard]] std::int64_t weights() const { return out * group_in() * taps(); }
  /// Whether a window is one element: the convolution is a matrix product over channels.
  [[nodiscard]] bool is_pointwise() const { return axis[0].is_plain() && axis[1].is_plain() && axis[2].is_plain(); }
};

/// The passes of a convolution: y, dx and dw.
enum class ConvPass { value, input_gradient, weight_gradient };

/// How a device's verbs compute a pass: each result by itself, as one product of channels, or as products over columns
/// of windows.
enum class ConvVerbs { each, product, columns };

/// The choice on every device, where Convolution has no pass. has_one_stride: the elements of a channel of x have one.
/// Groups of at most four channels in and out have too small products.
[[nodiscard]] inline ConvVerbs conv_verbs(ConvPass pass, const ConvShape& shape, bool has_one_stride) {
  constexpr std::int64_t few = 4;
  if (shape.groups > 1 && shape.group_in() <= few && shape.group_out() <= few) return ConvVerbs::each;
  if (!shape.is_pointwise() || pass == ConvPass::weight_gradient) return ConvVerbs::columns;
  return has_one_stride || pass == ConvPass::input_gradient ? ConvVerbs::product : ConvVerbs::columns;
}

/// Most bytes of columns on a GPU at a time. Larger weights raise the limit to their own size.
inline constexpr std::int64_t gpu_column_bytes = std::int64_t{64} << 20;

/// While a device's verbs compute a convolution: sets the precision of their products, if the device has a switch for
/// convolutions; specialize it to add one.
template <class D>
struct ConvPrecision {
  explicit ConvPrecision(const ConvShape&) {}
};

namespace detail {
/// Whether D may have convolutions that read weights channels-last beside channels-last images; specialize it to say
/// so.
template <class D>
[[nodiscard]] bool has_channels_last_weights() {
  return false;
}
}  // namespace detail

/// Images in memory: strides of (batch, channel, three dimensions), in elements.
template <class T>
struct ConvImages {
  T* data;
  std::int64_t stride[5];

  /// For two-dimensional images.
  [[nodiscard]] LOCUS_FN T* at(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t col) const {
    return data + image * stride[0] + channel * stride[1] + row * stride[3] + col * stride[4];
  }
  /// Whether dense images are channels-last. With one channel they are row-major, too.
  [[nodiscard]] LOCUS_FN bool is_channels_last() const { return stride[4] != 1; }
};

/// Launches that a device may time beside its own: refers to a function of no arguments, which must live as long.
class ConvLaunches {
 public:
  template <class F>
  explicit ConvLaunches(const F& compute)
      : compute_(&compute), call_([](const void* f) { (*static_cast<const F*>(f))(); }) {}
  void operator()() const { call_(compute_); }

 private:
  const void* compute_;
  void (*call_)(const void*);
};

/// The three passes of convolutions on a device, for the element types that it supports; specialize it to add them.
///
///     Convolution<D>::forward(device, shape, x, w, bias, y, accumulate)      y = conv(x, w) + bias
///     Convolution<D>::input_gradient(device, shape, g, w, bias, dx, accumulate)
///     Convolution<D>::weight_gradient(device, shape, g, x, dw, accumulate)
///
/// x and g may have any strides; y and dx are dense, row-major or channels-last; w, (out, in / groups, taps), and dw
/// are row-major, or channels-last where the optional Convolution<D>::reads_weights_channels_last(shape, x, y) returns
/// true for the images of a pass. bias has an element for each channel of the result, or is null. With `accumulate`,
/// results are added to the existing elements. False, without effect, if the verbs are faster or the device has no such
/// pass. A device whose times_verbs is true takes one argument more, a pointer to launches that compute the pass by
/// verbs, and may time them beside its own ways. The algorithm of a pass, and so its last bits, depends on the shape,
/// the strides, `exact` and the processor's features, never on the threads.
template <class D>
struct Convolution;
/// Whether D has the three passes for elements of type T.
template <class D, class T>
concept ConvolvingDevice = Device<D> && requires(D device, const ConvShape& shape, const ConvImages<const T>& images,
                                                 const ConvImages<T>& results, const T* in, T* out) {
  { Convolution<D>::forward(device, shape, images, in, in, results, false) } -> std::same_as<bool>;
  { Convolution<D>::input_gradient(device, shape, images, in, in, results, false) } -> std::same_as<bool>;
  { Convolution<D>::weight_gradient(device, shape, images, images, out, false) } -> std::same_as<bool>;
};
/// Whether D may measure the channels of y in the launch of a convolution: forward_with_sums(device, shape, x, w, y,
/// sums, apart) writes the sum of each channel and then the sums of squares, in float. It returns false, without
/// effect, where `apart`, which computes y and then measures it, is as fast, or that is not known.
template <class D, class T>
concept SumsConvolutions = requires(D device, const ConvShape& shape, const ConvImages<const T>& images,
                                    const ConvImages<T>& results, const T* in, float* sums, const ConvLaunches& apart) {
  { Convolution<D>::forward_with_sums(device, shape, images, in, results, sums, apart) } -> std::same_as<bool>;
};
/// Whether D computes relu(conv(x, w) + bias): forward_with_relu(device, shape, x, w, bias, y), with one argument more
/// if it times verbs. As forward otherwise. Without it, relu is applied to y by a map.
template <class D, class T>
concept RectifiesConvolutions = requires(D device, const ConvShape& shape, const ConvImages<const T>& images,
                                         const ConvImages<T>& results, const T* in) {
  { Convolution<D>::forward_with_relu(device, shape, images, in, in, results) } -> std::same_as<bool>;
};
/// Whether D times a pass by verbs beside its own ways.
template <class D>
concept TimesConvolutionVerbs = requires { requires Convolution<D>::times_verbs; };

}}  // namespace locus::LOCUS_ABI
