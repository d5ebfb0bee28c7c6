// A block of GPT-2, forward and backward, and a training step of ResNet-18; on a GPU also captured and replayed. Sizes:
// texts, length, width, heads; images, side, width of the first stage.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/cuda/convolution.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/resnet.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/optim/sgd.hpp>

#include <cmath>

namespace bench {
namespace {

/// The difference of results from float64, relative to their norm.
class Distance {
 public:
  template <class T, class D>
  void add(const Tensor<T, D>& found, const Tensor<double, Cpu>& expected) {
    const auto a = on_the_host(found.contiguous());
    const auto b = expected.contiguous();
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      const double difference = locus::convert<double>(a.data()[i]) - b.data()[i];
      difference_ += difference * difference, norm_ += b.data()[i] * b.data()[i];
    }
  }
  template <class M, class M64>
  void add_gradients(const M& model, const M64& model64) {
    const auto ours = model.parameters();
    const auto exact = model64.parameters();
    for (std::size_t i = 0; i < ours.size(); ++i) add(ours[i].grad(), exact[i].grad());
  }
  /// Relative to the rounding of a type (of float, of long sums), times `operations`.
  [[nodiscard]] double over(const std::string& dtype, double operations) const {
    const double rounding = dtype == "bf16" ? 0x1p-8 : dtype == "tf32" ? 0x1p-11 : 0x1p-21;
    return std::sqrt(difference_ / norm_) / (operations * rounding);
  }

 private:
  double difference_ = 0, norm_ = 0;
};

/// A copy of a model in float64 on the host.
template <class M>
[[nodiscard]] auto exact_copy(const M& model) {
  return model.template as<double>().template to<Cpu>();
}
template <class T, class D>
[[nodiscard]] Tensor<double, Cpu> exact_copy(const Tensor<T, D>& x) {
  return on_the_host(x.contiguous()).template as<double>();
}

template <class M>
void forget_gradients(const M& model) {
  for (const auto& parameter : model.parameters()) parameter.zero_grad();
}

/// A block, its input and the gradient of its result.
template <class T, class D>
struct Block {
  locus::models::GPT2Block<T, D> model;
  locus::Traced<T, D> x;
  Tensor<T, D> g, y;

  Block(std::int64_t texts, std::int64_t length, std::int64_t width, std::int64_t heads, D device)
      : model({.n_embd = width, .n_head = heads, .attn_pdrop = 0, .resid_pdrop = 0}, device),
        x(locus::variable(locus::randn<T>({texts, length, width}, device))),
        g(locus::randn<T>({texts, length, width}, device)) {}

  void step() {
    x.zero_grad(), forget_gradients(model);
    const auto result = model(x);
    result.backward(g);
    y = result.value();
  }
  /// Calls step(), and compares its results.
  template <class Step>
  [[nodiscard]] double error_of(const Step& step, const std::string& dtype) {
    step();
    const auto exact = exact_copy(model);
    const auto input = locus::variable(exact_copy(x.value()));
    const auto result = exact(input);
    result.backward(exact_copy(g));
    Distance value, gradient;
    value.add(y, result.value());
    gradient.add(x.grad(), input.grad()), gradient.add_gradients(model, exact);
    return std::max(value.over(dtype, 40), gradient.over(dtype, 40));
  }
};

/// ResNet-18 for small images, a batch, and the optimizer.
template <class T, class D>
struct Network {
  locus::models::ResNet<T, D, locus::models::BasicBlock> model;
  locus::optim::Sgd<T, D> optimizer;
  Tensor<T, D> images;
  Tensor<std::int64_t, D> labels;
  Tensor<T, D> loss;

  Network(std::int64_t count, std::int64_t side, std::int64_t width, bool channels_last, D device)
      : model(locus::models::resnet18<T>(
            {.classes = 10, .small_images = true, .width = width, .channels_last = channels_last}, device)),
        optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true}),
        images(locus::randn<T>({count, 3, side, side}, device)),
        labels(locus::randint(0, 10, {count}, device)) {
    if (channels_last) images = images.channels_last();
  }

  void step() {
    optimizer.zero_grad();
    const auto of_batch = cross_entropy(model(trace(images)), labels);
    of_batch.backward();
    optimizer.step();
    loss = of_batch.value();
  }
  template <class Step>
  [[nodiscard]] double error_of(const Step& step, const std::string& dtype) {
    const auto exact = exact_copy(model);  // before the weights change
    step();
    const auto of_batch = cross_entropy(exact(trace(exact_copy(images))), on_the_host(labels));
    of_batch.backward();
    Distance value, gradient;
    value.add(loss, of_batch.value());
    gradient.add_gradients(model, exact);
    // Batch norm subtracts most of a gradient, twenty times, and relu may take another slope: in bfloat16 PyTorch's
    // gradients, too, are 0.3 of their norm apart from those in float64.
    return std::max(value.over(dtype, 40), gradient.over(dtype, 160));
  }
};

