// Runs on: host, cuda (layers).
#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/nn/nll_loss.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
template <class T, class D>
void check_likelihoods() {
  const auto labels = golden::tensor<std::int64_t, D>("nll_labels");
  const auto weights = golden::tensor<T, D>("nll_weights");
  for (const auto& [reduction, suffix] :
       {std::pair{Reduction::mean, "mean"}, std::pair{Reduction::sum, "sum"}, std::pair{Reduction::none, "none"}}) {
    const std::string name = std::string("nll_") + suffix;
    CAPTURE(name);
    const auto x = variable(golden::tensor<T, D>("nll_x"));
    CHECK_GOLDEN(name, nn::nll_loss(x, labels, {.reduction = reduction}), ({"x"}), x);
    x.zero_grad();
    const nn::NLLLoss weighted{weights, {.reduction = reduction}};
    CHECK_GOLDEN(name + "_weighted", weighted(x, labels), ({"x"}), x);
  }
}
}  // namespace

LOCUS_DEVICE_TEST("the negative log-likelihood is PyTorch's, with weights, ignored labels and every reduction", D) {
  check_likelihoods<double, D>();
  check_likelihoods<float, D>();
  const auto x = variable(golden::tensor<double, D>("nll_x"));
  const auto labels = golden::tensor<std::int64_t, D>("nll_labels");
  CHECK_GOLDEN("nll_one", nn::nll_loss(x.select(0, 0), labels.select(0, 0)), ({"x"}), x);
  const auto image = variable(golden::tensor<double, D>("nll_image"));
  const auto of_image = golden::tensor<std::int64_t, D>("nll_image_labels");
  CHECK_GOLDEN("nll_image_mean", nn::NLLLoss{{.ignore_index = 7}}(image, of_image), ({"x"}), image);
  image.zero_grad();
  CHECK_GOLDEN("nll_image_none", (nn::nll_loss(image, of_image, {.reduction = Reduction::none, .ignore_index = 7})),
               ({"x"}), image);
}

LOCUS_DEVICE_TEST("the negative log-likelihood of log_softmax is cross_entropy, and counts as it does", D) {
  const auto x = golden::tensor<double, D>("nll_x"), weights = golden::tensor<double, D>("nll_weights");
  const auto labels = golden::tensor<std::int64_t, D>("nll_labels");
  CHECK_CLOSE(nn::nll_loss(log_softmax(x, 1), labels, weights), reference(cross_entropy(x, labels, weights)), 1e-12);
  CHECK_CLOSE(nn::NLLLoss{}.counted(labels), 5);
  CHECK_CLOSE(nn::NLLLoss{weights}.counted(labels), 2 + 0.5 + 1 + 1.5 + 2);
}

LOCUS_DEVICE_TEST("a probability of 0 costs infinity, and nothing where its label is ignored or all are", D) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto x = variable(tensor<float, D>({2, 2}, {-infinity, 0, -infinity, -1}));
  const auto none = nn::nll_loss(x, tensor<std::int64_t, D>({2}, {0, -100}), {.reduction = Reduction::none});
  CHECK_CLOSE(none, {infinity, 0});
  none.backward(tensor<float, D>({2}, {0, 1}));
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {0, 0, 0, 0}));
  CHECK_CLOSE(nn::nll_loss(x.value(), tensor<std::int64_t, D>({2}, {-100, -100})), std::nan(""));
}

TEST_CASE("a mean of 16-bit likelihoods is folded in float, and gradients agree with finite differences") {
  const auto x = full<half>({300, 2}, half(-500.f));  // their sum overflows half
  CHECK_CLOSE(nn::nll_loss(x, zeros<std::int64_t>({300})), 500);
  manual_seed(4);
  const auto labels = tensor<std::int64_t, Cpu>({4}, {2, 0, -100, 1});
  const auto weights = tensor<double, Cpu>({3}, {1, 2, 0.5});
  CHECK(gradcheck([&](auto y) { return nn::nll_loss(y, labels, weights); }, randn<double>({4, 3})));
}

TEST_CASE("the negative log-likelihood refuses shapes and labels that make no sense") {
  const auto x = zeros({4, 3});
  const auto labels = zeros<std::int64_t>({4});
  CHECK_THROWS_WITH_AS((void)nn::nll_loss(x, zeros<std::int64_t>({3})), doctest::Contains("labels of shape (3,)"),
                       ShapeError);
  CHECK_THROWS_AS((void)nn::nll_loss(zeros(Shape{}), zeros<std::int64_t>(Shape{})), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::nll_loss(x, full<std::int64_t>({4}, 3)), doctest::Contains("nll_loss: label 3"),
                       IndexError);
  CHECK_THROWS_WITH_AS((void)nn::nll_loss(x, labels, zeros({4})), doctest::Contains("expected (3,)"), ShapeError);
}

template <class L, class Y, class... W>
concept HasLikelihood =
    requires(const L& x, const Y& labels, const W&... weights) { nn::nll_loss(x, labels, weights...); };
using Labels = Tensor<std::int64_t, Cpu>;
using OnCuda = Tensor<float, Cuda>;
static_assert(HasLikelihood<Tensor<float>, Labels> && HasLikelihood<Traced<float, Cpu>, Labels, Tensor<float>>);
static_assert(!HasLikelihood<OnCuda, Labels> && !HasLikelihood<Tensor<float>, Tensor<float>>);
static_assert(!HasLikelihood<Tensor<float>, Labels, OnCuda> && !HasLikelihood<Tensor<float>, Labels, Tensor<double>>);
