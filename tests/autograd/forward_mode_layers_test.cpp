// Runs on: host.
// Layers, lookups and losses on duals; forward_mode_test.cpp has other operations.
#include <locus/expr/special.hpp>
#include <locus/locus.hpp>
#include <locus/nn/bilinear.hpp>
#include <locus/nn/ctc_loss.hpp>
#include <locus/nn/margin_loss.hpp>
#include <locus/nn/multi_margin_loss.hpp>
#include <locus/nn/recurrent.hpp>
#include <locus/ops/alpha_dropout.hpp>
#include <locus/ops/conv3d.hpp>
#include <locus/ops/embedding_bag.hpp>
#include <locus/ops/grid_sample.hpp>
#include <locus/ops/im2col.hpp>
#include <locus/ops/interp.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/local_response_norm.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/pixel_shuffle.hpp>
#include <locus/ops/pool_indices.hpp>
#include <locus/ops/prelu.hpp>

#include <support/derivative_case.hpp>

using namespace locus;
using locus_test::wave, locus_test::Real;

namespace {
Real some(int seed) { return wave({2, 3}, seed); }
Real image() { return wave({2, 2, 4, 4}, 1); }

/// A variable of these duals outside frozen(): layers act as in training.
locus_test::Recorded in_training(const locus_test::Recorded& x) { return locus_test::Recorded(x.value(), x.node()); }
}  // namespace

TEST_CASE("normalizations of duals") {
  LOCUS_GOLDEN_CASE("layer_norm", layer_norm(x, {3}, y, z), some(1), wave({3}, 4), wave({3}, 9));
  LOCUS_GOLDEN_CASE("group_norm", group_norm(x, 1, y, z), image(), wave({2}, 4), wave({2}, 9));
  LOCUS_CASE(rms_norm(x, {3}, y), some(1), wave({3}, 4));
  const RunningStatistics<double, Cpu> running{wave({2}, 7), wave({2}, 8, 0.5, 2), {}};
  LOCUS_CASE(batch_norm(x, running, y, z), wave({3, 2, 4}, 1), wave({2}, 4), wave({2}, 9));
  const RunningStatistics<Dual<double>, Cpu> none;
  LOCUS_GOLDEN_CASE("batch_norm", batch_norm(in_training(x), none, in_training(y), in_training(z)), wave({3, 2, 4}, 1),
                    wave({2}, 4), wave({2}, 9));
}

TEST_CASE("windows over duals") {
  LOCUS_GOLDEN_CASE("conv1d", conv1d(x, y, z), wave({2, 2, 5}, 1), wave({3, 2, 3}, 2), wave({3}, 4));
  LOCUS_GOLDEN_CASE("conv2d", conv2d(x, y, z, {.stride = 2, .padding = 1}), image(), wave({3, 2, 3, 3}, 2),
                    wave({3}, 4));
  LOCUS_CASE(conv2d(x, y, z, {.groups = 2}), image(), wave({2, 1, 3, 3}, 2), wave({2}, 4));
  LOCUS_GOLDEN_CASE("conv_transpose2d", conv_transpose2d(x, y, z), image(), wave({2, 3, 3, 3}, 2), wave({3}, 4));
  LOCUS_CASE(conv2d(x, y, z, {.relu = true}), image(), wave({3, 2, 3, 3}, 2), wave({3}, 4));
  LOCUS_CASE(conv2d(x.channels_last(), y), image(), wave({3, 2, 3, 3}, 2));
  LOCUS_CASE(conv3d(x, y), wave({1, 2, 3, 3, 3}, 1), wave({3, 2, 2, 2, 2}, 2));
  LOCUS_GOLDEN_CASE("max_pool2d", max_pool2d(x, 2), image());
  LOCUS_CASE(max_pool2d_with_indices(x, 2).values, image());
  LOCUS_CASE(local_response_norm(x, 2), image());
  LOCUS_GOLDEN_CASE("grid_sample", grid_sample(x, y), image(), wave({2, 3, 3, 2}, 5, -1.1, 1.1));
  LOCUS_GOLDEN_CASE("adaptive_avg_pool2d", adaptive_avg_pool2d(x, 3), image());
  LOCUS_GOLDEN_CASE("interpolate", interpolate(x, {.scale_factor = 2, .mode = InterpolateMode::bilinear}), image());
  LOCUS_CASE(im2col(x, 3), image());
  LOCUS_CASE(pixel_shuffle(x, 2), wave({1, 4, 2, 2}, 1));
  LOCUS_CASE(prelu(x, y), image(), wave({2}, 4));
  LOCUS_GOLDEN_CASE("attention", scaled_dot_product_attention(x, y, z), wave({1, 2, 3, 4}, 1), wave({1, 2, 3, 4}, 2),
                    wave({1, 2, 3, 4}, 3));
}

