#pragma once
// The layers of Locus that a copy of a type-erased module looks for.

#include <locus/nn/activation.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/conv.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/group_norm.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/pixel_shuffle.hpp>
#include <locus/nn/pool.hpp>
#include <locus/nn/prelu.hpp>
#include <locus/nn/softmax.hpp>
#include <locus/nn/upsample.hpp>

#include <locus/nn/attention.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// To move a network that holds a layer not listed here, name the layer like a user's own.
template <class T, class D>
struct ShippedLayers {
  using list =
      Layers<Linear<T, D>, Sequential<T, D>, Sequential<T, D, std::int64_t>, Embedding<T, D>, LayerNorm<T, D>,
             RMSNorm<T, D>, BatchNorm1d<T, D>, BatchNorm2d<T, D>, GroupNorm<T, D>, InstanceNorm2d<T, D>, Conv1d<T, D>,
             Conv2d<T, D>, ConvTranspose2d<T, D>, Flatten, ReLU, Tanh, Sigmoid, LeakyReLU, GELU<GeluForm::fast>,
             GELU<GeluForm::exact>, GELU<GeluForm::tanh>, SiLU, Softplus, Dropout, Dropout2d, MaxPool1d, MaxPool2d,
             AvgPool1d, AvgPool2d, AdaptiveAvgPool2d, PReLU<T, D>, ELU, Hardswish, Mish, Softmax, LogSoftmax, Identity,
             Unflatten, Upsample, PixelShuffle, PixelUnshuffle, MultiheadAttention<T, D>>;
};

}}}  // namespace locus::LOCUS_ABI::nn::detail
