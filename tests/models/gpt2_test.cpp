// Runs on: host, cuda (models).
#include <locus/models/gpt2.hpp>
#include <locus/models/gpt2_config.hpp>

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/norm.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>

#include <golden/models.hpp>
#include <support/temporary_folder.hpp>

using namespace locus;
using namespace locus_test;

namespace {
constexpr models::GPT2Options small{.vocab_size = 13, .n_positions = 8, .n_embd = 12, .n_layer = 2, .n_head = 3};

/// The tokens of make_gpt2.py.
template <class D>
Tensor<std::int64_t, D> tokens() {
  return golden::tokens_of<D>({3, 5});
}
}  // namespace

LOCUS_DEVICE_TEST("logits, gradients and names of GPT-2 are Hugging Face's", D) {
  const auto model = models::gpt2<float, D>(small);
  const auto parameters = model.named_parameters();
  CHECK(static_cast<double>(parameters.size()) == golden::reference("gpt2_parameters").values[0]);
  for (const auto& [name, parameter] : parameters) {
    std::vector<double> extents;
    for (const std::int64_t extent : parameter.shape()) extents.push_back(static_cast<double>(extent));
    CHECK(extents == golden::reference("gpt2_shape_" + name).values);
  }
  CHECK(model.children().size() == 1);
  CHECK(model.children()[0].second.parameters().size() == parameters.size());
  golden::fill(model);
  CHECK_CLOSE(model(tokens<D>()), golden::reference("gpt2_logits"), 1e-5);
  const auto logits = model(frozen(trace(tokens<D>())));
  CHECK_CLOSE(logits, golden::reference("gpt2_logits"), 1e-5);
  golden::check_gradients("gpt2", model, flatten(logits, 0, 1));
}

LOCUS_DEVICE_TEST("the loss is the cross-entropy of the logits, with the gradients of tied weights added up", D) {
  const auto model = models::gpt2<double, D>(small);
  const auto ids = tokens<D>(), x = ids.slice(1, 0, 4), next = ids.slice(1, 1);
  const auto whole = nn::cross_entropy(flatten(model(frozen(trace(x))), 0, 1), next.contiguous().flatten());
  whole.backward();
  std::vector<Reference> expected;
  for (const auto& parameter : model.parameters()) expected.push_back(reference(parameter.grad()));
  model.zero_grad();
  const auto loss = model.loss(frozen(trace(x)), next);
  CHECK_CLOSE(loss, reference(whole), 1e-12);
  CHECK_CLOSE(model.loss(x, next), reference(whole), 1e-12);
  loss.backward();
  std::size_t i = 0;
  for (const auto& parameter : model.parameters()) CHECK_CLOSE(parameter.grad(), expected[i++], 1e-11);
  const auto narrow = model.template as<bfloat16>();
  CHECK_CLOSE(narrow.loss(x, next, {.reduction = Reduction::none}),
              reference(model.loss(x, next, {.reduction = Reduction::none})), 2e-2);
}

LOCUS_DEVICE_TEST("GPT-2 drops in training alone, is copied and converted, and learns a text by heart", D) {
  manual_seed(5);
  const auto model = models::gpt2<float, D>(small);
  const auto ids = tokens<D>();
  const auto expected = reference(model(ids));
  CHECK(reference(model(trace(ids))).values != expected.values);
  CHECK_CLOSE(model.clone()(ids), expected, 0);
  for (double models::GPT2Options::*const p :
       {&models::GPT2Options::embd_pdrop, &models::GPT2Options::attn_pdrop, &models::GPT2Options::resid_pdrop}) {
    auto only = small;
    only.embd_pdrop = only.attn_pdrop = only.resid_pdrop = 0;
    for (const double value : {0., 0.5}) {
      only.*p = value;
      const auto copy = models::gpt2<float, D>(only).template as<double>();
      CHECK((reference(copy(trace(ids))).values != reference(copy(ids)).values) == (value > 0));
    }
  }
  CHECK_CLOSE(model.template as<double>()(ids), expected, 1e-5);
  auto changed = ids.template to<Cpu>().clone();
  changed(0, 4) = (changed(0, 4) + 1) % 13;  // logits of earlier positions do not see it
  const auto other = model(changed.template to<D>());
  CHECK_CLOSE(other.slice(1, 0, 4), reference(model(ids).slice(1, 0, 4)), 0);
  CHECK(reference(other).values != expected.values);

  auto options = small;
  options.embd_pdrop = options.attn_pdrop = options.resid_pdrop = 0;
  const auto learner = models::gpt2<float, D>(options);
  optim::Adam optimizer{learner.parameters(), {.lr = 0.02}};
  const auto loss_of = [&](const auto& x) { return learner.loss(x, ids.slice(1, 1)); };
  const double first = reference(loss_of(ids.slice(1, 0, 4).contiguous())).values[0];
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    loss_of(trace(ids.slice(1, 0, 4).contiguous())).backward();
    optimizer.step();
  }
  CHECK(first > 2.4);
  CHECK(reference(loss_of(ids.slice(1, 0, 4).contiguous())).values[0] < 0.6);
}

