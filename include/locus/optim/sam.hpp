#pragma once
// SAM (sharpness-aware minimization), around an optimizer whose step takes no closure. locus.hpp leaves it out.

#include <locus/autograd/flat.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/norm.hpp>
#include <locus/optim/optimizer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct SAMOptions {
  double rho = 0.05;      ///< distance from the weights at which gradients are taken
  bool adaptive = false;  ///< distances in proportion to each weight (ASAM); rho is then some ten times larger
};

namespace detail {
/// A value moved up its gradient; `norm` is that of all gradients, times the values if adaptive.
template <class R>
struct Ascend {
  R rho;
  bool adaptive;
  LOCUS_FN R operator()(R value, R gradient, R norm) const {
    const R step = rho / (norm + R(1e-12)) * gradient;
    return value + (adaptive ? value * value * step : step);
  }
};
}  // namespace detail

/// Steps an optimizer by gradients at the worst point nearby: x + rho g / |g| (Foret et al., 2021), which finds flatter
/// minima, at the price of two passes a step. It refers to the optimizer, which must outlive it; schedulers and saved
/// states use the optimizer itself. Running statistics of batch norms see both passes.
/// cost: four launches for a step, beside the optimizer's and both passes; two more on Cpu where squares overflow or
///       vanish
///
///     optim::Sgd sgd{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
///     optim::SAM sam{sgd, {.rho = 0.05}};
///     sam.step([&] {
///       sam.zero_grad();
///       const auto loss = nn::cross_entropy(model(trace(images)), labels);
///       loss.backward();
///       return loss;
///     });
template <class O>
  requires requires(O& optimizer) { optimizer.step(); }
class SAM {
 public:
  using value_type = value_of<O>;
  using device_type = device_of<O>;

  /// Moves parameters that are not neighbours in flat memory. throws ArgumentError unless rho >= 0 and finite
  explicit SAM(O& optimizer, const SAMOptions& options = {})
      : optimizer_(optimizer), options_(options), flat_(flatten(optimizer.parameters())) {
    locus::detail::require_not_negative("SAM", "rho", options.rho);
  }

  /// Calls the closure, which computes the loss and its gradients, at the weights and at the point nearby. Then the
  /// optimizer steps from the weights. Returns the result of the first call.
  template <class Closure>
  auto step(const Closure& closure) {
    auto loss = closure();
    first_step();
    const Restore restore{*this};
    (void)closure();
    restore.now();
    optimizer_.step();
    return loss;
  }
  /// Moves the weights to the point nearby, by the present gradients. throws GraphError if it did so already, or for
  /// gradients that have yet to be reduced over ranks, or unscaled
  void first_step() {
    if (weights_.buffer()) fail<GraphError>({"SAM: first_step() twice; call second_step() in between"});
    locus::detail::require_final("SAM", optimizer_.parameters());
    const Tensor<T, D> values = flat_.values(), gradients = flat_.gradients();
    Tensor<T, D> weights = values.clone();
    const Tensor<R, D> length = options_.adaptive ? norm(gradients.template as<R>() * values.template as<R>())
                                                  : norm(gradients.template as<R>());
    locus::detail::map_into(values, detail::Ascend<R>{static_cast<R>(options_.rho), options_.adaptive}, values,
                            gradients, length);
    weights_ = std::move(weights);
  }
  /// Returns to the weights, and steps by the gradients of the point nearby. throws GraphError without a first_step()
  void second_step() {
    if (!weights_.buffer()) fail<GraphError>({"SAM: second_step() without first_step(); or say step(closure)"});
    restore();
    optimizer_.step();
  }

  [[nodiscard]] const std::vector<Parameter<value_of<O>, device_of<O>>>& parameters() const {
    return optimizer_.parameters();
  }
  void zero_grad() const { optimizer_.zero_grad(); }
  [[nodiscard]] double lr() const { return optimizer_.lr(); }
  /// The optimizer that it steps.
  [[nodiscard]] O& optimizer() const { return optimizer_; }

 private:
  using T = value_type;
  using D = device_type;
  using R = compute_t<T>;
  /// Restores the weights, also if the closure throws.
  struct Restore {
    SAM& sam;
    void now() const {
      if (sam.weights_.buffer()) sam.restore();
    }
    ~Restore() {
      try {
        now();
      } catch (...) {  // flat memory that the closure moved: the first exception tells
      }
    }
  };
  void restore() { (void)flat_.values().copy_(std::exchange(weights_, {})); }

  O& optimizer_;
  SAMOptions options_;
  FlatParameters<T, D> flat_;
  Tensor<T, D> weights_;  ///< between both steps
};
template <class O>
SAM(O&, const SAMOptions& = {}) -> SAM<O>;

}}}  // namespace locus::LOCUS_ABI::optim
