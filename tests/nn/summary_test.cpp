// Runs on: host.
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/lenet5.hpp>
#include <locus/models/resnet.hpp>

#include <doctest/doctest.h>

#include <sstream>

#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {
struct Twice : nn::Layer<Twice, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4}, unused{4, 4};
  auto forward(const auto& x) const { return inner(inner(x)); }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("unused", unused);
  }
};
struct Noisy : nn::Layer<Noisy, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
  auto forward(const auto& x) const { return inner(x + randn<float>({4})); }
  void members(const auto& visit) const { visit("inner", inner); }
};
struct Plain {  // without a base: it has the address of its first member
  nn::Linear<float, Cpu> first{4, 3}, second{3, 2};
  auto forward(const auto& x) const { return second(first(x)); }
  void members(const auto& visit) const {
    visit("first", first);
    visit("second", second);
  }
};
struct Base : nn::Layer<Base, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 2};
  auto forward(const auto& x) const { return inner(x); }
  void members(const auto& visit) const { visit("inner", inner); }
};
struct Derived : Base {};  // is called as its base
struct Outer {
  nn::BatchNorm1d<float, Cpu> norm{4};
  Derived last;
  auto forward(const auto& x) const { return last(norm(x)); }
  void members(const auto& visit) const {
    visit("last", last);
    visit("norm", norm);
  }
};
/// Calls its attention by `call`.
template <class F>
struct Attends : nn::Layer<Attends<F>, float, Cpu> {
  nn::MultiheadAttention<float, Cpu> attention{8, 2};
  F call;
  Attends(std::nullptr_t, const F& f) : call(f) {}
  auto forward(const auto& x) const { return call(attention, x); }
  void members(const auto& visit) const { visit("attention", attention); }
};
struct Lists : nn::Layer<Lists, float, Cpu> {
  std::vector<nn::Linear<float, Cpu>> up{{4, 4}, {4, 4}}, down{{4, 4}};
  auto forward(const auto& x) const { return down[0](up[1](up[0](x))); }
  void members(const auto& visit) const {
    visit("up", up);
    visit("down", down);
  }
};
const nn::LayerSummary& row(const nn::Summary& summary, std::string_view name) {
  for (const auto& each : summary.layers)
    if (each.name == name) return each;
  FAIL("no layer of this name");
  return summary.layers[0];
}
}  // namespace

TEST_CASE("a summary lists layers, their shapes, parameters and multiply-adds") {
  const nn::Sequential<float, Cpu> model{nn::Flatten{},    nn::Linear<float, Cpu>{784, 32},
                                         nn::ReLU{},       nn::BatchNorm1d<float, Cpu>{32},
                                         nn::Dropout{0.5}, nn::Linear<float, Cpu>{32, 10}};
  model.requires_grad_(false, "1.weight");
  manual_seed(5);
  const auto mean = model.named_buffers()[0].buffer.bytes().clone();
  const nn::Summary summary = nn::summary(model, ones<float>({2, 28, 28}));
  REQUIRE(summary.layers.size() == 7);
  CHECK(summary.layers[0].kind == "Sequential");
  CHECK(row(summary, "1").output == Shape{2, 32});
  CHECK(row(summary, "1").multiply_adds == 2 * 784 * 32);
  CHECK(row(summary, "2").kind == "ReLU");
  CHECK(row(summary, "2").calls == 1);
  CHECK(row(summary, "3").buffer_bytes == 2 * 32 * 4 + 8);
  CHECK(summary.parameters == 784 * 32 + 32 + 64 + 32 * 10 + 10);
  CHECK(summary.frozen == 784 * 32);
  CHECK(summary.multiply_adds == 2 * (784 * 32 + 32 * 10));
  CHECK(summary.activation_bytes == 4 * 2 * (784 + 4 * 32 + 10));
  CHECK(to_string(mean) == to_string(model.named_buffers()[0].buffer.bytes()));
  const Tensor<float, Cpu> after = rand<float>({4});
  manual_seed(5);
  CHECK(to_string(after) == to_string(rand<float>({4})));
  std::ostringstream out;
  out << summary;
  CHECK(contains(out.str(), "  1: Linear       (2, 32)       25,120  100,480         50,176\n"));
  CHECK(contains(out.str(), "parameters 25,514, trainable 426, frozen 25,088\n"));
}
TEST_CASE("a summary draws no random numbers of the program") {
  const Noisy model;
  manual_seed(7);
  const Tensor expected = randn<float>({3});
  manual_seed(7);
  (void)nn::summary(model, ones<float>({1, 4}));
  CHECK(allclose(randn<float>({3}), expected));
}

