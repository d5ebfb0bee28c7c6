// Runs on: host, cuda (training).
#include <locus/nn/batch_norm.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/random.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

/// A layer with the weights of the golden run.
template <class Layer>
Layer golden_layer(const std::string& name, std::int64_t features, const nn::BatchNormOptions& options) {
  using D = typename Layer::device_type;
  const Layer layer(features, options);
  if (options.affine) {
    layer.weight.value().copy_(golden::tensor<double, D>(name + "_weight"));
    layer.bias.value().copy_(golden::tensor<double, D>(name + "_bias"));
  }
  return layer;
}

/// Three training steps and inference, as make_layers.py has them.
template <class Layer>
void check_golden(const std::string& name, std::int64_t features, const nn::BatchNormOptions& options) {
  using D = typename Layer::device_type;
  CAPTURE(name);
  const Layer layer = golden_layer<Layer>(name, features, options);
  const auto check = [&](const std::string& run, const auto& x) {
    layer.zero_grad();
    if (options.affine) CHECK_GOLDEN(run, layer(x), ({"x", "weight", "bias"}), x, layer.weight, layer.bias);
    else CHECK_GOLDEN(run, layer(x), ({"x"}), x);
  };
  for (int step = 0; step < 3; ++step) {
    const std::string number = std::to_string(step);
    check(name + "_train" + number, variable(golden::tensor<double, D>(name + "_x" + number)));
    if (!options.track_running_stats) continue;
    CHECK_CLOSE(layer.running_mean, reference(golden::tensor<double, D>(name + "_means").select(0, step)), 1e-10);
    CHECK_CLOSE(layer.running_var, reference(golden::tensor<double, D>(name + "_vars").select(0, step)), 1e-10);
    CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {step + 1.0}));
  }
  const auto x = golden::tensor<double, D>(name + "_x");
  if (options.track_running_stats) {
    CHECK_CLOSE(layer(x), golden::reference(name + "_eval"), 1e-10);
    check(name + "_eval", frozen(variable(x)));  // traced, and yet as in inference
    CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {3}));
  } else {
    CHECK_CLOSE(layer(x), golden::reference(name + "_eval"), 1e-10);
  }
}

template <class T, class D>
Tensor<T, D> numbers(const Shape& shape) {
  return (sample<T, D>(shape) * T(3) + T(1)).eval();
}

}  // namespace

LOCUS_DEVICE_TEST("training, running statistics, inference and gradients are PyTorch's", D) {
  check_golden<nn::BatchNorm1d<double, D>>("bn1d", 3, {});
  check_golden<nn::BatchNorm1d<double, D>>("bn1d_length", 3, {.momentum = std::nullopt});
  check_golden<nn::BatchNorm2d<double, D>>("bn2d", 2, {.eps = 1e-3, .momentum = 0.3});
  check_golden<nn::BatchNorm2d<double, D>>("bn2d_plain", 3, {.affine = false});
  check_golden<nn::BatchNorm1d<double, D>>("bn1d_untracked", 2, {.track_running_stats = false});
}

LOCUS_DEVICE_TEST("names and first values are PyTorch's", D) {
  const nn::Sequential<float, D> model{nn::Linear<float, D>{4, 3}, nn::BatchNorm1d<float, D>{3}};
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters()) names += name + " ";
  for (const auto& [name, buffer] : model.named_buffers()) names += name + " ";
  CHECK(names == "0.weight 0.bias 1.weight 1.bias 1.running_mean 1.running_var 1.num_batches_tracked ");
  const nn::BatchNorm1d<float, D> layer{2};
  CHECK_CLOSE(layer.weight.value(), {1, 1});
  CHECK_CLOSE(layer.bias.value(), {0, 0});
  CHECK_CLOSE(layer.running_mean, {0, 0});
  CHECK_CLOSE(layer.running_var, {1, 1});
  CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {0}));
}

