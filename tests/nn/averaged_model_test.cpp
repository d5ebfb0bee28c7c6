// Runs on: host, cuda (training).
#include <locus/nn/averaged_model.hpp>

#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/optim/sgd.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

/// The model of make_averages.py.
template <class T, class D>
auto model_on() {
  return nn::Sequential<T, D>{nn::Linear<T, D>{4, 3}, nn::BatchNorm1d<T, D>{3}};
}
/// Sets the model to the numbers of a step.
template <class T, class D>
void set(const nn::Sequential<T, D>& model, const Tensor<T, D>& weight, const Tensor<T, D>& variance) {
  auto state = nn::state_dict(model);
  state.template get<T>("0.weight").copy_(weight);
  state.template get<compute_t<T>>("1.running_var").copy_(variance.template as<compute_t<T>>());
  state.template get<std::int64_t>("1.num_batches_tracked") += 1;
}
template <class T, class D>
Tensor<T, D> weight_of(const nn::Sequential<T, D>& model) {
  return nn::state_dict(model).template get<T>("0.weight");
}

template <class T, class D>
void check(const std::string& name, const nn::AverageOptions& options) {
  CAPTURE(name);
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  const auto model = model_on<T, D>();
  const nn::AveragedModel average{model, options};
  const auto weights = golden::tensor<T, D>("average_w"), variances = golden::tensor<T, D>("average_var");
  const auto of_weights = golden::tensor<double, D>("average_" + name + "_w");
  const auto of_variances = golden::tensor<double, D>("average_" + name + "_var");
  for (std::int64_t step = 0; step < weights.size(0); ++step) {
    CAPTURE(step);
    set(model, weights.select(0, step), variances.select(0, step));
    average.update();
    const auto state = nn::state_dict(average.module());
    CHECK_CLOSE(state.template get<T>("0.weight"), reference(of_weights.select(0, step)), allowed);
    CHECK_CLOSE(state.template get<T>("1.running_var"), reference(of_variances.select(0, step)), allowed);
    CHECK(state.template get<std::int64_t>("1.num_batches_tracked").item() == step + 1);
    CHECK(average.updates() == step + 1);
  }
}

}  // namespace

LOCUS_DEVICE_TEST("averages of weights and buffers are PyTorch's", D) {
  check<double, D>("exponential", {.decay = 0.9});
  check<float, D>("exponential", {.decay = 0.9});
  if constexpr (!all_dtypes<D>) return;
  check<double, D>("short", {.decay = 0.3});
  check<double, D>("equal", {.equal = true});
  check<double, D>("buffers", {.decay = 0.9, .average_buffers = true});
  check<float, D>("buffers", {.decay = 0.9, .average_buffers = true});
}

LOCUS_DEVICE_TEST("an average finds each parameter where an optimizer placed the model's", D) {
  const auto model = model_on<float, D>();
  const auto all = model.parameters();
  // The optimizer's order differs from the model's.
  optim::Sgd optimizer{std::vector{all[2], all[0], all[3], all[1]}, {.lr = 0.1}};
  const nn::AveragedModel average{model, {.decay = 0.75}};
  std::vector<Reference> before;
  for (const auto& parameter : all) before.push_back(reference(parameter.value()));
  average.update();
  for (const auto& parameter : all) parameter.value() += 4;
  average.update();
  const auto copies = average.module().parameters();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(!(copies[i] == all[i]));
    CHECK_CLOSE(copies[i].value() - 1, before[i]);
  }
  CHECK(optimizer.parameters()[0] == all[2]);
}

LOCUS_DEVICE_TEST("an update is three launches and one for each buffer, and waits for nothing", D) {
  const nn::Sequential<float, D> plain{nn::Linear<float, D>{4, 3}, nn::Linear<float, D>{3, 2}};
  const nn::AveragedModel of_plain{plain};
  LaunchLog log;
  of_plain.update();
  CHECK(log.launches() == 3);
  const nn::AveragedModel of_norm{model_on<float, D>(), {.average_buffers = true}};
  of_norm.update();
  CHECK(of_norm.updates() == 1);
}

