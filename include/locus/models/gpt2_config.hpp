#pragma once
// The options of GPT-2 from the file config.json that Hugging Face publishes beside weights.

#include <locus/models/config_file.hpp>
#include <locus/models/gpt2.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

class GPT2ConfigReader : ConfigReader {
 public:
  using ConfigReader::ConfigReader;

  [[nodiscard]] GPT2Options read() const {
    require("model_type", {"\"gpt2\""});
    require("activation_function", {"\"gelu_new\""});
    require("scale_attn_weights", {"true"});
    require("scale_attn_by_inverse_layer_idx", {"false"});
    require("add_cross_attention", {"false"});
    require("tie_word_embeddings", {"true"});
    require_unquantized();
    const GPT2Options otherwise;
    return checked(GPT2Options{.vocab_size = size("vocab_size", otherwise.vocab_size),
                               .n_positions = size("n_positions", otherwise.n_positions),
                               .n_embd = size("n_embd", otherwise.n_embd),
                               .n_layer = layers("n_layer", otherwise.n_layer),
                               .n_head = size("n_head", otherwise.n_head),
                               .n_inner = size("n_inner", otherwise.n_inner),
                               .embd_pdrop = number("embd_pdrop", otherwise.embd_pdrop, 0, 1),
                               .attn_pdrop = number("attn_pdrop", otherwise.attn_pdrop, 0, 1),
                               .resid_pdrop = number("resid_pdrop", otherwise.resid_pdrop, 0, 1),
                               .layer_norm_epsilon = number("layer_norm_epsilon", otherwise.layer_norm_epsilon, 0, 1),
                               .initializer_range = number("initializer_range", otherwise.initializer_range, 0, 1e3)});
  }
};

}  // namespace detail

/// The options of a parsed config.json of model_type "gpt2".
/// throws DataError that names the key of an impossible number, and of a setting that GPT2 lacks; ArgumentError for
///        heads that do not divide the width
[[nodiscard]] inline GPT2Options gpt2_options(const io::JsonNode& config) {
  return detail::GPT2ConfigReader(config).read();
}
/// The same of a file config.json, or of a folder with it. throws DataError also for a file that cannot be read
///
///     const auto model = models::gpt2<float>(models::gpt2_options("gpt2"), device);
///     io::load_into(model, "gpt2");
[[nodiscard]] inline GPT2Options gpt2_options(const std::string& path) {
  return detail::of_config(path, [](const io::JsonNode& config) { return gpt2_options(config); });
}

/// Writes the config.json of a model, into a folder or as this file. With io::save(folder + "/model.safetensors",
/// nn::state_dict(model)) beside it, transformers loads the folder.
/// throws ArgumentError for options that GPT2 refuses; Error where the file cannot be written
inline void save_config(const std::string& path, const GPT2Options& options, const ConfigTokens& tokens = {}) {
  const GPT2Options& o = detail::checked(options);
  detail::write_config(path, "gpt2", "GPT2LMHeadModel", tokens, [&](io::JsonWriter& json) {
    json.member("activation_function", "gelu_new").member("vocab_size", o.vocab_size);
    json.member("n_positions", o.n_positions).member("n_embd", o.n_embd).member("n_layer", o.n_layer);
    json.member("n_head", o.n_head);
    if (o.n_inner > 0) json.member("n_inner", o.n_inner);
    json.member("embd_pdrop", o.embd_pdrop).member("attn_pdrop", o.attn_pdrop).member("resid_pdrop", o.resid_pdrop);
    json.member("layer_norm_epsilon", o.layer_norm_epsilon).member("initializer_range", o.initializer_range);
    json.member("tie_word_embeddings", true);
  });
}

}}}  // namespace locus::LOCUS_ABI::models
