// Runs on: host, cuda (graph).
#include <locus/autograd/flat.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/parameters.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
std::vector<Parameter<float, D>> three_parameters() {
  return {Parameter(full<float, D>({2, 3}, 1.f)), Parameter(full<float, D>({20}, 2.f)),
          Parameter(full<float, D>({}, 3.f))};
}
template <class D>
double total(const Tensor<float, D>& x) {
  return static_cast<double>(sum(x).item());
}
}  // namespace

LOCUS_DEVICE_TEST("flat memory is the parameters' own, the last one first, each at 64 bytes", D) {
  const auto parameters = three_parameters<D>();
  give(parameters[1], 5);  // moves with its parameter
  const auto flat = flatten(parameters);
  REQUIRE(flat.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const auto& parameter = parameters[2 - i];
    CHECK(flat.parameters()[i] == parameter);
    const FlatRange range = flat.range(i);
    CHECK(range.begin == (i == 0 ? 0 : i == 1 ? 16 : 48));
    CHECK(range.count == parameter.elements());
    CHECK(parameter.value().data() == flat.values().data() + range.begin);
  }
  CHECK(flat.values().shape() == Shape{64});
  CHECK(total(flat.values()) == 6 + 40 + 3);
  CHECK(total(flat.gradients()) == 100);
  CHECK(flat.values(1, 3).data() == parameters[1].value().data());
  CHECK(flat.gradients(1, 2).elements() == 32);
  (void)flat.values().fill_(7);
  CHECK(total(parameters[0].value()) == 42);
  parameters[1].zero_grad();
  give(parameters[1], 1);
  CHECK(parameters[1].grad().data() == flat.gradients().data() + 16);
}

LOCUS_DEVICE_TEST("optimizers, flatten and clipping use the flat memory that is there", D) {
  nn::Sequential<float, D> first{nn::Linear<float, D>{3, 4}, nn::ReLU{}, nn::Linear<float, D>{4, 2}},
      second{nn::Linear<float, D>{3, 4}, nn::ReLU{}, nn::Linear<float, D>{4, 2}};
  const auto made_before = nn::flatten(first);
  const float* const values = made_before.values().data();
  optim::Sgd of_first{first.parameters(), {.lr = 1, .momentum = 0.9}}, of_second{second.parameters(), {.lr = 1}};
  CHECK(made_before.values().data() == values);
  const auto requests = memory_stats(D{}).requests;
  const auto made_after = nn::flatten(second);
  CHECK(memory_stats(D{}).requests == requests);
  CHECK(made_after.values().data() == second.parameters().back().value().data());
  sum(first(trace(ones<float, D>({5, 3})))).backward();
  sum(second(trace(ones<float, D>({5, 3})))).backward();
  const LaunchLog log;
  of_first.step();
  of_second.step();
  CHECK(log.launches() == 2);
  (void)optim::clip_grad_norm_(first.parameters(), 0.1);
  CHECK(log.launches() == 4);
  (void)optim::clip_grad_value_(first.parameters(), 0.01);
  CHECK(log.launches() == 5);
  CHECK(norm(made_before.gradients()).item() <= 0.1001f);
}

LOCUS_DEVICE_TEST("optimizers of parts step in the memory of the whole, one launch for each run", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  const float* const values = flat.values().data();
  optim::Sgd of_ends{std::vector{parameters[0], parameters[2]}, {.lr = 1}};
  for (const auto& parameter : parameters) give(parameter, 1);
  const LaunchLog log;
  of_ends.step();
  CHECK(log.launches() == 2);
  CHECK(flat.values().data() == values);
  CHECK(total(parameters[0].value()) == 0);
  CHECK(total(parameters[1].value()) == 40);
  CHECK(total(parameters[2].value()) == 2);
  (void)flatten(std::vector{parameters[0], parameters[2]});  // not neighbours, so they move
  of_ends.step();
  CHECK(log.launches() > 3);
  CHECK(total(parameters[0].value()) == -6);
  CHECK_THROWS_WITH_AS((void)flat.values(), doctest::Contains("flattened again"), ArgumentError);
  CHECK_THROWS_AS((void)flat.gradients(), ArgumentError);
  CHECK(total(flat.values(1, 2)) == 40);  // parameter 1 stayed
}

LOCUS_DEVICE_TEST("a gradient that did not arrive in this pass is never the last one's", D) {
  const auto parameters = three_parameters<D>();
  optim::Sgd optimizer{parameters, {.lr = 1}};
  const auto flat = flatten(parameters);
  for (const auto& parameter : parameters) give(parameter, 10);
  CHECK(total(flat.gradients()) == 270);
  optimizer.zero_grad();
  give(parameters[0], 1);
  give(parameters[2], 2);
  CHECK(std::abs(optim::clip_grad_norm_(parameters, 100).item() - std::sqrt(10.f)) < 1e-5f);
  CHECK(total(flat.gradients()) == 8);
  CHECK_FALSE(parameters[1].has_grad());
  const LaunchLog log;
  (void)optim::clip_grad_norm_(parameters, 1e-3);
  CHECK(log.launches() == 2);  // the memory of the missing gradient is zero already
  for (const auto* parameter : {&parameters[0], &parameters[2]}) {
    parameter->zero_grad();
    give(*parameter, 1);
  }
  const auto before = log.launches();
  optimizer.step();
  CHECK(log.launches() == before + 2);
  CHECK(total(parameters[0].value()) == 0);
  CHECK(total(parameters[1].value()) == 40);
  optimizer.zero_grad();
  CHECK(total(flat.gradients()) == 0);
  give(parameters[1], 1);
  CHECK(total(flat.gradients()) == 20);
}

