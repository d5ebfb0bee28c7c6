#pragma once
// The options of Llama, Mistral, Qwen2 and Qwen3 from the file config.json that Hugging Face publishes beside weights.

#include <locus/models/config_file.hpp>
#include <locus/models/llama_options.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

/// Reads the members of a config.json that change what a model computes. A setting that is not there is refused by its
/// key; members that transformers ignores are ignored.
class LlamaConfigReader : ConfigReader {
 public:
  explicit LlamaConfigReader(const io::JsonNode& file) : ConfigReader(file), type_(type_of(file)) {}

  [[nodiscard]] LlamaOptions read() const {
    refuse_other_computations();
    LlamaOptions options;
    options.vocab_size = size(file().at("vocab_size")), options.hidden_size = size(file().at("hidden_size"));
    options.intermediate_size = size(file().at("intermediate_size"));
    options.num_hidden_layers = size(file().at("num_hidden_layers"), most_layers);
    options.max_position_embeddings = size(file().at("max_position_embeddings"));
    read_heads(options);
    read_padding(options);
    options.rms_norm_eps = number("rms_norm_eps", options.rms_norm_eps, 0, 1);
    options.attention_dropout = number("attention_dropout", 0, 0, 1);
    options.initializer_range = number("initializer_range", options.initializer_range, 0, 1e3);
    options.tie_word_embeddings = flag("tie_word_embeddings");
    options.attention_bias = (is_llama() || type_ == "qwen3") && flag("attention_bias");
    options.qkv_bias = type_ == "qwen2", options.qk_norm = type_ == "qwen3";
    options.mlp_bias = is_llama() && flag("mlp_bias");
    options.sliding_window = window(options.num_hidden_layers);
    options.rope = rope(options.max_position_embeddings);
    return options;
  }

 private:
  [[nodiscard]] static std::string type_of(const io::JsonNode& file) {
    const auto node = file.at("model_type");
    std::string type = node.string();
    if (type != "llama" && type != "mistral" && type != "qwen2" && type != "qwen3")
      node.refuse("\"llama\", \"mistral\", \"qwen2\" or \"qwen3\"");
    return type;
  }
  [[nodiscard]] bool is_llama() const { return type_ == "llama"; }

  void refuse_other_computations() const {
    require("hidden_act", {"\"silu\""});
    require_unquantized();
    if (const auto share = file().find("partial_rotary_factor"); share && share->number() != 1) share->refuse("1");
  }

  void read_heads(LlamaOptions& options) const {
    const auto heads = file().at("num_attention_heads");
    options.num_attention_heads = size(heads);
    // Files of Llama's first version have no groups.
    const auto groups = is_llama() ? file().find("num_key_value_heads") : file().at("num_key_value_heads");
    options.num_key_value_heads = groups ? size(*groups) : options.num_attention_heads;
    if (options.num_attention_heads % options.num_key_value_heads != 0)
      groups->refuse(join("a number that divides num_attention_heads, ", options.num_attention_heads));
    const auto width = type_ == "qwen3" ? file().at("head_dim") : file().find("head_dim");
    if (!width && options.hidden_size % options.num_attention_heads != 0)
      heads.refuse(join("a number that divides hidden_size, ", options.hidden_size, ", or a head_dim"));
    options.head_dim = width ? size(*width) : options.hidden_size / options.num_attention_heads;
    if (options.head_dim % 2 != 0) (width ? *width : heads).refuse("heads of an even number of elements");
  }

  void read_padding(LlamaOptions& options) const {
    const auto token = file().find("pad_token_id");
    if (!token) return;
    options.pad_token_id = token->integer();
    if (*options.pad_token_id < -options.vocab_size || *options.pad_token_id >= options.vocab_size)
      token->refuse(join("a token of ", options.vocab_size));
  }

  /// 0: all layers attend to all tokens.
  [[nodiscard]] std::int64_t window(std::int64_t layers) const {
    const auto node = file().find("sliding_window");
    const bool is_qwen = type_ == "qwen2" || type_ == "qwen3";
    const bool slides = node && (type_ == "mistral" || (is_qwen && flag("use_sliding_window")));
    bool all = slides;
    if (const auto types = file().find("layer_types")) all = read_layer_types(*types, slides);
    else if (slides && is_qwen) {
      const auto first = file().at("max_window_layers");
      all = first.integer() <= 0;
      if (!all && first.integer() < layers) first.refuse("0: all layers have a window, or none");
    }
    return all ? size(*node) : 0;
  }
  /// Whether all layers have a window.
  [[nodiscard]] static bool read_layer_types(const io::JsonNode& types, bool slides) {
    bool some = false, all = true;
    types.array([&](const io::JsonNode& each) {
      const std::string type = each.string();
      if (type != "full_attention" && type != "sliding_attention")
        each.refuse("\"full_attention\" or \"sliding_attention\"");
      if (type == "sliding_attention" && !slides) each.refuse("\"full_attention\" without a sliding_window");
      some = some || type == "sliding_attention", all = all && type == "sliding_attention";
    });
    if (some && !all) types.refuse("the same type for all layers");
    return some;
  }

