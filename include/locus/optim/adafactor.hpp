#pragma once
// Adafactor, as torch.optim.Adafactor. locus.hpp leaves it out.

#include <locus/core/math.hpp>
#include <locus/expr/functions/special.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/map_anew.hpp>
#include <locus/optim/method.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdafactorOptions {
  double lr = 0.01;           ///< the most that the relative size of a step, 1 / sqrt(t), may be
  double beta2_decay = -0.8;  ///< the running means keep 1 - t^beta2_decay
  double eps1 = 0;            ///< least root mean square of gradients; 0: the spacing of numbers at 1
  double eps2 = 0.001;        ///< least root mean square of a parameter
  double d = 1;               ///< most root mean square of a step before the rate
  double weight_decay = 0;    ///< decoupled: values shrink by lr weight_decay
  bool maximize = false;      ///< steps go up: gradients count negated; weights still decay
};

namespace detail {
LOCUS_OUT_OF_LINE inline const AdafactorOptions& checked(const AdafactorOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.beta2_decay <= 0 && locus::detail::is_finite(options.beta2_decay), "beta2_decay",
                 options.beta2_decay, "a finite number of 0 or less");
  require_not_negative("eps1", options.eps1);
  require_not_negative("eps2", options.eps2);
  require_option(options.d >= 1 && locus::detail::is_finite(options.d), "d", options.d, "a finite number of 1 or more");
  require_not_negative("weight_decay", options.weight_decay);
  return options;
}

/// A running mean that keeps 1 - share.
template <class R>
struct MoveMean {
  R share;
  LOCUS_FN void operator()(R mean, R next, R& out) const { out = functor::Lerp{}(mean, next, share); }
};
template <class R>
struct MoveMeanOfSquares {
  R share;
  LOCUS_FN void operator()(R mean, R gradient, R& out) const {
    out = functor::Lerp{}(mean, gradient * gradient, share);
  }
};
/// A gradient over the root of its factored mean of squares, or of the mean itself.
template <class R>
struct OverFactors {
  R least;
  LOCUS_FN R operator()(R gradient, R row, R column, R mean_of_rows) const {
    const R estimate = row * column / (mean_of_rows < least ? least : mean_of_rows), floor = least * least;
    return gradient / math::sqrt(estimate < floor ? floor : estimate);
  }
};
template <class R>
struct OverRoot {
  R least;
  LOCUS_FN R operator()(R gradient, R mean) const {
    const R floor = least * least;
    return gradient / math::sqrt(mean < floor ? floor : mean);
  }
};
/// The step. Norms are those of the parameter and of the update; `root` is the root of their number of elements.
template <class R>
struct AdafactorMove {
  R decay, rate;  ///< rate: min(lr, 1 / sqrt(t)), negated to maximize
  R least, most, root;
  LOCUS_FN void operator()(R value, R update, R norm_of_value, R norm_of_update, R& out) const {
    const R size = norm_of_value / root, excess = norm_of_update / (root * most);
    out = value * decay - (size < least ? least : size) * rate / (excess > R(1) ? excess : R(1)) * update;
  }
};
/// Likewise from the master weight of a 16-bit value, unless the value was written from outside since.
template <class T, class R>
struct MasterOf {
  LOCUS_FN R operator()(R master, R value) const {
    return locus::detail::either(rounds_to<T>(master, value), master, value);
  }
};
}  // namespace detail

/// Adam whose mean of squares is factored into rows and columns, so that the state of an (a, b) matrix is a + b
/// numbers; without momentum, and with rates relative to the size of each parameter (Shazeer and Stern, 2018). Of more
/// than two dimensions, the last two are factored. The state of parameters with fewer than two dimensions is a number
/// each. cost: nine launches for each matrix, five for each other parameter, and one more of 16 bits
template <class T, class D>
class Adafactor : public Optimizer<T, D> {
  using R = compute_t<T>;

 public:
  /// throws ArgumentError for options out of range
  explicit Adafactor(std::vector<Parameter<T, D>> parameters, const AdafactorOptions& options = {})
      : Optimizer<T, D>(std::move(parameters), 0, detail::checked(options).lr, options.weight_decay),
        options_(options) {
    make_state();
  }
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adafactor(const std::vector<Group<T, D>>& groups, const AdafactorOptions& options = {})
      : Optimizer<T, D>(groups, 0, detail::checked(options).lr, options.weight_decay), options_(options) {
    make_state();
  }
#include <locus/refuse/optim/adafactor_class.inc>

  /// Updates every parameter that has a gradient.
  void step()
    requires detail::StepsAlone<T>
  {
    this->count_step("Adafactor", [this](std::size_t i, std::size_t group, const auto& count) {
      const Tensor<T, D>& gradient = this->parameters()[i].grad();
      const auto share = [this, count] {
        return static_cast<R>(__builtin_pow(static_cast<double>(count()), options_.beta2_decay));
      };
      const Tensor<R, D> update = gradient.rank() > 1 ? factored(i, gradient, share) : whole(i, gradient, share);
      move(i, group, count, update);
    });
  }

