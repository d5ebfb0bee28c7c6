#pragma once
// Residual networks (He et al., 2015) of torchvision's structure, names and initial values: weights saved by either
// load into the other. A Bottleneck has its stride in the 3x3 convolution ("v1.5").

#include <locus/nn/channels_last.hpp>
#include <locus/nn/sequential.hpp>

#include <array>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// The default options are torchvision's, for ImageNet.
struct ResNetOptions {
  std::int64_t classes = 1000;
  std::int64_t channels = 3;        ///< of the images
  bool small_images = false;        ///< a stem for 32 x 32: a 3x3 convolution of stride 1, and no pooling
  bool zero_init_residual = false;  ///< each block begins as its shortcut (Goyal et al., 2017)
  std::int64_t width = 64;          ///< channels after the stem; the stages have 1, 2, 4 and 8 times as many
  bool channels_last = false;       ///< images, first, and weights: the layout of cuDNN's fastest kernels
};

/// The number of blocks in each of the four stages.
using ResNetBlocks = std::array<std::int64_t, 4>;

namespace detail {
/// throws ArgumentError for a stage without blocks, no classes, no channels or no width
LOCUS_OUT_OF_LINE inline void require_valid(const ResNetBlocks& blocks, const ResNetOptions& options) {
  const auto require = [](const char* option, std::int64_t given) {
    if (given < 1) fail<ArgumentError>({"ResNet: ", option, " = ", given, "; expected at least 1"});
  };
  require(".classes", options.classes), require(".channels", options.channels), require(".width", options.width);
  for (const std::int64_t count : blocks)
    if (count < 1)
      fail<ArgumentError>({"ResNet: a stage of ", count, " blocks; expected at least 1 in each of the four"});
}

/// throws ShapeError unless they are (batch, channels, height, width), with pixels
LOCUS_OUT_OF_LINE inline void require_images(const Shape& images, std::int64_t channels) {
  if (images.rank() != 4 || images[1] != channels || images[2] < 1 || images[3] < 1)
    fail<ShapeError>(
        {"ResNet: images of shape ", images, "; expected (batch, ", channels, ", height, width), each of 1 or more"});
}

/// A convolution that keeps the extents, divided by the stride. No bias: batch norm follows. Kaiming normal of fan_out.
template <class T, class D>
[[nodiscard]] nn::Conv2d<T, D> convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                                           D device) {
  nn::Conv2d<T, D> layer{in, out, kernel, {.stride = stride, .padding = kernel / 2, .bias = false}, device};
  nn::init::kaiming_normal_(layer.weight,
                            {.mode = nn::init::FanMode::fan_out, .nonlinearity = nn::init::Nonlinearity::relu});
  return layer;
}

/// Projects the input of a block to the shape of its output; empty if they are equal.
template <class T, class D>
[[nodiscard]] nn::Sequential<T, D> shortcut(std::int64_t in, std::int64_t out, std::int64_t stride, D device) {
  if (in == out && stride == 1) return {};
  return {convolution<T, D>(in, out, 1, stride, device), nn::BatchNorm2d<T, D>{out, {}, device}};
}
}  // namespace detail

/// Two 3x3 convolutions beside a shortcut: the block of ResNet-18 and ResNet-34.
/// shape: (batch, in, h, w) -> (batch, channels, h / stride, w / stride), rounded up
template <class T, class D>
class BasicBlock final : public nn::Layer<BasicBlock<T, D>, T, D> {
 public:
  using input_type = T;
  static constexpr std::int64_t expansion = 1;  ///< channels of the output for each of `channels`

  nn::Conv2d<T, D> conv1;
  nn::BatchNorm2d<T, D> bn1;
  nn::Conv2d<T, D> conv2;
  nn::BatchNorm2d<T, D> bn2;
  nn::Sequential<T, D> downsample;

  BasicBlock(std::int64_t in, std::int64_t channels, std::int64_t stride = 1, D device = {})
      : conv1(detail::convolution<T, D>(in, channels, 3, stride, device)),
        bn1(channels, {}, device),
        conv2(detail::convolution<T, D>(channels, channels, 3, 1, device)),
        bn2(channels, {}, device),
        downsample(detail::shortcut<T, D>(in, channels, stride, device)) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    const auto inner = bn1.forward_after(conv1, x, nn::Activation::relu);
    return bn2.forward_after(conv2, inner, nn::Activation::relu, downsample(x));
  }

  void members(const auto& visit) const {
    visit("conv1", conv1);
    visit("bn1", bn1);
    visit("conv2", conv2);
    visit("bn2", bn2);
    visit("downsample", downsample);
  }
  /// The weights of the norm before the sum.
  [[nodiscard]] const Parameter<T, D>& last_weight() const { return bn2.weight; }
  /// For U on E; every member becomes a copy.
  template <class U, class E> [[nodiscard]] auto twin() const { return BasicBlock<U, E>(1, 1); }
};

