// Runs on: host.
#include <locus/models/bert.hpp>
#include <locus/models/bert_config.hpp>

#include <locus/io/load_into.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/ops/join.hpp>
#include <locus/optim/adam.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>
#include <support/temporary_folder.hpp>

#include <golden/models.hpp>

#include <set>

using namespace locus;
using namespace locus_test;

namespace {

constexpr models::BertOptions small{.vocab_size = 13,
                                    .hidden_size = 12,
                                    .num_hidden_layers = 2,
                                    .num_attention_heads = 3,
                                    .intermediate_size = 20,
                                    .max_position_embeddings = 8,
                                    .num_labels = 4};
using Words = models::BertForMaskedLM<float, Cpu>;
using Classes = models::BertForSequenceClassification<float, Cpu>;

/// The tokens and inputs of make_bert.py.
template <class D = Cpu>
Tensor<std::int64_t, D> tokens() {
  return golden::tokens_of<D>({3, 5});
}
template <class D>
models::BertInputs<float, D> inputs() {
  const auto kept = from<std::int64_t>({1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0}).reshape({3, 5});
  const auto types = from<std::int64_t>({0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1}).reshape({3, 5});
  return {.token_type_ids = types.template to<D>(),
          .position_ids = arange<std::int64_t>(2, 7, 1).template to<D>(),
          .attention_mask = kept.template to<D>() == 1};
}

/// A model's state under Hugging Face's names, with the numbers of make_gpt2.fill.
template <class M>
nn::StateDict<Cpu> published(const M& model) {
  nn::StateDict<Cpu> state;
  for (const auto& entry : models::bert_file_state(nn::state_dict(model).template to<Cpu>()))
    state.add(entry.name, golden::parameter_of<Cpu>(entry.name, entry.shape));
  return state;
}
template <class M>
void load_published(const M& model) {
  nn::load_state_dict(model, nn::renamed_for(model, published(model)).template to<device_of<M>>());
}
template <class M, class D>
void check_gradients(const std::string& name, const M& model, const Traced<float, D>& logits) {
  const Tensor<std::int64_t, Cpu> labels({logits.size(0)});
  for (std::int64_t i = 0; i < labels.elements(); ++i) labels.data()[i] = 3 * i % logits.size(1);
  nn::cross_entropy(logits, labels.template to<D>()).backward();
  nn::StateDict<Cpu> own;
  for (const auto& [its_name, parameter] : model.named_parameters())
    own.add(its_name, parameter.grad().template to<Cpu>());
  const auto gradients = models::bert_file_state(own);
  for (const auto& entry : gradients) {
    const auto gradient = gradients.template get<float>(entry.name);
    if (entry.name.ends_with("key.bias"))
      CHECK_CLOSE(gradient, Reference(gradient.shape(), std::vector<double>(12)), 1e-7);
    else golden::check_shown(name + "_gradient_" + entry.name, gradient);
  }
}

}  // namespace

LOCUS_DEVICE_TEST("logits and gradients of BERT are Hugging Face's, under its names", D) {
  const models::BertForMaskedLM<float, D> words(small);
  load_published(words);
  CHECK(words.named_parameters().size() == 3 + 2 + 2 * 12 + 5);
  CHECK_CLOSE(words(tokens<D>()), golden::reference("bert_words_logits_of_tokens"), 1e-5);
  CHECK_CLOSE(words(tokens<D>(), inputs<D>()), golden::reference("bert_words_logits"), 1e-5);
  const Traced logits = words(frozen(trace(tokens<D>())), inputs<D>());
  CHECK_CLOSE(logits, golden::reference("bert_words_logits"), 1e-5);
  check_gradients("bert_words", words, Traced(flatten(logits, 0, 1)));

  const models::BertForSequenceClassification<float, D> classes(small);
  load_published(classes);
  CHECK_CLOSE(classes(tokens<D>()), golden::reference("bert_classes_logits_of_tokens"), 1e-5);
  const Traced scores = classes(frozen(trace(tokens<D>())), inputs<D>());
  CHECK_CLOSE(scores, golden::reference("bert_classes_logits"), 1e-5);
  check_gradients("bert_classes", classes, scores);
  const auto narrow = classes.template as<bfloat16>();
  CHECK_CLOSE(narrow(tokens<D>()), golden::reference("bert_classes_logits_of_tokens"), 5e-2);

  auto options = small;
  options.hidden_act = nn::TransformerActivation::relu;
  const models::BertForMaskedLM<float, D> other(options);
  load_published(other);
  CHECK_CLOSE(other(tokens<D>()), golden::reference("bert_relu_logits"), 1e-5);
}

