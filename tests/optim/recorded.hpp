#pragma once
// Trajectories that make_optimizers.py recorded.

#include <locus/autograd/parameter.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/parameters.hpp>

#include <cstring>

namespace locus_test {

[[nodiscard]] inline const Reference& recorded(const std::string& name) {
  static const auto all = [] {
    const char* const tests = std::getenv("LOCUS_TEST_DIR");
    const std::string here = __FILE__;
    golden::detail::Numbers numbers;
    golden::detail::read(
        (tests ? tests : here.substr(0, here.rfind("/optim/"))) + std::string("/golden/optimizers.txt"), numbers);
    return numbers;
  }();
  return all.at(name);
}
template <class T, class D>
[[nodiscard]] locus::Tensor<T, D> recorded_tensor(const std::string& name) {
  return tensor<T, D>(*recorded(name).shape, recorded(name).values);
}

/// The parameters, and the gradients of each step, of the trajectories NAME_w and NAME_b: of the first ones, or of
/// `rules`, which have 20 steps.
template <class T, class D>
struct Recorded {
  std::string of = "groups";
  locus::Parameter<T, D> w{recorded_tensor<T, D>(of + "_w")}, b{recorded_tensor<T, D>(of + "_b")};
  locus::Tensor<T, D> gw = recorded_tensor<T, D>(of + "_gw"), gb = recorded_tensor<T, D>(of + "_gb");
  int steps = static_cast<int>(gw.size(0));

  /// Compares with PyTorch after every step; before(step) says whether the gradient is followed.
  template <class Step>
  void check(const std::string& name, const Step& one_step) {
    CAPTURE(name);
    constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
    const auto values_w = recorded_tensor<double, D>(name + "_w"), values_b = recorded_tensor<double, D>(name + "_b");
    const auto loss = [](const auto& p, const auto& g) { return sum(trace(p) * trace(p) * 0.15 + trace(p) * g); };
    for (int step = 0; step < steps; ++step) {
      CAPTURE(step);
      w.zero_grad();
      b.zero_grad();
      (loss(w, gw.select(0, step)) + loss(b, gb.select(0, step))).backward();
      one_step(step);
      CHECK_CLOSE(w.value(), reference(values_w.select(0, step)), allowed);
      CHECK_CLOSE(b.value(), reference(values_b.select(0, step)), allowed);
    }
  }
};

/// The 20 steps of a rule.
template <class T, class D, template <class, class> class Optimizer, class Options>
void check_rule(const std::string& name, const Options& options) {
  Recorded<T, D> run{"rules"};
  Optimizer<T, D> optimizer(std::vector{run.w, run.b}, options);
  run.check(name, [&](int) { optimizer.step(); });
}

template <class T, class D>
[[nodiscard]] bool same_bits(const locus::Tensor<T, D>& a, const locus::Tensor<T, D>& b) {
  const auto x = a.template to<locus::Cpu>().contiguous(), y = b.template to<locus::Cpu>().contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.elements()) * sizeof(T)) == 0;
}

}  // namespace locus_test
