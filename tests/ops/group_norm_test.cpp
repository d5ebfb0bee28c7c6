// Runs on: host, cuda (rows), reference.
// group_norm, instance_norm and their layers against PyTorch and layer_norm, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/group_norm.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/norm_moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

using namespace locus;
using locus_test::Reference;
using locus_test::reference;
using locus_test::sample;

LOCUS_DEVICE_TEST("group_norm and instance_norm and their gradients agree with PyTorch", D) {
  const auto of = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  const auto check = [&](const char* name, const char* input, const auto& f) {
    const auto x = of(input), w = of("group_w"), b = of("group_b");
    CHECK_GOLDEN(name, f(x, w, b), ({"x", "w", "b"}), x, w, b);
  };
  check("group_norm", "group_x",
        [](const auto& x, const auto& w, const auto& b) { return group_norm(x, 3, w, b, 1e-3); });
  check("group_norm_of_one", "group_x",
        [](const auto& x, const auto& w, const auto& b) { return group_norm(x, 1, w, b); });
  check("group_norm_rows", "group_rows",
        [](const auto& x, const auto& w, const auto& b) { return group_norm(x, 2, w, b); });
  check("instance_norm", "group_x", [](const auto& x, const auto& w, const auto& b) { return instance_norm(x, w, b); });
  const auto x = of("group_x"), again = of("group_x");
  CHECK_GOLDEN("group_norm_plain", group_norm(x, 2), ({"x"}), x);
  CHECK_GOLDEN("instance_norm_plain", instance_norm(again, 0.5), ({"x"}), again);
}

LOCUS_DEVICE_TEST("gradients of input, weight and bias together and apart, of any strides", D) {
  const auto x = sample<double, D>({3, 2, 4, 2}, 1), w = sample<double, D>({8}, 2).slice(0, 0, 8, 2),
             b = sample<double, D>({4}, 3);
  const auto channels_last = [](const auto& v) { return permute(v, {0, 2, 1, 3}); };  // (3, 4, 2, 2) of other strides
  const GradcheckResult found[] = {
      gradcheck([&](const auto& v, const auto& s, const auto& t) { return group_norm(channels_last(v), 2, s, t); }, x,
                w, b),
      gradcheck([&](const auto& v) { return instance_norm(channels_last(v), w, Tensor<double, D>()); }, x),
      gradcheck([&](const auto& s) { return group_norm(channels_last(x), 4, s, b); }, w),
      gradcheck([&](const auto& t) { return group_norm(channels_last(x), 1, Tensor<double, D>(), t); }, b)};
  for (const auto& each : found) CHECK_MESSAGE(each, each.what());
  const auto v = sample<double, D>({2, 6, 3}, 4);
  CHECK_CLOSE(group_norm(v, 1), reference(layer_norm(v, {6, 3})), 1e-12);
  CHECK_CLOSE(group_norm(v.transpose(0, 1), 2), reference(group_norm(v.transpose(0, 1).contiguous(), 2)), 0);
  const auto a = variable(v), c = variable(v), s = variable(sample<double, D>({6}, 5)), t = variable(s.value());
  const auto one = ones<double>({1, 1, 3}, v.device());
  group_norm(a, 3, s, Tensor<double, D>()).backward(one.expand({2, 6, 3}));
  group_norm(c, 3, t, Tensor<double, D>()).backward(one.expand({2, 6, 3}).contiguous());
  CHECK_CLOSE(a.grad(), reference(c.grad()), 0);
  CHECK_CLOSE(s.grad(), reference(t.grad()), 0);
}