LOCUS_DEVICE_TEST("a captured step of two passes, in bfloat16 with float masters, equals the step", D) {
  const auto ids = tokens<D>();
  const Tensor<std::int64_t, D> x = ids.slice(1, 0, 4).contiguous(), next = ids.slice(1, 1).contiguous();
  const auto losses = [&](bool is_captured) {
    manual_seed(7);
    const auto model = models::gpt2<float, D>(small).template as<bfloat16>();
    optim::AdamW optimizer{model.parameters(), {.lr = 0.01}};
    const auto eager = [&] {
      const Tensor<float, D> sum = Tensor<float, D>(Shape{}).fill_(0.f);
      optimizer.zero_grad();
      for (const std::int64_t first : {0, 1}) {
        const auto rows = [&](const auto& all) { return all.slice(0, first, first + 2); };
        const Traced loss = model.loss(trace(rows(x)), rows(next)) * 0.5f;
        loss.backward();
        sum += loss.value();
      }
      optim::clip_grad_norm_(model.parameters(), 0.5);
      optimizer.step();
      return sum;
    };
    auto captured = capture(eager, D{});
    std::vector<double> found;
    for (int i = 0; i < 5; ++i) found.push_back(reference(is_captured ? captured() : eager()).values[0]);
    return found;
  };
  const auto expected = losses(false);
  CHECK(losses(true) == expected);
  CHECK(expected[4] < expected[0]);
}

TEST_CASE("GPT-2 begins with Hugging Face's initial values, and its small form has 124 million parameters") {
  manual_seed(3);
  const auto model =
      models::gpt2<float>({.vocab_size = 50, .n_positions = 40, .n_embd = 48, .n_layer = 8, .n_head = 4});
  const auto deviation_of = [](const auto& weight) {
    return norm(weight.value()).item() / std::sqrt(static_cast<double>(weight.elements()));
  };
  CHECK(deviation_of(model.transformer.wte.weight) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation_of(model.transformer.wpe.weight) == doctest::Approx(0.02).epsilon(0.05));
  const auto& block = model.transformer.h[7];
  CHECK(deviation_of(block.attn.c_attn.weight) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation_of(block.mlp.c_fc.weight) == doctest::Approx(0.02).epsilon(0.05));
  CHECK(deviation_of(block.attn.c_proj.weight) == doctest::Approx(0.005).epsilon(0.05));
  CHECK(deviation_of(block.mlp.c_proj.weight) == doctest::Approx(0.005).epsilon(0.05));
  CHECK(deviation_of(block.attn.c_attn.bias) == 0);
  const auto elements_of = [](const models::GPT2Options& o) {
    const std::int64_t width = o.n_embd, of_block = 12 * width * width + 13 * width;
    return (o.vocab_size + o.n_positions + 2) * width + o.n_layer * of_block;
  };
  std::int64_t elements = 0;
  for (const auto& parameter : model.parameters()) elements += parameter.elements();
  CHECK(elements == elements_of({.vocab_size = 50, .n_positions = 40, .n_embd = 48, .n_layer = 8, .n_head = 4}));
  CHECK(elements_of({}) == 124439808);
}

