// Runs on: host, cuda (windows).
// Pooling layers compute the same as the functions, in training and inference.

#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("layers pool as functions do", D) {
  const auto x = randn<float, D>({2, 3, 8, 9});
  const auto line = x.reshape({2, 3, 72});
  CHECK_CLOSE(nn::MaxPool2d{2}(x), reference(max_pool2d(x, 2)));
  CHECK_CLOSE((nn::MaxPool2d{3, 2, 1, {.dilation = 2, .ceil_mode = true}}(x)),
              reference(max_pool2d(x, 3, 2, 1, {.dilation = 2, .ceil_mode = true})));
  CHECK_CLOSE((nn::MaxPool1d{3, 2, 1, {.dilation = 2}}(line)), reference(max_pool1d(line, 3, 2, 1, {.dilation = 2})));
  CHECK_CLOSE((nn::AvgPool2d{{3, 2}, 1, 1, {.count_include_pad = false}}(x)),
              reference(avg_pool2d(x, {3, 2}, 1, 1, {.count_include_pad = false})));
  CHECK_CLOSE((nn::AvgPool1d{4, 2}(trace(line))), reference(avg_pool1d(line, 4, 2)));
  CHECK_CLOSE((nn::AdaptiveAvgPool2d{{2, 3}}(x)), reference(adaptive_avg_pool2d(x, {2, 3})));
}

LOCUS_DEVICE_TEST("a network pools and learns", D) {
  manual_seed(1);
  const nn::Sequential model{nn::MaxPool2d{2}, nn::AvgPool2d{2}, nn::Dropout2d{0.2}, nn::Flatten{},
                             nn::Linear<float, D>{4, 3}};
  const auto x = randn<float, D>({5, 1, 8, 8});
  CHECK(model(x).shape() == Shape{5, 3});
  sum(model(trace(x))).backward();
  CHECK(model.parameters()[0].grad().shape() == Shape{3, 4});
}

TEST_CASE("layers refuse what functions refuse, when they are made") {
  CHECK_THROWS_AS(nn::MaxPool2d{0}, ArgumentError);
  CHECK_THROWS_AS((nn::MaxPool1d{2, 1, 2}), ArgumentError);
  CHECK_THROWS_AS((nn::AvgPool2d{2, 0}), ArgumentError);
  CHECK_THROWS_AS((nn::AvgPool1d{2, 2, -1}), ArgumentError);
  CHECK_THROWS_AS(nn::AdaptiveAvgPool2d{0}, ArgumentError);
}
