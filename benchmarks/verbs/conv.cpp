// Convolutions of a ResNet-18 on images of 32 x 32, forward and with backward pass: on a GPU by cuDNN, if the program
// has it, and by im2col products. Sizes: images, channels in and out, side of an image, kernel, stride.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/autograd/parameter.hpp>
#include <locus/cuda/convolution.hpp>
#include <locus/ops/conv.hpp>

#include <cmath>

namespace bench {
namespace {

using locus::convert;

struct Form {
  std::int64_t images, in, out, side, kernel, stride;
  [[nodiscard]] std::int64_t padding() const { return kernel / 2; }
  [[nodiscard]] std::int64_t outputs() const { return (side + 2 * padding() - kernel) / stride + 1; }
};

/// x and g are channels-last if requested.
template <class T, class D>
struct Set {
  Form form;
  Tensor<T, D> x, g, y;
  locus::Traced<T, D> traced_x;
  locus::Parameter<T, D> weight;

  Set(const Form& f, bool channels_last, D device)
      : form(f),
        x(images(f.in, f.side, channels_last, device)),
        g(images(f.out, f.outputs(), channels_last, device)),
        traced_x(locus::variable(x)),
        weight((locus::randn<T>({f.out, f.in, f.kernel, f.kernel}, device) *
                (1 / std::sqrt(static_cast<double>(f.in * f.kernel * f.kernel))))
                   .eval()) {
    if (channels_last) weight.channels_last_();
  }

  void forward() { y = convolved(x); }
  void train() {
    traced_x.zero_grad(), weight.zero_grad();
    const auto result = convolved(traced_x);
    result.backward(g);
    y = result.value();
  }

