// Runs on: host, cuda (layers).
#include <locus/autograd/expression.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("losses as objects compute what the functions do, with their options", D) {
  const auto x = tensor<double, D>({2, 3}, {0.5, -1, 2, 0, 3, -0.25});
  const auto y = tensor<double, D>({2, 3}, {1, 0, 0.5, 0.25, 1, 0});
  const auto labels = tensor<std::int64_t, D>({2}, {2, 0});
  CHECK_CLOSE(nn::MSELoss{}(x, y), (0.25 + 1 + 2.25 + 0.0625 + 4 + 0.0625) / 6, 1e-12);
  CHECK_CLOSE(nn::L1Loss{{.reduction = Reduction::sum}}(x, y), 0.5 + 1 + 1.5 + 0.25 + 2 + 0.25, 1e-12);
  CHECK_CLOSE(nn::HuberLoss{{.delta = 1.0}}(x, y), (0.125 + 0.5 + 1.0 + 0.03125 + 1.5 + 0.03125) / 6, 1e-12);
  CHECK_CLOSE(nn::HuberLoss{{.delta = 10.0, .reduction = Reduction::sum}}(x, y),
              (0.25 + 1 + 2.25 + 0.0625 + 4 + 0.0625) / 2, 1e-12);
  CHECK_CLOSE((nn::SmoothL1Loss{{.beta = 0.5, .reduction = Reduction::sum}}(x, y)),
              reference(nn::smooth_l1_loss(x, y, 0.5, Reduction::sum)), 1e-12);
  CHECK_CLOSE((nn::KLDivLoss{{.log_target = true}}(x, y)), reference(nn::kl_div(x, y, {.log_target = true})), 1e-12);
  const auto logistic = [](double logit, double p) { return std::log1p(std::exp(logit)) - logit * p; };
  const double expected =
      logistic(0.5, 1) + logistic(-1, 0) + logistic(2, 0.5) + logistic(0, 0.25) + logistic(3, 1) + logistic(-0.25, 0);
  CHECK_CLOSE(nn::BCEWithLogitsLoss{}(x, y), expected / 6, 1e-12);
  const nn::PosWeight weights{tensor<double, D>({3}, {1, 2, 3})};
  const nn::BCEWithLogitsLoss weighted{weights, {.reduction = Reduction::sum}};
  CHECK_CLOSE(weighted(x, y), reference(nn::binary_cross_entropy_with_logits(x, y, weights, Reduction::sum)), 1e-12);
  CHECK_CLOSE((nn::BCEWithLogitsLoss{{.reduction = Reduction::sum}}(x, y)), expected, 1e-12);
  if constexpr (all_dtypes<D>) {  // 16-bit weights of losses in float
    const nn::BCEWithLogitsLoss of_half{nn::PosWeight{tensor<half, D>({3}, {1, 2, 3})}};
    CHECK_CLOSE(of_half(x.template as<float>(), y.template as<float>()),
                reference(nn::binary_cross_entropy_with_logits(x, y, weights)), 1e-5);
  }
  CHECK(nn::MSELoss{{.reduction = Reduction::none}}(x, y).shape() == Shape{2, 3});

  const double first = std::log(std::exp(0.5) + std::exp(-1.0) + std::exp(2.0));
  const double second = std::log(1 + std::exp(3.0) + std::exp(-0.25));
  CHECK_CLOSE(nn::CrossEntropyLoss{}(x, labels), (first - 2 + second - 0) / 2, 1e-12);
  const nn::CrossEntropyLoss smoothed{{.label_smoothing = 0.3}};
  CHECK_CLOSE(smoothed(x, labels), (first - 0.7 * 2 - 0.1 * 1.5 + second - 0.7 * 0 - 0.1 * 2.75) / 2, 1e-12);
}

LOCUS_DEVICE_TEST("class weights of a loss object are those of the function, also where it measures 16 bits in float",
                  D) {
  const auto x = tensor<float, D>({3, 2}, {0.5, -1, 2, 0, 3, -0.25});
  const auto labels = tensor<std::int64_t, D>({3}, {1, 0, 1}), ignored = tensor<std::int64_t, D>({3}, {1, -100, 0});
  const auto weights = tensor<float, D>({2}, {1, 3});
  const nn::CrossEntropyLoss loss{weights}, summed{weights, {.reduction = Reduction::sum, .label_smoothing = 0.1}};
  CHECK_CLOSE(loss(x, labels), reference(cross_entropy(x, labels, weights)));
  CHECK_CLOSE(summed(x, ignored), reference(cross_entropy(x, ignored, weights, summed.options)));
  CHECK_CLOSE(loss.counted(labels), 7);
  CHECK_CLOSE(loss.counted(ignored), 4);
  CHECK_CLOSE(nn::CrossEntropyLoss{}.counted(ignored), 2);
  CHECK_CLOSE((nn::CrossEntropyLoss{{.ignore_index = 1}}.counted(labels.reshape({3, 1}))), 1);
  if constexpr (all_dtypes<D>) {
    const nn::CrossEntropyLoss half_loss{weights.template as<half>()};
    CHECK_CLOSE(half_loss(x, labels), reference(loss(x, labels)));
    CHECK(std::is_same_v<value_of<decltype(half_loss(x.template as<half>(), labels))>, half>);
  }
}

LOCUS_DEVICE_TEST("losses as objects record what is traced", D) {
  const auto x = variable(tensor<double, D>({2}, {3, 5}));
  const nn::MSELoss loss;
  const auto y = loss(x, tensor<double, D>({2}, {1, 1}));
  y.backward();
  CHECK_CLOSE(x.grad(), Reference({2}, {2, 4}), 1e-12);
}

TEST_CASE("a loss refuses targets of another shape, and options out of range") {
  CHECK_THROWS_AS((void)nn::MSELoss{}(zeros({3}), zeros({3, 1})), ShapeError);
  CHECK_THROWS_AS((void)nn::HuberLoss{{.delta = 0}}(zeros({3}), zeros({3})), ArgumentError);
  CHECK_THROWS_AS((void)nn::CrossEntropyLoss{{.label_smoothing = 2}}(zeros({3, 2}), zeros<std::int64_t>({3})),
                  ArgumentError);
  CHECK_THROWS_AS((void)nn::CrossEntropyLoss{zeros({3})}(zeros({3, 2}), zeros<std::int64_t>({3})), ShapeError);
}
