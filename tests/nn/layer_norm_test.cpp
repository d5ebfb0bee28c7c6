// Runs on: host, cuda (layers); counting.
#include <locus/nn/activation.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/optim/sgd.hpp>

#include <locus/device/trace/launch_log.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {
template <class M>
std::string names_of(const M& model) {
  std::string names;
  for (const auto& entry : nn::state_dict(model)) names += entry.name + " ";
  return names;
}
}  // namespace

LOCUS_DEVICE_TEST("LayerNorm and RMSNorm have PyTorch's parameters and initial values", D) {
  const nn::LayerNorm<float, D> layer{3};
  CHECK(names_of(layer) == "weight bias ");
  CHECK_CLOSE(layer.weight.value(), {1, 1, 1}, 0);
  CHECK_CLOSE(layer.bias.value(), {0, 0, 0}, 0);
  CHECK(names_of(nn::LayerNorm<float, D>{3, 1e-5, true, false}) == "weight ");
  CHECK(names_of(nn::LayerNorm<float, D>{3, 1e-5, false}).empty());
  const nn::LayerNorm<float, D> image{{2, 3}};
  CHECK(image.weight.shape() == Shape{2, 3});
  CHECK(image.bias.shape() == Shape{2, 3});
  const nn::RMSNorm<float, D> rms{3};
  CHECK(names_of(rms) == "weight ");
  CHECK_CLOSE(rms.weight.value(), {1, 1, 1}, 0);
  CHECK(names_of(nn::RMSNorm<float, D>{Shape{2, 3}, 1e-6, false}).empty());
}

LOCUS_DEVICE_TEST("they compute what the functions do, plain and traced", D) {
  const auto x = sample<float, D>({2, 3, 4}, 1);
  const nn::LayerNorm<float, D> layer{4, 1e-3};
  const nn::RMSNorm<float, D> rms{{3, 4}};
  layer.weight.value().copy_(sample<float, D>({4}, 2));
  layer.bias.value().copy_(sample<float, D>({4}, 3));
  rms.weight.value().copy_(sample<float, D>({3, 4}, 4));
  CHECK_CLOSE(layer(x), reference(layer_norm(x, {4}, layer.weight, layer.bias, 1e-3)), 0);
  CHECK_CLOSE(rms(x), reference(rms_norm(x, {3, 4}, rms.weight)), 0);
  const nn::LayerNorm<float, D> bare{4, 1e-5, false};
  const nn::RMSNorm<float, D> bare_rms{4, 1e-2, false};
  CHECK_CLOSE(bare(x), reference(layer_norm(x, {4})), 0);
  CHECK_CLOSE(bare_rms(x), reference(rms_norm(x, {4}, 1e-2)), 0);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(layer(x))>, Tensor<float, D>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(layer(trace(x)))>, Traced<float, D>>);
  CHECK_CLOSE(layer(trace(x)), reference(layer(x)), 0);
  sum(rms(layer(trace(x)))).backward();
  CHECK(layer.bias.has_grad());
  CHECK(rms.weight.has_grad());
}

LOCUS_DEVICE_TEST("a network with both is trained", D) {
  manual_seed(3);
  const nn::Sequential<float, D> model{nn::Linear<float, D>{6, 8}, nn::LayerNorm<float, D>{8}, nn::ReLU{},
                                       nn::RMSNorm<float, D>{8}, nn::Linear<float, D>{8, 3}};
  CHECK(names_of(model) == "0.weight 0.bias 1.weight 1.bias 3.weight 4.weight 4.bias ");
  const auto x = sample<float, D>({16, 6}, 1);
  const auto labels = sample<std::int64_t, D>({16}, 2, 0, 2);
  const auto before = model.parameters()[2].value().clone();
  optim::Sgd<float, D> optimizer{model.parameters(), {.lr = 0.1f}};
  const double first = nn::cross_entropy(model(x), labels).item();
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    nn::cross_entropy(model(trace(x)), labels).backward();
    optimizer.step();
  }
  CHECK(nn::cross_entropy(model(x), labels).item() < 0.3 * first);
  CHECK_FALSE(difference(model.parameters()[2].value(), reference(before), 1e-3).empty());
}

LOCUS_DEVICE_TEST("a state is saved and loaded", D) {
  const nn::LayerNorm<float, D> a{3}, b{3};
  a.weight.value().copy_(tensor<float, D>({3}, {1, 2, 3}));
  nn::load_state_dict(b, nn::state_dict(a));
  CHECK_CLOSE(b.weight.value(), {1, 2, 3}, 0);
}

LOCUS_DEVICE_TEST("a normalized shape without elements, or of another input, is refused", D) {
  CHECK_THROWS_AS((nn::LayerNorm<float, D>{0}), ArgumentError);
  CHECK_THROWS_AS((nn::LayerNorm<float, D>{Shape{}}), ArgumentError);
  CHECK_THROWS_AS((nn::RMSNorm<float, D>{{3, -1}}), ArgumentError);
  const nn::LayerNorm<float, D> layer{3};
  CHECK_THROWS_AS((void)layer(Tensor<float, D>({2, 4})), ShapeError);
}
