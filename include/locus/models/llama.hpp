#pragma once
// Llama (Touvron et al., 2023), a decoder-only transformer of Hugging Face's structure, names and initial values:
// weights of its LlamaForCausalLM load, and are loaded by it. By options also Mistral, Qwen2 and Qwen3, whose weights
// have the same names. models/llama_config.hpp reads the options of a config.json.

#include <locus/models/llama_options.hpp>
#include <locus/models/packing.hpp>
#include <locus/nn/cached_attention.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/state_target.hpp>
#include <locus/nn/swiglu.hpp>
#include <locus/ops/linear_cross_entropy.hpp>
#include <locus/ops/rotary.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

/// A linear layer with Llama's initial values.
template <class T, class D>
[[nodiscard]] nn::Linear<T, D> normal_linear(std::int64_t in, std::int64_t out, bool has_bias, double deviation,
                                             D device) {
  auto layer = nn::Linear<T, D>(1, 1, false).template twin<T, D>();  // without memory
  layer.weight = Parameter<T, D>(nn::init::normal_(Tensor<T, D>({out, in}, device), 0, deviation));
  if (has_bias) layer.bias = Parameter<T, D>(zeros<T>({out}, device));
  return layer;
}

/// Whether a query attends to a key, for a window: (index in (length, length)) -> mark.
struct InWindow {
  std::int64_t length, window;
  LOCUS_FN void operator()(std::int64_t i, bool& out) const { out = i % length > i / length - window; }
};

/// Shared by the layers of a call: the tables of the positions, and a mask of the keys within window and document, if
/// any.
template <class T, class D>
struct LlamaPositions {
  RotaryTables<T, D> tables;
  AttentionMask<T, D> mask = {};
};

}  // namespace detail

/// Causal attention of several heads, whose queries and keys are turned by their positions.
template <class T, class D>
class LlamaAttention final : public nn::Layer<LlamaAttention<T, D>, T, D> {
 public:
  using input_type = T;
  nn::Linear<T, D> q_proj, k_proj, v_proj, o_proj;
  nn::RMSNorm<T, D> q_norm, k_norm;  ///< unused without qk_norm

  explicit LlamaAttention(const LlamaOptions& options, D device = {})
      : LlamaAttention(projection(options, options.num_attention_heads, device),
                       projection(options, options.num_key_value_heads, device),
                       projection(options, options.num_key_value_heads, device),
                       detail::normal_linear<T>(options.num_attention_heads * options.head_dim, options.hidden_size,
                                                options.attention_bias, options.initializer_range, device),
                       options, device) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const detail::LlamaPositions<T, D>& positions) const {
    const auto [q, k, v] = heads_of(x, positions);
    const auto y = scaled_dot_product_attention(
        q, k, v,
        {.mask = positions.mask, .is_causal = true, .dropout = options_.attention_dropout, .enable_gqa = true});
    return o_proj(flatten(transpose(y, 1, 2), 2, 3));
  }
  /// Of new tokens, as attention number `layer` of a cache.
  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x, const detail::LlamaPositions<T, D>& positions,
                                     const nn::CacheStep<T, D>& step, std::int64_t layer) const {
    const auto [q, k, v] = heads_of(x, positions);
    return o_proj(flatten(transpose(nn::cached_attention(q, k, v, step, layer), 1, 2), 2, 3));
  }
  void members(const auto& visit) const {
    visit("q_proj", q_proj);
    visit("k_proj", k_proj);
    visit("v_proj", v_proj);
    visit("o_proj", o_proj);
    if (!options_.qk_norm) return;
    visit("q_norm", q_norm);
    visit("k_norm", k_norm);
  }
  /// With the numbers of heads and their width.
  [[nodiscard]] const LlamaOptions& options() const { return options_; }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return LlamaAttention<U, E>(q_proj.template twin<U, E>(), k_proj.template twin<U, E>(),
                                v_proj.template twin<U, E>(), o_proj.template twin<U, E>(), options_, E{});
  }

 private:
  template <class, class>
  friend class LlamaAttention;
  LlamaAttention(nn::Linear<T, D> q, nn::Linear<T, D> k, nn::Linear<T, D> v, nn::Linear<T, D> o,
                 const LlamaOptions& options, D device)
      : q_proj(std::move(q)),
        k_proj(std::move(k)),
        v_proj(std::move(v)),
        o_proj(std::move(o)),
        q_norm(options.head_dim, options.rms_norm_eps, options.qk_norm, device),
        k_norm(options.head_dim, options.rms_norm_eps, options.qk_norm, device),
        options_(options) {}
  [[nodiscard]] static nn::Linear<T, D> projection(const LlamaOptions& options, std::int64_t heads, D device) {
    return detail::normal_linear<T>(options.hidden_size, heads * options.head_dim,
                                    options.attention_bias || options.qkv_bias, options.initializer_range, device);
  }

  template <class Q, class V>
  struct Heads {
    Q q, k;
    V v;
  };
  /// (batch, length, width) -> queries, keys and values, (batch, heads, length, head_dim)
  template <class X>
  [[nodiscard]] auto heads_of(const X& x, const detail::LlamaPositions<T, D>& positions) const {
    const RotaryTables<T, D>& tables = positions.tables;
    const auto heads = [&](const auto& y) { return unflatten(y, 2, {inferred, options_.head_dim}); };
    const auto turned = [&](const auto& y, const nn::RMSNorm<T, D>& norm) {
      if (options_.qk_norm) return rotary(transpose(norm(y), 1, 2), tables.cosines, tables.sines);
      return rotary(transpose(y, 1, 2), tables.cosines, tables.sines);
    };
    const auto q = turned(heads(q_proj(x)), q_norm), k = turned(heads(k_proj(x)), k_norm);
    const auto v = transpose(heads(v_proj(x)), 1, 2);
    return Heads<std::remove_const_t<decltype(q)>, std::remove_const_t<decltype(v)>>{q, k, v};
  }

  LlamaOptions options_;
};

