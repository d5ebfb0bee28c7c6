#pragma once
// SWALR, as torch.optim.swa_utils.SWALR: the learning rate while weights are averaged. locus.hpp leaves it out.

#include <locus/optim/schedule.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// From the present rate to swa_lr within anneal_epochs steps, along half a cosine or a line; then constant, while an
/// nn::AveragedModel with .equal = true takes the mean of the weights (Izmailov et al., 2018).
///
///     optim::Scheduler swa{optimizer, optim::SWALR{.swa_lr = 0.05}};   // made when the averaging begins
struct SWALR {
  static constexpr const char* name = "SWALR";
  double swa_lr = 0;
  std::int64_t anneal_epochs = 10;  ///< 0: at once
  bool linear = false;              ///< along a line instead of half a cosine

  /// throws ArgumentError for options out of range
  void check() const {
    locus::detail::require_not_negative(name, "swa_lr", swa_lr);
    if (anneal_epochs < 0) fail<ArgumentError>({name, ": anneal_epochs is ", anneal_epochs, "; expected 0 or more"});
  }
  [[nodiscard]] double first(double lr, double) const { return anneal_epochs == 0 ? swa_lr : lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    if (step >= anneal_epochs) return swa_lr;
    const double left_before = 1 - share(step - 1), left = 1 - share(step);
    return swa_lr + (lr - swa_lr) * left / left_before;
  }

 private:
  /// Of swa_lr in the rate of a step.
  [[nodiscard]] double share(std::int64_t step) const {
    const double at = static_cast<double>(step) / static_cast<double>(anneal_epochs);
    return linear ? at : 1 - locus::detail::raised_cosine(at) / 2;
  }
};

}}}  // namespace locus::LOCUS_ABI::optim
