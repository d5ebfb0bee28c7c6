#pragma once
// The options of BERT from the file config.json that Hugging Face publishes beside weights.

#include <locus/models/bert_options.hpp>
#include <locus/models/config_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

class BertConfigReader : ConfigReader {
 public:
  using ConfigReader::ConfigReader;

  [[nodiscard]] BertOptions read() const {
    require("model_type", {"\"bert\""});
    require("position_embedding_type", {"\"absolute\""});
    require("is_decoder", {"false"}), require("add_cross_attention", {"false"});
    require("tie_word_embeddings", {"true"});
    require("hidden_act", {"\"gelu\"", "\"relu\""});
    require_unquantized();
    BertOptions o;
    if (const auto act = file().find("hidden_act"); act && act->string() == "relu")
      o.hidden_act = nn::TransformerActivation::relu;
    o.vocab_size = size("vocab_size", o.vocab_size), o.hidden_size = size("hidden_size", o.hidden_size);
    o.num_hidden_layers = layers("num_hidden_layers", o.num_hidden_layers);
    o.num_attention_heads = size("num_attention_heads", o.num_attention_heads);
    o.intermediate_size = size("intermediate_size", o.intermediate_size);
    o.max_position_embeddings = size("max_position_embeddings", o.max_position_embeddings);
    o.type_vocab_size = size("type_vocab_size", o.type_vocab_size);
    o.hidden_dropout_prob = number("hidden_dropout_prob", o.hidden_dropout_prob, 0, 1);
    o.attention_probs_dropout_prob = number("attention_probs_dropout_prob", o.attention_probs_dropout_prob, 0, 1);
    o.layer_norm_eps = number("layer_norm_eps", o.layer_norm_eps, 0, 1);
    o.initializer_range = number("initializer_range", o.initializer_range, 0, 1e3);
    o.num_labels = size("num_labels", o.num_labels);
    if (file().find("classifier_dropout")) o.classifier_dropout = number("classifier_dropout", 0, 0, 1);
    read_padding(o), read_labels(o);
    return o;
  }

 private:
  /// An explicit null means no token of padding.
  void read_padding(BertOptions& o) const {
    file().object([&](const std::string& key, const io::JsonNode& node) {
      if (key == "pad_token_id" && node.is_null()) o.pad_token_id = std::nullopt;
      else if (key == "pad_token_id") o.pad_token_id = node.integer();
    });
  }
  /// Files name labels rather than number them.
  void read_labels(BertOptions& o) const {
    const auto labels = file().find("id2label");
    if (!labels) return;
    o.num_labels = 0;
    labels->object([&](const std::string&, const io::JsonNode&) { ++o.num_labels; });
  }
};

}  // namespace detail

/// The options of a parsed config.json of model_type "bert". Keys without an option, such as the names of labels, are
/// not read.
/// throws DataError, which names the key, for values that the model does not have; ArgumentError for sizes that do not
///        fit each other
[[nodiscard]] inline BertOptions bert_options(const io::JsonNode& config) {
  return detail::checked(detail::BertConfigReader(config).read());
}
/// The same of a file config.json, or of a folder with it. throws DataError also for a file that is missing or damaged
///
///     const models::BertForMaskedLM<float, D> model(models::bert_options("bert-base-uncased"), device);
[[nodiscard]] inline BertOptions bert_options(const std::string& path) {
  return detail::of_config(path, [](const io::JsonNode& config) { return bert_options(config); });
}

/// Writes the config.json of a model, into a folder or as this file. With io::save(folder + "/model.safetensors",
/// bert_file_state(nn::state_dict(model))) beside it, transformers loads the folder.
/// architecture: Hugging Face's name of the class.
/// throws ArgumentError for options that BERT refuses; Error where the file cannot be written
inline void save_config(const std::string& path, const BertOptions& options,
                        const char* architecture = "BertForMaskedLM") {
  const BertOptions& o = detail::checked(options);
  detail::write_config(path, "bert", architecture, {}, [&](io::JsonWriter& json) {
    const bool is_relu = o.hidden_act == nn::TransformerActivation::relu;
    json.member("hidden_act", is_relu ? "relu" : "gelu").member("vocab_size", o.vocab_size);
    json.member("hidden_size", o.hidden_size).member("num_hidden_layers", o.num_hidden_layers);
    json.member("num_attention_heads", o.num_attention_heads).member("intermediate_size", o.intermediate_size);
    json.member("max_position_embeddings", o.max_position_embeddings).member("type_vocab_size", o.type_vocab_size);
    json.member("hidden_dropout_prob", o.hidden_dropout_prob);
    json.member("attention_probs_dropout_prob", o.attention_probs_dropout_prob);
    json.member("layer_norm_eps", o.layer_norm_eps).member("initializer_range", o.initializer_range);
    if (o.classifier_dropout) json.member("classifier_dropout", *o.classifier_dropout);
    json.key("pad_token_id");
    if (o.pad_token_id) json.value(*o.pad_token_id);
    else json.value(nullptr);
    json.key("id2label").begin_object();
    for (std::int64_t i = 0; i < o.num_labels; ++i) json.member(join(i), join("LABEL_", i));
    json.end_object();
  });
}

}}}  // namespace locus::LOCUS_ABI::models
