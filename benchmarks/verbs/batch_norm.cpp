// Batch norm of images in training, forward and with backward pass, beside a copy. Sizes: images, channels, side.

#include "operands.hpp"

#include <locus/autograd/parameter.hpp>
#include <locus/nn/batch_norm.hpp>

#include <cmath>

namespace bench {
namespace {

using locus::convert;

struct Form {
  std::int64_t images, channels, side;
};

template <class T, class D>
struct Set {
  Tensor<T, D> x, g, y;
  locus::Traced<T, D> traced;
  locus::nn::BatchNorm2d<T, D> norm;

  Set(const Form& f, bool channels_last, D device)
      : x(images(f, channels_last, device)),
        g(images(f, channels_last, device)),
        traced(locus::variable(x)),
        norm(f.channels, {}, device) {}

  void forward() { y = norm(trace(x)).value(); }
  void train() {
    traced.zero_grad();
    for (const auto& parameter : norm.parameters()) parameter.zero_grad();
    const auto result = norm(traced);
    result.backward(g);
    y = result.value();
  }

 private:
  static Tensor<T, D> images(const Form& f, bool channels_last, D device) {
    const auto x = locus::randn<T>({f.images, f.channels, f.side, f.side}, device);
    return channels_last ? x.channels_last() : x;
  }
};

/// The largest error of the results in the first and the last channel. Of gradients only the sum over a channel of
/// those of x, which is 0.
template <class T, class D>
double error_of(const Set<T, D>& set, bool trained) {
  const double rounding = std::is_same_v<T, float> ? 0x1p-20 : 0x1p-7;
  Worst worst;
  for (const std::int64_t channel : {std::int64_t{0}, set.x.size(1) - 1}) {
    const auto of_channel = [&](const auto& images) { return on_the_host(images.select(1, channel).contiguous()); };
    const auto x = of_channel(set.x), y = of_channel(set.y);
    const auto count = static_cast<double>(x.elements());
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) sum += convert<double>(x.data()[i]);
    for (std::int64_t i = 0; i < x.elements(); ++i) squares += std::pow(convert<double>(x.data()[i]) - sum / count, 2);
    const double scale = 1 / std::sqrt(squares / count + 1e-5);
    for (std::int64_t i = 0; i < x.elements(); i += 997) {
      const double value = (convert<double>(x.data()[i]) - sum / count) * scale;
      worst.add(convert<double>(y.data()[i]), value, rounding * (std::abs(value) + 1));
    }
    if (!trained) continue;
    const auto dx = of_channel(set.traced.grad());
    double total = 0, magnitude = 0;
    for (std::int64_t i = 0; i < dx.elements(); ++i)
      total += convert<double>(dx.data()[i]), magnitude += std::abs(convert<double>(dx.data()[i]));
    worst.add(total, 0, rounding * magnitude);
  }
  return worst.value();
}

template <class T, class D>
void add(Workloads& workloads, const Form& f, bool trains, D device) {
  Workload w{"batch_norm",
             trains ? "training" : "forward",
             std::is_same_v<T, float> ? "f32" : "bf16",
             {f.images, f.channels, f.side}};
  const double operand = static_cast<double>(f.images * f.channels * f.side * f.side) * sizeof(T);
  w.bytes = (trains ? 8 : 3) * operand;  // x twice, y; for gradients x and g twice, dx
  w.prepare = [=, bytes = w.bytes]() -> std::vector<Variant> {
    const auto variant = [&](const char* name, bool channels_last) {
      const auto sets = rotation(device, 3 * operand, [&] { return Set<T, D>(f, channels_last, device); });
      const auto run = [=] {
        Set<T, D>& set = sets->next();
        if (trains) set.train();
        else set.forward();
        return &set;
      };
      return Variant{name, [=] { (void)run(); }, [=] { return error_of(*run(), trains); }};
    };
    return {variant("locus", false), variant("locus channels-last", true), copy_of(device, bytes)};
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_batch_norm(Workloads& workloads, Scale scale, D device) {
  const std::vector<Form> forms =
      scale == Scale::tiny ? std::vector<Form>{{2, 3, 5}} : std::vector<Form>{{256, 64, 32}, {256, 512, 4}};
  for (const Form& form : forms) {
    for (const bool trains : {false, true}) {
      add<float>(workloads, form, trains, device);
      add<locus::bfloat16>(workloads, form, trains, device);
    }
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_batch_norm)