/// Attention and a perceptron, each with a normalized input and a residual connection.
template <class T, class D>
class LlamaDecoderLayer final : public nn::Layer<LlamaDecoderLayer<T, D>, T, D> {
 public:
  using input_type = T;
  LlamaAttention<T, D> self_attn;
  nn::SwiGLU<T, D> mlp;
  nn::RMSNorm<T, D> input_layernorm, post_attention_layernorm;

  explicit LlamaDecoderLayer(const LlamaOptions& options, D device = {})
      : LlamaDecoderLayer(LlamaAttention<T, D>(options, device), nn::SwiGLU<T, D>(1, 1).template twin<T, D>(), options,
                          device) {
    const auto linear = [&](std::int64_t in, std::int64_t out) {
      return detail::normal_linear<T>(in, out, options.mlp_bias, options.initializer_range, device);
    };
    mlp.gate_proj = linear(options.hidden_size, options.intermediate_size);
    mlp.up_proj = linear(options.hidden_size, options.intermediate_size);
    mlp.down_proj = linear(options.intermediate_size, options.hidden_size);
  }

  /// how: as LlamaAttention takes it
  template <TensorLike X, class... How>
  [[nodiscard]] auto forward(const X& x, const How&... how) const {
    const auto y = (x + self_attn(input_layernorm(x), how...)).eval();
    return (y + mlp(post_attention_layernorm(y))).eval();
  }
  void members(const auto& visit) const {
    visit("self_attn", self_attn);
    visit("mlp", mlp);
    visit("input_layernorm", input_layernorm);
    visit("post_attention_layernorm", post_attention_layernorm);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return LlamaDecoderLayer<U, E>(self_attn.template twin<U, E>(), mlp.template twin<U, E>(), self_attn.options(),
                                   E{});
  }

 private:
  template <class, class>
  friend class LlamaDecoderLayer;
  LlamaDecoderLayer(LlamaAttention<T, D> attention, nn::SwiGLU<T, D> perceptron, const LlamaOptions& options, D device)
      : self_attn(std::move(attention)),
        mlp(std::move(perceptron)),
        input_layernorm(options.hidden_size, options.rms_norm_eps, true, device),
        post_attention_layernorm(options.hidden_size, options.rms_norm_eps, true, device) {}
};