/// A variant that launches steps, and on a GPU one that replays them.
template <class D, class Make>
std::vector<Variant> variants_of(const std::string& name, const std::string& dtype, D device, const Make& make) {
  const bool tf32 = dtype == "tf32";
  const auto launched = make();
  const auto step = [=] {
    const Tf32Guard guard(tf32);
    launched->step();
  };
  std::vector<Variant> variants{{name, step, [=] { return launched->error_of(step, dtype); }}};
  if constexpr (std::is_same_v<D, Cuda>) {
    const auto replayed = make();
    const auto body = [=] {
      const Tf32Guard guard(tf32);
      replayed->step();
    };
    const auto captured = std::make_shared<locus::Captured<D, decltype(body)>>(body, device);
    const auto replay = [=] { (*captured)(); };
    variants.push_back({name + " captured", replay, [=] {
                          for (int i = 0; i < 2; ++i) replay();  // the first call runs eagerly, the second captures
                          return replayed->error_of(replay, dtype);
                        }});
  }
  return variants;
}

template <class T, class D>
void add_block(Workloads& workloads, const std::string& dtype, std::vector<std::int64_t> sizes, D device) {
  Workload w{"network", "gpt2 block", dtype, sizes};
  const auto tokens = static_cast<double>(sizes[0] * sizes[1]), width = static_cast<double>(sizes[2]);
  // Twelve products of width x width for each token, and the pairs of a causal attention; twice as much for gradients.
  w.bytes = static_cast<double>(sizeof(T)) * (36 * width * width + 4 * tokens * width);  // weights thrice; x, y, g, dx
  w.flops = 6 * tokens * (12 * width * width + static_cast<double>(sizes[1]) * width);
  w.prepare = [=] {
    return variants_of("locus", dtype, device,
                       [=] { return std::make_shared<Block<T, D>>(sizes[0], sizes[1], sizes[2], sizes[3], device); });
  };
  workloads.push_back(std::move(w));
}

template <class T, class D>
void add_network(Workloads& workloads, const std::string& dtype, std::vector<std::int64_t> sizes, D device) {
  Workload w{"network", "resnet18 step", dtype, sizes};
  const double weights = 11.2e6 / 4096 * static_cast<double>(sizes[2] * sizes[2]);
  w.bytes = 3 * weights * sizeof(T);  // read forward and backward, and their gradients written
  w.prepare = [=] {
    std::vector<Variant> all;
    for (const bool channels_last : {false, true}) {
      const auto make = [=] {
        return std::make_shared<Network<T, D>>(sizes[0], sizes[1], sizes[2], channels_last, device);
      };
      for (Variant& variant : variants_of(channels_last ? "locus channels-last" : "locus", dtype, device, make))
        all.push_back(std::move(variant));
    }
    return all;
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_networks(Workloads& workloads, Scale scale, D device) {
  const bool tiny = scale == Scale::tiny;
  const std::vector<std::int64_t> block =
      tiny ? std::vector<std::int64_t>{2, 8, 16, 2} : std::vector<std::int64_t>{4, 1024, 768, 12};
  const std::vector<std::int64_t> network =
      tiny ? std::vector<std::int64_t>{16, 8, 4} : std::vector<std::int64_t>{128, 32, 64};
  add_block<float>(workloads, "f32", block, device);
  add_network<float>(workloads, "f32", network, device);
  if constexpr (!on_host<D>) {
    add_block<float>(workloads, "tf32", block, device);
    add_network<float>(workloads, "tf32", network, device);
  }
  add_block<locus::bfloat16>(workloads, "bf16", block, device);
  add_network<locus::bfloat16>(workloads, "bf16", network, device);
}

}  // namespace bench

LOCUS_BENCHMARK(add_networks)