LOCUS_DEVICE_TEST("what the type of the input decides: who learns, and who is left as it is", D) {
  const nn::BatchNorm2d<float, D> layer{2};
  const auto x = numbers<float, D>({3, 2, 4, 5});
  (void)layer(x);
  (void)layer(frozen(trace(x)));
  (void)layer(frozen(trace(x)) * 2.f);
  CHECK_CLOSE(layer.running_mean, {0, 0});
  CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {0}));
  const auto y = layer(trace(x));
  CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {1}));
  CHECK_CLOSE(mean(y.value(), {0, 2, 3}), {0, 0}, 1e-5);
  CHECK_CLOSE(var(y.value(), {0, 2, 3}, {.correction = 0}), {1, 1}, 1e-3);
}

LOCUS_DEVICE_TEST("any traced operand trains, unless one is frozen", D) {
  const auto x = numbers<float, D>({3, 2, 4, 5});
  const Parameter<float, D> image(x.clone()), weight(ones<float, D>({2})), bias(zeros<float, D>({2}));
  const auto train = batch_norm(trace(x), RunningStatistics<float, D>{}, weight, bias);
  const auto check = [&](bool trains, const auto& normalize) {
    const RunningStatistics<float, D> running{zeros<float, D>({2}), ones<float, D>({2}), zeros<std::int64_t, D>({})};
    const auto y = normalize(running);
    CHECK(running.batches.item() == (trains ? 1 : 0));
    CHECK_CLOSE(y, reference(trains ? train.value() : Tensor<float, D>(x / std::sqrt(1 + 1e-5f))), 1e-5);
  };
  check(true, [&](const auto& running) { return batch_norm(image, running, trace(weight), bias); });
  check(true, [&](const auto& running) { return batch_norm(image, running, weight, trace(bias)); });
  check(true, [&](const auto& running) { return batch_norm(x, running, trace(weight), bias); });
  check(true,
        [&](const auto& running) { return batch_norm(x, running, weight, bias, trace(zeros<float, D>(x.shape()))); });
  check(true, [&](const auto& running) { return batch_norm(trace(x), running, trace(weight) * 1.f, bias); });
  check(false, [&](const auto& running) { return batch_norm(trace(x), running, frozen(trace(weight)), bias); });
  check(false, [&](const auto& running) { return batch_norm(image, running, frozen(trace(weight)), trace(bias)); });
  check(false, [&](const auto& running) { return batch_norm(trace(x), running, frozen(trace(weight)) * 1.f, bias); });
  check(false, [&](const auto& running) { return batch_norm(x, running, weight, bias); });

  // The parameter gets the gradient of training: shifting a whole channel changes nothing.
  const RunningStatistics<float, D> running{zeros<float, D>({2}), ones<float, D>({2}), zeros<std::int64_t, D>({})};
  sum(square(batch_norm(image, running, trace(weight), bias)) * x).backward();
  CHECK_CLOSE(sum(image.grad(), {0, 2, 3}), {0, 0}, 1e-4);
}

LOCUS_DEVICE_TEST("launches: three and the count in training, two in inference, three at most backward", D) {
  const nn::BatchNorm2d<float, D> layer{3};
  const auto x = variable(numbers<float, D>({4, 3, 2, 2}));
  const LaunchLog training;
  const auto y = layer(x);
  CHECK(training.launches() == 4);
  const auto cotangent = numbers<float, D>({4, 3, 2, 2});
  const LaunchLog backward;
  y.backward(cotangent);
  CHECK(backward.launches() == 3);
  const LaunchLog inference;
  (void)layer(x.value());
  CHECK(inference.launches() == 2);
}

LOCUS_DEVICE_TEST("relu takes no launch, a residual none, and one backward where relu follows it", D) {
  const nn::BatchNorm2d<float, D> layer{3};
  const auto x = variable(numbers<float, D>({4, 3, 2, 2})), residual = variable(numbers<float, D>({4, 3, 2, 2}));
  const auto cotangent = numbers<float, D>({4, 3, 2, 2});
  const auto launches = [&](std::int64_t forward, std::int64_t backward, const auto& f) {
    const LaunchLog log;
    const auto y = f();
    CHECK(log.launches() == forward);
    const LaunchLog of_backward;
    y.backward(cotangent);
    CHECK(of_backward.launches() == backward);
    x.zero_grad(), residual.zero_grad(), layer.zero_grad();
  };
  const nn::Sequential<float, D> model{layer, nn::ReLU{}};
  launches(4, 3, [&] { return model(x); });
  // Plus the residual's own launches: forward and backward of the product. Its gradient then goes to an intermediate,
  // not to a variable, which would copy it.
  const auto added = [&](nn::Activation next) { return layer.forward_with(x, next, (residual * 2.f).eval()); };
  launches(4 + 1, 3 + 1, [&] { return added(nn::Activation::none); });
  launches(4 + 1, 4 + 1, [&] { return added(nn::Activation::relu); });
}