/// A 1x1, a 3x3 and a 1x1 convolution beside a shortcut: the block of ResNet-50.
/// shape: (batch, in, h, w) -> (batch, 4 channels, h / stride, w / stride), rounded up
template <class T, class D>
class Bottleneck final : public nn::Layer<Bottleneck<T, D>, T, D> {
 public:
  using input_type = T;
  static constexpr std::int64_t expansion = 4;  ///< channels of the output for each of `channels`

  nn::Conv2d<T, D> conv1;
  nn::BatchNorm2d<T, D> bn1;
  nn::Conv2d<T, D> conv2;
  nn::BatchNorm2d<T, D> bn2;
  nn::Conv2d<T, D> conv3;
  nn::BatchNorm2d<T, D> bn3;
  nn::Sequential<T, D> downsample;

  Bottleneck(std::int64_t in, std::int64_t channels, std::int64_t stride = 1, D device = {})
      : conv1(detail::convolution<T, D>(in, channels, 1, 1, device)),
        bn1(channels, {}, device),
        conv2(detail::convolution<T, D>(channels, channels, 3, stride, device)),
        bn2(channels, {}, device),
        conv3(detail::convolution<T, D>(channels, channels * expansion, 1, 1, device)),
        bn3(channels * expansion, {}, device),
        downsample(detail::shortcut<T, D>(in, channels * expansion, stride, device)) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    const auto narrow = bn1.forward_after(conv1, x, nn::Activation::relu);
    const auto inner = bn2.forward_after(conv2, narrow, nn::Activation::relu);
    return bn3.forward_after(conv3, inner, nn::Activation::relu, downsample(x));
  }

  void members(const auto& visit) const {
    visit("conv1", conv1);
    visit("bn1", bn1);
    visit("conv2", conv2);
    visit("bn2", bn2);
    visit("conv3", conv3);
    visit("bn3", bn3);
    visit("downsample", downsample);
  }
  /// The weights of the norm before the sum.
  [[nodiscard]] const Parameter<T, D>& last_weight() const { return bn3.weight; }
  /// For U on E; every member becomes a copy.
  template <class U, class E> [[nodiscard]] auto twin() const { return Bottleneck<U, E>(1, 1); }
};

/// Blocks, one after the other: `model.layer1(x)`, and `model.layer1[0](x)` of the first block. Names are
/// "0.conv1.weight" and so on.
/// shape: as the blocks
template <class Block>
class Stage final : public nn::Layer<Stage<Block>, value_of<Block>, device_of<Block>> {
  using T = value_of<Block>;
  using D = device_of<Block>;

 public:
  using input_type = T;

  /// Appends a block, which is shared, not copied.
  void push_back(Block block) { present().push_back(std::move(block)); }
  [[nodiscard]] std::size_t size() const { return present().size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Without the block, these throw IndexError.
  [[nodiscard]] const Block& operator[](std::size_t i) const {
    if (i >= size()) fail<IndexError>({"Stage: block ", i, " of ", size()});
    return blocks_[i];
  }
  [[nodiscard]] Block& operator[](std::size_t i) { return const_cast<Block&>(std::as_const(*this)[i]); }
  [[nodiscard]] const Block& front() const { return (*this)[0]; }
  [[nodiscard]] Block& front() { return (*this)[0]; }
  [[nodiscard]] const Block& back() const { return (*this)[last()]; }
  [[nodiscard]] Block& back() { return (*this)[last()]; }
  [[nodiscard]] auto begin() const { return present().begin(); }
  [[nodiscard]] auto end() const { return present().end(); }
  [[nodiscard]] auto begin() { return present().begin(); }
  [[nodiscard]] auto end() { return present().end(); }

  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x) const { return run(x); }
  [[nodiscard]] Traced<T, D> forward(const Traced<T, D>& x) const { return run(x); }

  void members(const auto& visit) const {
    for (std::size_t i = 0; i < size(); ++i) visit(std::to_string(i), blocks_[i]);
  }
  /// Its copy, block by block.
  template <class U, class E, class... Own>
  [[nodiscard]] auto copied(nn::detail::ModelCopy<T, D, U, E, Own...>& copy) const {
    Stage<decltype(copy.layer(std::declval<const Block&>()))> result;
    for (const auto& block : blocks_) result.push_back(copy.layer(block));
    return result;
  }

 private:
  template <class X>
  [[nodiscard]] X run(X x) const {
    for (const auto& block : present()) x = block(x);
    return x;
  }
  /// The blocks. throws ArgumentError where they were moved to another stage
  [[nodiscard]] const std::vector<Block>& present() const {
    nn::detail::require_present(*this);
    return blocks_;
  }
  [[nodiscard]] std::vector<Block>& present() {
    return const_cast<std::vector<Block>&>(std::as_const(*this).present());
  }
  [[nodiscard]] std::size_t last() const { return empty() ? 0 : size() - 1; }

