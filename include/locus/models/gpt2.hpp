#pragma once
// GPT-2 (Radford et al., 2019), a decoder-only transformer of Hugging Face's structure, names and initial values:
// weights of its GPT2LMHeadModel load, and are loaded by it.

#include <locus/models/packing.hpp>
#include <locus/nn/cached_attention.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/state_target.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/linear_cross_entropy.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// models::gpt2<float, D>({.vocab_size = 128, .n_positions = 256, .n_embd = 192, .n_layer = 6, .n_head = 6}); names and
/// defaults as in Hugging Face's GPT2Config.
struct GPT2Options {
  std::int64_t vocab_size = 50257;  ///< number of tokens
  std::int64_t n_positions = 1024;  ///< largest length of a text
  std::int64_t n_embd = 768;        ///< width
  std::int64_t n_layer = 12;        ///< blocks
  std::int64_t n_head = 12;         ///< heads of each attention; they divide the width
  std::int64_t n_inner = 0;         ///< width within a block's perceptron; 0: four times n_embd
  double embd_pdrop = 0.1;          ///< dropout of embeddings
  double attn_pdrop = 0.1;          ///< dropout of attention weights
  double resid_pdrop = 0.1;         ///< dropout of a block's residual branches
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.02;  ///< deviation of initial weights
};

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline const GPT2Options& checked(const GPT2Options& options) {
  const auto require = [](const char* option, std::int64_t given) {
    if (given < 1) fail<ArgumentError>({"GPT2: ", option, " = ", given, "; expected at least 1"});
  };
  require(".vocab_size", options.vocab_size), require(".n_positions", options.n_positions);
  require(".n_embd", options.n_embd), require(".n_layer", options.n_layer), require(".n_head", options.n_head);
  if (options.n_embd % options.n_head != 0)
    fail<ArgumentError>({"GPT2: .n_head = ", options.n_head, " for .n_embd = ", options.n_embd,
                         "; expected heads that divide the width"});
  if (options.n_inner < 0) fail<ArgumentError>({"GPT2: .n_inner = ", options.n_inner, "; expected 0 or more"});
  for (const double p : {options.embd_pdrop, options.attn_pdrop, options.resid_pdrop}) (void)functor::Dropout(p);
  return options;
}

/// The parameter that a tensor of a published file goes to: names without "transformer." get it; masks of attention and
/// the last layer, which shares its weight, are left out.
[[nodiscard]] LOCUS_OUT_OF_LINE inline nn::StateTarget gpt2_target(std::string_view name) {
  constexpr std::string_view prefix = "transformer.";
  if (name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) return {};
  return {name.starts_with(prefix) ? std::string(name) : join(prefix, name)};
}
/// Dropout of x in training; p = 0 leaves x as it is.
template <TensorLike X>
[[nodiscard]] auto dropped(X&& x, double p) {
  if (p == 0) return std::forward<X>(x).eval();
  return decltype(x.eval())(dropout(std::forward<X>(x), p));
}
}  // namespace detail

/// y = x W + b with a weight of shape (in, out), as Hugging Face's Conv1D: a linear layer whose weight is transposed.
template <class T, class D>
class GPT2Linear final : public nn::Layer<GPT2Linear<T, D>, T, D> {
 public:
  using input_type = T;
  Parameter<T, D> weight, bias;

  /// deviation: of the initial weights; the bias begins with 0
  GPT2Linear(std::int64_t in, std::int64_t out, double deviation, D device = {})
      : weight(nn::init::normal_(Tensor<T, D>({in, out}, device), 0, deviation)), bias(zeros<T>({out}, device)) {}

  template <TensorLike X, class F = functor::Identity>
  [[nodiscard]] auto forward(const X& x, const F& activation = {}) const {
    const nn::detail::ObservedCall call({this, &typeid(GPT2Linear)}, x);
    auto y = linear(x, transpose(seen_by(x, weight)), bias, activation);
    call.end(y);
    return y;
  }
  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(weight.size(0), ", ", weight.size(1)); }
  [[nodiscard]] nn::detail::WeightUse weight_use() const { return {.transposed = true}; }
  /// For U on E; every member becomes a copy.
  template <class U, class E> [[nodiscard]] auto twin() const { return GPT2Linear<U, E>(1, 1, 0); }
};

/// Causal attention of several heads.
template <class T, class D>
class GPT2Attention final : public nn::Layer<GPT2Attention<T, D>, T, D> {
 public:
  using input_type = T;
  GPT2Linear<T, D> c_attn, c_proj;

