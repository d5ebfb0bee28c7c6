#pragma once
// The options of models::Llama, included by models/llama.hpp.

#include <locus/ops/dropout.hpp>
#include <locus/ops/rotary_tables.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// models::llama<float, D>({.vocab_size = 128, .hidden_size = 192, .intermediate_size = 512, .num_hidden_layers = 6,
/// .num_attention_heads = 6, .num_key_value_heads = 2}); names and defaults as in Hugging Face's LlamaConfig.
struct LlamaOptions {
  std::int64_t vocab_size = 32000;         ///< number of tokens
  std::int64_t hidden_size = 4096;         ///< width
  std::int64_t intermediate_size = 11008;  ///< width within a layer's perceptron
  std::int64_t num_hidden_layers = 32;     ///< layers
  std::int64_t num_attention_heads = 32;   ///< heads of queries
  std::int64_t num_key_value_heads = 0;    ///< heads of keys and values; they divide the heads of queries; 0: as many
  std::int64_t head_dim = 0;               ///< width of a head, even; 0: hidden_size / num_attention_heads
  std::int64_t max_position_embeddings = 2048;    ///< largest length of a text in training; longer ones are computed
  std::optional<std::int64_t> pad_token_id = {};  ///< its embedding is initially 0 and gets no gradient; below 0: from
                                                  ///< the end
  double rms_norm_eps = 1e-6;
  RotaryOptions rope = {};           ///< rope_theta, and rope_scaling
  bool tie_word_embeddings = false;  ///< the last layer shares the weight of the embedding
  bool attention_bias = false;       ///< of q_proj, k_proj, v_proj and o_proj
  bool qkv_bias = false;             ///< of q_proj, k_proj and v_proj, as in Qwen2
  bool mlp_bias = false;             ///< of gate_proj, up_proj and down_proj
  bool qk_norm = false;              ///< q_norm and k_norm normalize each head, as in Qwen3
  std::int64_t sliding_window = 0;  ///< a token attends to so many, itself the last, as in Mistral; 0: to all before it
  double attention_dropout = 0;     ///< dropout of attention weights
  double initializer_range = 0.02;  ///< deviation of initial weights
};

namespace detail {

/// The options with num_key_value_heads and head_dim. throws ArgumentError
LOCUS_OUT_OF_LINE inline LlamaOptions checked(LlamaOptions options) {
  const auto require = [](const char* option, std::int64_t given, std::int64_t least) {
    if (given < least) fail<ArgumentError>({"Llama: ", option, " = ", given, "; expected at least ", least});
  };
  const std::int64_t width = options.hidden_size, heads = options.num_attention_heads;
  require(".vocab_size", options.vocab_size, 1), require(".hidden_size", width, 1);
  require(".intermediate_size", options.intermediate_size, 1);
  require(".num_hidden_layers", options.num_hidden_layers, 1);
  require(".num_attention_heads", heads, 1), require(".num_key_value_heads", options.num_key_value_heads, 0);
  require(".head_dim", options.head_dim, 0), require(".max_position_embeddings", options.max_position_embeddings, 1);
  require(".sliding_window", options.sliding_window, 0);
  if (const auto pad = options.pad_token_id; pad && (*pad < -options.vocab_size || *pad >= options.vocab_size))
    fail<ArgumentError>({"Llama: .pad_token_id = ", *pad, " for .vocab_size = ", options.vocab_size, "; expected ",
                         -options.vocab_size, " to ", options.vocab_size - 1});
  if (options.head_dim == 0) {
    if (width % heads != 0)
      fail<ArgumentError>({"Llama: .num_attention_heads = ", heads, " for .hidden_size = ", width,
                           "; expected heads that divide the width, or a .head_dim"});
    options.head_dim = width / heads;
  }
  if (options.num_key_value_heads == 0) options.num_key_value_heads = heads;
  if (heads % options.num_key_value_heads != 0)
    fail<ArgumentError>({"Llama: .num_key_value_heads = ", options.num_key_value_heads,
                         " for .num_attention_heads = ", heads, "; expected a number that divides it"});
  if (options.head_dim % 2 != 0)
    fail<ArgumentError>(
        {"Llama: heads of ", options.head_dim, " elements; expected an even number, since pairs are turned"});
  locus::detail::require_rotary(options.head_dim, options.rope);
  (void)functor::Dropout(options.attention_dropout);
  return options;
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::models