  /// rope_parameters of transformers 5; rope_theta and rope_scaling of versions before.
  [[nodiscard]] RotaryOptions rope(std::int64_t positions) const {
    RotaryOptions options;
    options.theta = number("rope_theta", options.theta, least, most);
    for (const char* const key : {"rope_scaling", "rope_parameters"})
      if (const auto node = file().find(key)) read_rope(*node, positions, options);
    return options;
  }
  void read_rope(const io::JsonNode& node, std::int64_t positions, RotaryOptions& options) const {
    require_known_rope(node);
    options.theta = number(node, "rope_theta", options.theta, least, most);
    const auto name = node.find("rope_type") ? node.find("rope_type") : node.find("type");
    RotaryScaling& scaling = options.scaling = {};
    if (name) scaling.type = rope_type(*name);
    if (scaling.type == RotaryType::plain) return;
    const auto trained = node.find("original_max_position_embeddings");
    const auto outside = file().find("original_max_position_embeddings");
    scaling.original_max_position_embeddings = outside ? size(*outside) : trained ? size(*trained) : positions;
    if (scaling.type == RotaryType::dynamic) scaling.original_max_position_embeddings = positions;
    const auto factor = node.find("factor");
    if (scaling.type == RotaryType::yarn && !factor)
      scaling.factor = static_cast<double>(positions) / static_cast<double>(scaling.original_max_position_embeddings);
    else scaling.factor = positive(node.at("factor"));
    if (scaling.type == RotaryType::llama3) read_llama3(node, scaling);
    if (scaling.type == RotaryType::yarn) read_yarn(node, scaling);
  }
  static void read_llama3(const io::JsonNode& node, RotaryScaling& scaling) {
    scaling.low_freq_factor = positive(node.at("low_freq_factor"));
    const auto high = node.at("high_freq_factor");
    scaling.high_freq_factor = positive(high);
    if (!(scaling.high_freq_factor > scaling.low_freq_factor)) high.refuse("more than low_freq_factor");
  }
  static void read_yarn(const io::JsonNode& node, RotaryScaling& scaling) {
    scaling.beta_fast = number(node, "beta_fast", scaling.beta_fast, least, most);
    scaling.beta_slow = number(node, "beta_slow", scaling.beta_slow, least, most);
    if (const auto factor = node.find("attention_factor")) scaling.attention_factor = positive(*factor);
    scaling.mscale = number(node, "mscale", 0, 0, most),
    scaling.mscale_all_dim = number(node, "mscale_all_dim", 0, 0, most);
    if (const auto truncate = node.find("truncate")) scaling.truncate = truncate->boolean();
  }
  static void require_known_rope(const io::JsonNode& node) {
    node.object([&](const std::string& key, const io::JsonNode& value) {
      for (const std::string_view known :
           {"rope_theta", "rope_type", "type", "factor", "original_max_position_embeddings", "low_freq_factor",
            "high_freq_factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"})
        if (key == known) return;
      const bool is_whole = key == "partial_rotary_factor" && !value.is_null() && value.number() == 1;
      if (!is_whole && !value.is_null()) value.refuse("null: Locus does not have this setting");
    });
  }
  [[nodiscard]] static RotaryType rope_type(const io::JsonNode& node) {
    const std::string name = node.string();
    if (name == "default") return RotaryType::plain;
    if (name == "linear") return RotaryType::linear;
    if (name == "dynamic") return RotaryType::dynamic;
    if (name == "llama3") return RotaryType::llama3;
    if (name == "yarn") return RotaryType::yarn;
    node.refuse("\"default\", \"linear\", \"dynamic\", \"llama3\" or \"yarn\"");
  }

  std::string type_;
};

}  // namespace detail

/// The options of a parsed config.json, of model_type "llama", "mistral", "qwen2" or "qwen3".
/// throws DataError that names the key of a missing or impossible number, and of a setting that Llama lacks: another
/// hidden_act, rope_type or layer_types, a quantization_config
[[nodiscard]] inline LlamaOptions llama_options(const io::JsonNode& config) {
  return detail::LlamaConfigReader(config).read();
}
/// The same of a file config.json, or of a folder with it. throws DataError also for a file that cannot be read
///
///     auto model = models::llama<float, D>(models::llama_options("Qwen2.5-0.5B"), device);
[[nodiscard]] inline LlamaOptions llama_options(const std::string& path) {
  return detail::of_config(path, [](const io::JsonNode& config) { return llama_options(config); });
}

