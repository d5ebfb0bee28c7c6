// Runs on: host.
#include <locus/locus.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/conv3d.hpp>

#include <doctest/doctest.h>

#include <sstream>

#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
struct Residual : nn::Layer<Residual<D>, float, D> {
  nn::Linear<float, D> inner{4, 4, false};
  std::vector<nn::LayerNorm<float, D>> norms{nn::LayerNorm<float, D>{4}};
  nn::Module<float, D> activation = nn::LeakyReLU{0.2};
  auto forward(const auto& x) const { return x + activation(norms[0](inner(x))); }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("norms", norms);
    visit("activation", activation);
  }
  [[nodiscard]] std::string extra_repr() const { return "scale=1"; }
};
std::string printed(const auto& model) {
  std::ostringstream out;
  out << model;
  return out.str();
}
}  // namespace

TEST_CASE("a model is printed as nested layers with their options") {
  const nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{8, 4}, Residual<Cpu>{},
                                         nn::Sequential<float, Cpu>{nn::Dropout{0.1}, nn::ReLU{}}};
  const std::string text = R"(Sequential(
  (0): Flatten(1, -1)
  (1): Linear(8, 4)
  (2): Residual(
    scale=1
    (inner): Linear(4, 4, bias=false)
    (norms.0): LayerNorm((4,), eps=1e-05)
    (activation): LeakyReLU(negative_slope=0.2)
  )
  (3): Sequential(
    (0): Dropout(p=0.1)
    (1): ReLU()
  )
))";
  CHECK(printed(model) == text);
  CHECK(printed(nn::Module<float, Cpu>(model)) == text);
  CHECK(printed(nn::Sequential<float, Cpu>{}) == "Sequential()");
  CHECK(printed(nn::Tanh{}) == "Tanh()");
  CHECK(printed(nn::GELU<>{}) == "GELU()");
}
TEST_CASE("each shipped layer shows its options") {
  CHECK(printed(nn::Conv2d<float, Cpu>{3, 64, 7, {.stride = 2, .padding = 3, .bias = false}}) ==
        "Conv2d(3, 64, (7, 7), stride=(2, 2), padding=(3, 3), bias=false)");
  CHECK(printed(nn::Conv1d<float, Cpu>{4, 8, 3, {.padding = "same", .groups = 2}}) ==
        "Conv1d(4, 8, 3, padding=same, groups=2)");
  CHECK(printed(nn::Conv3d<float, Cpu>{1, 2, 3}) == "Conv3d(1, 2, (3, 3, 3))");
  CHECK(printed(nn::ConvTranspose2d<float, Cpu>{4, 6, {2, 3}, {.stride = 2}}) ==
        "ConvTranspose2d(4, 6, (2, 3), stride=(2, 2))");
  CHECK(printed(nn::BatchNorm2d<float, Cpu>{5}) == "BatchNorm2d(5, eps=1e-05, momentum=0.1)");
  CHECK(printed(nn::GroupNorm<float, Cpu>{2, 4}) == "GroupNorm(2, 4, eps=1e-05)");
  CHECK(printed(nn::InstanceNorm2d<float, Cpu>{4, {.affine = true}}) == "InstanceNorm2d(4, eps=1e-05, affine=true)");
  CHECK(printed(nn::Embedding<float, Cpu>{10, 3, {.padding_idx = 0}}) == "Embedding(10, 3, padding_idx=0)");
  CHECK(printed(nn::MaxPool2d{2}) == "MaxPool2d((2, 2), stride=(2, 2))");
  CHECK(printed(nn::AdaptiveAvgPool2d{1}) == "AdaptiveAvgPool2d((1, 1))");
  CHECK(printed(nn::Upsample{{.scale_factor = 2}}) == "Upsample(scale_factor=(2, 2), mode=nearest)");
  CHECK(printed(nn::Softmax{1}) == "Softmax(dim=1)");
  CHECK(printed(nn::Unflatten{1, {2, -1}}) == "Unflatten(1, (2, -1))");
  CHECK(printed(nn::MultiheadAttention<float, Cpu>{8, 2}) ==
        "MultiheadAttention(\n  8, 2\n  (out_proj): Linear(8, 8)\n)");
  CHECK(printed(nn::RMSNorm<float, Cpu>{4}).starts_with("RMSNorm((4,), eps="));
}
TEST_CASE("models of several files print; a moved model throws") {
  const std::string gpt =
      printed(models::GPT2<float, Cpu>{{.vocab_size = 8, .n_positions = 4, .n_embd = 4, .n_layer = 2, .n_head = 2}});
  CHECK(contains(gpt, "(transformer): GPT2Transformer("));
  CHECK(contains(gpt, "    (h.1): GPT2Block("));
  CHECK(contains(gpt, "(c_attn): GPT2Linear(4, 12)"));
  CHECK(
      contains(printed(models::resnet18<float>({.classes = 2, .width = 4})), "(layer1): Stage(\n    (0): BasicBlock("));
  nn::Linear<float, Cpu> layer{2, 2};
  const auto taken = std::move(layer);
  CHECK_THROWS_AS(printed(layer), ArgumentError);
}