  explicit GPT2Attention(const GPT2Options& options, D device = {})
      : c_attn(options.n_embd, 3 * options.n_embd, options.initializer_range, device),
        c_proj(options.n_embd, options.n_embd,
               options.initializer_range / math::sqrt(2.0 * static_cast<double>(options.n_layer)), device),
        options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const AttentionMask<T, D>& mask = {}) const {
    return c_proj(packed_attention(c_attn(x), options_.n_head,
                                   {.mask = mask, .is_causal = true, .dropout = options_.attn_pdrop}));
  }
  /// Of new tokens, as attention number `layer` of a cache.
  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x, const nn::CacheStep<T, D>& step, std::int64_t layer) const {
    const Tensor<T, D> packed = c_attn(x);
    const std::int64_t width = x.size(2), heads = options_.n_head;
    const auto third = [&](std::int64_t i) {
      return packed.slice(2, i * width, (i + 1) * width)
          .reshape({x.size(0), x.size(1), heads, width / heads})
          .transpose(1, 2);
    };
    const Tensor<T, D> y = nn::cached_attention(third(0), third(1), third(2), step, layer);
    return c_proj(y.transpose(1, 2).reshape(x.shape()));
  }
  [[nodiscard]] std::int64_t heads() const { return options_.n_head; }
  void members(const auto& visit) const {
    visit("c_attn", c_attn);
    visit("c_proj", c_proj);
  }
  [[nodiscard]] nn::detail::WeightUse weight_use() const {
    return {.width = options_.n_embd, .heads = options_.n_head};
  }
  template <class U, class E> [[nodiscard]] auto twin() const { return GPT2Attention<U, E>(options_); }

 private:
  GPT2Options options_;
};

/// Two linear layers with GELU, by its formula with tanh, between them.
template <class T, class D>
class GPT2MLP final : public nn::Layer<GPT2MLP<T, D>, T, D> {
 public:
  using input_type = T;
  GPT2Linear<T, D> c_fc, c_proj;

  explicit GPT2MLP(const GPT2Options& options, D device = {})
      : c_fc(options.n_embd, inner(options), options.initializer_range, device),
        c_proj(inner(options), options.n_embd,
               options.initializer_range / math::sqrt(2.0 * static_cast<double>(options.n_layer)), device),
        options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    return c_proj(c_fc.forward(x, functor::GeluTanh{}));
  }
  void members(const auto& visit) const {
    visit("c_fc", c_fc);
    visit("c_proj", c_proj);
  }
  template <class U, class E> [[nodiscard]] auto twin() const { return GPT2MLP<U, E>(options_); }

 private:
  static std::int64_t inner(const GPT2Options& options) {
    return options.n_inner > 0 ? options.n_inner : 4 * options.n_embd;
  }
  GPT2Options options_;
};

/// Attention and a perceptron, each with a normalized input and a residual connection.
template <class T, class D>
class GPT2Block final : public nn::Layer<GPT2Block<T, D>, T, D> {
 public:
  using input_type = T;
  nn::LayerNorm<T, D> ln_1;
  GPT2Attention<T, D> attn;
  nn::LayerNorm<T, D> ln_2;
  GPT2MLP<T, D> mlp;

  explicit GPT2Block(const GPT2Options& options, D device = {})
      : ln_1(options.n_embd, options.layer_norm_epsilon, true, true, device),
        attn(options, device),
        ln_2(options.n_embd, options.layer_norm_epsilon, true, true, device),
        mlp(options, device),
        options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const AttentionMask<T, D>& mask = {}) const {
    const double p = options_.resid_pdrop;
    const auto y = (x + detail::dropped(attn(ln_1(x), mask), p)).eval();
    return (y + detail::dropped(mlp(ln_2(y)), p)).eval();
  }
  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x, const nn::CacheStep<T, D>& step, std::int64_t layer) const {
    const Tensor<T, D> y = x + attn(ln_1(x), step, layer);
    return y + mlp(ln_2(y));
  }
  void members(const auto& visit) const {
    visit("ln_1", ln_1);
    visit("attn", attn);
    visit("ln_2", ln_2);
    visit("mlp", mlp);
  }
  template <class U, class E> [[nodiscard]] auto twin() const { return GPT2Block<U, E>(options_); }

 private:
  GPT2Options options_;
};