 private:
  [[nodiscard]] Tensor<T, D> images(std::int64_t channels, std::int64_t side, bool channels_last, D device) const {
    if (!channels_last) return locus::randn<T>({form.images, channels, side, side}, device);
    return locus::randn<T>({form.images, side, side, channels}, device).permute({0, 3, 1, 2});
  }
  template <class X>
  [[nodiscard]] auto convolved(const X& images) const {
    if constexpr (X::role == locus::Role::traced)
      return conv2d(images, weight, {.stride = form.stride, .padding = form.padding()});
    else return conv2d(images, weight.value(), {.stride = form.stride, .padding = form.padding()});
  }
};

/// Adds an element with its error bound, which is wide: Winograd's sums, on hosts, are less exact.
void add(Worst& worst, double found, double sum, double magnitude, const Rounding& rounding) {
  worst.add(found, sum, 20 * rounding.sum * magnitude + 2 * rounding.result * std::abs(sum) + 1e-30);
}

/// The largest error of some elements of the value and, if `trained`, of the gradients.
template <class T, class D>
double error_of(const Set<T, D>& set, const std::string& dtype, bool trained) {
  const Form& f = set.form;
  const Rounding rounding = rounding_of(dtype);
  const auto x = on_the_host(set.x.contiguous()), g = on_the_host(set.g.contiguous()), y = on_the_host(set.y);
  const auto w = on_the_host(set.weight.value());
  Tensor<T, Cpu> dx, dw;
  if (trained) dx = on_the_host(set.traced_x.grad()), dw = on_the_host(set.weight.grad());
  const auto inside = [&](std::int64_t i) { return i >= 0 && i < f.side; };
  Worst worst;
  locus::Philox random(7, 0);
  for (int sample = 0; sample < 8; ++sample) {
    const std::int64_t n = random() % f.images, o = random() % f.out, c = random() % f.in;
    const std::int64_t r = sample & 1 ? f.outputs() - 1 : random() % f.outputs(), s = random() % f.outputs();
    double sum = 0, magnitude = 0;
    const auto add_product = [&](double a, double b) { sum += a * b, magnitude += std::abs(a * b); };
    for (std::int64_t i = 0; i < f.in * f.kernel * f.kernel; ++i) {
      const std::int64_t tap = i / f.kernel % f.kernel, u = i % f.kernel;
      const std::int64_t h = r * f.stride + tap - f.padding(), v = s * f.stride + u - f.padding();
      const std::int64_t channel = i / (f.kernel * f.kernel);
      if (inside(h) && inside(v))
        add_product(convert<double>(x(n, channel, h, v)), convert<double>(w(o, channel, tap, u)));
    }
    add(worst, convert<double>(y(n, o, r, s)), sum, magnitude, rounding);
    if (!trained) continue;
    const std::int64_t tap = random() % f.kernel, u = random() % f.kernel, h = random() % f.side, v = random() % f.side;
    sum = magnitude = 0;
    for (std::int64_t i = 0; i < f.out * f.kernel * f.kernel; ++i) {  // windows that hold element (h, v)
      const std::int64_t k = i / f.kernel % f.kernel, l = i % f.kernel, out = i / (f.kernel * f.kernel);
      const std::int64_t row = h + f.padding() - k, col = v + f.padding() - l;
      if (row < 0 || col < 0 || row % f.stride || col % f.stride || row / f.stride >= f.outputs() ||
          col / f.stride >= f.outputs())
        continue;
      add_product(convert<double>(g(n, out, row / f.stride, col / f.stride)), convert<double>(w(out, c, k, l)));
    }
    add(worst, convert<double>(dx(n, c, h, v)), sum, magnitude, rounding);
    sum = magnitude = 0;
    for (std::int64_t i = 0; i < f.images * f.outputs() * f.outputs(); ++i) {
      const std::int64_t image = i / (f.outputs() * f.outputs()), row = i / f.outputs() % f.outputs(),
                         col = i % f.outputs();
      const std::int64_t from = row * f.stride + tap - f.padding(), at = col * f.stride + u - f.padding();
      if (inside(from) && inside(at))
        add_product(convert<double>(x(image, c, from, at)), convert<double>(g(image, o, row, col)));
    }
    add(worst, convert<double>(dw(o, c, tap, u)), sum, magnitude, rounding);
  }
  return worst.value();
}

/// Disables cuDNN in its lifetime, or admits its engines that are not deterministic, as PyTorch does.
struct Engines {
  Engines(bool none, bool all)
      : before(locus::cuda::cudnn_allowed()), all_before(locus::cuda::nondeterministic_cudnn_allowed()) {
    locus::cuda::allow_cudnn(before && !none);
    locus::cuda::allow_nondeterministic_cudnn(all_before || all);
  }
  ~Engines() {
    locus::cuda::allow_cudnn(before);
    locus::cuda::allow_nondeterministic_cudnn(all_before);
  }
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;
  bool before, all_before;
};

template <class T, class D>
void add(Workloads& workloads, const Form& f, const std::string& dtype, bool trains, D device) {
  Workload w{"conv", trains ? "training" : "forward", dtype, {f.images, f.in, f.out, f.side, f.kernel, f.stride}};
  const double outputs = static_cast<double>(f.images * f.out) * static_cast<double>(f.outputs() * f.outputs());
  const double inputs = static_cast<double>(f.images * f.in) * static_cast<double>(f.side * f.side);
  const auto weights = static_cast<double>(f.in * f.out * f.kernel * f.kernel);
  const double operands = inputs + outputs + weights;
  w.bytes = (trains ? 3 : 1) * operands * sizeof(T);
  w.flops = (trains ? 6 : 2) * outputs * static_cast<double>(f.in * f.kernel * f.kernel);
  w.prepare = [=]() -> std::vector<Variant> {
    const auto variant = [&](const char* name, bool channels_last, bool windows, bool all = false) {
      const auto sets = rotation(device, operands * sizeof(T), [&] { return Set<T, D>(f, channels_last, device); });
      const auto run = [=] {
        const Engines engines(windows, all);
        const Tf32Guard guard(dtype == "tf32");
        Set<T, D>& set = sets->next();
        if (trains) set.train();
        else set.forward();
        return &set;
      };
      return Variant{name, [=] { (void)run(); }, [=] { return error_of(*run(), dtype, trains); }};
    };
    std::vector<Variant> ways{variant("locus", false, false)};
    if constexpr (!on_host<D>) {
      if (locus::cuda::cudnn_version() != 0) ways.push_back(variant("locus windows", false, true));
      if (dtype != "f32") ways.push_back(variant("locus channels-last", true, false));
      if (locus::cuda::cudnn_version() != 0 && trains)
        ways.push_back(variant("locus nondeterministic", dtype != "f32", false, true));
    }
    return ways;
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_conv(Workloads& workloads, Scale scale, D device) {
  const std::vector<Form> forms =
      scale == Scale::tiny
          ? std::vector<Form>{{2, 3, 4, 8, 3, 1}, {2, 4, 4, 8, 1, 2}}
          : std::vector<Form>{{256, 3, 64, 32, 3, 1},   {256, 64, 64, 32, 3, 1},  {256, 64, 128, 32, 3, 2},
                              {256, 64, 128, 32, 1, 2}, {256, 256, 256, 8, 3, 1}, {256, 512, 512, 4, 3, 1}};
  for (const Form& form : forms) {
    for (const bool trains : {false, true}) {
      add<float>(workloads, form, "f32", trains, device);
      if constexpr (!on_host<D>) add<float>(workloads, form, "tf32", trains, device);
      if constexpr (!on_host<D>) add<locus::bfloat16>(workloads, form, "bf16", trains, device);
    }
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_conv)