/// Tokens to vectors: embeddings, layers, and a last normalization.
/// shape: (batch, length) of int64 -> (batch, length, hidden_size)
template <class T, class D>
class LlamaModel final : public nn::Layer<LlamaModel<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  nn::Embedding<T, D> embed_tokens;
  std::vector<LlamaDecoderLayer<T, D>> layers;
  nn::RMSNorm<T, D> norm;

  explicit LlamaModel(const LlamaOptions& options, D device = {})
      : LlamaModel(
            nn::Embedding<T, D>(options.vocab_size, options.hidden_size, {.padding_idx = options.pad_token_id}, device),
            options, device) {
    embed_tokens.weight.value() *= options.initializer_range;  // of standard normal numbers, and 0 for padding
    layers.reserve(static_cast<std::size_t>(options.num_hidden_layers));
    for (std::int64_t i = 0; i < options.num_hidden_layers; ++i) layers.emplace_back(options, device);
  }

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Packing<D>& packing = {}) const {
    if (tokens.rank() != 2) fail<ShapeError>({"Llama: tokens of shape ", tokens.shape(), "; expected (batch, length)"});
    detail::require_packing("Llama", tokens.shape(), packing);
    const detail::LlamaPositions<T, D> positions{tables_of(tokens.size(1), packing, tokens.device()),
                                                 mask_of(tokens.size(1), packing, tokens.device())};
    auto x = embed_tokens(tokens);
    for (const auto& layer : layers) x = layer(x, positions);
    return norm(x);
  }
  /// Of new tokens, which follow a cache.
  [[nodiscard]] Tensor<T, D> forward(const Tensor<std::int64_t, D>& tokens, const nn::CacheStep<T, D>& step) const {
    std::int64_t length = 0;
    for (const std::int64_t before : step.cache().lengths())
      length = locus::detail::larger(length, before + step.count());
    const auto [cosines, sines] = tables(step.positions(), length);  // (batch, count, head_dim / 2)
    const detail::LlamaPositions<T, D> positions{{cosines.unsqueeze(1), sines.unsqueeze(1)}};
    Tensor<T, D> x = embed_tokens(tokens);
    for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i](x, positions, step, static_cast<std::int64_t>(i));
    return norm(x);
  }
  void members(const auto& visit) const {
    visit("embed_tokens", embed_tokens);
    visit("layers", layers);
    visit("norm", norm);
  }
  [[nodiscard]] const LlamaOptions& options() const { return options_; }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    LlamaModel<U, E> model(embed_tokens.template twin<U, E>(), options_, E{});
    return model;
  }

 private:
  template <class, class>
  friend class LlamaModel;
  LlamaModel(nn::Embedding<T, D> embedding, const LlamaOptions& options, D device)
      : embed_tokens(std::move(embedding)),
        norm(options.hidden_size, options.rms_norm_eps, true, device),
        options_(options) {}
  [[nodiscard]] RotaryTables<T, D> tables_of(std::int64_t length, const Packing<D>& packing, D device) const {
    if (!packing.positions.buffer()) return tables(arange<std::int64_t>(length, device), length);
    const auto result = tables(packing.positions, length);
    if (packing.positions.rank() == 1) return result;
    return {result.cosines.unsqueeze(1), result.sines.unsqueeze(1)};
  }
  /// The keys within the window and the document of a query.
  [[nodiscard]] AttentionMask<T, D> mask_of(std::int64_t length, const Packing<D>& packing, D device) const {
    const std::int64_t window = options_.sliding_window;
    const auto documents = detail::mask_of<T>(packing);
    if (window == 0 || length <= window) return documents;
    const auto near = locus::detail::from_indices<bool>({length, length}, device, detail::InWindow{length, window});
    if (!documents) return near;
    return (documents.marks() && near).eval();
  }
  [[nodiscard]] RotaryTables<T, D> tables(const Tensor<std::int64_t, D>& positions, std::int64_t length) const {
    return rotary_tables<T>(positions, options_.head_dim, options_.rope, length);
  }
  LlamaOptions options_;
};