  /// Three: row_var and col_var of matrices, variance of other parameters; an absent one has no elements.
  [[nodiscard]] int states() const { return 3; }
  [[nodiscard]] const char* state_name(int which) const {
    require_state(which);
    return which == 0 ? "row_var" : which == 1 ? "col_var" : "variance";
  }
  /// State `which` of parameter i of parameters(); 3 is the master weight of a 16-bit parameter.
  [[nodiscard]] Tensor<R, D> state(std::size_t i, int which) const {
    if (which == 3 && !std::is_same_v<T, R>) return Optimizer<T, D>::state(i, 0);
    require_state(which);
    if (i >= state_.size())
      fail<IndexError>({"optimizer: state of parameter ", i, "; there are ", state_.size(), " parameters"});
    return state_[i].of[which];
  }
  /// Memory of the state.
  [[nodiscard]] std::int64_t state_bytes() const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < state_.size(); ++i)
      for (int which = 0; which < 3 + !std::is_same_v<T, R>; ++which)
        bytes += state(i, which).elements() * static_cast<std::int64_t>(sizeof(R));
    return bytes;
  }

 private:
  struct State {
    Tensor<R, D> of[3];
  };
  void require_state(int which) const {
    (void)this->parameters();  // throws where the optimizer was moved from
    if (which < 0 || which > 2) fail<IndexError>({"optimizer: state ", which, "; there are 3"});
  }
  void make_state() {
    for (const auto& parameter : this->parameters()) {
      const auto zeros = [&](const Shape& shape) { return Tensor<R, D>(shape, parameter.device()).fill_(R(0)); };
      const bool is_factored = parameter.rank() > 1;
      Shape rows = parameter.shape(), columns = rows;
      if (is_factored) rows[rows.rank() - 1] = 1, columns[columns.rank() - 2] = 1;
      const Shape none{0};
      state_.push_back({{zeros(is_factored ? rows : none), zeros(is_factored ? columns : none),
                         zeros(is_factored ? none : parameter.shape())}});
    }
  }
  [[nodiscard]] R least() const {
    return options_.eps1 > 0 ? detail::positive<R>(options_.eps1) : std::numeric_limits<R>::epsilon();
  }
  template <class Share>
  [[nodiscard]] Tensor<R, D> factored(std::size_t i, const Tensor<T, D>& gradient, const Share& share) const {
    const auto& [rows, columns, unused] = state_[i].of;
    const auto move_mean = [share] { return detail::MoveMean<R>{share()}; };
    detail::map_anew_into(rows, move_mean, rows, mean(square(gradient.template as<R>()), -1, true).eval());
    detail::map_anew_into(columns, move_mean, columns, mean(square(gradient.template as<R>()), -2, true).eval());
    const Tensor<R, D> update(gradient.shape(), gradient.device());
    locus::detail::map_into(update, detail::OverFactors<R>{least()}, gradient, rows, columns,
                            mean(rows, -2, true).eval());
    return update;
  }
  template <class Share>
  [[nodiscard]] Tensor<R, D> whole(std::size_t i, const Tensor<T, D>& gradient, const Share& share) const {
    const Tensor<R, D>& variance = state_[i].of[2];
    detail::map_anew_into(
        variance, [share] { return detail::MoveMeanOfSquares<R>{share()}; }, variance, gradient);
    const Tensor<R, D> update(gradient.shape(), gradient.device());
    locus::detail::map_into(update, detail::OverRoot<R>{least()}, gradient, variance);
    return update;
  }
  template <class Count>
  void move(std::size_t i, std::size_t group, const Count& count, const Tensor<R, D>& update) const {
    const Tensor<T, D>& value = this->parameters()[i].value();
    const auto make = [this, group, count, root = __builtin_sqrt(static_cast<double>(value.elements()))] {
      const auto& rates = this->groups()[group];
      const double most = 1 / __builtin_sqrt(static_cast<double>(count()));
      const double rate = locus::detail::smaller(rates.lr(), most);
      return detail::AdafactorMove<R>{static_cast<R>(1.0 - rates.lr() * rates.weight_decay()),
                                      static_cast<R>(options_.maximize ? -rate : rate), static_cast<R>(options_.eps2),
                                      static_cast<R>(options_.d), static_cast<R>(root)};
    };
    if constexpr (std::is_same_v<T, R>) {
      detail::map_anew_into(value, make, value, update, norm(value), norm(update));
    } else {
      const Tensor<R, D> master = state(i, 3);
      locus::detail::map_into(master, detail::MasterOf<T, R>{}, master, value);
      detail::map_anew_into(master, make, master, update, norm(master), norm(update));
      (void)value.copy_(master.template as<T>());
    }
  }

  AdafactorOptions options_;
  std::vector<State> state_;
};

#define LOCUS_OPTIMIZER Adafactor
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