LOCUS_DEVICE_TEST("traced batches teach an average the statistics of its own activations", D) {
  const nn::Linear<float, D> linear{1, 1, false};
  const nn::BatchNorm1d<float, D> norm{1};
  const nn::Sequential<float, D> model{linear, norm};
  const nn::AveragedModel average{model, {.decay = 0.5, .average_buffers = true}};
  const auto x = tensor<float, D>({2, 1}, {-1, 3});  // mean 1, variance 8
  for (const float weight : {-3.f, 5.f}) {           // on average 1
    linear.weight.value().fill_(weight);
    (void)model(trace(x));
    average.update();
  }
  const auto state = nn::state_dict(average.module());
  const auto variance = [&] { return host(state.template get<float>("1.running_var"))(0); };
  CHECK(variance() > 10);
  for (int i = 0; i < 200; ++i) (void)average.module()(trace(x));
  CHECK(variance() == doctest::Approx(8).epsilon(1e-5));
  CHECK_CLOSE(state.template get<float>("1.running_mean"), {1}, 1e-5);
  CHECK(host(norm.running_var.value())(0) == doctest::Approx(0.9 * (0.9 + 0.1 * 72) + 0.1 * 200));  // the model's stay
}

LOCUS_DEVICE_TEST("an average of 16-bit weights moves by less than these can show", D) {
  const nn::Sequential<bfloat16, D> model{nn::Linear<bfloat16, D>{1, 1, false}};
  const nn::AveragedModel average{model, {.decay = 0.999}};
  const auto weight = model.parameters()[0].value();
  weight.fill_(bfloat16(1));
  average.update();
  weight.fill_(bfloat16(2));
  for (int i = 0; i < 100; ++i) average.update();
  const double exact = 2 - std::pow(0.999, 100);  // 1.0952; the next to 1 is 1.0078
  CHECK_CLOSE(nn::state_dict(average).template get<float>("exact").select(0, 0), exact, 1e-5);
  CHECK(static_cast<float>(average.module().parameters()[0].value().item()) == doctest::Approx(exact).epsilon(0.004));
  // The average continues from weights written to the module.
  average.module().parameters()[0].value().fill_(bfloat16(4));
  average.update();
  CHECK_CLOSE(nn::state_dict(average).template get<float>("exact").select(0, 0), 4 - 0.002, 1e-5);
}

TEST_CASE("an average is saved and loaded under PyTorch's names") {
  const auto model = model_on<float, Cpu>();
  const nn::AveragedModel average{model, {.decay = 0.5}};
  average.update();
  model.parameters()[0].value() += 1;
  average.update();
  const auto state = nn::state_dict(average);
  std::string names;
  for (const auto& entry : state) names += entry.name + " ";
  CHECK(names ==
        "n_averaged module.0.weight module.0.bias module.1.weight module.1.bias module.1.running_mean "
        "module.1.running_var module.1.num_batches_tracked ");
  const auto other_model = model_on<float, Cpu>();
  const nn::AveragedModel other{other_model, {.decay = 0.5}};
  nn::load_state_dict(other, state);
  nn::load_state_dict(other_model, nn::state_dict(model));
  for (const auto* each : {&average, &other}) each->update();
  CHECK(other.updates() == 3);
  CHECK_CLOSE(weight_of(other.module()), reference(weight_of(average.module())), 0);
}

TEST_CASE("an average starts as the model, and copies of it are the same one") {
  const auto model = model_on<float, Cpu>();
  const nn::AveragedModel average{model};
  CHECK_CLOSE(weight_of(average.module()), reference(weight_of(model)), 0);
  const auto same = average;
  same.update();
  CHECK(average.updates() == 1);
}

TEST_CASE("averages refuse a decay out of range, and a model without parameters") {
  const auto model = model_on<float, Cpu>();
  for (const double decay : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_WITH_AS(nn::AveragedModel(model, {.decay = decay}), doctest::Contains("expected a number from 0 to 1"),
                         ArgumentError);
  const nn::Sequential<float, Cpu> none{nn::ReLU{}};
  CHECK_THROWS_AS(nn::AveragedModel{none}, ArgumentError);
}
