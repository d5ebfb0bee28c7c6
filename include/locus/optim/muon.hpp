#pragma once
// Muon, as torch.optim.Muon: momentum whose steps are orthogonalized matrices. locus.hpp leaves it out.

#include <locus/core/math.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/norm.hpp>
#include <locus/optim/map_anew.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// How Muon scales the rate of an (a, b) matrix: by sqrt(max(1, a / b)), as its author does; by 0.2 sqrt(max(a, b)),
/// which gives steps the size of AdamW's, so that its rate and decay serve; or by sqrt(a / b).
enum class MuonRate { original, match_rms_adamw, spectral_unclamped };

struct MuonOptions {
  double lr = 0.001;
  double weight_decay = 0.1;  ///< decoupled: values shrink by lr weight_decay
  double momentum = 0.95;
  bool nesterov = true;
  double ns_a = 3.4445, ns_b = -4.7750, ns_c = 2.0315;  ///< X = a X + (b A + c A^2) X, with A = X X^T
  double eps = 1e-7;                                    ///< least norm that a matrix is divided by
  int ns_steps = 5;
  MuonRate adjust_lr = MuonRate::original;
  bool maximize = false;  ///< steps go up: gradients count negated; weights still decay
};

namespace detail {
/// The elementwise part of a step: momentum and decay.
template <class Register>
struct MuonRule {
  using R = Register;
  static constexpr int states = 1;
  R share;  ///< 1 - momentum, rounded once
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>&, R value, R gradient, R mean, R& new_value,
                           R& new_mean) const {
    new_mean = mean + share * (gradient - mean);
    new_value = value * rates.decay;
  }
};
struct MuonMethod : Method<MuonOptions> {
  static double& momentum(MuonOptions& o) { return o.momentum; }
  template <class R>
  using Rule = MuonRule<R>;
  template <class R> static MuonRule<R> rule(const MuonOptions& o) { return {static_cast<R>(1.0 - o.momentum)}; }
  static bool is_decoupled(const MuonOptions&) { return true; }
  static int states(const MuonOptions&) { return 1; }
  static const char* state_name(const MuonOptions&, int) { return "momentum_buffer"; }
  LOCUS_OUT_OF_LINE static void check(const MuonOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_not_negative("weight_decay", options.weight_decay);
    require_option(options.momentum >= 0 && options.momentum <= 1, "momentum", options.momentum, "0 to 1");
    for (const double each : {options.ns_a, options.ns_b, options.ns_c})
      locus::detail::require_finite("optimizer", "ns_a, ns_b or ns_c", each);
    require_not_negative("eps", options.eps);
    require_option(options.ns_steps >= 1 && options.ns_steps < 100, "ns_steps", options.ns_steps, "1 to 99");
  }
  /// The factor of the rate for a matrix.
  [[nodiscard]] static double factor(const MuonOptions& options, const Shape& shape) {
    const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
    switch (options.adjust_lr) {
      case MuonRate::original: return __builtin_sqrt(locus::detail::larger(1., rows / columns));
      case MuonRate::match_rms_adamw: return 0.2 * __builtin_sqrt(locus::detail::larger(rows, columns));
      default: return __builtin_sqrt(rows / columns);
    }
  }
};

/// The matrix that is orthogonalized: the momentum, or the gradient moved towards it.
template <class R>
struct MuonDirection {
  R towards_mean, sign;
  LOCUS_FN void operator()(R gradient, R mean, R& out) const {
    const R g = sign * gradient;
    out = g + towards_mean * (mean - g);
  }
};
template <class R>
struct DivideByNorm {
  R least;
  LOCUS_FN R operator()(R x, R norm) const { return x / (norm < least ? least : norm); }
};
template <class R>
struct MoveAgainst {
  R rate;
  LOCUS_FN void operator()(R value, R direction, bool skip, R& out) const {
    out = locus::detail::either(skip, value, value - rate * direction);
  }
};

/// throws ShapeError for a parameter without two dimensions
template <class T, class D>
const std::vector<Parameter<T, D>>& require_matrices(const std::vector<Parameter<T, D>>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].defined() && parameters[i].rank() != 2)
      fail<ShapeError>({"Muon: parameter ", i, " has shape ", parameters[i].shape(), "; expected two dimensions: give ",
                        "biases, embeddings and convolutions to another optimizer, such as AdamW"});
  return parameters;
}
template <class T, class D>
const std::vector<Group<T, D>>& require_matrices(const std::vector<Group<T, D>>& groups) {
  for (const auto& group : groups) (void)require_matrices(group.parameters);
  return groups;
}
}  // namespace detail

