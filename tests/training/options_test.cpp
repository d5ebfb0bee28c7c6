// Runs on: host.
// Options that demand a number refuse NaN and infinity, and name themselves.

#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace {
using namespace locus;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// Whether use(given) is refused with a message that names the option and the number.
template <class F>
bool refuses(const char* option, double given, const F& use) {
  try {
    use(given);
  } catch (const ArgumentError& error) {
    const std::string text = error.what();
    return text.find(option) != std::string::npos && text.find(join(given)) != std::string::npos;
  }
  return false;
}

template <class F>
void demands_a_number(const char* option, const F& use) {
  CAPTURE(option);
  CHECK(refuses(option, nan, use));
  CHECK(refuses(option, inf, use));
  CHECK(refuses(option, -inf, use));
  CHECK_NOTHROW(use(0.5));
}

std::vector<Parameter<float>> parameters() { return {Parameter<float>(ones({3}))}; }
Tensor<float> weight() { return ones({3, 4}); }

}  // namespace

TEST_CASE("optimizers and clipping") {
  using namespace optim;
  demands_a_number("learning rate", [](double x) { (void)Sgd(parameters(), {.lr = x}); });
  demands_a_number("learning rate", [](double x) { Sgd(parameters()).set_lr(x); });
  demands_a_number("momentum", [](double x) { (void)Sgd(parameters(), {.momentum = x}); });
  demands_a_number("dampening", [](double x) { (void)Sgd(parameters(), {.dampening = x}); });
  demands_a_number("weight_decay", [](double x) { (void)Sgd(parameters(), {.weight_decay = x}); });
  demands_a_number("momentum", [](double x) { (void)Sgd(parameters(), {.momentum = x, .nesterov = true}); });
  demands_a_number("learning rate", [](double x) { (void)Adam(parameters(), {.lr = x}); });
  demands_a_number("beta1", [](double x) { (void)Adam(parameters(), {.beta1 = x}); });
  demands_a_number("beta2", [](double x) { (void)Adam(parameters(), {.beta2 = x}); });
  demands_a_number("eps", [](double x) { (void)Adam(parameters(), {.eps = x}); });
  demands_a_number("weight_decay", [](double x) { (void)Adam(parameters(), {.weight_decay = x}); });
  demands_a_number("weight_decay", [](double x) { (void)AdamW(parameters(), {.weight_decay = x}); });
  demands_a_number("eps", [](double x) { (void)AdamW(parameters(), {.eps = x}); });
  demands_a_number("alpha", [](double x) { (void)RMSprop(parameters(), {.alpha = x}); });
  demands_a_number("momentum", [](double x) { (void)RMSprop(parameters(), {.momentum = x}); });
  demands_a_number("lr_decay", [](double x) { (void)Adagrad(parameters(), {.lr_decay = x}); });
  demands_a_number("initial_accumulator_value",
                   [](double x) { (void)Adagrad(parameters(), {.initial_accumulator_value = x}); });
  demands_a_number("rho", [](double x) { (void)Adadelta(parameters(), {.rho = x}); });
  demands_a_number("beta2", [](double x) { (void)Lion(parameters(), {.beta2 = x}); });
  const auto given = parameters();
  CHECK(refuses("max_norm", nan, [&](double x) { (void)clip_grad_norm_(given, x); }));
  CHECK(refuses("limit", nan, [&](double x) { clip_grad_value_(given, x); }));
}

TEST_CASE("layers, losses and operations") {
  demands_a_number("eps", [](double x) { (void)nn::LayerNorm<float, Cpu>(4, x); });
  demands_a_number("eps", [](double x) { (void)nn::RMSNorm<float, Cpu>(Shape{3, 4}, x); });
  demands_a_number("eps", [](double x) { (void)nn::GroupNorm<float, Cpu>(1, 4, x); });
  demands_a_number("eps", [](double x) { (void)group_norm(weight(), 1, x); });
  demands_a_number("eps", [](double x) { (void)layer_norm(weight(), {4}, x); });
  demands_a_number("eps", [](double x) { (void)rms_norm(weight(), {4}, x); });
  demands_a_number("slope", [](double x) { (void)nn::LeakyReLU(x); });
  demands_a_number("slope", [](double x) { (void)leaky_relu(weight(), x); });
  demands_a_number("alpha", [](double x) { (void)nn::ELU(x); });
  demands_a_number("alpha", [](double x) { (void)elu(weight(), x); });
  demands_a_number("init", [](double x) { (void)nn::PReLU<float, Cpu>(1, x); });
  demands_a_number("delta", [](double x) { (void)nn::huber_loss(weight(), weight(), x); });
  demands_a_number("correction", [](double x) { (void)var(weight(), 0, {.correction = x}); });
  demands_a_number("label_smoothing",
                   [](double x) { (void)cross_entropy(weight(), zeros<std::int64_t>({3}), {.label_smoothing = x}); });
  demands_a_number("probability", [](double x) { (void)bernoulli(x, {3}); });
  CHECK(refuses("p = ", nan, [](double x) { (void)norm(weight(), x); }));
}

TEST_CASE("initial values") {
  demands_a_number("mean", [](double x) { (void)nn::init::normal_(weight(), x); });
  demands_a_number("deviation", [](double x) { (void)nn::init::normal_(weight(), 0, x); });
  demands_a_number("slope", [](double x) { (void)nn::init::kaiming_uniform_(weight(), {.negative_slope = x}); });
  demands_a_number("gain", [](double x) { (void)nn::init::xavier_uniform_(weight(), x); });
  demands_a_number("low", [](double x) { (void)nn::init::uniform_(weight(), x, 1); });
  demands_a_number("uniform_", [](double x) { (void)nn::init::uniform_(weight(), 0, x); });
}

TEST_CASE("gradcheck and data") {
  const auto x = ones<double>({2});
  const auto square = [](const auto& v) { return v * v; };
  demands_a_number("step", [&](double step) { (void)gradcheck(square, {.step = step}, x); });
  demands_a_number("absolute", [&](double bound) { (void)gradcheck(square, {.absolute = bound}, x); });
  demands_a_number("relative", [&](double bound) { (void)gradcheck(square, {.relative = bound}, x); });
  CHECK(refuses("step", 0, [&](double step) { (void)gradcheck(square, {.step = step}, x); }));
  const data::LabelledImages images(zeros<std::uint8_t>({10, 1, 2, 2}), zeros<std::int64_t>({10}), 1);
  demands_a_number("a fraction", [&](double share) { (void)data::random_split(images, share); });
}
