#pragma once
// Values of two parameters after each of ten steps, against PyTorch's.

#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>

namespace locus_test {

/// Minimizes 0.15 |p|^2 + p . g_t; the second parameter gets its first gradient in step `first_gradient_of_b`.
template <class T, class D, template <class, class> class Optimizer, class Options>
void check_trajectory_with(const std::string& name, const Options& options, int first_gradient_of_b) {
  using namespace locus;
  CAPTURE(name);
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  const Parameter w(golden::tensor<T, D>("optim_w")), b(golden::tensor<T, D>("optim_b"));
  const auto gw = golden::tensor<T, D>("optim_gw"), gb = golden::tensor<T, D>("optim_gb");
  const auto values_w = golden::tensor<double, D>(name + "_w"), values_b = golden::tensor<double, D>(name + "_b");
  Optimizer<T, D> optimizer(std::vector{w, b}, options);
  for (int step = 0; step < 10; ++step) {
    CAPTURE(step);
    optimizer.zero_grad();
    const auto loss = [](const auto& p, const auto& g) { return sum(trace(p) * trace(p) * 0.15 + trace(p) * g); };
    loss(w, gw.select(0, step)).backward();
    if (step >= first_gradient_of_b) loss(b, gb.select(0, step)).backward();
    optimizer.step();
    CHECK_CLOSE(w.value(), reference(values_w.select(0, step)), allowed);
    CHECK_CLOSE(b.value(), reference(values_b.select(0, step)), allowed);
  }
}

/// The options that each optimizer takes.
template <template <class, class> class Optimizer>
struct OptionsOf;
template <>
struct OptionsOf<locus::optim::Sgd> {
  using type = locus::optim::SgdOptions;
};
template <>
struct OptionsOf<locus::optim::Adam> {
  using type = locus::optim::AdamOptions;
};
template <>
struct OptionsOf<locus::optim::AdamW> {
  using type = locus::optim::AdamWOptions;
};

template <class T, class D, template <class, class> class Optimizer>
void check_trajectory(const std::string& name, const typename OptionsOf<Optimizer>::type& options,
                      int first_gradient_of_b = 0) {
  check_trajectory_with<T, D, Optimizer>(name, options, first_gradient_of_b);
}

}  // namespace locus_test