LOCUS_DEVICE_TEST("float beside a large offset, and 16 bits", D) {
  const auto x = sample<float, D>({2, 4, 30}, 1, 9999, 10001), w = sample<float, D>({4}, 2),
             b = sample<float, D>({4}, 3);
  const auto exact =
      reference(group_norm(x.template as<double>(), 2, w.template as<double>(), b.template as<double>()));
  CHECK_CLOSE(group_norm(x, 2, w, b), exact, 1e-5);
  if constexpr (locus_test::all_dtypes<D>) {
    const auto narrow = sample<half, D>({2, 4, 30}, 1), scale = sample<half, D>({4}, 2),
               shift = sample<half, D>({4}, 3);
    const auto v = variable(narrow), s = variable(scale), t = variable(shift);
    const auto v2 = variable(narrow.template as<double>()), s2 = variable(scale.template as<double>()),
               t2 = variable(shift.template as<double>());
    const auto g = sample<half, D>({2, 4, 30}, 4);
    const auto y = group_norm(v, 2, s, t);
    const auto y2 = group_norm(v2, 2, s2, t2);
    CHECK_CLOSE(y, reference(y2), 1e-3);
    y.backward(g);
    y2.backward(g.template as<double>());
    CHECK_CLOSE(v.grad(), reference(v2.grad()), 1e-3);
    CHECK_CLOSE(s.grad(), reference(s2.grad()), 2e-3);
  }
}

LOCUS_DEVICE_TEST("an adjoint times the weight may exceed what 16 bits hold", D) {
  if constexpr (locus_test::all_dtypes<D>) {
    const auto x = variable(sample<half, D>({2, 4, 30}, 1, -500, 500));
    const auto wide = variable(x.value().template as<double>());
    const auto w = sample<half, D>({4}, 2, 7, 9), g = sample<half, D>({2, 4, 30}, 4, -12000, 12000);
    const auto y = group_norm(x, 2, w, Tensor<half, D>());
    const LaunchLog log;
    y.backward(g);
    CHECK(log.counts().total() == 2);  // the weight in float, and the gradient
    group_norm(wide, 2, w.template as<double>(), Tensor<double, D>()).backward(g.template as<double>());
    CHECK_CLOSE(x.grad(), reference(wide.grad()), 1e-3);
  }
}

TEST_CASE("elements of a group find the weight of their channel, at both its ends") {
  std::vector<double> numbers(600);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  for (const std::int64_t elements : {1, 3, 7, 49, 1023, 50176, 16777259}) {
    const detail::ChannelWeights<double> weights{numbers.data(), 2, 300, 1, 1 / static_cast<double>(elements)};
    const auto second = weights.of_row(5);
    std::int64_t wrong = 0;
    for (std::int64_t channel = 0; channel < 300; ++channel) {
      const auto expected = static_cast<double>(300 + channel);
      wrong += second(1, channel * elements) != expected;
      wrong += second(1, (channel + 1) * elements - 1) != expected;
    }
    CHECK(wrong == 0);
  }
}

LOCUS_DEVICE_TEST("batches of none and one, and groups of one value", D) {
  for (const Shape& shape : {Shape{0, 4, 3}, {2, 4, 0}, {2, 0, 3}}) {
    const std::int64_t channels = shape[1];
    const auto x = variable(Tensor<float, D>(shape)), w = variable(sample<float, D>({channels})),
               b = variable(w.value());
    const auto y = group_norm(x, 2, w, b);
    CHECK(y.shape() == shape);
    y.backward(Tensor<float, D>(shape));
    CHECK(x.grad().shape() == shape);
    CHECK_CLOSE(w.grad(), locus_test::Reference(std::vector<double>(static_cast<std::size_t>(channels))));
    CHECK_CLOSE(b.grad(), locus_test::Reference(std::vector<double>(static_cast<std::size_t>(channels))));
  }
  const auto b = sample<float, D>({4});
  CHECK_CLOSE(group_norm(sample<float, D>({1, 4}), 4, b, b), reference(b.reshape({1, 4})));
  CHECK(instance_norm(Tensor<float, D>({0, 4, 3, 3})).shape() == Shape{0, 4, 3, 3});
}

