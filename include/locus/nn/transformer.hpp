#pragma once
// Encoder and decoder layers of attention, stacks of them, and the whole transformer (Vaswani et al., 2017), with
// PyTorch's names of parameters. Not part of locus/locus.hpp.

#include <locus/nn/attention.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/ops/dropout.hpp>

#include <optional>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

enum class TransformerActivation { relu, gelu };

/// PyTorch's, with its defaults; tensors are (batch, length, width), as with batch_first = True.
struct TransformerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool norm_first = false;  ///< normalize the input of each block, rather than its sum with the input
  bool bias = true;
  bool final_norm = true;                         ///< of a stack: whether its result is normalized
  std::optional<double> attention_dropout = {};   ///< of attention weights; absent: as dropout
  std::optional<double> activation_dropout = {};  ///< after the activation; absent: as dropout
};

/// Which keys the two attentions of a decoder attend to.
template <class T, class D>
struct TransformerDecoderMasks {
  MultiheadAttentionMasks<T, D> self = {}, memory = {};
};
/// Which keys the attentions of an encoder and of a decoder attend to.
template <class T, class D>
struct TransformerMasks {
  MultiheadAttentionMasks<T, D> source = {}, target = {}, memory = {};
};

namespace detail {
/// Base of encoder and decoder layers: the feed-forward block, and options.
template <class Derived, class T, class D>
class TransformerLayer : public Layer<Derived, T, D> {
 public:
  using input_type = T;
  using Masks = MultiheadAttentionMasks<T, D>;

  MultiheadAttention<T, D> self_attn;
  Linear<T, D> linear1, linear2;
  LayerNorm<T, D> norm1, norm2;

  [[nodiscard]] const TransformerOptions& options() const { return options_; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("dropout=", options_.dropout, option_text("norm_first", options_.norm_first, false));
  }

 protected:
  TransformerLayer(std::int64_t width, std::int64_t heads, const TransformerOptions& options, D device)
      : self_attn(width, heads, attention_options(options), device),
        linear1(width, options.dim_feedforward, options.bias, device),
        linear2(options.dim_feedforward, width, options.bias, device),
        norm1(width, options.layer_norm_eps, true, options.bias, device),
        norm2(width, options.layer_norm_eps, true, options.bias, device),
        options_(options) {
    for (const double p : {options.dropout, options.activation_dropout.value_or(0)}) (void)functor::Dropout(p);
  }

  [[nodiscard]] std::int64_t width() const { return linear2.weight.size(0); }

  /// x + block(x), with the norm before the block or after the sum.
  template <class X, class Block>
  [[nodiscard]] auto residual(const X& x, const LayerNorm<T, D>& norm, const Block& block) const {
    using Result = std::remove_cvref_t<decltype((x + block(x)).eval())>;  // traced if the block is
    if (options_.norm_first) return Result(x + dropout(block(norm(x)), options_.dropout));
    return Result(norm(Result(x + dropout(block(x), options_.dropout))));
  }
  template <class X>
  [[nodiscard]] auto fed_forward(const X& x) const {
    using Result = std::remove_cvref_t<decltype(linear1.forward(x))>;
    const Result inner = options_.activation == TransformerActivation::relu
                             ? Result(linear1.forward_with(x, Activation::relu))
                             : Result(gelu<GeluForm::exact>(linear1.forward(x)).eval());
    return linear2.forward(dropout(inner, options_.activation_dropout.value_or(options_.dropout)));
  }
  [[nodiscard]] static MultiheadAttentionOptions attention_options(const TransformerOptions& options) {
    return {.dropout = options.attention_dropout.value_or(options.dropout), .bias = options.bias};
  }

 private:
  TransformerOptions options_;
};
}  // namespace detail

/// Attention of a sequence to itself and a feed-forward block, each with a residual connection and a norm: torch's
/// TransformerEncoderLayer.
/// shape: as the input, (batch, length, width), with or without the batch. Parameters: self_attn, linear1, linear2,
/// norm1, norm2     throws ShapeError
///
///     nn::TransformerEncoderLayer<float, D> layer{512, 8, {.dropout = 0}};
///     auto y = layer(x, {.is_causal = true});
template <class T, class D>
class TransformerEncoderLayer final : public detail::TransformerLayer<TransformerEncoderLayer<T, D>, T, D> {
  using Base = detail::TransformerLayer<TransformerEncoderLayer, T, D>;

 public:
  using typename Base::Masks;
  /// throws ArgumentError for sizes and options that its layers refuse
  TransformerEncoderLayer(std::int64_t width, std::int64_t heads, const TransformerOptions& options = {}, D device = {})
      : Base(width, heads, options, device) {}

