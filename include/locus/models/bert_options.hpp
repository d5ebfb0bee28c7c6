#pragma once
// Options of BERT.

#include <locus/expr/functors.hpp>
#include <locus/nn/transformer.hpp>

#include <optional>
#include <string>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// models::BertModel<float, D>({.hidden_size = 128, .num_hidden_layers = 2, .num_attention_heads = 2}); names and
/// defaults as in Hugging Face's BertConfig.
struct BertOptions {
  std::int64_t vocab_size = 30522;             ///< number of tokens
  std::int64_t hidden_size = 768;              ///< width
  std::int64_t num_hidden_layers = 12;         ///< encoder layers
  std::int64_t num_attention_heads = 12;       ///< of each layer; they divide the width
  std::int64_t intermediate_size = 3072;       ///< width within a layer's feed-forward block
  std::int64_t max_position_embeddings = 512;  ///< largest length of a text
  std::int64_t type_vocab_size = 2;            ///< kinds of segments
  nn::TransformerActivation hidden_act = nn::TransformerActivation::gelu;
  double hidden_dropout_prob = 0.1;           ///< of embeddings, residual branches and, by default, the classifier
  double attention_probs_dropout_prob = 0.1;  ///< of attention weights
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;                ///< deviation of initial weights
  std::optional<std::int64_t> pad_token_id = 0;   ///< its embedding gets no gradient from the texts
  std::int64_t num_labels = 2;                    ///< of BertForSequenceClassification
  std::optional<double> classifier_dropout = {};  ///< before the classifier; absent: hidden_dropout_prob
};

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline const BertOptions& checked(const BertOptions& options) {
  const auto require = [](const char* option, std::int64_t given) {
    if (given < 1) fail<ArgumentError>({"BERT: ", option, " = ", given, "; expected at least 1"});
  };
  require(".vocab_size", options.vocab_size), require(".hidden_size", options.hidden_size);
  require(".num_hidden_layers", options.num_hidden_layers), require(".intermediate_size", options.intermediate_size);
  require(".num_attention_heads", options.num_attention_heads), require(".num_labels", options.num_labels);
  require(".max_position_embeddings", options.max_position_embeddings);
  require(".type_vocab_size", options.type_vocab_size);
  if (options.hidden_size % options.num_attention_heads != 0)
    fail<ArgumentError>({"BERT: .num_attention_heads = ", options.num_attention_heads,
                         " for .hidden_size = ", options.hidden_size, "; expected heads that divide the width"});
  for (const double p :
       {options.hidden_dropout_prob, options.attention_probs_dropout_prob, options.classifier_dropout.value_or(0)})
    (void)functor::Dropout(p);
  return options;
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::models
