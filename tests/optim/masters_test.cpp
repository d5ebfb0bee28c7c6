// Runs on: host, cuda (optimizers).
// 16-bit parameters: float master weights and float state.

#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/random.hpp>

#include <optim/recorded.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {
/// Steps for half need a scaler, or, as here, a skip flag.
template <class T, class D, template <class, class> class Optimizer>
void step_of(Optimizer<T, D>& optimizer) {
  if constexpr (std::is_same_v<T, half>) optimizer.step(full<bool, D>({}, false));
  else optimizer.step();
}

/// Against PyTorch's optimizer of float copies, rounded; `step` is the relative distance of neighbouring T.
template <class T, class D, class Optimizer>
void check_masters(const std::string& name, Optimizer optimizer, const Parameter<T, D>& w, double step) {
  const auto gradients = recorded_tensor<T, D>("groups_gw");
  const auto values = recorded_tensor<double, D>(name);
  for (int i = 0; i < 8; ++i) {
    CAPTURE(i);
    give(w, gradients.select(0, i));
    step_of(optimizer);
    const auto expected = values.select(0, i).template to<Cpu>().contiguous();
    const auto got = w.value().template to<Cpu>().contiguous();
    for (std::int64_t k = 0; k < expected.elements(); ++k) {
      const double wanted = expected.data()[k], off = static_cast<double>(static_cast<float>(got.data()[k])) - wanted;
      CHECK(std::abs(off) <= 0.5001 * step * std::abs(wanted) + 1e-6);
    }
  }
}

/// Compares with the steps of a float optimizer, rounded.
template <class T, class D, template <class, class> class Optimizer, class Options>
void check_rounded(const Options& options) {
  CAPTURE(dtype_name<T>());
  Generator<D> numbers{5};
  const Parameter w(rand<float, D>({700}, numbers).template as<T>());
  const Parameter exact(w.value().template as<float>());
  Optimizer<T, D> optimizer(std::vector{w}, options);
  Optimizer<float, D> of_float(std::vector{exact}, options);
  for (int step = 0; step < 20; ++step) {
    CAPTURE(step);
    const auto gradient = (rand<float, D>({700}, numbers) - 0.5f).eval().template as<T>();
    give(w, gradient);
    give(exact, gradient.template as<float>());
    of_float.step();
    if constexpr (std::is_same_v<T, half>) {
      step_of(optimizer);
    } else {
      const LaunchLog log;
      optimizer.step();
      CHECK(log.launches() == 1);
    }
    CHECK(same_bits(w.value(), exact.value().template as<T>()));
  }
}

/// 20 steps of PyTorch: its master weights, the values rounded from them, and the distance from training in float.
template <class D, class Optimizer>
void check_20_steps(const std::string& name, Optimizer optimizer, double apart) {
  CAPTURE(name);
  const auto& w = optimizer.parameters()[0];
  const auto gradients = recorded_tensor<bfloat16, D>("rules_gw");
  const auto masters = recorded_tensor<float, D>("masters_" + name);
  const auto floats = recorded_tensor<float, D>("floats_" + name);
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    give(w, gradients.select(0, i));
    optimizer.step();
    const auto master = optimizer.state(0, optimizer.states());
    CHECK_CLOSE(master, reference(masters.select(0, i)), 2e-6);
    CHECK(same_bits(w.value(), master.template as<bfloat16>()));
    CHECK_CLOSE(master, reference(floats.select(0, i)), apart);
  }
}
}  // namespace

LOCUS_DEVICE_TEST("20 steps of bfloat16 parameters are PyTorch's of float masters, and near those in float", D) {
  const auto parameters = [] { return std::vector{Parameter(recorded_tensor<bfloat16, D>("rules_w"))}; };
  check_20_steps<D>("adam", optim::Adam{parameters(), {.lr = 0.01}}, 4e-3);
  check_20_steps<D>("adamw", optim::AdamW{parameters(), {.lr = 0.01, .weight_decay = 0.1}}, 4e-3);
  check_20_steps<D>("sgd", optim::Sgd{parameters(), {.lr = 0.01, .momentum = 0.9}}, 4e-3);
}

LOCUS_DEVICE_TEST("16-bit parameters follow PyTorch's float copies", D) {
  const Parameter w(recorded_tensor<bfloat16, D>("groups_w"));
  const Parameter v(recorded_tensor<half, D>("groups_w"));
  check_masters("master_adamw", optim::AdamW{std::vector{w}, {.lr = 1e-3, .weight_decay = 0.1}}, w, 1.0 / 128);
  check_masters("master_sgd", optim::Sgd{std::vector{v}, {.lr = 1e-4, .momentum = 0.9}}, v, 1.0 / 1024);
}

LOCUS_DEVICE_TEST("16-bit values are those of a float optimizer, rounded, in one launch", D) {
  check_rounded<bfloat16, D, optim::AdamW>(optim::AdamWOptions{.lr = 1e-3});
  check_rounded<half, D, optim::Adam>(optim::AdamOptions{.lr = 1e-3});
  check_rounded<bfloat16, D, optim::Sgd>(optim::SgdOptions{.lr = 1e-3, .momentum = 0.9, .nesterov = true});
  check_rounded<half, D, optim::Sgd>(optim::SgdOptions{.lr = 1e-3});
}

LOCUS_DEVICE_TEST("steps too small for 16 bits add up", D) {
  const Parameter w(full<bfloat16, D>({3}, bfloat16(1.f)));
  optim::Sgd optimizer{std::vector{w}, {.lr = 1e-4}};
  for (int step = 0; step < 100; ++step) {
    give(w, full<bfloat16, D>({3}, bfloat16(1.f)));
    optimizer.step();
  }
  CHECK_CLOSE(w.value(), {0.99, 0.99, 0.99}, 3e-3);
}

LOCUS_DEVICE_TEST("a value that others write becomes its own master weight", D) {
  const Parameter w(full<bfloat16, D>({3}, bfloat16(1.f)));
  optim::Sgd optimizer{std::vector{w}, {.lr = 0.25}};
  const auto step = [&] {
    give(w, full<bfloat16, D>({3}, bfloat16(1.f)));
    optimizer.step();
  };
  step();
  CHECK_CLOSE(w.value(), {0.75, 0.75, 0.75});
  (void)w.value().copy_(tensor<bfloat16, D>({3}, {0, -4, 8}));  // as load_state_dict does
  step();
  CHECK_CLOSE(w.value(), {-0.25, -4.25, 7.75});
}

LOCUS_DEVICE_TEST("skipped steps leave master weights alone", D) {
  const Parameter w(full<half, D>({3}, half(1.f)));
  optim::Sgd optimizer{std::vector{w}, {.lr = 1e-4}};
  for (int step = 0; step < 40; ++step) {
    give(w, full<half, D>({3}, half(step % 2 == 0 ? 1.f : 1e4f)));
    optimizer.step(full<bool, D>({}, step % 2 == 1));
  }
  CHECK_CLOSE(w.value(), {0.998, 0.998, 0.998}, 6e-4);
}