TEST_CASE("lookups of duals") {
  const auto at = from<std::int64_t>({1, 0, 1});
  const auto rows = from<std::int64_t>({{1, 0, 1}});
  const Tensor<bool> mask = from<bool>({{true, false, true}, {false, true, true}});
  const Real points = from<double>({-2, 0, 2}), values = from<double>({1, 3, -1});
  LOCUS_GOLDEN_CASE("gather", gather(x, 0, rows), some(1));
  LOCUS_GOLDEN_CASE("scatter_add", scatter_add(x, 0, rows, y), some(1), wave({1, 3}, 2));
  LOCUS_CASE(scatter(x, 0, rows, y), some(1), wave({1, 3}, 2));
  LOCUS_CASE(index_select(x, 0, at), some(1));
  LOCUS_CASE(index_put(x, {at, at}, y), some(1), wave({3}, 2));
  LOCUS_CASE(embedding(x, at), some(1));
  LOCUS_CASE(embedding_bag(x, at, from<std::int64_t>({0, 1}), {.mode = BagMode::max}), some(1));
  LOCUS_CASE(embedding_bag(x, at, from<std::int64_t>({0, 1}), y, {.mode = BagMode::sum}), some(1), wave({3}, 2));
  LOCUS_CASE(masked_fill(x, mask, 0), some(1));
  LOCUS_CASE(masked_select(x, mask), some(1));
  LOCUS_CASE(interp(x, points, values), some(1));
}

TEST_CASE("losses of duals") {
  const auto labels = from<std::int64_t>({1, 2});
  LOCUS_GOLDEN_CASE("cross_entropy", nn::cross_entropy(x, labels), some(1));
  LOCUS_CASE(nn::linear_cross_entropy(x, y, labels), some(1), wave({4, 3}, 2));
  LOCUS_CASE(nn::nll_loss(x, labels), some(1));
  LOCUS_GOLDEN_CASE("huber_loss", nn::huber_loss(x, y), some(1), some(2));
  LOCUS_GOLDEN_CASE("binary_cross_entropy", nn::binary_cross_entropy_with_logits(x, y), some(1),
                    wave({2, 3}, 2, 0.1, 0.9));
  LOCUS_CASE(nn::mse_loss(x, y), some(1), some(2));
  LOCUS_CASE(nn::kl_div(x, y), some(1), wave({2, 3}, 2, 0.1, 0.9));
  // Targets of numbers beside duals.
  const Real sides = from<double>({{1, -1, 1}, {-1, 1, -1}});
  LOCUS_GOLDEN_CASE("hinge_embedding_loss", nn::hinge_embedding_loss(x, sides), some(1));
  LOCUS_GOLDEN_CASE("cosine_embedding_loss", nn::cosine_embedding_loss(x, y, from<double>({1, -1})), some(1), some(2));
  LOCUS_GOLDEN_CASE("multi_margin_loss", nn::multi_margin_loss(x, labels), some(1));
  const auto letters = from<std::int64_t>({{1, 2}, {1, 1}}), times = from<std::int64_t>({4, 3}),
             counts = from<std::int64_t>({2, 1});
  LOCUS_GOLDEN_CASE("ctc_loss", nn::ctc_loss(log_softmax(x, -1), letters, times, counts), wave({4, 2, 3}, 1));
}

TEST_CASE("special functions of duals") {
  const Real shares = wave({2, 3}, 1, 0.1, 0.9), positive = wave({2, 3}, 2, 0.3, 2.5);
  LOCUS_GOLDEN_CASE("bessel", i0(x) + i1(x) + i0e(x) * i1e(x), some(1));
  LOCUS_CASE(i1(x) * i1e(x), wave({2, 3}, 1, -0.4, 0.4));  // where derivatives are series
  LOCUS_GOLDEN_CASE("normal", erfcx(x) + ndtr(x) * log_ndtr(x) + sinc(x), some(1));
  LOCUS_GOLDEN_CASE("polygamma", polygamma(2, x) + mvlgamma(x + 1, 3) + entr(x) + xlog1py(x, y), positive, shares);
  LOCUS_CASE(lbeta(x, y) + gammainc(2.5, x) + gammaincc(0.5, x) + zeta(2.5, x), positive, some(1) * some(1) + 0.2);
  LOCUS_CASE(betainc(2.5, 1.5, x) + ndtri(x), shares);
}

TEST_CASE("layers of numbers on duals, and duals beside numbers") {
  const nn::LSTM<double, Cpu> lstm(3, 4);
  const nn::GRU<double, Cpu> gru(3, 4);
  LOCUS_CASE(lstm(x).output, wave({2, 3, 3}, 1));
  LOCUS_CASE(gru(wave({2, 3, 3}, 1), x).output, wave({1, 3, 4}, 2));
  const nn::MultiheadAttention<double, Cpu> attention(4, 2);
  LOCUS_CASE(attention(x, wave({2, 3, 4}, 2), y), wave({2, 3, 4}, 1), wave({2, 3, 4}, 3));
  const nn::Bilinear<double, Cpu> bilinear(3, 3, 2);
  LOCUS_CASE(bilinear(x, y), some(1), some(2));
}

TEST_CASE("draws are the same for numbers and duals") {
  const auto drawn = [](const auto& f) {
    manual_seed(3);
    return f();
  };
  LOCUS_CASE(drawn([&] { return dropout2d(in_training(x) * x, 0.5); }), image());
  LOCUS_CASE(drawn([&] { return feature_alpha_dropout(in_training(x) * x, 0.5); }), image());
  LOCUS_CASE(drawn([&] { return rrelu(in_training(x) * x); }), image());
}