LOCUS_REFUSALS_BEGIN
/// Predicts each next token. Causal: the logits at a position follow from the tokens up to there. With
/// tie_word_embeddings, the last layer shares the weight of the embedding, which is listed, saved and trained once, as
/// model.embed_tokens.weight.
/// shape: (batch, length) of int64 -> (batch, length, vocab_size), logits
/// throws ShapeError for another rank; IndexError as nn::Embedding
template <class T, class D>
class Llama final : public nn::Layer<Llama<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  LlamaModel<T, D> model;
  nn::Linear<T, D> lm_head;  ///< without memory with tie_word_embeddings

  /// throws ArgumentError for sizes below 1, heads that do not divide, a pad_token_id that is no token, and options
  /// that Dropout, RMSNorm or rotary_tables refuse
  explicit Llama(const LlamaOptions& options = {}, D device = {})
      : Llama(LlamaModel<T, D>(detail::checked(options), device), nn::Linear<T, D>(1, 1, false).template twin<T, D>()) {
    if (!options.tie_word_embeddings)
      lm_head =
          detail::normal_linear<T>(options.hidden_size, options.vocab_size, false, options.initializer_range, device);
  }

  using nn::Layer<Llama, T, D>::operator();
  /// The same of packed sequences: model(tokens, {.documents = documents, .positions = positions}).
  template <TensorLike X>
    requires locus::detail::IsWrong<nn::detail::CallMistake<Llama, X>, locus::detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& tokens, const Packing<D>& packing) const {
    return nn::Layer<Llama, T, D>::operator()(tokens, packing);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Packing<D>& packing = {}) const {
    return linear(model(tokens, packing), head());
  }
  /// The logits of new tokens, which follow the cache's and are added to it.
  /// shape: (batch, count) of int64 -> (batch, count, vocab_size)
  /// cost:  a pass of the new tokens, and attention to all
  /// throws ShapeError also where the capacity is exceeded, and for a cache of other sizes; then the cache keeps its
  ///        length
  ///
  ///     const auto cache = model.cache({.batch = 1, .capacity = 256});
  ///     auto logits = model(prompt, cache);
  ///     logits = model(next, cache);
  [[nodiscard]] Tensor<T, D> forward(const Tensor<std::int64_t, D>& tokens,
                                     const nn::KeyValueCache<T, D>& cache) const {
    const auto step = step_of(tokens, cache, {});
    const Tensor<T, D> logits = linear(model(tokens, step), head());
    step.commit();
    return logits;
  }
  /// The logits of each sequence's next token, without logits of the positions before.
  /// counts: tokens of each sequence, where they differ; the others are padding, on the right, which the cache does not
  ///         keep. 0: the sequence stays as it is, and its logits mean nothing.
  /// shape: (batch, count) of int64 -> (batch, vocab_size)
  /// throws as the call on a cache; ArgumentError for counts that do not fit
  template <TensorLike X>
    requires locus::detail::IsWrong<nn::detail::CallMistake<Llama, X, nn::KeyValueCache<T, D>>,
                                    locus::detail::Wrong::nothing>
  [[nodiscard]] Tensor<T, D> next_logits(const X& tokens, const nn::KeyValueCache<T, D>& cache,
                                         const std::vector<std::int64_t>& counts = {}) const {
    const Tensor<std::int64_t, D> ids = tokens.eval();
    const auto step = step_of(ids, cache, counts);
    const Tensor<T, D> logits = linear(nn::last_of_step(model(ids, step), step), head());
    step.commit();
    return logits;
  }
  /// Rows of the embedding, and logits of a position.
  [[nodiscard]] std::int64_t vocab_size() const { return options().vocab_size; }
  /// The most tokens of a sequence of a cache: max_position_embeddings.
  [[nodiscard]] std::int64_t max_length() const { return options().max_position_embeddings; }
  /// An empty cache for this model; by default of max_position_embeddings tokens, which may be more than memory holds.
  /// throws ArgumentError for a batch or capacity below 1, and for more than max_position_embeddings
  [[nodiscard]] nn::KeyValueCache<T, D> cache(const nn::CacheSize& size = {}) const {
    const std::int64_t most = max_length(), capacity = size.capacity.value_or(most);
    if (capacity > most)
      fail<ArgumentError>({"Llama: .capacity = ", capacity, "; expected at most .max_position_embeddings = ", most});
    return nn::KeyValueCache<T, D>({.layers = options().num_hidden_layers,
                                    .batch = size.batch,
                                    .heads = options().num_key_value_heads,
                                    .head_width = options().head_dim,
                                    .capacity = capacity,
                                    .window = options().sliding_window},
                                   model.embed_tokens.weight.device());
  }
  /// Cross-entropy of the next tokens given the tokens, without logits of the whole batch, the largest tensor of a
  /// training step.
  /// shape: tokens and next (batch, length) of int64 -> scalar, float for 16-bit types; with Reduction::none (batch,
  ///        length)
  /// cost:  and exceptions as linear_cross_entropy
  template <TensorLike X, TensorLike Y>
    requires(locus::detail::IsWrong<nn::detail::CallMistake<Llama, X>, locus::detail::Wrong::nothing> &&
             locus::detail::IndexOperand<Y> && SameDevice<X, Y>)
  [[nodiscard]] auto loss(const X& tokens, const Y& next, const LinearCrossEntropyOptions<T, D>& options = {},
                          const Packing<D>& packing = {}) const {
    return linear_cross_entropy(model(tokens, packing), head(), next, options);
  }