/// m = momentum m + (1 - momentum) g; x = (1 - lr weight_decay) x - lr O, where O is m, or with Nesterov's momentum
/// g + momentum (m - g), with its singular values brought near 1 by Newton-Schulz iterations (Jordan et al., 2024). Of
/// the weights of hidden linear layers; give the other parameters to AdamW. Products are computed in float, or in
/// double for parameters of double (PyTorch: in bfloat16).
/// cost: one launch for all parameters, and for each one 4 + 5 ns_steps, with three products of matrices an iteration
/// throws ShapeError for parameters without two dimensions
///
///     optim::Muon muon{matrices, {.lr = 0.02}};
///     optim::AdamW adam{others, {.lr = 0.001}};
template <class T, class D>
class Muon : public OptimizerBy<T, D, detail::MuonMethod> {
  using Base = OptimizerBy<T, D, detail::MuonMethod>;
  using R = compute_t<T>;

 public:
  /// throws ArgumentError for options out of range
  explicit Muon(const std::vector<Parameter<T, D>>& parameters, const MuonOptions& options = {})
      : Base(detail::require_matrices(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Muon(const std::vector<Group<T, D>>& groups, const MuonOptions& options = {})
      : Base(detail::require_matrices(groups), options) {}
#include <locus/refuse/optim/muon_class.inc>

  /// Updates every parameter that has a gradient. For half, step through a GradScaler, after unscale().
  void step()
    requires detail::StepsAlone<T>
  {
    Base::step();
    move({});
  }
  /// step(), unless the flag is set: as of the other optimizers. throws GraphError for gradients that a GradScaler has
  /// yet to unscale
  void step(const Tensor<bool, D>& skip) {
    locus::detail::require_final("Muon", this->parameters());
    Base::step(skip);
    move(skip.reshape({}));
  }

 private:
  void move(const Tensor<bool, D>& skip) {
    std::size_t i = 0;
    for (std::size_t g = 0; g < this->groups().size(); ++g)
      for (const auto& parameter : this->groups()[g].parameters()) {
        if (parameter.has_grad()) move(parameter, i, g, skip);
        ++i;
      }
  }
  void move(const Parameter<T, D>& parameter, std::size_t i, std::size_t g, const Tensor<bool, D>& skip) {
    const double factor = detail::MuonMethod::factor(this->options(), parameter.shape());
    const Tensor<R, D> direction = orthogonalized(parameter.grad(), this->state(i, 0));
    const auto make = [this, g, factor] {
      return detail::MoveAgainst<R>{static_cast<R>(this->groups()[g].lr() * factor)};
    };
    if constexpr (std::is_same_v<T, R>) {
      detail::map_anew_into(parameter.value(), make, parameter.value(), direction, skip);
    } else {
      const Tensor<R, D> master = this->state(i, 1);
      detail::map_anew_into(master, make, master, direction, skip);
      (void)parameter.value().copy_(master.template as<T>());
    }
  }
  [[nodiscard]] Tensor<R, D> orthogonalized(const Tensor<T, D>& gradient, const Tensor<R, D>& mean) const {
    const MuonOptions& o = this->options();
    Tensor<R, D> x(gradient.shape(), gradient.device());
    const auto direction = [this] {
      const MuonOptions& now = this->options();
      return detail::MuonDirection<R>{static_cast<R>(now.nesterov ? now.momentum : 1.0),
                                      detail::sign_of_gradients<R>(now.maximize)};
    };
    detail::map_anew_into(x, direction, gradient, mean);
    locus::detail::map_into(x, detail::DivideByNorm<R>{static_cast<R>(o.eps)}, x, norm(x));
    const R a = static_cast<R>(o.ns_a), b = static_cast<R>(o.ns_b), c = static_cast<R>(o.ns_c);
    const bool is_tall = x.size(0) > x.size(1);  // then A is X^T X, the smaller of the two products
    for (int k = 0; k < o.ns_steps; ++k) {
      const Tensor<R, D> gram = is_tall ? matmul(x.transpose(), x) : matmul(x, x.transpose());
      const Tensor<R, D> update = b * gram + c * matmul(gram, gram);
      x = a * x + (is_tall ? matmul(x, update) : matmul(update, x));
    }
    return x;
  }
};

#define LOCUS_OPTIMIZER Muon
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