LOCUS_DEVICE_TEST("relu and residuals are PyTorch's, in training and in inference", D) {
  for (const char* const kind : {"bn_relu", "bn_add_relu", "bn_add"}) {
    const std::string name = kind;
    CAPTURE(name);
    const auto layer = golden_layer<nn::BatchNorm2d<double, D>>(name, name == "bn_add" ? 3 : 4, {});
    const nn::Activation next = name == "bn_add" ? nn::Activation::none : nn::Activation::relu;
    for (const bool trains : {true, false}) {
      const std::string run = name + (trains ? "_train" : "_eval");
      layer.zero_grad();
      const auto given = variable(golden::tensor<double, D>(run + "_x"));
      const auto x = trains ? given : frozen(given);
      if (name == "bn_relu") {
        CHECK_GOLDEN(run, layer.forward_with(x, next), ({"x", "weight", "bias"}), given, layer.weight, layer.bias);
        continue;
      }
      const auto residual = variable(golden::tensor<double, D>(run + "_residual"));
      CHECK_GOLDEN(run, layer.forward_with(x, next, residual), ({"x", "residual", "weight", "bias"}), given, residual,
                   layer.weight, layer.bias);
    }
  }
}

namespace {

/// Compares forward_with() of x in T with relu(layer(x) + residual): equal values and gradients, accumulated ones
/// included.
template <class T, class D>
void check_fused(const Shape& shape, double allowed_of_sums) {
  CAPTURE(shape);
  const nn::BatchNorm2d<T, D> layer{shape[1]}, apart{shape[1]};
  for (const auto* each : {&layer, &apart}) {
    each->weight.value().copy_(numbers<T, D>({shape[1]}));
    each->bias.value().copy_(numbers<T, D>({shape[1]}) * T(-0.5f));
  }
  const auto cotangent = numbers<T, D>(shape);
  const auto x = numbers<T, D>(shape), other = (numbers<T, D>(shape) * T(-0.7f)).eval();
  const auto v = variable(x), residual = variable(other), w = variable(x), residual_apart = variable(other);
  const auto compare = [&](const auto& fused, const auto& y, double allowed) {
    CHECK_CLOSE(fused.value(), reference(y.value()), allowed);
    fused.backward(cotangent);
    y.backward(cotangent);
    CHECK_CLOSE(v.grad(), reference(w.grad()), allowed);
    CHECK_CLOSE(layer.weight.grad(), reference(apart.weight.grad()), allowed);
    CHECK_CLOSE(layer.bias.grad(), reference(apart.bias.grad()), allowed);
  };
  compare(layer.forward_with(v, nn::Activation::relu).eval(), relu(apart(w)).eval(), 0);
  compare(layer.forward_with(v, nn::Activation::relu, residual).eval(), relu(apart(w) + residual_apart).eval(),
          allowed_of_sums);
  CHECK_CLOSE(residual.grad(), reference(residual_apart.grad()), allowed_of_sums);
  CHECK_CLOSE(layer.running_var, reference(apart.running_var.value()), 0);
  CHECK_CLOSE(layer.forward_with(x, nn::Activation::relu), reference(relu(apart(x))), 0);
  CHECK_CLOSE(layer.forward_with(x, nn::Activation::relu, other), reference(relu(apart(x) + other)), allowed_of_sums);
  CHECK_CLOSE(layer.forward_with(x, nn::Activation::none, other), reference(apart(x) + other), allowed_of_sums);
}

}  // namespace

