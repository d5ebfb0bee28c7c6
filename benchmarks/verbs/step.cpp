// A training step of a perceptron, 784-128-10: forward, cross-entropy, backward, Adam; on a GPU also captured and
// replayed. Sizes: rows of the batch, inputs, hidden, classes.

#include "operands.hpp"

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/optim/adam.hpp>

#include <cmath>

namespace bench {
namespace {

constexpr std::int64_t inputs = 784, hidden = 128, classes = 10;

template <class D>
struct Training {
  Tensor<float, D> x;
  Tensor<std::int64_t, D> labels;
  locus::nn::Sequential<float, D> model;
  locus::optim::Adam<float, D> adam;
  Tensor<float, D> loss;

  Training(std::int64_t batch, D device)
      : x(locus::randn<float>({batch, inputs}, device)),
        labels(locus::randint(0, classes, {batch}, device)),
        model{locus::nn::Linear<float, D>{inputs, hidden, true, device}, locus::nn::ReLU{},
              locus::nn::Linear<float, D>{hidden, classes, true, device}},
        adam(model.parameters()) {}

  void step() {
    const auto of_batch = cross_entropy(model(trace(x)), labels);
    adam.zero_grad();
    of_batch.backward();
    adam.step();
    loss = of_batch.value();
  }
};

/// out = a w^T + b in float64.
std::vector<double> layer(const std::vector<double>& a, std::int64_t rows, const Tensor<float, Cpu>& w,
                          const Tensor<float, Cpu>& b) {
  std::vector<double> out;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t o = 0; o < w.size(0); ++o) {
      double sum = b(o);
      for (std::int64_t i = 0; i < w.size(1); ++i) sum += a[static_cast<std::size_t>(row * w.size(1) + i)] * w(o, i);
      out.push_back(sum);
    }
  }
  return out;
}

/// Runs `step`, and checks its loss and the gradient of the last bias.
template <class D, class Step>
double error_of_step(Training<D>& training, Step& step) {
  std::vector<Tensor<float, Cpu>> before;
  for (const auto& parameter : training.model.parameters()) before.push_back(on_the_host(parameter.value()).clone());
  step();
  const auto x = on_the_host(training.x);
  const auto labels = on_the_host(training.labels);
  const std::int64_t batch = x.size(0);
  std::vector<double> h = layer({x.data(), x.data() + x.elements()}, batch, before[0], before[1]);
  for (double& value : h) value = value > 0 ? value : 0;
  const std::vector<double> logits = layer(h, batch, before[2], before[3]);
  double loss = 0;
  std::vector<double> gradient(classes, 0.0);
  for (std::int64_t row = 0; row < batch; ++row) {
    const double* z = logits.data() + row * classes;
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(z[c]);
    loss += std::log(sum) - z[labels(row)];
    for (std::int64_t c = 0; c < classes; ++c)
      gradient[static_cast<std::size_t>(c)] += std::exp(z[c]) / sum - (labels(row) == c ? 1 : 0);
  }
  const auto rows = static_cast<double>(batch);
  const auto of_bias = on_the_host(training.model.parameters()[3].grad());
  Worst worst;
  worst.add(training.loss.item(), loss / rows, 1e-5 * std::abs(loss / rows));
  for (std::int64_t c = 0; c < classes; ++c) worst.add(of_bias(c), gradient[static_cast<std::size_t>(c)] / rows, 1e-5);
  return worst.value();
}

}  // namespace

template <class D>
void add_step(Workloads& workloads, Scale scale, D device) {
  const std::int64_t batch = scale == Scale::tiny ? 8 : 128;
  Workload w{"step", "perceptron", "f32", {batch, inputs, hidden, classes}};
  constexpr double weights = inputs * hidden + hidden * classes;
  w.bytes = 28 * weights + 4 * static_cast<double>(batch * inputs);
  w.flops = 6 * weights * static_cast<double>(batch);
  w.prepare = [=]() -> std::vector<Variant> {
    const auto training = std::make_shared<Training<D>>(batch, device);
    const auto step = [=] { training->step(); };
    std::vector<Variant> ways{{"locus", step, [=] { return error_of_step(*training, step); }}};
    if constexpr (std::is_same_v<D, locus::Cuda>) {
      const auto replayed = std::make_shared<Training<D>>(batch, device);
      const auto body = [=] { replayed->step(); };
      const auto captured = std::make_shared<locus::Captured<D, decltype(body)>>(body, device);
      const auto replay = [=] { (*captured)(); };
      ways.push_back({"locus captured", replay, [=] {
                        for (int i = 0; i < 2; ++i) replay();  // the first call runs eagerly, the second captures
                        return error_of_step(*replayed, replay);
                      }});
    }
    return ways;
  };
  workloads.push_back(std::move(w));
}

}  // namespace bench

LOCUS_BENCHMARK(add_step)