TEST_CASE("files of BERT load whole, under older names, into its parts, and are written back") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "model.safetensors";
  const Words words(small);
  auto state = published(words);
  const auto expected = reference(words(tokens()));
  state.add("cls.predictions.decoder.weight", state.get<float>("bert.embeddings.word_embeddings.weight"));
  state.add("cls.predictions.decoder.bias", state.get<float>("cls.predictions.bias"));
  state.add("cls.seq_relationship.weight", zeros({2, 12}));
  state.add("bert.pooler.dense.weight", full({12, 12}, 0.1));
  state.add("bert.pooler.dense.bias", full({12}, 0.2));
  state.add("bert.embeddings.position_ids", arange<std::int64_t>(8));
  nn::StateDict<Cpu> old;
  for (const auto& entry : state) {
    const bool is_norm = entry.name.find("LayerNorm") != entry.name.npos;
    const std::string stem = entry.name.substr(0, entry.name.rfind('.'));
    old.add({is_norm ? stem + (entry.name.ends_with("bias") ? ".beta" : ".gamma") : entry.name, entry.type, entry.shape,
             entry.bytes});
  }
  io::save(file, old);
  CHECK(io::load_into(words, folder.path).missing.empty());
  CHECK_CLOSE(words(tokens()), golden::reference("bert_words_logits_of_tokens"), 1e-5);

  const models::BertModel<float> bert(small);
  io::load_into(bert, file);
  const auto encoder = models::bert_file_state(nn::state_dict(bert));  // as of BertModel.save_pretrained(): no prefix
  CHECK(encoder.contains("encoder.layer.1.attention.self.value.bias"));
  CHECK(encoder.contains("embeddings.LayerNorm.weight"));
  CHECK(encoder.size() == 3 + 2 + 2 * 16 + 2);
  io::save(file, encoder);
  const Classes classes(small);
  const auto names = io::load_into(classes, file, {.strict = false});
  CHECK(names.missing == std::vector<std::string>{"classifier.weight", "classifier.bias"});
  CHECK(names.unexpected.empty());
  CHECK_CLOSE((*classes.bert.pooler)(classes.bert(tokens())), reference((*bert.pooler)(bert(tokens()))), 1e-5);

  io::save(file, nn::state_dict(words));  // own names load too
  const Words copy(small);
  io::load_into(copy, file);
  CHECK_CLOSE(copy(tokens()), reference(words(tokens())), 0);
  state.erase("cls.predictions.decoder.weight");
  state.add("cls.predictions.decoder.weight", zeros({13, 12}));
  io::save(file, state);
  CHECK_THROWS_WITH_AS((void)io::load_into(copy, file), doctest::Contains("'cls.predictions.decoder.weight' differ in"),
                       DataError);
  CHECK_THROWS_WITH_AS((void)nn::renamed_for(copy, state), doctest::Contains("differ, and are both part 0"),
                       ArgumentError);
}

