#pragma once
// BERT (Devlin et al., 2018), an encoder of Hugging Face's structure and initial values, on
// nn::TransformerEncoderLayer. io::load_into loads published files. Not part of locus/locus.hpp.

#include <locus/models/bert_names.hpp>
#include <locus/models/bert_options.hpp>
#include <locus/nn/embedding.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// Further inputs of a text; empty ones have the defaults.
template <class T, class D>
struct BertInputs {
  Tensor<std::int64_t, D> token_type_ids = {};  ///< (batch, length), the segment of each token; 0
  Tensor<std::int64_t, D> position_ids = {};    ///< (batch, length) or (length,); 0, 1, 2, ...
  /// True for the tokens that are attended to, as in Hugging Face's and unlike in nn::MultiheadAttention's: (batch,
  /// length), or (batch, length, length) for each token of its own, as of packed texts; all. Or numbers that are added
  /// to the scores.
  AttentionMask<T, D> attention_mask = {};
};

namespace detail {
/// A layer whose weights begin as in Hugging Face's, and its bias with 0.
template <class T, class D>
[[nodiscard]] nn::Linear<T, D> bert_linear(std::int64_t in, std::int64_t out, const BertOptions& options, D device) {
  nn::Linear<T, D> layer(in, out, true, device);
  nn::init::normal_(layer.weight, 0, options.initializer_range);
  nn::init::zeros_(layer.bias);
  return layer;
}
template <class T, class D>
[[nodiscard]] nn::TransformerEncoderLayer<T, D> bert_layer(const BertOptions& options, D device) {
  nn::TransformerEncoderLayer<T, D> layer(options.hidden_size, options.num_attention_heads,
                                          {.dim_feedforward = options.intermediate_size,
                                           .dropout = options.hidden_dropout_prob,
                                           .activation = options.hidden_act,
                                           .layer_norm_eps = options.layer_norm_eps,
                                           .attention_dropout = options.attention_probs_dropout_prob,
                                           .activation_dropout = 0.},
                                          device);
  for (const auto* const weight : {&layer.self_attn.in_proj_weight, &layer.self_attn.out_proj.weight,
                                   &layer.linear1.weight, &layer.linear2.weight})
    nn::init::normal_(*weight, 0, options.initializer_range);
  for (const auto* const bias : {&layer.linear1.bias, &layer.linear2.bias}) nn::init::zeros_(*bias);
  return layer;
}
/// Which tokens the layers attend to.
template <class T, class D>
[[nodiscard]] nn::MultiheadAttentionMasks<T, D> bert_masks(const Shape& tokens, const AttentionMask<T, D>& mask) {
  if (!mask) return {};
  const Shape& shape = mask.shape();
  const std::int64_t batch = tokens[0], length = tokens[1];
  const bool is_of_keys = shape == tokens;
  if (!is_of_keys && !(shape == Shape{batch, length, length}))
    fail<ShapeError>(
        {"BERT: attention_mask of shape ", shape, "; expected ", tokens, " or ", Shape{batch, length, length}});
  AttentionMask<T, D> out = mask;  // of keys that are left out
  if (mask.marks().buffer()) out = AttentionMask<T, D>(!mask.marks());
  return is_of_keys ? nn::MultiheadAttentionMasks<T, D>{.key_padding_mask = out}
                    : nn::MultiheadAttentionMasks<T, D>{.attn_mask = out};
}
/// The smallest model, whose members become copies.
[[nodiscard]] inline BertOptions bert_twin(const BertOptions& options) {
  BertOptions small = options;
  small.vocab_size = small.hidden_size = small.num_hidden_layers = small.num_attention_heads = 1;
  small.intermediate_size = small.max_position_embeddings = small.type_vocab_size = 1;
  if (small.pad_token_id) small.pad_token_id = 0;
  return small;
}
}  // namespace detail

