#pragma once
// L-BFGS, as torch.optim.LBFGS. locus.hpp leaves it out.

#include <locus/optim/lbfgs_history.hpp>
#include <locus/optim/optimizer_step.hpp>
#include <locus/optim/wolfe.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// Steps of LBFGS along its direction: of the learning rate, or as a line search finds.
enum class LineSearch { none, strong_wolfe };

struct LBFGSOptions {
  double lr = 1;
  int max_iter = 20;               ///< iterations of a step
  int max_eval = 0;                ///< evaluations of the closure in a step; 0: 1.25 max_iter
  double tolerance_grad = 1e-7;    ///< ends where no gradient is larger
  double tolerance_change = 1e-9;  ///< ends where neither a value nor the loss changes by more
  int history_size = 100;          ///< pairs of changes; 2 (history_size + 1) + 1 numbers of state per element
  LineSearch line_search = LineSearch::none;
};

namespace detail {
LOCUS_OUT_OF_LINE inline const LBFGSOptions& checked(const LBFGSOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.max_iter >= 1, "max_iter", options.max_iter, "1 or more");
  require_option(options.max_eval >= 0, "max_eval", options.max_eval, "0 or more");
  require_not_negative("tolerance_grad", options.tolerance_grad);
  require_not_negative("tolerance_change", options.tolerance_change);
  require_option(options.history_size >= 1 && options.history_size <= 10000, "history_size", options.history_size,
                 "1 to 10000");
  return options;
}
/// The parameters, as neighbours in flat memory.
template <class T, class D>
[[nodiscard]] std::vector<Parameter<T, D>> flattened(std::vector<Parameter<T, D>> parameters) {
  locus::detail::require_distinct("optimizer", parameters);
  (void)flatten(parameters);
  return parameters;
}
template <class Loss>
[[nodiscard]] double loss_of(const Loss& loss) {
  if constexpr (requires { loss.item(); }) return static_cast<double>(loss.item());
  else return static_cast<double>(loss);
}
}  // namespace detail

/// The quasi-Newton method of limited memory (Liu and Nocedal, 1989), of parameters of float or double. A step computes
/// the loss several times, so that it takes a closure, and suits losses without chance: of a whole data set. The host
/// waits for each loss, so that steps are not captured. State is kept in the order of flat memory.
/// cost: ten launches an iteration, three of them products with the history, whatever its size, and with a line search
///       three for each evaluation, beside the closure's
///
///     optim::LBFGS optimizer{model.parameters(), {.line_search = optim::LineSearch::strong_wolfe}};
///     const double loss = optimizer.step([&] {
///       optimizer.zero_grad();
///       const auto loss = mean(square(model(trace(x)) - y));
///       loss.backward();
///       return loss;
///     });
template <class T, class D>
class LBFGS : public Optimizer<T, D> {
  static_assert(std::is_same_v<T, compute_t<T>>, "LBFGS: expected parameters of float or double");
  using Point = detail::LinePoint<Tensor<T, D>>;

 public:
  /// throws ArgumentError for options out of range
  explicit LBFGS(std::vector<Parameter<T, D>> parameters, const LBFGSOptions& options = {})
      : Optimizer<T, D>(detail::flattened(std::move(parameters)), 0, detail::checked(options).lr, 0),
        options_(options),
        flat_(flatten(this->parameters())),
        history_(options.history_size, flat_.values()) {}
#include <locus/refuse/optim/lbfgs_class.inc>

  /// Minimizes the loss that the closure computes, together with its gradients, by up to max_iter iterations. Returns
  /// the loss before. If the closure throws, weights are where the last line began, or, without a line search, where it
  /// was evaluated, and the history takes up no step from there. throws GraphError where the closure leaves no
  /// gradient, or one that has yet to be reduced over ranks, or unscaled
  template <class Closure>
  double step(const Closure& closure) {
    const double first = evaluate(closure);
    int evaluations = 1;
    double loss = first;
    if (largest_of(flat_.gradients()) <= options_.tolerance_grad) return first;
    for (int i = 0; i < options_.max_iter; ++i) {
      const auto line = history_.direction(flat_.gradients(), iterations_);
      ++iterations_;
      const bool is_first = iterations_ == 1;
      const double rate = this->lr();
      const double step = is_first ? rate * locus::detail::smaller(1., 1 / sum_of_magnitudes(flat_.gradients())) : rate;
      if (line.slope > -options_.tolerance_change) break;
      const bool is_last = i + 1 == options_.max_iter;
      const Moved moved = options_.line_search == LineSearch::strong_wolfe
                              ? search(closure, line, loss, step, evaluations)
                              : move(closure, line, loss, step, !is_last);
      evaluations += moved.evaluations;
      const double before = std::exchange(loss, moved.loss);
      history_.stepped(line.direction, moved.step);
      if (is_last || evaluations >= most_evaluations() || moved.largest <= options_.tolerance_grad) break;
      if (moved.step * largest_of(line.direction) <= options_.tolerance_change) break;
      if (__builtin_fabs(loss - before) < options_.tolerance_change) break;
    }
    return first;
  }

