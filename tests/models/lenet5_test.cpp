// Runs on: host, cuda (models).
#include <locus/models/lenet5.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>

#include <golden/models.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("logits and gradients of LeNet-5 are PyTorch's", D) {
  const auto model = models::lenet5<float, D>();
  CHECK(model.named_parameters().front().name == "conv1.weight");
  CHECK(model.named_parameters().back().name == "fc3.bias");
  std::int64_t elements = 0;
  for (const auto& parameter : model.parameters()) elements += parameter.elements();
  CHECK(elements == 61706);
  golden::fill(model);
  const auto logits = model(trace(golden::images_for<D>("lenet5", {3, 1, 28, 28})));
  CHECK_CLOSE(logits, golden::reference("lenet5_logits"), 1e-5);
  golden::check_gradients("lenet5", model, logits);
}

TEST_CASE("LeNet-5 takes images of other extents, and says which it expects") {
  const auto model = models::lenet5<float>({.classes = 7, .channels = 3, .image = {20, 33}, .padding = 0});
  CHECK(model.fc1.weight.shape() == Shape{120, 16 * 2 * 5});
  CHECK(model(zeros({2, 3, 20, 33})).shape() == Shape{2, 7});
  CHECK(model.clone()(zeros({0, 3, 20, 33})).shape() == Shape{0, 7});
  CHECK_THROWS_WITH_AS((void)model(zeros({2, 3, 28, 28})),
                       "LeNet5: images of shape (2, 3, 28, 28); expected (batch, 3, 20, 33); other extents are options",
                       ShapeError);
  CHECK_THROWS_AS((void)model(zeros({2, 1, 20, 33})), ShapeError);
  CHECK_THROWS_AS((void)model(zeros({3, 20, 33})), ShapeError);
  CHECK_THROWS_AS((void)models::lenet5<float>({.classes = 0}), ArgumentError);
  CHECK_THROWS_AS((void)models::lenet5<float>({.channels = 0}), ArgumentError);
  CHECK_THROWS_AS((void)models::lenet5<float>({.padding = -1}), ArgumentError);
  CHECK_THROWS_AS((void)models::lenet5<float>({.padding = INT64_MAX}), ArgumentError);
  CHECK_THROWS_AS((void)models::lenet5<float>({.image = {28, INT64_MIN}}), ArgumentError);
  CHECK(models::lenet5<float>({.image = 12}).fc1.weight.size(1) == 16);
  CHECK_THROWS_WITH_AS((void)models::lenet5<float>({.image = {28, 15}, .padding = 0}),
                       doctest::Contains(".padding = 0; expected at least 16 of each with the padding"), ArgumentError);
}
