// Runs on: host, cuda (operations), reference.
// prelu and the other activations against PyTorch, and the weights that prelu takes.

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/prelu.hpp>
#include <locus/ops/prelu.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

LOCUS_DEVICE_TEST("activations and their gradients agree with PyTorch", D) {
  const auto of = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  const auto a = of("activation_x"), b = of("activation_x"), c = of("activation_x");
  CHECK_GOLDEN("elu", elu(a, 0.7), ({"x"}), a);
  CHECK_GOLDEN("hardswish", hardswish(b), ({"x"}), b);
  CHECK_GOLDEN("mish", mish(c), ({"x"}), c);
  for (const char* name : {"one", "each"}) {
    const auto x = of("activation_x"), w = of((std::string("prelu_") + name).c_str());
    CHECK_GOLDEN(std::string("prelu_of_") + name, prelu(x, w), ({"x", "w"}), x, w);
  }
}

LOCUS_DEVICE_TEST("prelu of views, of no dimensions, and of an empty batch", D) {
  const auto x = sample<double, D>({4, 3, 2}, 1), w = sample<double, D>({6}, 2).slice(0, 0, 6, 2);
  const auto found =
      gradcheck([](const auto& v, const auto& s) { return prelu(transpose(v, 0, 2), s) + prelu(v, slice(s, 0, 0, 1)); },
                sample<double, D>({3, 3, 3}, 3), w);
  CHECK_MESSAGE(found, found.what());
  CHECK_CLOSE(prelu(x, w), reference(where(x > 0, x, x * w.reshape({3, 1})).eval()), 0);
  CHECK_CLOSE(prelu(full<double>({}, -2.0, x.device()), w.slice(0, 0, 1)), -2 * reference(w).values[0]);
  const auto none = variable(Tensor<float, D>({0, 3})), slopes = variable(sample<float, D>({3}));
  const auto y = prelu(none, slopes);
  CHECK(y.shape() == Shape{0, 3});
  y.backward(Tensor<float, D>({0, 3}));
  CHECK_CLOSE(slopes.grad(), {0, 0, 0});
}

LOCUS_DEVICE_TEST("prelu is one launch, and backward one for each gradient that is wanted", D) {
  const auto x = variable(sample<float, D>({2, 3, 4})), w = variable(sample<float, D>({3}, 2));
  const LaunchLog forward;
  const auto y = prelu(x, w);
  CHECK(forward.counts().total() == 1);
  const LaunchLog backward;
  y.backward(sample<float, D>({2, 3, 4}, 3));
  CHECK(backward.counts().total() == 2);
}

LOCUS_DEVICE_TEST("an adjoint of 0 contributes nothing, whatever it meets", D) {
  const auto x = variable(locus_test::tensor<float, D>({2}, {-INFINITY, -2})),
             w = variable(locus_test::tensor<float, D>({1}, {INFINITY}));
  prelu(x, w).backward(locus_test::tensor<float, D>({2}, {0, 1}));
  CHECK_CLOSE(x.grad(), {0, INFINITY});
  CHECK_CLOSE(w.grad(), {-2});
}

LOCUS_DEVICE_TEST("the operation and the fused function have the same gradients", D) {
  const auto numbers = locus_test::tensor<float, D>({4}, {-INFINITY, -2, 0, 3});
  const auto g = locus_test::tensor<float, D>({4}, {0, 1, 2, INFINITY});
  const auto x = variable(numbers), w = variable(full({1}, 0.5f, numbers.device())), v = variable(numbers),
             s = variable(w.value());
  prelu(x, w).backward(g);
  elementwise(functor::Prelu{}, v, s).eval().backward(g);
  for (const auto& each : {x.grad(), v.grad()}) CHECK_CLOSE(each, {0, 0.5, 1, INFINITY});
  for (const auto& each : {w.grad(), s.grad()}) CHECK_CLOSE(each, {-2});
}

LOCUS_DEVICE_TEST("PReLU has PyTorch's parameter and first value, and is copied", D) {
  const nn::PReLU<float, D> one, three{3, 0.5};
  CHECK_CLOSE(one.weight.value(), {0.25}, 0);
  CHECK(three.named_parameters()[0].name == "weight");
  const auto x = sample<float, D>({2, 3, 2});
  CHECK_CLOSE(three(x), reference(leaky_relu(x, 0.5)));
  sum(three(trace(x))).backward();
  CHECK(three.weight.has_grad());
  const auto wide = three.template as<double>();
  CHECK_CLOSE(wide(x.template as<double>()), reference(three(x)), 1e-6);
}

TEST_CASE("prelu refuses slopes for other channels, and PReLU none") {
  const Tensor<float> x({2, 3, 4});
  CHECK_THROWS_WITH_AS((void)prelu(x, Tensor<float>({4})), doctest::Contains("(4,)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)prelu(x, Tensor<float>({3, 1})), doctest::Contains("each of 3 channels"), ShapeError);
  CHECK_THROWS_AS((void)prelu(Tensor<float>({3}), Tensor<float>({3})), ShapeError);
  CHECK_THROWS_WITH_AS((nn::PReLU<float, Cpu>{0}), doctest::Contains("0 slopes"), ArgumentError);
  CHECK_THROWS_AS((nn::PReLU<float, Cpu>{1, 1e39}), ArgumentError);
}