LOCUS_DEVICE_TEST("as many launches as the comment says", D) {
  const auto x = variable(sample<float, D>({2, 4, 6})), w = variable(sample<float, D>({4}, 2)),
             b = variable(sample<float, D>({4}, 3));
  const auto check = [&](const auto& f, std::int64_t forward, std::int64_t backward) {
    const LaunchLog log;
    const auto y = f();
    CHECK(log.counts().total() == forward);
    const LaunchLog after;
    y.backward(sample<float, D>({2, 4, 6}, 4));
    CHECK(after.counts().total() == backward);
  };
  check([&] { return group_norm(x, 2, w, b); }, 2, 3);
  check([&] { return group_norm(x, 2); }, 1, 1);
  check([&] { return group_norm(trace(x.value()), 2, w, b); }, 2, 2);
  check([&] { return instance_norm(x, w.value(), b.value()); }, 2, 1);
}

LOCUS_DEVICE_TEST("GroupNorm and InstanceNorm2d have PyTorch's parameters and defaults", D) {
  const nn::GroupNorm<float, D> group{2, 4};
  const nn::InstanceNorm2d<float, D> instance{4}, affine{4, {.eps = 1e-3, .affine = true}};
  CHECK(group.named_parameters().size() == 2);
  CHECK(group.named_parameters()[0].name == "weight");
  CHECK(group.named_parameters()[1].name == "bias");
  CHECK_CLOSE(group.weight.value(), {1, 1, 1, 1}, 0);
  CHECK_CLOSE(group.bias.value(), {0, 0, 0, 0}, 0);
  CHECK(instance.parameters().empty());
  CHECK(affine.parameters().size() == 2);
  CHECK((nn::GroupNorm<float, D>{2, 4, 1e-5, false}).parameters().empty());
  const auto x = sample<float, D>({2, 4, 3, 5});
  CHECK_CLOSE(group(x), reference(group_norm(x, 2)), 1e-6);
  CHECK_CLOSE(instance(x), reference(instance_norm(x)), 0);
  CHECK_CLOSE(affine(trace(x)), reference(instance_norm(x, 1e-3)), 1e-6);
  sum(group(trace(x))).backward();
  CHECK(group.bias.has_grad());
  CHECK_CLOSE(group.template as<double>()(x.template as<double>()), reference(group(x)), 1e-5);
  CHECK_CLOSE(affine.clone()(x), reference(affine(x)), 0);
}

LOCUS_DEVICE_TEST("running statistics of instances are PyTorch's, in training and inference", D) {
  const nn::InstanceNorm2d<double, D> layer{6, {.momentum = 0.3, .affine = true, .track_running_stats = true}};
  std::string names;
  for (const auto& [name, buffer] : layer.named_buffers()) names += name + " ";
  CHECK(names == "running_mean running_var num_batches_tracked ");
  layer.weight.value().copy_(golden::tensor<double, D>("group_w"));
  layer.bias.value().copy_(golden::tensor<double, D>("group_b"));
  const auto x = golden::tensor<double, D>("group_x");
  const LaunchLog log;
  const auto y = layer(trace(x));
  CHECK(log.counts().total() == 2 + 6);
  CHECK_CLOSE(y, golden::reference("instance_norm"), 1e-10);
  CHECK_CLOSE(layer.running_mean.value(), golden::reference("instance_running_mean"), 1e-10);
  CHECK_CLOSE(layer.running_var.value(), golden::reference("instance_running_var"), 1e-10);
  const auto input = variable(x);
  CHECK_GOLDEN("instance_norm_running", layer(frozen(input)), ({"x"}), input);
  CHECK_CLOSE(layer(x), golden::reference("instance_norm_running"), 1e-10);
  CHECK_CLOSE(layer.running_mean.value(), golden::reference("instance_running_mean"), 1e-10);
  CHECK_CLOSE(layer.num_batches_tracked.value(), 0);
  (void)layer(trace(Tensor<double, D>({0, 6, 4, 3})));
  CHECK_CLOSE(layer.running_var.value(), golden::reference("instance_running_var"), 1e-10);
  const auto narrow = layer.template as<float>();
  CHECK_CLOSE(narrow(x.template as<float>()), reference(layer(x)), 1e-5);
}