TEST_CASE("what is wrong with GPT-2 or its tokens is said") {
  CHECK_THROWS_WITH_AS((void)models::gpt2<float>({.vocab_size = 0}), "GPT2: .vocab_size = 0; expected at least 1",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)models::gpt2<float>({.n_embd = 8, .n_head = 3}),
                       "GPT2: .n_head = 3 for .n_embd = 8; expected heads that divide the width", ArgumentError);
  CHECK_THROWS_AS((void)models::gpt2<float>({.n_layer = 0}), ArgumentError);
  CHECK_THROWS_AS((void)models::gpt2<float>({.n_inner = -1}), ArgumentError);
  CHECK_THROWS_AS((void)models::gpt2<float>({.resid_pdrop = 2}), ArgumentError);
  const auto model = models::gpt2<float>(small);
  CHECK(model(zeros<std::int64_t>({0, 5})).shape() == Shape{0, 5, 13});
  CHECK(model(zeros<std::int64_t>({2, 0})).shape() == Shape{2, 0, 13});
  CHECK_THROWS_WITH_AS((void)model(zeros<std::int64_t>({2, 9})),
                       "GPT2: tokens of shape (2, 9); expected (batch, length) of a length up to 8", ShapeError);
  CHECK_THROWS_AS((void)model(zeros<std::int64_t>({5})), ShapeError);
  CHECK_THROWS_AS((void)model(full<std::int64_t>({1, 2}, 13)), IndexError);
}

TEST_CASE("the names of published files of GPT-2 become those of the model") {
  const auto model = models::gpt2<float, Cpu>(small), other = models::gpt2<float, Cpu>(small);
  nn::StateDict<Cpu> published;
  for (const auto& entry : nn::state_dict(model).without_prefix("transformer.")) published.add(entry);
  published.add("h.0.attn.bias", ones({1, 1, 8, 8}));
  published.add("h.0.attn.masked_bias", ones({}));
  const auto state = nn::renamed_for(model, published);
  CHECK(nn::load_state_dict(other, state).unexpected.empty());
  CHECK_CLOSE(other(tokens<Cpu>()), reference(model(tokens<Cpu>())));
  auto saved = nn::state_dict(model);
  saved.add("lm_head.weight", saved.get<float>("transformer.wte.weight"));
  CHECK(nn::load_state_dict(other, nn::renamed_for(model, saved)).missing.empty());
}

TEST_CASE("config.json of GPT-2 is read, written, and refused by its keys") {
  const TemporaryFolder folder;
  auto options = small;
  options.n_inner = 20, options.attn_pdrop = 0.25, options.layer_norm_epsilon = 1e-6;
  models::save_config(folder.path, options, {.eos_token_id = 12});
  const auto read = models::gpt2_options(folder.path);
  CHECK(read.n_inner == 20);
  CHECK(read.attn_pdrop == 0.25);
  CHECK(read.layer_norm_epsilon == 1e-6);
  CHECK(models::model_type(folder.path) == "gpt2");
  CHECK(models::end_tokens(folder.path) == std::vector<std::int64_t>{12});
  models::save_config(folder.path / "again.json", read, {.eos_token_id = 12});
  CHECK(content_of(folder.path / "again.json") == content_of(folder.path / "config.json"));
  (void)folder.write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  CHECK(models::end_tokens(folder.path) == std::vector<std::int64_t>{3, 4});
  const auto refused = [&](const char* text, const char* why) {
    CHECK_THROWS_WITH_AS((void)models::gpt2_options(folder.write("other.json", text)), doctest::Contains(why), Error);
  };
  refused(R"({"model_type": "llama"})", "model_type is \"llama\"; expected \"gpt2\"");
  refused(R"({"activation_function": "relu"})", "activation_function is \"relu\"");
  refused(R"({"n_embd": 10, "n_head": 3})", ".n_head = 3 for .n_embd = 10");
  refused(R"({"n_layer": 1000000})", "n_layer is 1000000; expected a whole number from 1 to 100000");
  refused(R"({"attn_pdrop": 2})", "attn_pdrop is 2; expected a number from 0 to 1");
}

