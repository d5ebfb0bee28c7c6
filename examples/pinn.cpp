// Solves u'' = -pi^2 sin(pi x) on [-1, 1], with u = 0 at both ends, by a network that is trained to satisfy the
// equation (physics-informed: Raissi, Perdikaris and Karniadakis, 2019). The solution is sin(pi x). The second
// derivative of the network by its input is exact, by duals of duals; the loss made of it trains the network's
// parameters.
//
//     pinn --device cpu

#include "support/arguments.hpp"

#include <locus/autograd/forward_mode.hpp>
#include <locus/locus.hpp>

#include <cstdio>
#include <numbers>

using namespace locus;

template <Device D>
struct Solution : nn::Layer<Solution<D>, float, D> {
  nn::Linear<float, D> first, second, last;
  explicit Solution(D device) : first(1, 24, true, device), second(24, 24, true, device), last(24, 1, true, device) {}
  auto forward(const auto& x) const { return last(tanh(second(tanh(first(x))))); }
  void members(const auto& visit) const {
    visit("first", first);
    visit("second", second);
    visit("last", last);
  }
};

template <Device D>
bool solve(D device) {
  constexpr float pi = std::numbers::pi_v<float>;
  const Solution<D> u(device);
  optim::Adam optimizer{u.parameters(), {.lr = 0.005}};
  const Tensor<float, D> x = linspace(-1, 1, 64, device).unsqueeze(1), ends = from({{-1}, {1}}).to(device);
  const Tensor<float, D> curvature = -pi * pi * sin(pi * x);

  // The derivative of u at x, and the derivative of that; x may hold duals itself.
  const auto slope = [&](const auto& at) {
    return jvp([&](const auto& of) { return u(trace(of)); }, at, ones_like(at)).tangent;
  };
  for (int step = 0; step < 400; ++step) {
    const auto second = jvp(slope, x, ones_like(x)).tangent;
    const auto loss = mean(square(second - curvature)) + 100 * mean(square(u(trace(ends))));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::printf("step %4d: loss %.4f\n", step, static_cast<double>(loss.item()));
  }
  const double error = max(abs(u(x) - sin(pi * x))).item();
  std::printf("largest error of the solution: %.4f\n", error);
  return error < 0.05;
}

int main(int argc, char** argv) try {
  const Arguments checked(argc, argv, {"--device"});
  manual_seed(0);
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return solve(device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "pinn: %s\n", error.what());
  return 1;
}
