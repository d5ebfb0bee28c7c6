// Runs on: host, cuda (windows).
// Dropout layers.

#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("a network drops in training alone", D) {
  manual_seed(2);
  const nn::Sequential model{nn::Linear<float, D>{6, 50}, nn::ReLU{}, nn::Dropout{0.5}, nn::Linear<float, D>{50, 3}};
  const auto x = randn<float, D>({20, 6});
  const auto predicted = reference(model(x)).values;
  CHECK(reference(model(x)).values == predicted);
  CHECK(reference(model(frozen(trace(x)))).values == predicted);
  const auto first = reference(model(trace(x))).values, second = reference(model(trace(x))).values;
  CHECK(first != predicted);
  CHECK(first != second);
  CHECK(model.parameters().size() == 4);
}

LOCUS_DEVICE_TEST("Dropout2d drops channels", D) {
  manual_seed(2);
  const auto y = reference(nn::Dropout2d{0.5}(trace(ones<float, D>({10, 10, 4})))).values;
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == y[i / 4 * 4]);
  CHECK(reference(nn::Dropout2d{}(ones<float, D>({2, 2, 4}))).values == std::vector<double>(16, 1.0));
}

TEST_CASE("layers refuse probabilities outside [0, 1]") {
  CHECK_THROWS_AS(nn::Dropout{1.01}, ArgumentError);
  CHECK_THROWS_AS(nn::Dropout2d{-1}, ArgumentError);
  CHECK(nn::Dropout{}.p == 0.5);
}