TEST_CASE("layers that are called twice, or not at all; operations of a layer around them are its own") {
  const nn::Summary summary = nn::summary(Twice{}, ones<float>({3, 4}));
  CHECK(row(summary, "inner").calls == 2);
  CHECK(row(summary, "inner").multiply_adds == 2 * 3 * 4 * 4);
  CHECK(row(summary, "unused").calls == 0);
  CHECK(row(summary, "").multiply_adds == 0);
  CHECK(contains(summary.text(), "unused: Linear  not called"));
  CHECK(contains(summary.text(), "(3, 4) x 2"));
}
TEST_CASE("a layer and its first member, which have one address, have rows of their own") {
  const nn::Summary plain = nn::summary(nn::Sequential<float, Cpu>{Plain{}}, ones<float>({1, 4}));
  CHECK(row(plain, "0").calls == 1);
  CHECK(row(plain, "0").multiply_adds == 0);
  CHECK(row(plain, "0.first").calls == 1);
  CHECK(row(plain, "0.first").multiply_adds == 12);
  CHECK(plain.activation_bytes == 4 * (3 + 2));
  const nn::Summary outer = nn::summary(nn::Sequential<float, Cpu>{Outer{}}, ones<float>({3, 4}));
  CHECK(row(outer, "0").calls == 1);
  CHECK(row(outer, "0").output == Shape{3, 2});
  CHECK(row(outer, "0.norm").calls == 1);
  CHECK(row(outer, "0.last").calls == 1);
  CHECK(row(outer, "0.last.inner").multiply_adds == 3 * 4 * 2);
}
TEST_CASE("attention with masks, and with its weights, is called") {
  const auto row = [](const auto& forward) {
    return nn::summary(Attends<std::remove_cvref_t<decltype(forward)>>(nullptr, forward), randn({2, 3, 8}))
        .layers.at(1);
  };
  const auto masked = [](const auto& attention, const auto& x) { return attention(x, {.is_causal = true}); };
  const auto of_three = [](const auto& attention, const auto& x) { return attention(x, x, x, {.is_causal = true}); };
  const auto weighted = [](const auto& attention, const auto& x) { return attention.with_weights(x).output; };
  for (const auto& layer : {row(masked), row(of_three), row(weighted)}) {
    CHECK(layer.output == Shape{2, 3, 8});
    CHECK(layer.multiply_adds >= 2 * 3 * 8 * 24);  // of its projections, but the last
  }
}

TEST_CASE("the members of a list are shown with the list's name") {
  const std::string text = nn::summary(Lists{}, ones<float>({3, 4})).text();
  CHECK(contains(text, "  up.0: Linear "));
  CHECK(contains(text, "  up.1: Linear "));
  CHECK(contains(text, "  down.0: Linear "));
  const std::string plain = nn::summary(nn::Sequential<float, Cpu>{Plain{}}, ones<float>({1, 4})).text();
  CHECK(contains(plain, "    first: Linear "));
}
TEST_CASE("a summary of LeNet-5, a ResNet and GPT-2: every layer is called, and multiply-adds are those of a call") {
  const auto check = [](const auto& model, const auto& input) {
    const nn::Summary summary = nn::summary(model, input);
    for (const auto& each : summary.layers) {
      CAPTURE(each.name);
      CHECK(each.calls == 1);
    }
    const LaunchLog log;
    (void)model(input);
    CHECK(summary.multiply_adds == log.counts().operations / 2);
    std::int64_t parameters = 0;
    for (const auto& each : model.parameters()) parameters += each.value().elements();
    CHECK(summary.parameters == parameters);
    return summary;
  };
  CHECK(row(check(models::lenet5<float>(), ones<float>({1, 1, 28, 28})), "conv1").output == Shape{1, 6, 28, 28});
  const auto resnet = check(models::resnet18<float>({.classes = 2, .width = 4}), ones<float>({1, 3, 32, 32}));
  CHECK(row(resnet, "layer1.0.conv1").depth == 3);
  const models::GPT2<float, Cpu> gpt({.vocab_size = 8, .n_positions = 4, .n_embd = 4, .n_layer = 2, .n_head = 2});
  const nn::Summary text = nn::summary(gpt, zeros<std::int64_t>({1, 3}));
  CHECK(row(text, "transformer.h.1.mlp.c_fc").multiply_adds == 3 * 4 * 16);
  CHECK(row(text, "").multiply_adds >= 3 * 4 * 8);
}
TEST_CASE("an input of another shape throws as the model, and observes nothing afterwards") {
  const nn::Linear<float, Cpu> model{3, 2};
  CHECK_THROWS_AS((void)nn::summary(model, ones<float>({1, 4})), ShapeError);
  CHECK(nn::detail::layer_observer == nullptr);
  CHECK(nn::summary(model, ones<float>({1, 3})).layers.size() == 1);
}