/// The sum of the embeddings of words, positions and segments, normalized.
/// shape: (batch, length) of int64 -> (batch, length, hidden_size)
template <class T, class D>
class BertEmbeddings final : public nn::Layer<BertEmbeddings<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  nn::Embedding<T, D> word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm<T, D> norm;

  explicit BertEmbeddings(const BertOptions& options, D device = {})
      : word_embeddings(options.vocab_size, options.hidden_size, {.padding_idx = options.pad_token_id}, device),
        position_embeddings(options.max_position_embeddings, options.hidden_size, {}, device),
        token_type_embeddings(options.type_vocab_size, options.hidden_size, {}, device),
        norm(options.hidden_size, options.layer_norm_eps, true, true, device),
        options_(options) {
    for (const auto* const table : {&word_embeddings, &position_embeddings, &token_type_embeddings})
      nn::init::normal_(table->weight, 0, options.initializer_range);
    if (options.pad_token_id) word_embeddings.weight.value().select(0, *options.pad_token_id).fill_(T(0));
  }

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const BertInputs<T, D>& inputs = {}) const {
    require_fit(tokens.shape(), inputs);
    const auto types = seen_by(tokens, token_type_embeddings.weight);
    const auto positions = seen_by(tokens, position_embeddings.weight);
    using Rows = std::remove_cvref_t<decltype(select(types, 0, 0).eval())>;
    const Rows typed =
        inputs.token_type_ids.buffer() ? Rows(embedding(types, inputs.token_type_ids)) : Rows(select(types, 0, 0));
    const Rows placed = inputs.position_ids.buffer() ? Rows(embedding(positions, inputs.position_ids))
                                                     : Rows(slice(positions, 0, 0, tokens.size(1)));
    return dropout(norm(word_embeddings(tokens) + typed + placed), options_.hidden_dropout_prob).eval();
  }
  void members(const auto& visit) const {
    visit("word_embeddings", word_embeddings);
    visit("position_embeddings", position_embeddings);
    visit("token_type_embeddings", token_type_embeddings);
    visit("LayerNorm", norm);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BertEmbeddings<U, E>(detail::bert_twin(options_));
  }

 private:
  void require_fit(const Shape& tokens, const BertInputs<T, D>& inputs) const {
    const std::int64_t most = position_embeddings.weight.size(0);
    if (tokens.rank() != 2 || (tokens[1] > most && !inputs.position_ids.buffer()))
      fail<ShapeError>({"BERT: tokens of shape ", tokens, "; expected (batch, length) of a length up to ", most});
    const Shape& types = inputs.token_type_ids.shape();
    if (inputs.token_type_ids.buffer() && !(types == tokens))
      fail<ShapeError>({"BERT: token_type_ids of shape ", types, "; expected ", tokens, ", as the tokens"});
    const Shape& positions = inputs.position_ids.shape();
    if (inputs.position_ids.buffer() && !(positions == tokens || positions == Shape{tokens[1]}))
      fail<ShapeError>({"BERT: position_ids of shape ", positions, "; expected ", tokens, " or ", Shape{tokens[1]}});
  }
  BertOptions options_;
};

/// The first token's vector through a linear layer and tanh.
/// shape: (batch, length, hidden_size) -> (batch, hidden_size)
template <class T, class D>
class BertPooler final : public nn::Layer<BertPooler<T, D>, T, D> {
 public:
  using input_type = T;
  nn::Linear<T, D> dense;

  explicit BertPooler(const BertOptions& options, D device = {})
      : dense(detail::bert_linear<T>(options.hidden_size, options.hidden_size, options, device)), options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& hidden) const {
    return tanh(dense(select(hidden, 1, 0))).eval();
  }
  void members(const auto& visit) const { visit("dense", dense); }
  template <class U, class E> [[nodiscard]] auto twin() const { return BertPooler<U, E>(detail::bert_twin(options_)); }

 private:
  BertOptions options_;
};