LOCUS_DEVICE_TEST("relu and residuals change no bit; in 16 bits, a sum is rounded once", D) {
  for (const Shape& shape : {Shape{5, 3, 7, 5}, Shape{1, 17, 3, 3}, Shape{3, 40, 1, 1}, Shape{2, 3, 23, 29}})
    check_fused<float, D>(shape, 0);
  check_fused<bfloat16, D>({3, 5, 6, 7}, 2e-2);
}

LOCUS_DEVICE_TEST("an empty batch and a batch of one pass relu and residuals", D) {
  const nn::BatchNorm2d<float, D> layer{3};
  const auto x = variable(Tensor<float, D>({0, 3, 2, 2})), residual = variable(Tensor<float, D>({0, 3, 2, 2}));
  const auto y = layer.forward_with(x, nn::Activation::relu, residual);
  CHECK(y.shape() == x.shape());
  sum(y).backward();
  CHECK(residual.grad().shape() == x.shape());
  const auto one = numbers<float, D>({1, 3, 1, 1});
  CHECK_THROWS_AS((void)layer.forward_with(trace(one), nn::Activation::relu), ArgumentError);
  CHECK(layer.forward_with(one, nn::Activation::relu, one).shape() == one.shape());
}

LOCUS_DEVICE_TEST("gradients agree with finite differences, of strided inputs and 16-bit floats too", D) {
  const RunningStatistics<double, D> none;
  const auto f = [&](auto x, auto w, auto b) { return batch_norm(x, none, w, b); };
  CHECK(gradcheck(f, numbers<double, D>({3, 2, 4}), numbers<double, D>({2}), numbers<double, D>({2})));
  CHECK(gradcheck([&](auto x) { return batch_norm(x.transpose(0, 1), none); }, numbers<double, D>({3, 4})));
  const auto rectified = [&](auto x, auto w, auto b, auto a) { return batch_norm(x, none, w, b, a, {.relu = true}); };
  CHECK(gradcheck(rectified, numbers<double, D>({3, 2, 5}), numbers<double, D>({2}), numbers<double, D>({2}),
                  (numbers<double, D>({3, 5, 2}) * 0.5).eval().transpose(1, 2)));
  const auto shares = [&](auto x, auto w) { return batch_norm(x, none, w, w, x, {.relu = true}); };
  CHECK(gradcheck(shares, numbers<double, D>({3, 2, 5}), numbers<double, D>({2})));
  CHECK(gradcheck([&](auto x, auto w) { return batch_norm(x, none, w, w, x) + x; }, numbers<double, D>({3, 2, 5}),
                  numbers<double, D>({2})));
  const RunningStatistics<double, D> given{numbers<double, D>({2}), full<double, D>({2}, 1.5), {}};
  const auto inference = [&](auto x, auto w, auto b) {
    if constexpr (decltype(x)::role == Role::traced) return batch_norm(frozen(x), given, w, b);
    else return batch_norm(x, given, w, b);
  };
  CHECK(gradcheck(inference, numbers<double, D>({3, 2, 4}), numbers<double, D>({2}), numbers<double, D>({2})));

  const nn::BatchNorm1d<bfloat16, D> layer{2};
  const nn::BatchNorm1d<float, D> wide{2};
  static_assert(std::is_same_v<typename decltype(layer.running_mean)::value_type, float>);
  const auto x = numbers<bfloat16, D>({8, 2});
  const auto v = variable(x);
  const auto w = variable(x.template as<float>());
  CHECK_CLOSE(layer(v), reference(wide(w)), 4e-3);
  CHECK_CLOSE(layer.running_mean, reference(wide.running_mean.value()), 1e-6);
}

LOCUS_DEVICE_TEST("a channel far from zero keeps its digits", D) {
  const auto near = numbers<double, D>({64, 3});
  const auto far = (near + 4096.0).template as<float>();
  const RunningStatistics<float, D> none;
  const RunningStatistics<double, D> exact;
  CHECK_CLOSE(batch_norm(far, none), reference(batch_norm(far.template as<double>(), exact)), 1e-3);
}

