// Runs on: host, cuda (models).
#include <locus/training/confusion_matrix.hpp>

#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/sorting.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("a confusion matrix counts labels by row and predictions by column", D) {
  const auto labels = tensor<std::int64_t, D>({6}, {0, 0, 1, 2, 2, 2});
  const auto predictions = tensor<std::int64_t, D>({6}, {0, 1, 1, 2, 0, 0});
  CHECK_CLOSE(confusion_matrix(predictions, labels, 4),
              Reference({4, 4}, {1, 1, 0, 0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0}));
  CHECK_CLOSE(confusion_matrix(zeros<std::int64_t, D>({0}), zeros<std::int64_t, D>({0}), 1), Reference({1, 1}, {0}));
  // from logits, with strided labels
  const auto logits = tensor<float, D>({2, 3}, {0, 5, 1, 9, 2, 3});
  const auto strided = tensor<std::int64_t, D>({2, 2}, {1, 7, 2, 7}).select(1, 0);
  CHECK_CLOSE(confusion_matrix(argmax(logits, 1), strided, 3), Reference({3, 3}, {0, 0, 0, 0, 1, 0, 1, 0, 0}));
}

TEST_CASE("a confusion matrix refuses what is no class") {
  const auto both = from(std::vector<std::int64_t>{0, 2});
  CHECK_THROWS_WITH_AS((void)confusion_matrix(both, both - 1, 3), doctest::Contains("label -1; expected 0 to 2"),
                       IndexError);
  CHECK_THROWS_WITH_AS((void)confusion_matrix(both, both - both, 2), doctest::Contains("prediction 2; expected 0 to 1"),
                       IndexError);
  CHECK_THROWS_AS((void)confusion_matrix(both, both.slice(0, 0, 1), 3), ShapeError);
  CHECK_THROWS_AS((void)confusion_matrix(both.reshape({1, 2}), both.reshape({1, 2}), 3), ShapeError);
  for (const std::int64_t classes : {0, 40'000})
    CHECK_THROWS_AS((void)confusion_matrix(both, both, classes), ArgumentError);
}