/// Tokens to vectors: Hugging Face's BertModel. Texts of several lengths are padded, and attention_mask says where.
/// shape: (batch, length) of int64 -> (batch, length, hidden_size)
/// throws ShapeError for another rank, more than max_position_embeddings, or other shapes of inputs; IndexError as
///        nn::Embedding
///
///     const models::BertModel<float, D> bert(models::bert_options("bert-base-uncased"), device);
///     io::load_into(bert, "bert-base-uncased");
///     auto hidden = bert(tokens, {.attention_mask = tokens != 0});
///     auto pooled = (*bert.pooler)(hidden);    // (batch, hidden_size), of the first token
template <class T, class D = Cpu>
class BertModel final : public nn::Layer<BertModel<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  using Inputs = BertInputs<T, D>;

  BertEmbeddings<T, D> embeddings;
  std::vector<nn::TransformerEncoderLayer<T, D>> layers;
  std::optional<BertPooler<T, D>> pooler;

  /// throws ArgumentError for sizes below 1, heads that do not divide the width, and options that layers refuse
  explicit BertModel(const BertOptions& options = {}, D device = {}, bool add_pooler = true)
      : embeddings(detail::checked(options), device), options_(options) {
    layers.reserve(static_cast<std::size_t>(options.num_hidden_layers));
    for (std::int64_t i = 0; i < options.num_hidden_layers; ++i)
      layers.push_back(detail::bert_layer<T>(options, device));
    if (add_pooler) pooler.emplace(options, device);
  }

  [[nodiscard]] const BertOptions& options() const { return options_; }
  using nn::Layer<BertModel, T, D>::operator();
  template <TensorLike X, class Self = BertModel>
    requires nn::detail::IsWrong<nn::detail::CallMistake<Self, X>, locus::detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& tokens, const Inputs& inputs) const {
    return nn::Layer<BertModel, T, D>::operator()(tokens, inputs);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Inputs& inputs = {}) const {
    const auto masks = detail::bert_masks(tokens.shape(), inputs.attention_mask);
    auto x = embeddings(tokens, inputs);
    for (const auto& layer : layers) x = layer(x, masks);
    return x;
  }
  void members(const auto& visit) const {
    visit("embeddings", embeddings);
    visit("encoder.layer", layers);
    if (pooler) visit("pooler", *pooler);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BertModel<U, E>(detail::bert_twin(options_), {}, pooler.has_value());
  }
  /// The parameter that a tensor of a published file goes to, for io::load_into. Heads are left out.
  [[nodiscard]] static nn::StateTarget target_of(std::string_view name) {
    return detail::bert_target(name, "", {"cls.", "classifier.", "qa_outputs."});
  }

 private:
  BertOptions options_;
};

/// The layers before the logits of words, and their bias: Hugging Face's cls.predictions.
template <class T, class D>
class BertPredictions final : public nn::Layer<BertPredictions<T, D>, T, D> {
 public:
  using input_type = T;
  nn::Linear<T, D> dense;
  nn::LayerNorm<T, D> norm;
  Parameter<T, D> bias;

  explicit BertPredictions(const BertOptions& options, D device = {})
      : dense(detail::bert_linear<T>(options.hidden_size, options.hidden_size, options, device)),
        norm(options.hidden_size, options.layer_norm_eps, true, true, device),
        bias(zeros<T>({options.vocab_size}, device)),
        options_(options) {}

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& hidden) const {
    using Inner = std::remove_cvref_t<decltype(dense(hidden))>;
    const bool is_relu = options_.hidden_act == nn::TransformerActivation::relu;
    return norm(is_relu ? Inner(relu(dense(hidden))) : Inner(gelu<GeluForm::exact>(dense(hidden))));
  }
  void members(const auto& visit) const {
    visit("transform.dense", dense);
    visit("transform.LayerNorm", norm);
    visit("bias", bias);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BertPredictions<U, E>(detail::bert_twin(options_));
  }

 private:
  BertOptions options_;
};

