// Runs on: host.
#include <locus/cpu/gemm/kernels.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/nn/advise.hpp>
#include <locus/nn/attention.hpp>
#include <locus/nn/conv.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/linear.hpp>

#include <doctest/doctest.h>

#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;
using nn::detail::ProductRole;

namespace {

const nn::detail::ProductTiles bf16_on_cuda = nn::detail::tiles_of_cuda(2, "bfloat16");
const nn::detail::ProductTiles avx512 = nn::detail::tiles_of_cpu(cpu::Isa::avx512, 4, false, "float32");

/// A part of a language model: a table that is also the last projection, attention, a layer of its own.
struct Block : nn::Layer<Block, float, Cpu> {
  nn::Embedding<float, Cpu> words{1003, 64};
  nn::MultiheadAttention<float, Cpu> attention{60, 4};
  nn::LayerNorm<float, Cpu> norm{50};
  std::vector<nn::Linear<float, Cpu>> layers{{64, 100}, {100, 48, false}};
  auto forward(const auto& x) const { return layers[0](x); }
  void members(const auto& visit) const {
    visit("words", words), visit("attention", attention), visit("norm", norm), visit("layers", layers);
    visit("last", words.weight);
  }
};

template <class M>
nn::Advice advise_as(const nn::detail::ProductTiles& tiles, const M& model, const Shape& batch) {
  nn::detail::ListWeights<value_of<M>, device_of<M>> walk;
  nn::detail::walk_members<nn::detail::Depth::all>(model, "", walk);
  return nn::detail::advice_of(walk.list, batch, tiles);
}
std::vector<std::string> names(const nn::Advice& advice) {
  std::vector<std::string> all;
  for (const auto& one : advice.entries) all.push_back(join(one.key, " ", one.name, " ", one.extent, " ", one.padded));
  return all;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the model of a product's time is ceil(n / tile) * tile / n") {
  using nn::detail::quantized;
  CHECK(quantized(1000, 16) == doctest::Approx(1008. / 1000));
  CHECK(quantized(1024, 64) == 1);
  CHECK(quantized(1, 64) == 64);
  // y by 16 columns, dx with a depth of 1, dW by two rows
  CHECK(quantized(ProductRole::out, 1001, avx512) == doctest::Approx((1008. / 1001 + 1 + 1002. / 1001) / 3));
  CHECK(quantized(ProductRole::in, 1001, avx512) == doctest::Approx((1 + 2 * 1008. / 1001) / 3));
  CHECK(quantized(ProductRole::batch, 1001, avx512) == doctest::Approx((2 * 1002. / 1001 + 1) / 3));
}

TEST_CASE("extents are padded to the best multiple where that adds little") {
  using nn::detail::padded;
  CHECK(padded(50257, bf16_on_cuda) == 50304);
  CHECK(padded(1001, bf16_on_cuda) == 1024);
  CHECK(padded(964, bf16_on_cuda) == 1024);
  CHECK(padded(963, bf16_on_cuda) == 968);  // 61 more are more than a sixteenth
  CHECK(padded(10, bf16_on_cuda) == 16);
  CHECK(padded(1001, avx512) == 1008);
  CHECK(padded(1008, avx512) == 1008);
}

TEST_CASE("tiles of Cpu are those of its products") {
  const auto compare = [](const nn::detail::ProductTiles& tiles, const auto& kernels) {
    CHECK(tiles.cols == kernels.lanes);
    CHECK(tiles.depth == kernels.depth_unit);
  };
  compare(nn::detail::product_tiles<float, Cpu>(), *cpu::detail::kernels_in_use<float>());
  compare(nn::detail::product_tiles<double, Cpu>(), *cpu::detail::kernels_in_use<double>());
  compare(nn::detail::product_tiles<bfloat16, Cpu>(), *cpu::detail::kernels_in_use<bfloat16>());
  const auto tiled = nn::detail::tiles_of_cpu(cpu::Isa::amx_bf16, 4, true, "bfloat16");
  CHECK(tiled.least == 16);
  CHECK(tiled.best == 32);
  CHECK(nn::detail::product_tiles<float, Cuda>().least == 4);
  CHECK(nn::detail::product_tiles<half, Cuda>().least == 8);
  CHECK(nn::detail::product_tiles<half, Cuda>().best == 64);
}

TEST_CASE("advice names weights by their full names, the widest waste first") {
  const Block model;
  const auto advice = advise_as(avx512, model, {32});
  CHECK(names(advice) == Names{"attention.in_proj_weight in 60 64", "layers.1.weight in 100 112",
                               "layers.0.weight out 100 112", "attention.in_proj_weight out 180 192",
                               "attention.heads width 15 16", "attention.out_proj.weight in 60 64",
                               "words.weight entries 1003 1008", "attention.out_proj.weight out 60 64"});
  for (const auto& one : advice.entries) {
    CAPTURE(one.key);
    const auto role = one.name == "in" || one.name == "width" ? ProductRole::in : ProductRole::out;
    REQUIRE(one.padded % 16 == 0);
    CHECK(one.gain == doctest::Approx(nn::detail::quantized(role, one.extent, avx512)));
    CHECK(one.time * one.gain == doctest::Approx(static_cast<double>(one.padded) / static_cast<double>(one.extent)));
    CHECK(one.time < 1.1);
    CHECK(contains(one.why, "16 columns at a time"));
  }
  CHECK(contains(advice.entries[4].why, "each head multiplies queries by keys"));
  CHECK(contains(advice.entries[6].why, "where the table is also the weights of a projection"));
}

TEST_CASE("heads whose width misses a multiple of 8 are named where the width of the layer is one") {
  const nn::MultiheadAttention<float, Cpu> narrow{240, 12}, fitting{240, 10};  // 20 and 24 wide
  CHECK(names(advise_as(bf16_on_cuda, narrow, {8, 10, 240})) == Names{"heads width 20 24"});
  CHECK(advise_as(bf16_on_cuda, fitting, {8, 10, 240}).entries.empty());
  const nn::MultiheadAttention<float, Cpu> apart{240, 12, {.kdim = 64, .vdim = 64}};
  CHECK(names(advise_as(bf16_on_cuda, apart, {8, 10, 240})) == Names{"heads width 20 24"});
  const auto gpt = models::gpt2<float>({.vocab_size = 64, .n_positions = 16, .n_embd = 40, .n_layer = 2, .n_head = 4});
  CHECK(names(advise_as(bf16_on_cuda, gpt, {8, 16})) ==
        Names{"transformer.h.0.attn.heads width 10 16", "transformer.h.1.attn.heads width 10 16"});
}

TEST_CASE("of convolutions, channels of groups count; those without products do not") {
  using nn::Conv2d;
  const Conv2d<float, Cpu> grouped{24, 40, 3, {.groups = 2}}, depthwise{6, 6, 3, {.groups = 6}}, gray{1, 64, 3};
  CHECK(names(advise_as(bf16_on_cuda, grouped, {8, 24, 9, 9})) == Names{"weight in 12 16", "weight out 20 24"});
  CHECK(advise_as(bf16_on_cuda, depthwise, {8, 6, 9, 9}).entries.empty());
  CHECK(advise_as(bf16_on_cuda, gray, {8, 1, 9, 9}).entries.empty());
  // On Cpu 3 x 3 x 3 elements are 27, not 3; channels in place of which 16 were multiplied would take far longer.
  CHECK(advise_as(avx512, Conv2d<float, Cpu>{3, 16, 3}, {2, 3, 9, 9}).entries.empty());
  const auto wide = advise_as(avx512, Conv2d<float, Cpu>{100, 16, 3}, {2, 100, 9, 9});
  CHECK(names(wide) == Names{"weight in 100 112"});
  CHECK(wide.entries.at(0).gain == doctest::Approx((1 + 2 * 912. / 900) / 3));
  const nn::ConvTranspose2d<float, Cpu> turned{30, 64, 2};
  CHECK(names(advise_as(bf16_on_cuda, turned, {8, 30, 9, 9})) == Names{"weight in 30 32"});
}

TEST_CASE("a batch counts where there is something to win; what fits is not named") {
  const nn::Linear<float, Cpu> layer{128, 256};
  CHECK(names(advise_as(bf16_on_cuda, layer, {100, 128})) == Names{"input batch 100 104"});
  CHECK(advise_as(avx512, layer, {100, 128}).entries.empty());  // rows are computed by twos
  CHECK(names(advise_as(avx512, layer, {99, 128})) == Names{"input batch 99 112"});
  CHECK(nn::advise(layer, {64, 128}).entries.empty());
  CHECK(nn::advise(layer, {64, 128}).text().empty());
  CHECK(nn::advise(layer, Tensor<float, Cpu>({64, 128})).entries.empty());
}

TEST_CASE("advice reads as a line for each extent, and says that the gain is modelled") {
  const auto advice = advise_as(bf16_on_cuda, nn::Linear<float, Cpu>{64, 1001}, {64});
  REQUIRE(advice.entries.size() == 1);
  const std::string text = advice.text();
  CHECK(contains(text, "weight: out 1001 -> 1024, "));
  CHECK(contains(text, " times the multiply-adds per second, "));
  CHECK(contains(text, " times the time (modelled): rows of bfloat16 that are no multiples of 8 "));
  CHECK(contains(text, "\nmodelled: the time of a product grows as ceil(n / tile) * tile"));
}