/// Tokens to vectors: embeddings of tokens and of positions, blocks, and a last normalization.
/// shape: (batch, length) of int64 -> (batch, length, n_embd)
template <class T, class D>
class GPT2Transformer final : public nn::Layer<GPT2Transformer<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  nn::Embedding<T, D> wte, wpe;
  std::vector<GPT2Block<T, D>> h;
  nn::LayerNorm<T, D> ln_f;

  explicit GPT2Transformer(const GPT2Options& options, D device = {})
      : wte(options.vocab_size, options.n_embd, {}, device),
        wpe(options.n_positions, options.n_embd, {}, device),
        ln_f(options.n_embd, options.layer_norm_epsilon, true, true, device),
        dropout_(options.embd_pdrop) {
    for (const auto* const table : {&wte, &wpe}) nn::init::normal_(table->weight, 0, options.initializer_range);
    h.reserve(static_cast<std::size_t>(options.n_layer));
    for (std::int64_t i = 0; i < options.n_layer; ++i) h.emplace_back(options, device);
  }

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Packing<D>& packing = {}) const {
    const std::int64_t most = wpe.weight.size(0);
    const bool has_positions = static_cast<bool>(packing.positions.buffer());
    if (tokens.rank() != 2 || (tokens.size(1) > most && !has_positions))
      fail<ShapeError>(
          {"GPT2: tokens of shape ", tokens.shape(), "; expected (batch, length) of a length up to ", most});
    detail::require_packing("GPT2", tokens.shape(), packing);
    const auto table = seen_by(tokens, wpe.weight);
    using Rows = std::remove_cvref_t<decltype(slice(table, 0, 0, 1).eval())>;
    const Rows positions =
        has_positions ? Rows(embedding(table, packing.positions)) : Rows(slice(table, 0, 0, tokens.size(1)));
    const auto mask = detail::mask_of<T>(packing);
    auto x = detail::dropped(wte(tokens) + positions, dropout_);
    for (const auto& block : h) x = block(x, mask);
    return ln_f(x);
  }
  /// Of new tokens, behind the tokens of a cache.
  [[nodiscard]] Tensor<T, D> forward(const Tensor<std::int64_t, D>& tokens, const nn::CacheStep<T, D>& step) const {
    Tensor<T, D> x = wte(tokens) + wpe(step.positions());
    for (std::size_t i = 0; i < h.size(); ++i) x = h[i](x, step, static_cast<std::int64_t>(i));
    return ln_f(x);
  }
  void members(const auto& visit) const {
    visit("wte", wte);
    visit("wpe", wpe);
    visit("h", h);
    visit("ln_f", ln_f);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    GPT2Options options{.vocab_size = 1, .n_positions = 1, .n_embd = 1, .n_layer = 0, .n_head = 1};
    options.embd_pdrop = dropout_;
    return GPT2Transformer<U, E>(options);
  }

 private:
  double dropout_;
};