  using Layer<TransformerEncoderLayer, T, D>::operator();
  template <TensorLike X, class Self = TransformerEncoderLayer>
    requires detail::IsWrong<detail::CallMistake<Self, X>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& x, const Masks& masks) const {
    return Layer<TransformerEncoderLayer, T, D>::operator()(x, masks);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const Masks& masks = {}) const {
    const auto attended = this->residual(x, this->norm1, [&](const auto& in) { return this->self_attn(in, masks); });
    return this->residual(attended, this->norm2, [&](const auto& in) { return this->fed_forward(in); });
  }
  void members(const auto& visit) const {
    visit("self_attn", this->self_attn);
    visit("linear1", this->linear1);
    visit("linear2", this->linear2);
    visit("norm1", this->norm1);
    visit("norm2", this->norm2);
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return TransformerEncoderLayer<U, E>(this->width(), this->self_attn.heads(), this->options());
  }
};

/// The same with attention to the result of an encoder, the memory, between the two blocks.
/// shape: target (batch, l, width), memory (batch, s, width) -> as target. Parameters: self_attn, multihead_attn,
/// linear1, linear2, norm1, norm2, norm3     throws ShapeError
///
///     auto y = layer(target, memory, {.self = {.is_causal = true}});
template <class T, class D>
class TransformerDecoderLayer final : public detail::TransformerLayer<TransformerDecoderLayer<T, D>, T, D> {
  using Base = detail::TransformerLayer<TransformerDecoderLayer, T, D>;

 public:
  using Masks = TransformerDecoderMasks<T, D>;
  MultiheadAttention<T, D> multihead_attn;
  LayerNorm<T, D> norm3;

  /// throws ArgumentError for sizes and options that its layers refuse
  TransformerDecoderLayer(std::int64_t width, std::int64_t heads, const TransformerOptions& options = {}, D device = {})
      : Base(width, heads, options, device),
        multihead_attn(width, heads, Base::attention_options(options), device),
        norm3(width, options.layer_norm_eps, true, options.bias, device) {}

  using Layer<TransformerDecoderLayer, T, D>::operator();
  template <TensorLike X, TensorLike M, class Self = TransformerDecoderLayer>
    requires detail::IsWrong<detail::CallMistake<Self, X, M>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& target, const M& memory, const Masks& masks) const {
    return Layer<TransformerDecoderLayer, T, D>::operator()(target, memory, masks);
  }
  template <TensorLike X, TensorLike M>
  [[nodiscard]] auto forward(const X& target, const M& memory, const Masks& masks = {}) const {
    const auto own =
        this->residual(target, this->norm1, [&](const auto& in) { return this->self_attn(in, masks.self); });
    const auto attended = this->residual(
        own, this->norm2, [&](const auto& in) { return multihead_attn(in, memory, memory, masks.memory); });
    return this->residual(attended, norm3, [&](const auto& in) { return this->fed_forward(in); });
  }
  void members(const auto& visit) const {
    visit("self_attn", this->self_attn);
    visit("multihead_attn", multihead_attn);
    visit("linear1", this->linear1);
    visit("linear2", this->linear2);
    visit("norm1", this->norm1);
    visit("norm2", this->norm2);
    visit("norm3", norm3);
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return TransformerDecoderLayer<U, E>(this->width(), this->self_attn.heads(), this->options());
  }
};

namespace detail {
/// Base of stacks of layers, L<T, D>, and a norm.
template <class Derived, template <class, class> class L, class T, class D>
class TransformerStack : public Layer<Derived, T, D> {
 public:
  using input_type = T;
  using Masks = typename L<T, D>::Masks;

  std::vector<L<T, D>> layers;
  LayerNorm<T, D> norm;  ///< not applied, and without parameters, if the options say so

  void members(const auto& visit) const {
    visit("layers", layers);
    visit("norm", norm);
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return typename Derived::template of<U, E>(width_, heads_, static_cast<std::int64_t>(layers.size()), options_);
  }

 protected:
  TransformerStack(std::int64_t width, std::int64_t heads, std::int64_t count, const TransformerOptions& options,
                   D device)
      : norm(width, options.layer_norm_eps, options.final_norm, options.bias, device),
        width_(width),
        heads_(heads),
        options_(options) {
    if (count < 1) fail<ArgumentError>({Derived::name, ": ", count, " layers; expected at least 1"});
    for (std::int64_t i = 0; i < count; ++i) layers.push_back(L<T, D>(width, heads, options, device));
  }
  /// x through all layers: step(layer, x)
  template <class X, class Step>
  [[nodiscard]] auto through(const X& x, const Step& step) const {
    auto y = step(layers.front(), x);
    for (std::size_t i = 1; i < layers.size(); ++i) y = step(layers[i], y);
    return options_.final_norm ? norm(y) : y;
  }

 private:
  std::int64_t width_, heads_;
  TransformerOptions options_;
};
}  // namespace detail

