#pragma once
// LeNet-5 (LeCun et al., 1998), as it is taught today: with ReLU and max pooling.

#include <locus/nn/sequential.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// The default options are for MNIST.
///
///     auto model = models::lenet5<float, D>({.channels = 3, .image = 32, .padding = 0}, device);   // for CIFAR
struct LeNet5Options {
  std::int64_t classes = 10;
  std::int64_t channels = 1;  ///< of the images
  Size2d image = 28;          ///< height and width
  std::int64_t padding = 2;   ///< of the first convolution: 28 x 28 becomes the extent of the paper's 32 x 32
};

/// Two convolutions of 5x5, each followed by pooling, and three linear layers.
/// shape: (batch, channels, h, w) -> (batch, classes), logits
/// throws ShapeError for images of another shape
template <class T, class D>
class LeNet5 final : public nn::Layer<LeNet5<T, D>, T, D> {
 public:
  using input_type = T;

  nn::Conv2d<T, D> conv1, conv2;
  nn::Linear<T, D> fc1, fc2, fc3;

  /// throws ArgumentError for no classes, no channels, a negative padding, images too small for the layers, or more
  /// than 2^20 pixels of padding or along an edge
  explicit LeNet5(const LeNet5Options& options = {}, D device = {})
      : conv1(options.channels, 6, 5, {.padding = checked(options).padding}, device),
        conv2(6, 16, 5, {}, device),
        fc1(16 * left_of(options.image.height, options) * left_of(options.image.width, options), 120, true, device),
        fc2(120, 84, true, device),
        fc3(84, options.classes, true, device),
        options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& images) const {
    const auto& [classes, channels, image, padding] = options_;
    if (images.rank() != 4 || images.size(1) != channels || images.size(2) != image.height ||
        images.size(3) != image.width)
      fail<ShapeError>({"LeNet5: images of shape ", images.shape(), "; expected (batch, ", channels, ", ", image.height,
                        ", ", image.width, "); other extents are options"});
    const auto edges = max_pool2d(conv1.forward_with(images, nn::Activation::relu), 2);
    const auto parts = max_pool2d(conv2.forward_with(edges, nn::Activation::relu), 2);
    const auto hidden = fc1.forward_with(flatten(parts, 1), nn::Activation::relu);
    return fc3(fc2.forward_with(hidden, nn::Activation::relu));
  }

  void members(const auto& visit) const {
    visit("conv1", conv1);
    visit("conv2", conv2);
    visit("fc1", fc1);
    visit("fc2", fc2);
    visit("fc3", fc3);
  }
  /// For U on E.
  template <class U, class E> [[nodiscard]] auto twin() const { return LeNet5<U, E>(options_); }

 private:
  /// An extent after two convolutions and poolings.
  static std::int64_t left_of(std::int64_t extent, const LeNet5Options& options) {
    return ((extent + 2 * options.padding - 4) / 2 - 4) / 2;
  }
  static const LeNet5Options& checked(const LeNet5Options& options) {
    const auto& [classes, channels, image, padding] = options;
    if (classes < 1 || channels < 1)
      fail<ArgumentError>(
          {"LeNet5: .classes = ", classes, ", .channels = ", channels, "; expected at least 1 of each"});
    constexpr std::int64_t most = 1 << 20;
    if (padding < 0 || padding > most) fail<ArgumentError>({"LeNet5: .padding = ", padding, "; expected 0 to ", most});
    if (image.height < 1 || image.width < 1 || image.height > most || image.width > most)
      fail<ArgumentError>({"LeNet5: .image = ", image, "; expected 1 to ", most, " of each"});
    if (left_of(image.height, options) < 1 || left_of(image.width, options) < 1)
      fail<ArgumentError>({"LeNet5: .image = ", image, " with .padding = ", padding,
                           "; expected at least 16 of each with the padding"});
    return options;
  }

  LeNet5Options options_;
};

/// 61,706 parameters with the default options, which are for MNIST.
template <class T, class D = Cpu>
[[nodiscard]] LeNet5<T, D> lenet5(const LeNet5Options& options = {}, D device = {}) {
  return LeNet5<T, D>(options, device);
}

}}}  // namespace locus::LOCUS_ABI::models