TEST_CASE("texts that are padded or packed have the vectors that they have alone") {
  const Words model(small);
  load_published(model);
  const auto all = tokens();
  const auto first = reference(model(all.slice(0, 0, 1).slice(1, 0, 3))), second = reference(model(all.slice(0, 1, 2)));
  const auto row = concat({all.slice(0, 0, 1).slice(1, 0, 3), all.slice(0, 1, 2)}, 1);
  const auto text = from<std::int64_t>({0, 0, 0, 1, 1, 1, 1, 1});
  const auto same = (text.unsqueeze(0) == text.unsqueeze(1)).eval();
  const auto packed =
      model(row, {.position_ids = from<std::int64_t>({0, 1, 2, 0, 1, 2, 3, 4}), .attention_mask = same.unsqueeze(0)});
  CHECK_CLOSE(packed.slice(1, 0, 3), first, 1e-5);
  CHECK_CLOSE(packed.slice(1, 3), second, 1e-5);
  const auto padded = model(row, {.attention_mask = text.unsqueeze(0) == 0});
  CHECK_CLOSE(padded.slice(1, 0, 3), first, 1e-5);
}

TEST_CASE("BERT drops in training alone, by its own probabilities, begins as Hugging Face's, and learns") {
  manual_seed(4);
  const Classes model(small);
  const auto expected = reference(model(tokens()));
  CHECK(reference(model(trace(tokens()))).values != expected.values);
  CHECK_CLOSE(model.clone()(tokens()), expected, 0);
  auto options = small;
  options.hidden_dropout_prob = options.attention_probs_dropout_prob = 0;
  for (int which = 0; which < 4; ++which) {
    auto only = options;
    if (which == 1) only.hidden_dropout_prob = 0.5;
    if (which == 2) only.attention_probs_dropout_prob = 0.5;
    if (which == 3) only.classifier_dropout = 0.5;
    const Classes dropping(only);
    CHECK((reference(dropping(trace(tokens()))).values != reference(dropping(tokens())).values) == (which > 0));
  }
  CHECK(model.bert.layers[0].self_attn.in_proj_bias.value().data()[5] == 0);
  CHECK(model.bert.embeddings.word_embeddings.weight.value().data()[3] == 0);  // of the padding
  double squares = 0;
  const auto weight = model.bert.layers[1].self_attn.in_proj_weight.value();
  for (std::int64_t i = 0; i < weight.elements(); ++i) squares += double(weight.data()[i]) * double(weight.data()[i]);
  CHECK(std::sqrt(squares / double(weight.elements())) == doctest::Approx(0.02).epsilon(0.1));

  options.num_hidden_layers = 1;
  const Classes learner(options);
  optim::Adam optimizer{learner.parameters(), {.lr = 0.01}};
  const auto labels = from<std::int64_t>({2, 0, 3});
  for (int step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    nn::cross_entropy(learner(trace(tokens())), labels).backward();
    optimizer.step();
  }
  CHECK(nn::cross_entropy(learner(tokens()), labels).item() < 0.3);
}

TEST_CASE("observers see each layer of BERT that is called with a mask") {
  struct Calls final : nn::detail::LayerObserver {
    std::set<std::pair<const void*, const std::type_info*>> layers;
    void enter(const nn::detail::LayerId& layer, Span<const nn::detail::SeenTensor>) override {
      layers.emplace(layer.address, layer.type);
    }
    void result(const nn::detail::SeenTensor&) override {}
    void leave() noexcept override {}
  } calls;
  const Words model(small);
  {
    const nn::detail::Observing observing(calls);
    (void)model(tokens(), inputs<Cpu>());
  }
  constexpr int of_layer = 1 + 2 + 2 + 2;  // itself, attention with its projection, linear layers, norms
  CHECK(calls.layers.size() == 2 + 3 + 2 * of_layer + 3);  // the embeddings and the predictions are three each
}

