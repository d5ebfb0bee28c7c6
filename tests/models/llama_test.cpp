// Runs on: host.
#include <locus/models/generate.hpp>
#include <locus/models/llama.hpp>
#include <locus/models/llama_config.hpp>

#include <locus/nn/state_dict.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/join.hpp>
#include <locus/optim/adam.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>

#include <golden/models.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

constexpr models::LlamaOptions small{.vocab_size = 13,
                                     .hidden_size = 16,
                                     .intermediate_size = 24,
                                     .num_hidden_layers = 2,
                                     .num_attention_heads = 4,
                                     .num_key_value_heads = 2,
                                     .max_position_embeddings = 16};

/// The models of make_llama.py.
struct Kind {
  const char* name;
  models::LlamaOptions options;
};
std::vector<Kind> kinds() {
  std::vector<Kind> all{{"llama", small}, {"mistral", small}, {"qwen2", small}, {"qwen3", small}};
  all[0].options.tie_word_embeddings = true;
  all[0].options.rope = {.theta = 100,
                         .scaling = {.type = RotaryType::llama3, .factor = 8, .original_max_position_embeddings = 8}};
  all[0].options.pad_token_id = -13, all[1].options.pad_token_id = 10;
  all[1].options.sliding_window = 3;
  all[2].options.qkv_bias = true;
  all[3].options.qk_norm = true, all[3].options.head_dim = 6;
  all[3].options.rope = {.theta = 100,
                         .scaling = {.type = RotaryType::yarn, .factor = 2, .original_max_position_embeddings = 8}};
  return all;
}
template <class D>
models::Llama<float, D> filled(const Kind& kind) {
  const auto model = models::llama<float, D>(kind.options);
  golden::fill(model);
  return model;
}
template <class D>
Tensor<std::int64_t, D> tokens() {
  return golden::tokens_of<D>({2, 8});
}

constexpr const char* config_text =
    R"({"model_type": "qwen3", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "hidden_act": "silu",
  "max_position_embeddings": 512, "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "attention_bias": false,
  "rope_theta": 1000000, "sliding_window": null, "use_sliding_window": false, "torch_dtype": "bfloat16",
  "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "attention_factor": 1.5}})";

/// The message with which a config.json is refused in which one text stands for another.
std::string refusal(std::string_view from, std::string_view to) {
  std::string text = config_text;
  text.replace(text.find(from), from.size(), to);
  return message_of<DataError>([&] { (void)models::llama_options(io::JsonNode(text, "config.json")); });
}

}  // namespace

LOCUS_DEVICE_TEST("logits and gradients of Llama, Mistral, Qwen2 and Qwen3 are those of transformers", D) {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const auto model = filled<D>(kind);
    const std::string name = kind.name;
    CHECK(static_cast<double>(model.parameters().size()) == golden::reference(name + "_parameters").values[0]);
    CHECK_CLOSE(model(tokens<D>()), golden::reference(name + "_logits"), 1e-5);
    const auto logits = model(trace(tokens<D>()));
    CHECK_CLOSE(logits, golden::reference(name + "_logits"), 1e-5);
    golden::check_gradients(name, model, flatten(logits, 0, 1));
  }
}

LOCUS_DEVICE_TEST("documents that share a sequence of Llama do not see each other", D) {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const auto model = filled<D>(kind);
    const auto ids = tokens<D>().slice(0, 0, 1);
    const Tensor<float, D> alone = concat({model(ids.slice(1, 0, 3)), model(ids.slice(1, 3))}, 1);
    const auto documents = from<std::int64_t>({{7, 7, 7, 4, 4, 4, 4, 4}}).template to<D>();
    const auto positions = from<std::int64_t>({{0, 1, 2, 0, 1, 2, 3, 4}}).template to<D>();
    CHECK_CLOSE(model(ids, {.documents = documents, .positions = positions}), reference(alone), 1e-5);
    CHECK_CLOSE(model(trace(ids), {.documents = documents, .positions = positions.select(0, 0)}).value(),
                reference(alone), 1e-5);
    CHECK_THROWS_AS((void)model(ids, {.documents = documents.slice(1, 0, 4)}), ShapeError);
    const auto loss = model.loss(ids, ids, {}, {.documents = documents, .positions = positions});
    const auto expected = nn::cross_entropy(flatten(alone, 0, 1), ids.flatten());
    CHECK_CLOSE(loss, reference(expected), 1e-5);
  }
}