LOCUS_DEVICE_TEST("the moments of rows and groups are given beside what they normalize", D) {
  const auto x = sample<bfloat16, D>({2, 4, 3}, 1);
  const auto numbers = reference(x).values;
  const auto moments = [&](std::size_t size) {
    std::vector<double> means, rstds;
    for (std::size_t row = 0; row < numbers.size(); row += size) {
      double mean = 0, variance = 0;
      for (std::size_t i = row; i < row + size; ++i) mean += numbers[i] / double(size);
      for (std::size_t i = row; i < row + size; ++i)
        variance += (numbers[i] - mean) * (numbers[i] - mean) / double(size);
      means.push_back(mean), rstds.push_back(1 / std::sqrt(variance + 1e-3));
    }
    return std::pair(means, rstds);
  };
  const auto rows = moments(3), groups = moments(6);
  const auto of_rows = layer_norm_and_moments(x, {3}, 1e-3);
  CHECK_CLOSE(of_rows.values, reference(layer_norm(x, {3}, 1e-3)), 0);
  CHECK_CLOSE(of_rows.mean, (Reference{Shape{2, 4}, rows.first}), 1e-6);
  CHECK_CLOSE(of_rows.rstd, (Reference{Shape{2, 4}, rows.second}), 1e-6);
  const auto w = sample<bfloat16, D>({4}, 2), b = sample<bfloat16, D>({4}, 3);
  const auto traced = variable(x), other = variable(x);
  const auto [y, mean, rstd] = group_norm_and_moments(traced, 2, w, b, 1e-3);
  CHECK_CLOSE(mean, (Reference{Shape{2, 2}, groups.first}), 1e-6);
  CHECK_CLOSE(rstd, (Reference{Shape{2, 2}, groups.second}), 1e-6);
  y.backward(x);
  group_norm(other, 2, w, b, 1e-3).backward(x);
  CHECK_CLOSE(traced.grad(), reference(other.grad()), 0);
  CHECK_CLOSE(layer_norm_and_moments(Tensor<float, D>({2, 0}), {0}).mean, {NAN, NAN});
  CHECK(group_norm_and_moments(Tensor<float, D>({0, 4, 3}), 2).rstd.shape() == Shape{0, 2});
}

TEST_CASE("groups that do not divide, other channels and shapes are refused") {
  const Tensor<float> x({2, 6, 3, 3}), six({6}), four({4});
  CHECK_THROWS_WITH_AS((void)group_norm(x, 4), doctest::Contains("4 groups of 6 channels"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)group_norm(x, 0), doctest::Contains("0 groups"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)group_norm(x, 2, four, six), doctest::Contains("weight of shape (4,)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)group_norm(x, 2, six, four), doctest::Contains("bias of shape (4,)"), ShapeError);
  CHECK_THROWS_AS((void)group_norm(Tensor<float>({6}), 2), ShapeError);
  CHECK_THROWS_AS((void)group_norm(x, 2, -1.0), ArgumentError);
  CHECK_THROWS_AS((void)group_norm(x, 2, std::nan("")), ArgumentError);
  CHECK_THROWS_WITH_AS((void)instance_norm(Tensor<float>({2, 6, 1, 1})), doctest::Contains("one value per channel"),
                       ArgumentError);
  CHECK_THROWS_AS((void)instance_norm(Tensor<float>({2, 6})), ShapeError);
  CHECK_THROWS_WITH_AS((nn::GroupNorm<float, Cpu>{4, 6}), doctest::Contains("4 groups of 6 channels"), ArgumentError);
  CHECK_THROWS_AS((nn::GroupNorm<float, Cpu>{0, 6}), ArgumentError);
  CHECK_THROWS_AS((nn::GroupNorm<float, Cpu>{1, 0}), ArgumentError);
  CHECK_THROWS_AS((nn::GroupNorm<float, Cpu>{1, 6, -1}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)(nn::GroupNorm<float, Cpu>{2, 4}(x)), doctest::Contains("(batch, 4, ...)"), ShapeError);
  CHECK_THROWS_WITH_AS((nn::InstanceNorm2d<float, Cpu>{6, {.momentum = 1.5}}), doctest::Contains("momentum is 1.5"),
                       ArgumentError);
  CHECK_THROWS_AS((void)(nn::InstanceNorm2d<float, Cpu>{6}(Tensor<float>({2, 6, 3}))), ShapeError);
}