LOCUS_REFUSALS_BEGIN
/// Predicts each next token. The last layer shares its weights with wte: they are listed, saved and trained once, as
/// transformer.wte.weight. Causal: the logits at a position follow from the tokens up to there.
/// shape: (batch, length) of int64 -> (batch, length, vocab_size), logits
/// throws ShapeError for another rank, or more than n_positions; IndexError as nn::Embedding
template <class T, class D>
class GPT2 final : public nn::Layer<GPT2<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  GPT2Transformer<T, D> transformer;

  /// throws ArgumentError for sizes below 1, heads that do not divide the width, and options that Dropout or LayerNorm
  /// refuses
  explicit GPT2(const GPT2Options& options = {}, D device = {}) : transformer(detail::checked(options), device) {}

  using nn::Layer<GPT2, T, D>::operator();
  /// The same of packed sequences: model(tokens, {.documents = documents, .positions = positions}).
  template <TensorLike X>
    requires locus::detail::IsWrong<nn::detail::CallMistake<GPT2, X>, locus::detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& tokens, const Packing<D>& packing) const {
    return nn::Layer<GPT2, T, D>::operator()(tokens, packing);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Packing<D>& packing = {}) const {
    return linear(transformer(tokens, packing), transformer.wte.weight);
  }
  /// The logits of new tokens, which follow the tokens of the cache and are added to it.
  /// shape: (batch, count) of int64 -> (batch, count, vocab_size)
  /// cost:  as the new tokens alone, and attention to all
  /// throws ShapeError also where the capacity is exceeded, and for a cache of other sizes; then the cache keeps its
  ///        length
  ///
  ///     const auto cache = model.cache({.batch = 1, .capacity = 256});
  ///     auto logits = model(prompt, cache);
  ///     logits = model(next, cache);
  [[nodiscard]] Tensor<T, D> forward(const Tensor<std::int64_t, D>& tokens,
                                     const nn::KeyValueCache<T, D>& cache) const {
    const auto step = step_of(tokens, cache, {});
    const Tensor<T, D> logits = linear(transformer(tokens, step), transformer.wte.weight);
    step.commit();
    return logits;
  }
  /// The logits of the next token of each sequence, without logits of the positions before.
  /// Where sequences differ in length, `counts` has the tokens of each; the others are padding on the right, which the
  /// cache does not keep. A sequence of 0 tokens stays as it is, and its logits mean nothing.
  /// shape: (batch, count) of int64 -> (batch, vocab_size)
  /// throws as the call on a cache; ArgumentError for counts that do not fit
  template <TensorLike X>
    requires locus::detail::IsWrong<nn::detail::CallMistake<GPT2, X, nn::KeyValueCache<T, D>>,
                                    locus::detail::Wrong::nothing>
  [[nodiscard]] Tensor<T, D> next_logits(const X& tokens, const nn::KeyValueCache<T, D>& cache,
                                         const std::vector<std::int64_t>& counts = {}) const {
    const Tensor<std::int64_t, D> ids = tokens.eval();
    const auto step = step_of(ids, cache, counts);
    const Tensor<T, D> logits = linear(nn::last_of_step(transformer(ids, step), step), transformer.wte.weight);
    step.commit();
    return logits;
  }
  /// Rows of the embedding, and logits of a position.
  [[nodiscard]] std::int64_t vocab_size() const { return transformer.wte.weight.size(0); }
  /// The most tokens of a sequence.
  [[nodiscard]] std::int64_t max_length() const { return transformer.wpe.weight.size(0); }
  /// An empty cache for this model; by default of n_positions tokens.
  /// throws ArgumentError for a batch or capacity below 1, and for more than n_positions
  [[nodiscard]] nn::KeyValueCache<T, D> cache(const nn::CacheSize& size = {}) const {
    nn::detail::require_present(*this);
    const std::int64_t most = max_length(), capacity = size.capacity.value_or(most);
    if (capacity > most)
      fail<ArgumentError>({"GPT2: .capacity = ", capacity, "; expected at most the ", most, " positions of the model"});
    return nn::KeyValueCache<T, D>({.layers = std::ssize(transformer.h),
                                    .batch = size.batch,
                                    .heads = transformer.h[0].attn.heads(),
                                    .head_width = head_width(),
                                    .capacity = capacity},
                                   transformer.wte.weight.device());
  }
  /// Cross-entropy of the next tokens given the tokens, without logits of the whole batch, the largest tensor of a
  /// training step. On Cuda a vocabulary of 50,257 is computed as 50,304 in products; its rows, names and files have
  /// 50,257.
  /// shape: tokens and next (batch, length) of int64 -> scalar, float for 16-bit types; with Reduction::none (batch,
  ///        length)
  /// cost:  and exceptions as linear_cross_entropy
  template <TensorLike X, TensorLike Y>
    requires(locus::detail::IsWrong<nn::detail::CallMistake<GPT2, X>, locus::detail::Wrong::nothing> &&
             locus::detail::IndexOperand<Y> && SameDevice<X, Y>)
  [[nodiscard]] auto loss(const X& tokens, const Y& next, const LinearCrossEntropyOptions<T, D>& options = {},
                          const Packing<D>& packing = {}) const {
    return linear_cross_entropy(transformer(tokens, packing), transformer.wte.weight, next, options);
  }
#include <locus/refuse/models/gpt2_class.inc>

  void members(const auto& visit) const { visit("transformer", transformer); }
  /// The parameter that a tensor of a published file goes to, for io::load_into.
  [[nodiscard]] static nn::StateTarget target_of(std::string_view name) { return detail::gpt2_target(name); }
  /// For U on E; every member becomes a copy.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return GPT2<U, E>({.vocab_size = 1, .n_positions = 1, .n_embd = 1, .n_layer = 1, .n_head = 1});
  }

 private:
  [[nodiscard]] std::int64_t head_width() const {
    return transformer.wte.weight.size(1) / transformer.h[0].attn.heads();
  }
  [[nodiscard]] nn::CacheStep<T, D> step_of(const Tensor<std::int64_t, D>& tokens, const nn::KeyValueCache<T, D>& cache,
                                            const std::vector<std::int64_t>& counts) const {
    nn::detail::require_present(*this);
    cache.require_model("GPT2", std::ssize(transformer.h), transformer.h[0].attn.heads(), head_width(), max_length());
    return cache.step(tokens.shape(), counts);
  }
};
LOCUS_REFUSALS_END

/// 124 million parameters with the default options.
///
///     auto model = models::gpt2<float, D>({.vocab_size = 128, .n_embd = 192, .n_layer = 6, .n_head = 6}, device);
///     auto logits = model(tokens);                                               // (batch, length, 128)
///     auto loss = model.loss(trace(tokens.slice(1, 0, length)), tokens.slice(1, 1));
///
///     io::load_into(model, "gpt2");   // a folder of Hugging Face, or a file of GPT2LMHeadModel
///     nn::load_state_dict(model, nn::renamed_for(model, io::load_torch<D>("pytorch_model.bin")));
template <class T, class D = Cpu>
[[nodiscard]] GPT2<T, D> gpt2(const GPT2Options& options = {}, D device = {}) {
  return GPT2<T, D>(options, device);
}

}}}  // namespace locus::LOCUS_ABI::models