#include <locus/refuse/models/llama_class.inc>

  /// The parameter that a tensor of a published file goes to, for io::load_into. The frequencies of rotary positions,
  /// which old files hold, are left out, and lm_head.weight where the embedding takes its place.
  [[nodiscard]] nn::StateTarget target_of(std::string_view name) const {
    const bool is_left_out =
        name.ends_with(".rotary_emb.inv_freq") || (options().tie_word_embeddings && name == "lm_head.weight");
    return {is_left_out ? std::string() : std::string(name)};
  }
  void members(const auto& visit) const {
    visit("model", model);
    if (!options().tie_word_embeddings) visit("lm_head", lm_head);
  }
  /// The options, with the numbers in place of num_key_value_heads = 0 and head_dim = 0.
  [[nodiscard]] const LlamaOptions& options() const { return model.options(); }
  /// For U on E; every member becomes a copy.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return Llama<U, E>(model.template twin<U, E>(), lm_head.template twin<U, E>());
  }

 private:
  template <class, class>
  friend class Llama;
  Llama(LlamaModel<T, D> transformer, nn::Linear<T, D> head)
      : model(std::move(transformer)), lm_head(std::move(head)) {}

  [[nodiscard]] const Parameter<T, D>& head() const {
    return options().tie_word_embeddings ? model.embed_tokens.weight : lm_head.weight;
  }
  [[nodiscard]] nn::CacheStep<T, D> step_of(const Tensor<std::int64_t, D>& tokens, const nn::KeyValueCache<T, D>& cache,
                                            const std::vector<std::int64_t>& counts) const {
    const LlamaOptions& o = options();
    cache.require_model("Llama", o.num_hidden_layers, o.num_key_value_heads, o.head_dim, max_length());
    if (cache.options().window != o.sliding_window)
      fail<ShapeError>({"Llama: a cache of .window = ", cache.options().window,
                        "; expected .sliding_window = ", o.sliding_window, ", as of model.cache()"});
    return cache.step(tokens.shape(), counts);
  }
};
LOCUS_REFUSALS_END

/// 6.7 billion parameters with the default options.
///
///     auto model = models::llama<float, D>(models::llama_options("Qwen2.5-0.5B"), device);
///     io::load_into(model, "Qwen2.5-0.5B");   // the folder
///     auto logits = model(tokens);                                               // (batch, length, vocab_size)
///     auto loss = model.loss(trace(tokens.slice(1, 0, length)), tokens.slice(1, 1));
///
///     const auto cache = model.cache({.capacity = 512});
///     models::generate(model, cache, prompt, {.max_new_tokens = 100}, [](std::int64_t token) { ... });
template <class T, class D = Cpu>
[[nodiscard]] Llama<T, D> llama(const LlamaOptions& options = {}, D device = {}) {
  return Llama<T, D>(options, device);
}

}}}  // namespace locus::LOCUS_ABI::models