/// Predicts masked tokens: Hugging Face's BertForMaskedLM. Its last layer shares its weights with the embeddings of
/// words: they are listed, saved and trained once.
/// shape: (batch, length) of int64 -> (batch, length, vocab_size), logits     throws as BertModel
///
///     const models::BertForMaskedLM<float, D> model(models::bert_options("bert-base-uncased"), device);
///     io::load_into(model, "bert-base-uncased");
///     auto logits = model(tokens, {.attention_mask = tokens != 0});
///     auto loss = nn::cross_entropy(flatten(model(trace(masked)), 0, 1), labels.flatten());   // -100: not predicted
template <class T, class D = Cpu>
class BertForMaskedLM final : public nn::Layer<BertForMaskedLM<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  using Inputs = BertInputs<T, D>;
  BertModel<T, D> bert;
  BertPredictions<T, D> predictions;

  /// throws as BertModel
  explicit BertForMaskedLM(const BertOptions& options = {}, D device = {})
      : bert(options, device, false), predictions(options, device) {}

  using nn::Layer<BertForMaskedLM, T, D>::operator();
  template <TensorLike X, class Self = BertForMaskedLM>
    requires nn::detail::IsWrong<nn::detail::CallMistake<Self, X>, locus::detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& tokens, const Inputs& inputs) const {
    return nn::Layer<BertForMaskedLM, T, D>::operator()(tokens, inputs);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Inputs& inputs = {}) const {
    return linear(predictions(bert(tokens, inputs)), bert.embeddings.word_embeddings.weight, predictions.bias);
  }
  void members(const auto& visit) const {
    visit("bert", bert);
    visit("cls.predictions", predictions);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BertForMaskedLM<U, E>(detail::bert_twin(bert.options()));
  }
  [[nodiscard]] static nn::StateTarget target_of(std::string_view name) {
    return detail::bert_target(name, "bert.", {"pooler.", "cls.seq_relationship.", "classifier."});
  }
};

/// Classifies texts by the pooled vector: Hugging Face's BertForSequenceClassification.
/// shape: (batch, length) of int64 -> (batch, num_labels), logits     throws as BertModel
///
///     const models::BertForSequenceClassification<float, D> model(models::bert_options(folder), device);
///     io::load_into(model, folder, {.strict = false});     // of a model without a classifier
///     auto loss = nn::cross_entropy(model(trace(tokens), {.attention_mask = tokens != 0}), labels);
template <class T, class D = Cpu>
class BertForSequenceClassification final : public nn::Layer<BertForSequenceClassification<T, D>, T, D> {
 public:
  using input_type = std::int64_t;
  using Inputs = BertInputs<T, D>;
  BertModel<T, D> bert;
  nn::Linear<T, D> classifier;

  /// throws as BertModel
  explicit BertForSequenceClassification(const BertOptions& options = {}, D device = {})
      : bert(options, device),
        classifier(detail::bert_linear<T>(options.hidden_size, options.num_labels, options, device)) {}

  using nn::Layer<BertForSequenceClassification, T, D>::operator();
  template <TensorLike X, class Self = BertForSequenceClassification>
    requires nn::detail::IsWrong<nn::detail::CallMistake<Self, X>, locus::detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& tokens, const Inputs& inputs) const {
    return nn::Layer<BertForSequenceClassification, T, D>::operator()(tokens, inputs);
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& tokens, const Inputs& inputs = {}) const {
    const BertOptions& options = bert.options();
    const auto pooled = (*bert.pooler)(bert(tokens, inputs));
    return classifier(dropout(pooled, options.classifier_dropout.value_or(options.hidden_dropout_prob)));
  }
  void members(const auto& visit) const {
    visit("bert", bert);
    visit("classifier", classifier);
  }
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BertForSequenceClassification<U, E>(detail::bert_twin(bert.options()));
  }
  [[nodiscard]] static nn::StateTarget target_of(std::string_view name) {
    return detail::bert_target(name, "bert.", {"cls."});
  }
};

}}}  // namespace locus::LOCUS_ABI::models