LOCUS_DEVICE_TEST("documents that share a sequence of GPT-2 do not see each other", D) {
  auto options = small;
  options.embd_pdrop = options.attn_pdrop = options.resid_pdrop = 0;
  const auto model = models::gpt2<double, D>(options);
  const Tensor<std::int64_t, D> ids = tokens<D>().slice(0, 0, 1).slice(1, 0, 5);
  const auto documents = from<std::int64_t>({{0, 0, 1, 1, 1}}).template to<D>();
  const auto positions = from<std::int64_t>({{0, 1, 0, 1, 2}}).template to<D>();
  const Tensor<double, D> alone = concat({model(ids.slice(1, 0, 2)), model(ids.slice(1, 2))}, 1);
  CHECK_CLOSE(model(ids, {.documents = documents, .positions = positions}), reference(alone), 1e-12);
  CHECK_CLOSE(model(trace(ids), {.documents = documents, .positions = positions.select(0, 0)}).value(),
              reference(alone), 1e-12);

  const auto next = from<std::int64_t>({{3, -100, 4, 5, 6}}).template to<D>();
  model.loss(trace(ids), next, {}, {.documents = documents, .positions = positions}).backward();
  const auto packed = reference(model.transformer.wte.weight.grad());
  model.zero_grad();
  const auto part = [&](std::int64_t begin, std::int64_t end, double share) {
    (model.loss(trace(ids.slice(1, begin, end)), next.slice(1, begin, end)) * share).backward();
  };
  part(0, 2, 0.25), part(2, 5, 0.75);
  CHECK_CLOSE(model.transformer.wte.weight.grad(), packed, 1e-12);

  CHECK_THROWS_WITH_AS((void)model(ids, {.documents = documents.slice(1, 0, 4)}),
                       "GPT2: .documents of shape (1, 4); expected (1, 5), as the tokens", ShapeError);
  CHECK_THROWS_WITH_AS((void)model(ids, {.positions = positions.slice(1, 0, 4)}),
                       "GPT2: .positions of shape (1, 4); expected (1, 5) or (5,)", ShapeError);
  if constexpr (HostAccessible<D>) {
    CHECK_THROWS_AS((void)model(ids, {.positions = positions + 7}), IndexError);
  } else {
    CHECK(std::isnan(reference(model(ids, {.positions = positions + 7})).values.back()));
  }
}

LOCUS_DEVICE_TEST("GPT-2 with a cache gives the logits of all tokens", D) {
  const auto model = models::gpt2<double, D>(small);
  const auto ids = tokens<D>();
  const Tensor<double, D> all = model(ids);
  const auto cache = model.cache({.batch = 3});
  CHECK(cache.capacity() == 8);
  CHECK(cache.bytes() == 2 * 2 * 3 * 8 * 12 * 8);
  CHECK_CLOSE(model(ids.slice(1, 0, 3), cache), reference(all.slice(1, 0, 3)), 1e-12);
  CHECK_CLOSE(model.next_logits(ids.slice(1, 3, 4), cache), reference(all.select(1, 3)), 1e-12);
  CHECK_CLOSE(model(ids.slice(1, 4), cache), reference(all.slice(1, 4)), 1e-12);
  CHECK(cache.lengths() == std::vector<std::int64_t>{5, 5, 5});

  // Prompts of 3, 1 and 2 tokens, then a token each, but for the second sequence.
  cache.reset();
  const Tensor<double, D> first = model.next_logits(ids.slice(1, 0, 3), cache, {3, 1, 2});
  const Tensor<std::int64_t, D> next({3, 1}, ids.device());
  const std::int64_t lengths[] = {3, 1, 2};
  for (std::int64_t b = 0; b < 3; ++b) {
    CHECK_CLOSE(first.select(0, b), reference(all.select(0, b).select(0, lengths[b] - 1)), 1e-12);
    next.select(0, b).copy_(ids.select(0, b).slice(0, lengths[b], lengths[b] + 1));
  }
  const Tensor<double, D> second = model.next_logits(next, cache, {1, 0, 1});
  for (const std::int64_t b : {0, 2})
    CHECK_CLOSE(second.select(0, b), reference(all.select(0, b).select(0, lengths[b])), 1e-12);
  CHECK(cache.lengths() == std::vector<std::int64_t>{4, 1, 3});
  CHECK_CLOSE(model.next_logits(next, cache).select(0, 1), reference(all.select(0, 1).select(0, 1)), 1e-12);

  cache.reset();
  auto step = capture([&] { return model.next_logits(next, cache); });
  for (std::int64_t t = 0; t < 5; ++t) {
    next.copy_(ids.slice(1, t, t + 1));
    CHECK_CLOSE(step(), reference(all.select(1, t)), 1e-12);
  }
}