LOCUS_DEVICE_TEST("tokens behind those of a cache have the logits of the whole text", D) {
  const auto ids = tokens<D>();
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const auto model = filled<D>(kind);
    const auto expected = model(ids);
    const auto cache = model.cache({.batch = 2, .capacity = 8});
    std::int64_t from = 0;
    for (const std::int64_t to : {5, 7, 8}) {
      CHECK_CLOSE(model(ids.slice(1, from, to).contiguous(), cache), reference(expected.slice(1, from, to)), 1e-5);
      from = to;
    }
    cache.reset();
    const auto next = model.next_logits(ids, cache, {8, 4});  // the second sequence is padded
    CHECK_CLOSE(next.slice(0, 0, 1), reference(expected.select(1, 7).slice(0, 0, 1)), 1e-5);
    CHECK_CLOSE(next.slice(0, 1), reference(expected.select(1, 3).slice(0, 1)), 1e-5);
  }
}

LOCUS_DEVICE_TEST("the loss is the cross-entropy of the logits; models are converted, copied and trained", D) {
  manual_seed(5);
  const auto ids = tokens<D>(), x = ids.slice(1, 0, 7).contiguous(), next = ids.slice(1, 1).contiguous();
  for (const Kind& kind : {kinds()[0], kinds()[3]}) {
    const auto model = models::llama<float, D>(kind.options);
    const auto whole = nn::cross_entropy(flatten(model(x), 0, 1), next.flatten());
    CHECK_CLOSE(model.loss(x, next), reference(whole), 1e-5);
    CHECK_CLOSE(model.clone()(x), reference(model(x)), 0);
    const auto narrow = model.template as<bfloat16>().parameters().back();
    CHECK_CLOSE(narrow.value().template as<float>(), reference(model.parameters().back()), 1e-2);
    optim::Adam optimizer{model.parameters(), {.lr = 0.02}};
    for (int step = 0; step < 40; ++step) {
      optimizer.zero_grad();
      model.loss(trace(x), next).backward();
      optimizer.step();
    }
    CHECK(reference(model.loss(x, next)).values[0] < 0.5);
  }
}

TEST_CASE("Llama generates tokens, and takes published states") {
  const auto kind = kinds()[0];
  const auto model = filled<Cpu>(kind);
  const auto cache = model.cache();
  CHECK(cache.capacity() == 16);
  const auto generated = models::generate(model, cache, {3, 1, 4}, {.max_new_tokens = 5, .temperature = 0});
  CHECK(generated.tokens.size() == 5);
  const auto logits = model(from(std::vector<std::int64_t>{3, 1, 4}, {1, 3}));
  CHECK(generated.tokens[0] == argmax(logits.select(1, 2), 1).item());

  nn::StateDict<Cpu> published;
  for (const auto& entry : nn::state_dict(model)) published.add({entry.name, entry.type, entry.shape, entry.bytes});
  published.add("lm_head.weight", model.model.embed_tokens.weight.value());
  published.add("model.layers.0.self_attn.rotary_emb.inv_freq", zeros({2}));
  const auto other = models::llama<float>(kind.options);
  const float* const initial = other.model.embed_tokens.weight.value().data();  // row 0 is padding
  for (int i = 0; i < 32; ++i) CHECK((initial[i] == 0) == (i < 16));
  CHECK_THROWS_AS((void)nn::load_state_dict(other, published), ArgumentError);
  CHECK(nn::load_state_dict(other, nn::renamed_for(other, published)).missing.empty());
  CHECK_CLOSE(other(tokens<Cpu>()), reference(model(tokens<Cpu>())), 0);
}