TEST_CASE("config.json of BERT is read, and its keys are named where they do not fit") {
  const TemporaryFolder folder;
  const std::string known =
      R"("model_type":"bert","vocab_size":13,"hidden_size":12,"num_hidden_layers":2,"num_attention_heads":3,)"
      R"("intermediate_size":20,"max_position_embeddings":8,"hidden_act":"relu","layer_norm_eps":1e-6,)"
      R"("classifier_dropout":0.25,"pad_token_id":null,"id2label":{"0":"no","1":"yes","2":"?"},"use_cache":true)";
  (void)folder.write("config.json", "{" + known + "}");
  const models::BertOptions o = models::bert_options(folder.path);
  CHECK(o.vocab_size == 13);
  CHECK(o.hidden_size == 12);
  CHECK(o.intermediate_size == 20);
  CHECK(o.max_position_embeddings == 8);
  CHECK(o.type_vocab_size == 2);
  CHECK(o.hidden_act == nn::TransformerActivation::relu);
  CHECK(o.layer_norm_eps == 1e-6);
  CHECK(o.classifier_dropout == 0.25);
  CHECK_FALSE(o.pad_token_id.has_value());
  CHECK(o.num_labels == 3);
  models::save_config(folder.path / "saved.json", o);
  models::save_config(folder.path, models::bert_options(folder.path / "saved.json"));
  CHECK(content_of(folder.path / "config.json") == content_of(folder.path / "saved.json"));
  const auto refused = [&](const std::string& text, const char* why) {
    CAPTURE(why);
    const std::string path = folder.write("other.json", text);
    CHECK_THROWS_WITH_AS((void)models::bert_options(path), doctest::Contains(why), Error);
  };
  refused(R"({"model_type":"roberta"})", "model_type is \"roberta\"; expected \"bert\"");
  refused(R"({"hidden_act":"gelu_new"})", "hidden_act is \"gelu_new\"; expected \"gelu\" or \"relu\"");
  refused(R"({"position_embedding_type":"relative_key"})", "position_embedding_type is \"relative_key\"");
  refused(R"({"is_decoder":true})", "is_decoder is true; expected false");
  refused(R"({"tie_word_embeddings":false})", "tie_word_embeddings is false; expected true");
  refused(R"({"hidden_size":"large"})", "hidden_size is \"large\"; expected a whole number");
  refused(R"({"hidden_size":10,"num_attention_heads":3})", ".num_attention_heads = 3 for .hidden_size = 10");
  refused(R"({"classifier_dropout":2})", "classifier_dropout is 2; expected a number from 0 to 1");
  refused(R"({"vocab_size":0})", "vocab_size is 0; expected a whole number from 1 to 2147483648");
  refused("[]", "expected an object");
  refused("", "other.json");
}

TEST_CASE("inputs of BERT that do not fit are said") {
  const Words model(small);
  CHECK_THROWS_WITH_AS((void)model(zeros<std::int64_t>({2, 9})),
                       "BERT: tokens of shape (2, 9); expected (batch, length) of a length up to 8", ShapeError);
  CHECK_THROWS_AS((void)model(zeros<std::int64_t>({5})), ShapeError);
  CHECK_THROWS_AS((void)model(full<std::int64_t>({1, 2}, 13)), IndexError);
  const auto refused = [&](const models::BertInputs<float, Cpu>& given, const char* why) {
    CHECK_THROWS_WITH_AS((void)model(tokens(), given), why, ShapeError);
  };
  refused({.token_type_ids = zeros<std::int64_t>({5})},
          "BERT: token_type_ids of shape (5,); expected (3, 5), as the tokens");
  refused({.position_ids = zeros<std::int64_t>({3})}, "BERT: position_ids of shape (3,); expected (3, 5) or (5,)");
  refused({.attention_mask = full<bool>({5, 5}, true)},
          "BERT: attention_mask of shape (5, 5); expected (3, 5) or (3, 5, 5)");
  CHECK_THROWS_AS((void)Words({.hidden_size = 10, .num_attention_heads = 3}), ArgumentError);
  CHECK_THROWS_AS((void)Words({.hidden_dropout_prob = 2}), ArgumentError);
}
