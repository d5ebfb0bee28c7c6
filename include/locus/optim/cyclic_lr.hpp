#pragma once
// CyclicLR, as torch.optim.lr_scheduler.CyclicLR. locus.hpp leaves it out.

#include <locus/optim/schedule.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// Height of CyclicLR's cycles: the same for all; half as high in each cycle; or times gamma at each step.
enum class CycleMode { triangular, triangular2, exp_range };

/// Up from base_lr to max_lr within step_size_up steps and down again, in cycles (Smith, 2017): for steps rather than
/// epochs. Meanwhile the momentum of the optimizer (beta1 of Adam) falls from max_momentum to base_momentum, and rises
/// again. An optimizer without momentum throws ArgumentError, unless cycle_momentum is false.
struct CyclicLR {
  static constexpr const char* name = "CyclicLR";
  double base_lr = 0;
  double max_lr = 0;
  std::int64_t step_size_up = 2000;
  std::int64_t step_size_down = 0;  ///< 0: as many as up
  CycleMode mode = CycleMode::triangular;
  double gamma = 1;
  bool cycle_momentum = true;
  double base_momentum = 0.8;
  double max_momentum = 0.9;

  /// throws ArgumentError for options out of range
  void check() const {
    locus::detail::require_not_negative(name, "base_lr", base_lr);
    locus::detail::require_not_negative(name, "max_lr", max_lr);
    locus::detail::require_steps(name, "step_size_up", step_size_up);
    if (step_size_down != 0) locus::detail::require_steps(name, "step_size_down", step_size_down);
    locus::detail::require_not_negative(name, "gamma", gamma);
    locus::detail::require_factor(name, "base_momentum", base_momentum);
    locus::detail::require_factor(name, "max_momentum", max_momentum);
  }
  [[nodiscard]] double first(double, double) const { return base_lr; }
  [[nodiscard]] double next(std::int64_t step, double, double) const {
    return base_lr + (max_lr - base_lr) * height(step);
  }
  [[nodiscard]] bool cycles_momentum() const { return cycle_momentum; }
  [[nodiscard]] double momentum(std::int64_t step, double now) const {
    return cycle_momentum ? max_momentum - (max_momentum - base_momentum) * height(step) : now;
  }

 private:
  [[nodiscard]] double height(std::int64_t step) const {
    const std::int64_t up = step_size_up, down = step_size_down != 0 ? step_size_down : up;
    const std::int64_t cycle = step / (up + down), at = step % (up + down);
    const double share = at <= up ? static_cast<double>(at) / static_cast<double>(up)
                                  : static_cast<double>(up + down - at) / static_cast<double>(down);
    if (mode == CycleMode::triangular2) return share * __builtin_pow(0.5, static_cast<double>(cycle));
    return mode == CycleMode::exp_range ? share * __builtin_pow(gamma, static_cast<double>(step)) : share;
  }
};

}}}  // namespace locus::LOCUS_ABI::optim
