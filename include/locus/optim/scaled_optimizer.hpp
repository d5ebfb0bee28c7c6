#pragma once
// An optimizer together with its scaler, for fit and train_step with a model of half.

#include <locus/optim/optimizer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// Result of scaler.with(optimizer). It refers to both, which must outlive it. Steps go through the scaler. Schedulers
/// and saved states use the optimizer itself.
template <class O>
class ScaledOptimizer {
 public:
  using value_type = value_of<O>;
  using device_type = device_of<O>;
  using IsScaledOptimizer = void;

  [[nodiscard]] const std::vector<Parameter<value_type, device_type>>& parameters() const {
    return optimizer_.parameters();
  }
  [[nodiscard]] double lr() const { return optimizer_.lr(); }
  [[nodiscard]] const GradScaler<device_type>& scaler() const { return scaler_; }
  /// The optimizer that the scaler steps.
  [[nodiscard]] const O& optimizer() const { return optimizer_; }
  void zero_grad() const { optimizer_.zero_grad(); }
  /// scaler.scale(loss).backward()
  template <class X> void backward(const X& loss) const { scaler_.scale(loss).backward(); }
  /// scaler.unscale(optimizer)
  void unscale() const { scaler_.unscale(optimizer_); }
  /// scaler.step(optimizer), then scaler.update()
  void step() const {
    scaler_.step(optimizer_);
    scaler_.update();
  }

 private:
  friend class GradScaler<device_type>;
  ScaledOptimizer(O& optimizer, GradScaler<device_type>& scaler) : optimizer_(optimizer), scaler_(scaler) {}

  O& optimizer_;
  GradScaler<device_type>& scaler_;
};

}}}  // namespace locus::LOCUS_ABI::optim