/// A stack of encoder layers, and a norm: torch's TransformerEncoder. Unlike torch's, its layers begin with weights of
/// their own.
/// shape: as the input, (batch, length, width). Parameters: layers.0..., norm     throws ShapeError
template <class T, class D>
class TransformerEncoder final
    : public detail::TransformerStack<TransformerEncoder<T, D>, TransformerEncoderLayer, T, D> {
  using Base = detail::TransformerStack<TransformerEncoder, TransformerEncoderLayer, T, D>;

 public:
  static constexpr const char* name = "TransformerEncoder";
  template <class U, class E>
  using of = TransformerEncoder<U, E>;
  using typename Base::Masks;
  /// throws ArgumentError for fewer than one layer, and for sizes and options that its layers refuse
  TransformerEncoder(std::int64_t width, std::int64_t heads, std::int64_t count, const TransformerOptions& options = {},
                     D device = {})
      : Base(width, heads, count, options, device) {}

  using Layer<TransformerEncoder, T, D>::operator();
  template <TensorLike X, class Self = TransformerEncoder>
    requires detail::IsWrong<detail::CallMistake<Self, X>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& x, const Masks& masks) const {
    return Layer<TransformerEncoder, T, D>::operator()(x, masks);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const Masks& masks = {}) const {
    return this->through(x, [&](const auto& layer, const auto& in) { return layer(in, masks); });
  }
};

/// A stack of decoder layers, and a norm: torch's TransformerDecoder, as TransformerEncoder.
/// shape: target (batch, l, width), memory (batch, s, width) -> as target     throws ShapeError
template <class T, class D>
class TransformerDecoder final
    : public detail::TransformerStack<TransformerDecoder<T, D>, TransformerDecoderLayer, T, D> {
  using Base = detail::TransformerStack<TransformerDecoder, TransformerDecoderLayer, T, D>;

 public:
  static constexpr const char* name = "TransformerDecoder";
  template <class U, class E>
  using of = TransformerDecoder<U, E>;
  using typename Base::Masks;
  /// throws ArgumentError for fewer than one layer, and for sizes and options that its layers refuse
  TransformerDecoder(std::int64_t width, std::int64_t heads, std::int64_t count, const TransformerOptions& options = {},
                     D device = {})
      : Base(width, heads, count, options, device) {}

  using Layer<TransformerDecoder, T, D>::operator();
  template <TensorLike X, TensorLike M, class Self = TransformerDecoder>
    requires detail::IsWrong<detail::CallMistake<Self, X, M>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& target, const M& memory, const Masks& masks) const {
    return Layer<TransformerDecoder, T, D>::operator()(target, memory, masks);
  }
  template <TensorLike X, TensorLike M>
  [[nodiscard]] auto forward(const X& target, const M& memory, const Masks& masks = {}) const {
    return this->through(target, [&](const auto& layer, const auto& in) { return layer(in, memory, masks); });
  }
};

/// An encoder of sources and a decoder of targets: torch's Transformer. Matrices are initialized by xavier_uniform_.
/// shape: source (batch, s, width), target (batch, l, width) -> as target. Parameters: encoder, decoder
/// throws ShapeError
///
///     nn::Transformer<float, D> model{512, 8, 6, 6};
///     auto y = model(source, target, {.target = {.is_causal = true}});
template <class T, class D>
class Transformer final : public Layer<Transformer<T, D>, T, D> {
 public:
  using input_type = T;
  using Masks = TransformerMasks<T, D>;

  TransformerEncoder<T, D> encoder;
  TransformerDecoder<T, D> decoder;

  /// throws ArgumentError for fewer than one layer, and for sizes and options that its layers refuse
  explicit Transformer(std::int64_t width = 512, std::int64_t heads = 8, std::int64_t encoder_layers = 6,
                       std::int64_t decoder_layers = 6, const TransformerOptions& options = {}, D device = {})
      : encoder(width, heads, encoder_layers, options, device),
        decoder(width, heads, decoder_layers, options, device),
        sizes_{width, heads, encoder_layers, decoder_layers},
        options_(options) {
    for (const auto& parameter : this->parameters())
      if (parameter.rank() > 1) init::xavier_uniform_(parameter);
  }

  using Layer<Transformer, T, D>::operator();
  template <TensorLike X, TensorLike Y, class Self = Transformer>
    requires detail::IsWrong<detail::CallMistake<Self, X, Y>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& source, const Y& target, const Masks& masks) const {
    return Layer<Transformer, T, D>::operator()(source, target, masks);
  }
  template <TensorLike X, TensorLike Y>
  [[nodiscard]] auto forward(const X& source, const Y& target, const Masks& masks = {}) const {
    return decoder(target, encoder(source, masks.source), {masks.target, masks.memory});
  }
  void members(const auto& visit) const {
    visit("encoder", encoder);
    visit("decoder", decoder);
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return Transformer<U, E>(sizes_[0], sizes_[1], sizes_[2], sizes_[3], options_);
  }

 private:
  std::int64_t sizes_[4];
  TransformerOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::nn
