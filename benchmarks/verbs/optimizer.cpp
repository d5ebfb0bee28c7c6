// A step of Adam: it reads value, gradient and two means, and writes all but the gradient. Size: parameters.

#include "operands.hpp"

#include <locus/optim/adam.hpp>

#include <cmath>

namespace bench {
namespace {

constexpr double lr = 1e-3, eps = 1e-8;
constexpr std::int64_t width = 4096;

template <class D>
struct State {
  Tensor<float, D> gradient;
  locus::Parameter<float, D> parameter;
  Tensor<float, D> initial;
  locus::optim::Adam<float, D> adam;
  std::int64_t steps = 0;

  State(std::int64_t count, D device)
      : gradient(locus::randn<float>({count}, device)),
        parameter(locus::randn<float>({count}, device)),
        initial(parameter.value()),  // stays unchanged: the optimizer moves the parameters to its own memory
        adam({parameter}, {.lr = lr, .eps = eps}) {
    trace(parameter).backward(gradient);
  }
  void step() {
    adam.step();
    ++steps;
  }
};

/// With a constant gradient g, the bias-corrected means are g and g^2: every step is equal.
template <class D>
double error_of(const State<D>& state) {
  Worst worst;
  const auto steps = static_cast<double>(state.steps);
  for (const std::int64_t at : places(state.initial.elements(), width)) {
    const auto before = window(state.initial, at, width), after = window(state.parameter.value(), at, width);
    const auto gradient = window(state.gradient, at, width);
    for (std::int64_t i = 0; i < after.elements(); ++i) {
      const double g = gradient(i), value = before(i) - steps * lr * g / (std::abs(g) + eps);
      worst.add(after(i), value, steps * (1e-5 * lr + 0x1p-24 * (std::abs(value) + lr)));
    }
  }
  return worst.value();
}

}  // namespace

template <class D>
void add_optimizer(Workloads& workloads, Scale scale, D device) {
  const std::int64_t count = scale == Scale::tiny ? 1000 : 100'000'000;
  Workload w{"optimizer", "adam", "f32", {count}};
  w.bytes = 28 * static_cast<double>(count);
  w.prepare = [=, bytes = w.bytes]() -> std::vector<Variant> {
    const auto state = std::make_shared<State<D>>(count, device);
    const auto error = [=] {
      state->step();
      return error_of(*state);
    };
    return {{"locus", [=] { state->step(); }, error}, copy_of(device, bytes)};
  };
  workloads.push_back(std::move(w));
}

}  // namespace bench

LOCUS_BENCHMARK(add_optimizer)