  std::vector<Block> blocks_;
};

/// A stem, four stages of blocks, each but the first halving the extents, and a linear layer of the means.
/// shape: (batch, channels, h, w) -> (batch, classes), logits
/// throws ShapeError for images of another shape, or without elements
template <class T, class D, template <class, class> class Block>
class ResNet final : public nn::Layer<ResNet<T, D, Block>, T, D> {
 public:
  using input_type = T;

  nn::Conv2d<T, D> conv1;
  nn::BatchNorm2d<T, D> bn1;
  Stage<Block<T, D>> layer1, layer2, layer3, layer4;
  nn::Linear<T, D> fc;

  /// throws ArgumentError for a stage without blocks, no classes, no channels or no width
  explicit ResNet(const ResNetBlocks& blocks, const ResNetOptions& options = {}, D device = {})
      : conv1(stem(blocks, options, device)),
        bn1(options.width, {}, device),
        fc(8 * options.width * Block<T, D>::expansion, options.classes, true, device),
        small_images_(options.small_images),
        channels_last_(options.channels_last) {
    std::int64_t channels = options.width, from = options.width, stride = 1;
    std::size_t stage = 0;
    for (auto* const layer : {&layer1, &layer2, &layer3, &layer4}) {
      for (std::int64_t block = 0; block < blocks[stage]; ++block) {
        layer->push_back({from, channels, block == 0 ? stride : 1, device});
        if (options.zero_init_residual) nn::init::zeros_(layer->back().last_weight());
        from = channels * Block<T, D>::expansion;
      }
      channels *= 2, stride = 2, ++stage;
    }
    lay_out();
  }
  /// Lays out the weights as `.channels_last` has it, also after a move to another place.
  void lay_out() const {
    if (channels_last_) nn::channels_last_(*this);
  }

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& images) const {
    detail::require_images(images.shape(), conv1.weight.size(1));
    const auto given = channels_last_ ? locus::channels_last(images) : images.eval();
    auto x = bn1.forward_after(conv1, given, nn::Activation::relu);
    if (!small_images_) x = max_pool2d(x, 3, 2, 1);
    for (const auto* const layer : {&layer1, &layer2, &layer3, &layer4}) x = (*layer)(x);
    return fc(flatten(adaptive_avg_pool2d(x, 1), 1));
  }

  void members(const auto& visit) const {
    visit("conv1", conv1);
    visit("bn1", bn1);
    visit("layer1", layer1);
    visit("layer2", layer2);
    visit("layer3", layer3);
    visit("layer4", layer4);
    visit("fc", fc);
  }
  /// For U on E; every member becomes a copy.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return ResNet<U, E, Block>(
        {1, 1, 1, 1}, {.classes = 1, .small_images = small_images_, .width = 1, .channels_last = channels_last_});
  }

 private:
  static nn::Conv2d<T, D> stem(const ResNetBlocks& blocks, const ResNetOptions& options, D device) {
    detail::require_valid(blocks, options);
    const bool small = options.small_images;
    return detail::convolution<T, D>(options.channels, options.width, small ? 3 : 7, small ? 1 : 2, device);
  }

  bool small_images_, channels_last_;
};

/// 11.7 million parameters; images of 224 x 224 take 1.8 billion multiplications each.
///
///     auto model = models::resnet18<float, D>({.classes = 10, .small_images = true}, device);
///     auto loss = nn::cross_entropy(model(trace(images)), labels);   // images: (batch, 3, 32, 32)
///
///     nn::load_state_dict(model, io::load<D>("resnet18.safetensors"));   // of torchvision's state_dict(), as it is
template <class T, class D = Cpu>
[[nodiscard]] ResNet<T, D, BasicBlock> resnet18(const ResNetOptions& options = {}, D device = {}) {
  return ResNet<T, D, BasicBlock>({2, 2, 2, 2}, options, device);
}
/// 21.8 million parameters; images of 224 x 224 take 3.7 billion multiplications each.
template <class T, class D = Cpu>
[[nodiscard]] ResNet<T, D, BasicBlock> resnet34(const ResNetOptions& options = {}, D device = {}) {
  return ResNet<T, D, BasicBlock>({3, 4, 6, 3}, options, device);
}
/// 25.6 million parameters; images of 224 x 224 take 4.1 billion multiplications each.
template <class T, class D = Cpu>
[[nodiscard]] ResNet<T, D, Bottleneck> resnet50(const ResNetOptions& options = {}, D device = {}) {
  return ResNet<T, D, Bottleneck>({3, 4, 6, 3}, options, device);
}

}}}  // namespace locus::LOCUS_ABI::models