namespace detail {
/// The model of Hugging Face that these options make. throws ArgumentError if there is none
struct LlamaKind {
  const char *type, *architecture;
};
[[nodiscard]] inline LlamaKind kind_of(const LlamaOptions& o) {
  if (o.qkv_bias && !o.qk_norm && !o.attention_bias && !o.mlp_bias) return {"qwen2", "Qwen2ForCausalLM"};
  if (o.qk_norm && !o.qkv_bias && !o.mlp_bias) return {"qwen3", "Qwen3ForCausalLM"};
  if (!o.qk_norm && !o.qkv_bias && o.sliding_window == 0) return {"llama", "LlamaForCausalLM"};
  if (!o.qk_norm && !o.qkv_bias && !o.attention_bias && !o.mlp_bias) return {"mistral", "MistralForCausalLM"};
  fail<ArgumentError>({"save_config: no model of Hugging Face has .attention_bias = ", o.attention_bias,
                       ", .qkv_bias = ", o.qkv_bias, ", .mlp_bias = ", o.mlp_bias, ", .qk_norm = ", o.qk_norm,
                       " and .sliding_window = ", o.sliding_window,
                       "; expected those of Llama, Mistral, Qwen2 or Qwen3"});
}
[[nodiscard]] inline const char* name_of(RotaryType type) {
  switch (type) {
    case RotaryType::linear: return "linear";
    case RotaryType::dynamic: return "dynamic";
    case RotaryType::llama3: return "llama3";
    case RotaryType::yarn: return "yarn";
    case RotaryType::plain: break;
  }
  return "default";
}
inline void write_rope(io::JsonWriter& json, const RotaryOptions& rope) {
  const RotaryScaling& s = rope.scaling;
  json.member("rope_theta", rope.theta);
  if (s.type == RotaryType::plain) return;
  json.key("rope_scaling").begin_object().member("rope_type", name_of(s.type)).member("factor", s.factor);
  if (s.original_max_position_embeddings > 0)
    json.member("original_max_position_embeddings", s.original_max_position_embeddings);
  if (s.type == RotaryType::llama3)
    json.member("low_freq_factor", s.low_freq_factor).member("high_freq_factor", s.high_freq_factor);
  if (s.type == RotaryType::yarn) {
    json.member("beta_fast", s.beta_fast).member("beta_slow", s.beta_slow).member("truncate", s.truncate);
    if (s.attention_factor) json.member("attention_factor", *s.attention_factor);
    if (s.mscale != 0) json.member("mscale", s.mscale).member("mscale_all_dim", s.mscale_all_dim);
  }
  json.end_object();
}
}  // namespace detail

/// Writes the config.json of a model, into a folder or as this file. With io::save(folder + "/model.safetensors",
/// nn::state_dict(model)) beside it, transformers loads the folder.
/// throws ArgumentError for options that Llama refuses, or that no model of Hugging Face has; Error where the file
///        cannot be written
inline void save_config(const std::string& path, const LlamaOptions& options, const ConfigTokens& tokens = {}) {
  const LlamaOptions o = detail::checked(options);
  const auto [type, architecture] = detail::kind_of(o);
  detail::write_config(path, type, architecture, tokens, [&, is_qwen = o.qkv_bias || o.qk_norm](io::JsonWriter& json) {
    json.member("hidden_act", "silu").member("vocab_size", o.vocab_size).member("hidden_size", o.hidden_size);
    json.member("intermediate_size", o.intermediate_size).member("num_hidden_layers", o.num_hidden_layers);
    json.member("num_attention_heads", o.num_attention_heads).member("num_key_value_heads", o.num_key_value_heads);
    json.member("head_dim", o.head_dim).member("max_position_embeddings", o.max_position_embeddings);
    json.member("rms_norm_eps", o.rms_norm_eps).member("tie_word_embeddings", o.tie_word_embeddings);
    json.member("attention_bias", o.attention_bias).member("mlp_bias", o.mlp_bias);
    json.member("attention_dropout", o.attention_dropout).member("initializer_range", o.initializer_range);
    if (is_qwen) json.member("use_sliding_window", o.sliding_window > 0).member("max_window_layers", 0);
    if (o.sliding_window > 0) json.member("sliding_window", o.sliding_window);
    detail::write_rope(json, o.rope);
  });
}

}}}  // namespace locus::LOCUS_ABI::models