namespace {
/// Neighbouring channels of different scales, powers of two, in several layouts, against float64 of scale 1.
template <class T, class D>
void check_scaled_channels(const std::vector<double>& scales, double eps, double allowed) {
  CAPTURE(dtype_name<T>());
  const auto count = static_cast<std::int64_t>(scales.size());
  const RunningStatistics<compute_t<T>, D> none;
  const RunningStatistics<double, D> exact;
  for (const Shape& shape : {Shape{40, count}, Shape{2, count, 300}}) {
    CAPTURE(shape);
    const auto unit = sample<T, D>(shape, 3);
    const auto g = sample<T, D>(shape, 4);
    Shape channels = Dims::filled(shape.rank(), 1);
    channels[1] = count;
    const auto u = variable(unit.template as<double>().eval());
    const auto wanted = batch_norm(u, exact, {.eps = 0});
    wanted.backward(g.template as<double>());
    const auto scale = tensor<double, D>(channels, scales);
    const auto x = variable((unit.template as<double>() * scale).template as<T>().eval());
    const auto y = batch_norm(x, none, {.eps = eps});
    CHECK_CLOSE(y, reference(wanted), allowed);
    y.backward(g);
    CHECK_CLOSE((x.grad().template as<double>() * scale).eval(), reference(u.grad()), 4 * allowed);
  }
}
}  // namespace

LOCUS_DEVICE_TEST("channels are normalized where their squares overflow, or vanish and eps is 0", D) {
  const RunningStatistics<float, D> none{Tensor<float, D>({1}).fill_(1.f), Tensor<float, D>({1}).fill_(1.f), {}};
  const auto huge = variable(tensor<float, D>({3, 1}, {1e30, -1e30, 3e30}));
  CHECK_CLOSE(batch_norm(huge, none), {{3, 1}, {0, -1.2247449, 1.2247449}}, 1e-6);
  CHECK_CLOSE(none.mean, {1e29 + 0.9}, 1e-6);
  CHECK_CLOSE(none.var, {INFINITY});
  const auto tiny = variable(tensor<float, D>({3, 1}, {1e-30, -1e-30, 3e-30}));
  CHECK_CLOSE(batch_norm(tiny, none, {.eps = 0}), {{3, 1}, {0, -1.2247449, 1.2247449}}, 1e-6);
  const auto power = [](int exponent) { return std::ldexp(1., exponent); };
  check_scaled_channels<float, D>({power(66), power(100), power(125), power(20)}, 1e-7, 4e-6);
  check_scaled_channels<float, D>({power(66), power(-84), power(-120), power(-50), 1}, 0, 4e-6);
  check_scaled_channels<double, D>({power(700), 1, power(-700)}, 0, 1e-13);
  check_scaled_channels<bfloat16, D>({power(66), power(100), 1}, 0, 2e-2);
  check_scaled_channels<half, D>({power(-9), power(10), 1}, 0, 4e-3);
}

namespace {
/// A shared batch of a single rank.
template <class D>
class OneRank : public SharedBatch<float, D> {
 public:
  [[nodiscard]] Tensor<float, D> combine(const Tensor<float, D>& mean, const Tensor<float, D>&,
                                         std::int64_t count) const override {
    return Tensor<float, D>(mean.shape(), mean.device()).fill_(static_cast<float>(count));
  }
  void average(const Tensor<float, D>& a, const Tensor<float, D>& b, const Tensor<float, D>& elements) const override {
    a.copy_((a / elements).eval());
    b.copy_((b / elements).eval());
  }
};
}  // namespace