  /// Numbers of state per element: see state_name().
  [[nodiscard]] int states() const { return history_.rows() + 1; }
  /// prev_flat_grad; old_stps.0, old_dirs.0 and so on, changes of values and of gradients; old_pairs, their number.
  [[nodiscard]] const char* state_name(int which) const {
    require_state(which);
    return history_.name(which);
  }
  [[nodiscard]] Tensor<T, D> state(std::size_t i, int which) const {
    require_state(which);
    if (i >= this->parameters().size())
      fail<IndexError>({"optimizer: state of parameter ", i, "; there are ", this->parameters().size()});
    const auto& parameter = this->parameters()[i];
    for (std::size_t k = 0; k < flat_.size(); ++k)
      if (flat_.parameters()[k] == parameter) return history_.state(which, flat_.range(k).begin, parameter);
    return {};
  }
  /// Memory of the state.
  [[nodiscard]] std::int64_t state_bytes() const { return history_.bytes(); }
  /// Iterations made: the same number for each parameter.
  [[nodiscard]] std::vector<std::int64_t> steps() const {
    return std::vector<std::int64_t>(this->parameters().size(), iterations_);
  }
  /// Before the state is loaded. throws as of the other optimizers, and ArgumentError for different numbers
  void set_steps(const std::vector<std::int64_t>& steps) {
    Optimizer<T, D>::set_steps(steps);
    for (const std::int64_t each : steps)
      if (each != steps[0])
        fail<ArgumentError>({"LBFGS: steps of ", steps[0], " and of ", each, "; expected the same for all parameters"});
    iterations_ = steps[0];
    history_.forget_products();
  }

 private:
  struct Moved {
    double step, loss, largest;
    int evaluations;
  };
  using Line = detail::LineOfHistory<Tensor<T, D>>;

  [[nodiscard]] int most_evaluations() const {
    return options_.max_eval > 0 ? options_.max_eval : options_.max_iter * 5 / 4;
  }
  void require_state(int which) const {
    (void)this->parameters();  // throws where the optimizer was moved from
    if (which < 0 || which >= states()) fail<IndexError>({"optimizer: state ", which, "; there are ", states()});
  }
  [[nodiscard]] static double largest_of(const Tensor<T, D>& x) {
    return static_cast<double>(norm(x, std::numeric_limits<double>::infinity()).item());
  }
  [[nodiscard]] static double sum_of_magnitudes(const Tensor<T, D>& x) {
    return static_cast<double>(norm(x, 1).item());
  }

  template <class Closure>
  [[nodiscard]] double evaluate(const Closure& closure) const {
    const double loss = detail::loss_of(closure());
    bool any = false;
    for (const auto& parameter : this->parameters()) any |= parameter.has_grad();
    if (!any)
      fail<GraphError>(
          {"LBFGS: no parameter has a gradient after the closure; expected a closure that calls "
           "zero_grad() and loss.backward(), and returns the loss"});
    locus::detail::require_final("LBFGS", this->parameters());
    return loss;
  }
  /// A step of given length; evaluates the closure there if the step is not the last.
  template <class Closure>
  [[nodiscard]] Moved move(const Closure& closure, const Line& line, double loss, double step, bool evaluates) const {
    const Tensor<T, D> values = flat_.values();
    values.copy_(values + static_cast<T>(step) * line.direction);
    if (!evaluates) return {step, loss, std::numeric_limits<double>::infinity(), 0};
    const double next = evaluate(closure);
    return {step, next, largest_of(flat_.gradients()), 1};
  }
  template <class Closure>
  [[nodiscard]] Moved search(const Closure& closure, const Line& line, double loss, double step, int before) const {
    const Tensor<T, D> start = flat_.values().clone();
    const auto at = [&](double length) {
      const Tensor<T, D> values = flat_.values();
      values.copy_(start + static_cast<T>(length) * line.direction);
      Point point{length, evaluate(closure)};
      point.gradient = flat_.gradients().clone();
      point.slope = static_cast<double>(sum(point.gradient * line.direction).item());
      return point;
    };
    const Point origin{0, loss, line.slope, flat_.gradients().clone()};
    const detail::WolfeSearch wolfe{.tolerance_change = options_.tolerance_change,
                                    .max_evaluations = locus::detail::smaller(25, most_evaluations() - before)};
    const auto found = [&] {
      try {
        return wolfe(origin, step, largest_of(line.direction), at);
      } catch (...) {  // a point that was tried may be far off
        flat_.values().copy_(start);
        throw;
      }
    }();
    const auto& [point, evaluations] = found;
    const Tensor<T, D> values = flat_.values();
    values.copy_(start + static_cast<T>(point.step) * line.direction);
    flat_.gradients().copy_(point.gradient);
    return {point.step, point.loss, largest_of(point.gradient), evaluations};
  }

  LBFGSOptions options_;
  FlatParameters<T, D> flat_;
  detail::LBFGSHistory<T, D> history_;
  std::int64_t iterations_ = 0;
};

#define LOCUS_OPTIMIZER LBFGS
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
