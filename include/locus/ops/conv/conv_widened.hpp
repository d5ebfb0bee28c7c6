#pragma once
// 16-bit convolutions on a device that convolves floats faster: operands become float, some images at a time, and
// results are rounded once.

#include <locus/device/convolution.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class T, class D>
class ConvPasses;

/// Whether D convolves compute_t<T>, and so may convolve T in that type.
template <class D, class T>
concept WidensConvolutions = !std::is_same_v<T, compute_t<T>> && ConvolvingDevice<D, compute_t<T>>;

/// Whether T is convolved in compute_t<T>: the device cannot convolve T itself, or says that compute_t<T> is faster.
template <class T, class D>
[[nodiscard]] bool is_widened([[maybe_unused]] const ConvShape& shape) {
  if constexpr (!ConvolvingDevice<D, T>) return true;
  else if constexpr (requires { Convolution<D>::is_faster_widened(shape); })
    return Convolution<D>::is_faster_widened(shape);
  else return false;
}

/// The passes of ConvPasses, computed in compute_t<T>.
template <class T, class D>
class WidenedConvPasses {
  using R = compute_t<T>;

 public:
  /// most: elements that images and their results have at a time; at least one image and its result
  WidenedConvPasses(const ConvShape& shape, D device, std::int64_t most) : shape_(shape), device_(device) {
    const std::int64_t per_image = shape.in * shape.inputs() + shape.out * shape.outputs();
    images_ = within<std::int64_t>(most / larger(per_image, std::int64_t{1}), 1, larger(shape.batch, std::int64_t{1}));
  }

  void forward(const Tensor<T, D>& y, bool accumulate, const Tensor<T, D>& x, const Tensor<T, D>& w, const T* bias,
               bool relu) const {
    const Tensor<R, D> weights = w.template as<R>(), shift = widened(bias, bias ? shape_.out : 0);
    for_each_part(y, accumulate, x, [&](const auto& passes, const auto& result, const auto& images) {
      passes.forward(result, accumulate, images, weights, bias ? shift.data() : nullptr, relu);
    });
  }
  void input_gradient(const Tensor<T, D>& dx, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& w,
                      const T* bias) const {
    const Tensor<R, D> weights = w.template as<R>(), shift = widened(bias, bias ? shape_.in : 0);
    for_each_part(dx, accumulate, g, [&](const auto& passes, const auto& result, const auto& gradients) {
      passes.input_gradient(result, accumulate, gradients, weights, bias ? shift.data() : nullptr);
    });
  }
  void weight_gradient(const Tensor<T, D>& dw, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& x) const {
    const Tensor<R, D> sum = accumulate ? dw.template as<R>() : Tensor<R, D>(dw.shape(), device_);
    for (std::int64_t first = 0; first < shape_.batch; first += images_, accumulate = true)
      passes(first).weight_gradient(sum, accumulate, part(g, first), part(x, first));
    copy_elements(sum, dw);
  }

 private:
  /// f(passes, the part of the result as R, the part of the images as R) for each part of the batch.
  template <class F>
  void for_each_part(const Tensor<T, D>& result, bool accumulate, const Tensor<T, D>& images, const F& f) const {
    for (std::int64_t first = 0; first < shape_.batch; first += images_) {
      const Tensor<T, D> target = result.slice(0, first, end(first));
      const Tensor<R, D> wide =
          accumulate ? target.template as<R>() : Tensor<R, D>(target.shape(), target.layout().format(), device_);
      f(passes(first), wide, part(images, first));
      copy_elements(wide, target);
    }
  }
  [[nodiscard]] ConvPasses<R, D> passes(std::int64_t first) const {
    ConvShape shape = shape_;
    shape.batch = end(first) - first;
    return {shape, device_};
  }
  [[nodiscard]] Tensor<R, D> part(const Tensor<T, D>& images, std::int64_t first) const {
    return images.slice(0, first, end(first)).template as<R>();
  }
  [[nodiscard]] std::int64_t end(std::int64_t first) const { return smaller(first + images_, shape_.batch); }

  [[nodiscard]] Tensor<R, D> widened(const T* numbers, std::int64_t count) const {
    static constexpr Strides dense{1};
    const PlanOperand each{nullptr, &dense};
    const Tensor<R, D> wide({count}, device_);
    Backend<D>::map(device_, make_plan<2>({count}, std::array{each, each}), ConvertElement<T, R>{},
                    Pack<const T*>(numbers), Pack<R*>(wide.data()));
    return wide;
  }

  ConvShape shape_;
  D device_;
  std::int64_t images_;
};

}}}  // namespace locus::LOCUS_ABI::detail