LOCUS_DEVICE_TEST("a channel of equal elements takes no launch more, also beside ranks and where eps is 0", D) {
  const RunningStatistics<float, D> none;
  const Tensor<float, D> absent;
  const auto ranks = Shared<const SharedBatch<float, D>>(new OneRank<D>);
  for (const Shape& shape : {Shape{40, 3}, Shape{2, 3, 300}}) {
    CAPTURE(shape);
    Shape channels = Dims::filled(shape.rank(), 1);
    channels[1] = 3;
    const auto x =
        (numbers<float, D>(shape) * tensor<float, D>(channels, {1, 0, 0}) + tensor<float, D>(channels, {0, 0, 3.3}))
            .eval();
    const auto varied = numbers<float, D>(shape);
    for (const double eps : {1e-5, 0.}) {
      for (const auto& whole : {Shared<const SharedBatch<float, D>>(), ranks}) {
        const auto launches = [&](const auto& of) {
          const LaunchLog log;
          (void)batch_norm(trace(of), none, absent, absent, {.eps = eps}, whole);
          return log.launches();
        };
        CHECK(launches(x) == launches(varied));
        if (eps == 0) continue;
        const auto y = batch_norm(trace(x), none, absent, absent, {.eps = eps}, whole).value();
        CHECK_CLOSE(y.slice(1, 1, 3),
                    Reference(y.slice(1, 1, 3).shape(),
                              std::vector<double>(static_cast<std::size_t>(y.elements() / 3 * 2), 0.)));
      }
    }
  }
}

LOCUS_DEVICE_TEST("channels with an outlier are normalized, and teach their mean, wherever it is", D) {
  for (const int at : {0, 500, 999}) {
    CAPTURE(at);
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i) values.push_back(i == at ? 1e8 : 0.3 + i * 37 % 1000 * 0.006);
    const auto row = tensor<float, D>({1, 1, 1000}, values);
    const auto check = [](const auto& x) {
      using R = double;
      const auto exact = x.template as<R>().eval();
      const RunningStatistics<float, D> means{Tensor<float, D>({1}).fill_(0), Tensor<float, D>({1}).fill_(1), {}};
      const RunningStatistics<R, D> wanted{Tensor<R, D>({1}).fill_(0), Tensor<R, D>({1}).fill_(1), {}};
      const auto y = batch_norm(trace(x), means).value();
      const auto expected = batch_norm(trace(exact), wanted).value();
      check_empty(relative_difference(y, reference(expected), 2e-6), __FILE__, __LINE__);
      check_empty(relative_difference(means.mean, reference(wanted.mean), 1e-6), __FILE__, __LINE__);
      check_empty(relative_difference(means.var, reference(wanted.var), 2e-6), __FILE__, __LINE__);
    };
    check(row);
    check(row.reshape({1000, 1}));
    check(row.expand({2, 1, 1000}).contiguous());
  }
}

LOCUS_DEVICE_TEST("an empty batch changes nothing but the count; its gradients are zeros", D) {
  const nn::BatchNorm1d<float, D> layer{3};
  for (const Shape& shape : {Shape{0, 3}, Shape{0, 3, 4}, Shape{2, 3, 0}}) {
    const auto x = variable(Tensor<float, D>(shape));
    const auto y = layer(x);
    CHECK(y.shape() == shape);
    sum(y).backward();
    CHECK(x.grad().shape() == shape);
    CHECK(layer(x.value()).shape() == shape);
  }
  CHECK_CLOSE(layer.weight.grad(), {0, 0, 0});
  CHECK_CLOSE(layer.bias.grad(), {0, 0, 0});
  CHECK_CLOSE(layer.running_mean, {0, 0, 0});
  CHECK_CLOSE(layer.running_var, {1, 1, 1});
  CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {3}));
}

LOCUS_DEVICE_TEST("an adjoint of zero gives exactly zero, whatever the channel holds", D) {
  const auto x = variable(tensor<float, D>({2, 2}, {1, INFINITY, 3, 2}));
  const RunningStatistics<float, D> none;
  batch_norm(x, none).backward(tensor<float, D>({2, 2}, {1, 0, 0, 0}));
  const auto gradients = reference(x.grad()).values;
  CHECK(gradients[1] == 0);
  CHECK(gradients[3] == 0);
}