LOCUS_DEVICE_TEST("a gradient that did not arrive reads as zero after a reduction wrote to its place", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  const LaunchLog untouched;
  (void)flat.gradients();
  CHECK(untouched.launches() == 0);
  for (int pass = 0; pass < 3; ++pass) {
    CAPTURE(pass);
    for (const auto& parameter : parameters) parameter.zero_grad();
    give(parameters[0], 1);
    CHECK(total(flat.gradients()) == 6);
    flat.gradients().slice(0, 16, 36).copy_(full<float, D>({20}, 5.f));  // another process's gradient of parameter 1
    CHECK(std::abs(optim::clip_grad_norm_(parameters, 100).item() - std::sqrt(6.f)) < 1e-5f);
    CHECK(total(flat.gradients(1, 3)) == 6);
    const LaunchLog log;
    (void)flat.gradients();  // cleared, and not written since
    CHECK(log.launches() == 0);
  }
}

LOCUS_DEVICE_TEST("what is changed in place through flat memory, or through a parameter in it, is noticed", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  const auto square_of = [](const auto& x) { return sum(x * x); };
  const auto of_parameter = square_of(trace(parameters[1]));
  (void)flat.values().fill_(1);
  CHECK_THROWS_AS(of_parameter.backward(), StaleError);
  const auto again = square_of(trace(parameters[1]));
  (void)flat.values(1, 2).fill_(1);
  CHECK_THROWS_AS(again.backward(), StaleError);
  const auto of_all = square_of(variable(flat.values()));
  give(parameters[0], 1);
  optim::Sgd{parameters, {.lr = 1}}.step();
  CHECK_THROWS_AS(of_all.backward(), StaleError);
  const auto of_gradients = square_of(variable(flat.gradients()));
  parameters[2].zero_grad();
  give(parameters[2], 1);
  CHECK_THROWS_AS(of_gradients.backward(), StaleError);
  const auto of_gradient = square_of(variable(parameters[2].grad()));
  (void)flat.gradients().fill_(2);
  CHECK_THROWS_AS(of_gradient.backward(), StaleError);
}

LOCUS_DEVICE_TEST("a step of one parameter in flat memory is none of another", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  optim::Sgd of_first{std::vector{parameters[0]}, {.lr = 1}};
  for (const auto& parameter : parameters) give(parameter, 1);
  const auto values = sum(trace(parameters[1]) * trace(parameters[1]));
  const auto gradients = sum(variable(parameters[1].grad()) * variable(parameters[1].grad()));
  of_first.step();
  (void)optim::clip_grad_norm_(std::vector{parameters[0]}, 0.5);
  gradients.backward();
  parameters[1].zero_grad();
  values.backward();
  CHECK(total(parameters[1].grad()) == 80);
}

LOCUS_DEVICE_TEST("clipping a part leaves what lies beside it alone", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  for (const auto& parameter : parameters) give(parameter, 3);
  const auto norm = optim::clip_grad_norm_(std::vector{parameters[0], parameters[2]}, 0);
  CHECK(std::abs(norm.item() - std::sqrt(63.f)) < 1e-4f);
  CHECK(total(flat.gradients()) == 60);
}

LOCUS_DEVICE_TEST("what lies between parameters stays zero where norms are not finite and eps is 0", D) {
  const auto parameters = three_parameters<D>();
  const auto flat = flatten(parameters);
  for (const auto& parameter : parameters) give(parameter, std::numeric_limits<float>::quiet_NaN());
  (void)optim::clip_grad_norm_(parameters, 1);
  for (const auto& parameter : parameters) {
    parameter.zero_grad();
    give(parameter, 1);
  }
  CHECK(total(flat.gradients()) == 27);
  optim::Adam adam{parameters, {.lr = 1, .eps = 0}};
  adam.step();
  CHECK(total(flat.values()) == 0 + 20 + 2);
}

TEST_CASE("flatten refuses what makes no sense") {
  const Parameter w(ones({3}));
  CHECK_THROWS_AS((void)flatten(std::vector<Parameter<float>>{}), ArgumentError);
  CHECK_THROWS_AS((void)flatten(std::vector{w, w}), ArgumentError);
  CHECK_THROWS_AS((void)flatten(std::vector{w, Parameter<float>()}), ArgumentError);
  const std::vector apart{Parameter(Tensor<float, Counting>({2}, Counting{0})),
                          Parameter(Tensor<float, Counting>({2}, Counting{1}))};
  CHECK_THROWS_WITH_AS((void)flatten(apart), doctest::Contains("counting:1"), DeviceError);
  const auto flat = flatten(std::vector{w});
  CHECK_THROWS_AS((void)flat.values(0, 2), IndexError);
  CHECK_THROWS_AS((void)flat.values(1, 0), IndexError);
}