TEST_CASE("Llama refuses sizes, tokens and caches that do not fit") {
  const auto refused = [](auto change) {
    auto options = small;
    change(options);
    return message_of<ArgumentError>([&] { (void)models::llama<float>(options); });
  };
  CHECK(refused([](auto& o) { o.vocab_size = 0; }) == "Llama: .vocab_size = 0; expected at least 1");
  CHECK(contains(refused([](auto& o) { o.hidden_size = 18; }), "heads that divide the width, or a .head_dim"));
  CHECK(contains(refused([](auto& o) { o.num_key_value_heads = 3; }),
                 ".num_key_value_heads = 3 for .num_attention_heads = 4"));
  CHECK(contains(refused([](auto& o) { o.head_dim = 5; }), "heads of 5 elements; expected an even number"));
  CHECK(contains(refused([](auto& o) { o.rope.theta = 0; }), ".theta = 0; expected a positive number"));
  CHECK(contains(refused([](auto& o) { o.rope.scaling.type = RotaryType::yarn; }),
                 ".original_max_position_embeddings = 0"));
  CHECK(!refused([](auto& o) { o.attention_dropout = 2; }).empty());
  CHECK(contains(refused([](auto& o) { o.pad_token_id = 13; }), ".pad_token_id = 13 for .vocab_size = 13"));
  const auto model = models::llama<float>(small);
  CHECK_THROWS_AS((void)model(zeros<std::int64_t>({3})), ShapeError);
  CHECK_THROWS_AS((void)model.cache({.capacity = 17}), ArgumentError);
  const nn::KeyValueCache<float, Cpu> windowed({.layers = 2, .heads = 2, .head_width = 4, .capacity = 8, .window = 3});
  CHECK_THROWS_AS((void)model(zeros<std::int64_t>({1, 2}), windowed), ShapeError);
}

TEST_CASE("options are read from a config.json; settings that Llama lacks are refused by their keys") {
  const auto options = models::llama_options(io::JsonNode(config_text, "config.json"));
  CHECK(options.vocab_size == 100);
  CHECK(options.num_key_value_heads == 2);
  CHECK(options.head_dim == 32);
  CHECK(options.rms_norm_eps == 1e-5);
  CHECK(options.tie_word_embeddings);
  CHECK(options.qk_norm);
  CHECK(options.sliding_window == 0);
  CHECK(options.rope.theta == 1e6);
  CHECK(options.rope.scaling.type == RotaryType::yarn);
  CHECK(options.rope.scaling.factor == 4);
  CHECK(options.rope.scaling.attention_factor == 1.5);

  CHECK(refusal("qwen3", "gemma") ==
        "config.json: model_type is \"gemma\"; expected \"llama\", \"mistral\", \"qwen2\" or \"qwen3\"");
  CHECK(contains(refusal("silu", "gelu"), "hidden_act is \"gelu\"; expected \"silu\""));
  CHECK(contains(refusal("\"yarn\"", "\"longrope\""), "rope_scaling.type is \"longrope\""));
  CHECK(contains(refusal("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"), "num_key_value_heads is 3"));
  CHECK(contains(refusal("\"factor\": 4.0", "\"factor\": -4"), "rope_scaling.factor is -4"));
  CHECK(contains(refusal("\"use_sliding_window\": false", "\"layer_types\": [\"full_attention\", \"other\"]"),
                 "layer_types[1]"));
  CHECK(contains(refusal("torch_dtype\": \"bfloat16\"", "quantization_config\": {}"), "quantization_config is {}"));
  CHECK(contains(refusal("\"qwen3\"", "\"qwen3\", \"pad_token_id\": -101"), "pad_token_id is -101"));
  CHECK(contains(refusal("\"vocab_size\": 100, ", ""), "vocab_size is missing"));
  CHECK(message_of<DataError>([] { (void)models::llama_options("/none/config.json"); }) != "");

  // Damage of one byte is read or refused by DataError.
  const std::string whole = config_text;
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    for (const char byte : {'9', '-', '"', '}', 'x'}) {
      std::string text = whole;
      text[i] = byte;
      try {
        (void)models::llama_options(io::JsonNode(text, "config.json"));
      } catch (const DataError&) {}
    }
  }
}