LOCUS_DEVICE_TEST("what batch normalization cannot do is said", D) {
  const nn::BatchNorm1d<float, D> layer{3};
  CHECK_THROWS_WITH_AS((void)layer(trace(zeros<float, D>({1, 3}))),
                       "batch_norm: one value per channel in training, from an input of shape (1, 3); expected more, "
                       "since one has no variance: use larger batches or drop_last",
                       ArgumentError);
  CHECK_CLOSE(layer.num_batches_tracked, Reference(Shape{}, {0}));
  CHECK(layer(zeros<float, D>({1, 3})).shape() == Shape{1, 3});  // inference is fine
  CHECK_THROWS_WITH_AS((void)layer(zeros<float, D>({2, 4})), doctest::Contains("an element for each of 4 channels"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)layer(zeros<float, D>({3})), doctest::Contains("BatchNorm1d: input of shape"), ShapeError);
  CHECK_THROWS_WITH_AS((void)(nn::BatchNorm2d<float, D>{3}(zeros<float, D>({2, 3}))),
                       doctest::Contains("expected (batch, features, height, width)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)layer.forward_with(zeros<float, D>({2, 3}), nn::Activation::tanh),
                       "BatchNorm1d: forward_with(x, tanh or sigmoid); expected none or relu", ArgumentError);
  CHECK_THROWS_WITH_AS((void)layer.forward_with(zeros<float, D>({2, 3}), nn::Activation::none, zeros<float, D>({3})),
                       "batch_norm: residual of shape (3,) for an input of shape (2, 3); expected the same shape",
                       ShapeError);
  CHECK_THROWS_AS((nn::BatchNorm1d<float, D>{0}), ArgumentError);
  CHECK_THROWS_AS((nn::BatchNorm1d<float, D>{3, {.momentum = 1.5}}), ArgumentError);
  CHECK_THROWS_AS((nn::BatchNorm1d<float, D>{3, {.eps = -1}}), ArgumentError);
  CHECK_THROWS_AS((void)batch_norm(zeros<float, D>({3}), RunningStatistics<float, D>{}), ShapeError);
}

LOCUS_DEVICE_TEST("running statistics that cannot learn are refused; a batch without channels is none of one value",
                  D) {
  const auto x = trace(tensor<float, D>({2, 2}, {1, 10, 3, 30}));
  const auto mean = zeros<float, D>({2}), var = ones<float, D>({2});
  const auto says = [&](const RunningStatistics<float, D>& running, const BatchNormOptions& options, const char* what) {
    CHECK_THROWS_WITH_AS((void)batch_norm(x, running, options), doctest::Contains(what), ArgumentError);
    CHECK_CLOSE(mean, {0, 0}, 0);
  };
  says({mean, var, {}}, {.momentum = std::nullopt}, "no `batches` to count them in");
  says({zeros<float, D>({1}).expand({2}), var, {}}, {}, "expand");
  says({mean, ones<float, D>({1}).expand({2}), {}}, {}, "expand");
  (void)batch_norm(x.value(),
                   RunningStatistics<float, D>{mean, ones<float, D>({1}).expand({2}), {}});  // learns nothing
  (void)batch_norm(x, RunningStatistics<float, D>{}, {.momentum = std::nullopt});
  const auto none = variable(zeros<float, D>({5, 0}));
  const auto y = batch_norm(none, RunningStatistics<float, D>{});
  CHECK(y.shape() == Shape{5, 0});
  y.backward(y.value());
  CHECK(none.grad().shape() == Shape{5, 0});
}

LOCUS_DEVICE_TEST("a hundred captured steps learn the running statistics that uncaptured ones do", D) {
  for (const std::optional<double> momentum : {std::optional<double>(0.1), std::optional<double>()}) {
    const nn::BatchNorm1d<float, D> plain{3, {.momentum = momentum}}, replayed{3, {.momentum = momentum}};
    const Tensor<float, D> x({4, 3});
    auto step = capture<D>([&] { return sum(replayed(trace(x)).value()); });
    Generator<D> numbers{9};
    for (int i = 0; i < 100; ++i) {
      x.copy_(randn<float, D>({4, 3}, numbers));
      (void)plain(trace(x));
      (void)step();
    }
    CHECK_CLOSE(replayed.running_mean, reference(plain.running_mean.value()), 0);
    CHECK_CLOSE(replayed.running_var, reference(plain.running_var.value()), 0);
    CHECK_CLOSE(replayed.num_batches_tracked, Reference(Shape{}, {100}));
    CHECK(replayed.running_var.value().version() == plain.running_var.value().version());  // for stale checks
  }
}
