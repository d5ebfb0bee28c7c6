#pragma once
// The history of L-BFGS: changes of values and of gradients, whose products with each other give the next direction.
//
// The two loops of the method combine rows of the history by products of rows alone. So they run on the host, on the
// table of these products: two products of matrices compute those with a new pair and with the gradient, and a third
// one the direction from its coefficients (Chen, Wang and Zhou, Large-scale L-BFGS using MapReduce, 2014).

#include <locus/expr/operators.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/optimizer.hpp>
#include <locus/tensor/factory.hpp>

#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace optim::detail {

/// A direction, and the slope of the loss along it.
template <class X>
struct LineOfHistory {
  X direction;
  double slope;
};

/// Rows of a matrix: 0, the previous gradient; 1 + 2 k and 2 + 2 k, the changes of values and of gradients of pair k.
/// One pair more than the history holds is spare: the latest step, whose change of gradients is not known yet.
template <class T, class D>
class LBFGSHistory {
 public:
  LBFGSHistory(int pairs, const Tensor<T, D>& values)
      : slots_(pairs + 1),
        rows_(Tensor<T, D>({2 * slots_ + 1, values.size(0)}, values.device()).fill_(T(0))),
        saved_(Tensor<T, D>({}, values.device()).fill_(T(0))),
        products_(static_cast<std::size_t>((2 * slots_ + 1) * (2 * slots_ + 1))) {
    names_.push_back("prev_flat_grad");
    for (std::int64_t k = 0; k < slots_; ++k)
      for (const char* const kind : {"old_stps.", "old_dirs."}) names_.push_back(join(kind, k));
    names_.push_back("old_pairs");
  }
  [[nodiscard]] int rows() const { return static_cast<int>(2 * slots_ + 1); }
  [[nodiscard]] std::int64_t bytes() const { return rows_.elements() * static_cast<std::int64_t>(sizeof(T)); }
  [[nodiscard]] const char* name(int row) const { return names_[static_cast<std::size_t>(row)].c_str(); }
  /// A parameter's part of a row; of the last state, the present number of pairs.
  [[nodiscard]] Tensor<T, D> state(int row, std::int64_t begin, const Parameter<T, D>& parameter) const {
    if (row == rows()) {
      if (knows_products_) (void)saved_.fill_(static_cast<T>(pairs_ < slots_ ? pairs_ : slots_ + pairs_ % slots_));
      return saved_;
    }
    const Shape& shape = parameter.shape();
    const auto format = locus::detail::dense_format(parameter.value().layout());
    return {rows_.buffer(), rows_.data() + row * rows_.size(1) + begin, shape,
            locus::detail::strides_of(shape, format)};
  }

  /// The next direction from a gradient; takes up the pair of the latest step, unless `iteration` is the first.
  [[nodiscard]] LineOfHistory<Tensor<T, D>> direction(const Tensor<T, D>& gradient, std::int64_t iteration) {
    const Tensor<T, D> previous = rows_.select(0, 0);
    if (iteration == 0) {
      previous.copy_(gradient);
      return {-gradient, -static_cast<double>(sum(gradient * gradient).item())};
    }
    if (!knows_products_) read_products();
    const std::int64_t spare = pairs_ % slots_;
    rows_.select(0, change_row(spare)).copy_(gradient - previous);
    previous.copy_(gradient);
    multiply_new(spare);
    if (product(step_row(spare), change_row(spare)) > 1e-10) ++pairs_;
    const std::vector<double> shares = coefficients();
    double slope = 0;
    for (std::int64_t row = 0; row < in_use(); ++row) slope += share_of(shares, row) * product(0, row);
    (void)rows_.select(0, step_row(pairs_ % slots_)).fill_(T(0));  // until the step is made: the closure may throw
    const auto on_host = from(Span<const double>(shares.data(), shares.size()), {1, in_use()});
    return {matmul(on_host.template as<T>().eval().template to<D>(rows_.device()), rows_.slice(0, 0, in_use()))
                .reshape({rows_.size(1)}),
            slope};
  }
  /// The latest step along a direction.
  void stepped(const Tensor<T, D>& direction, double length) {
    rows_.select(0, step_row(pairs_ % slots_)).copy_(static_cast<T>(length) * direction);
  }
  /// The state was loaded: the next direction reads it.
  void forget_products() { knows_products_ = false; }

 private:
  [[nodiscard]] static std::int64_t step_row(std::int64_t slot) { return 1 + 2 * slot; }
  [[nodiscard]] static std::int64_t change_row(std::int64_t slot) { return 2 + 2 * slot; }
  /// Rows up to the last slot that was ever used.
  [[nodiscard]] std::int64_t in_use() const { return 1 + 2 * locus::detail::smaller(pairs_ + 1, slots_); }
  [[nodiscard]] double& product(std::int64_t a, std::int64_t b) {
    return products_[static_cast<std::size_t>(a * (2 * slots_ + 1) + b)];
  }
  [[nodiscard]] static double share_of(const std::vector<double>& shares, std::int64_t row) {
    return shares[static_cast<std::size_t>(row)];
  }

  void read_products() {
    const auto saved = static_cast<double>(saved_.template to<Cpu>().item());
    if (!(saved >= 0 && saved < static_cast<double>(2 * slots_)))
      fail<DataError>({"LBFGS: the state's old_pairs is ", saved, "; expected 0 to ", 2 * slots_ - 1,
                       ", of an optimizer with history_size = ", slots_ - 1});
    pairs_ = static_cast<std::int64_t>(saved);
    const Tensor<T, D> used = rows_.slice(0, 0, in_use());
    const auto all = matmul(used, used.transpose()).template to<Cpu>();
    for (std::int64_t a = 0; a < in_use(); ++a)
      for (std::int64_t b = 0; b < in_use(); ++b) product(a, b) = static_cast<double>(all.data()[a * in_use() + b]);
    knows_products_ = true;
  }
  /// Products of all rows with the gradient and with the pair of a slot.
  void multiply_new(std::int64_t slot) {
    const std::int64_t count = in_use();
    const Tensor<T, D> used = rows_.slice(0, 0, count);
    const Tensor<T, D> result({count, 3}, rows_.device());
    const auto to = [&](std::int64_t first, std::int64_t last, const Tensor<T, D>& by) {
      locus::detail::multiply_into(result.slice(1, first, last), used, by.transpose(),
                                   locus::detail::plain_epilogue<T>());
    };
    to(0, 1, rows_.slice(0, 0, 1));
    to(1, 3, rows_.slice(0, step_row(slot), change_row(slot) + 1));
    const auto on_host = result.template to<Cpu>();
    const std::int64_t of[3] = {0, step_row(slot), change_row(slot)};
    for (std::int64_t row = 0; row < count; ++row)
      for (int k = 0; k < 3; ++k)
        product(row, of[k]) = product(of[k], row) = static_cast<double>(on_host.data()[3 * row + k]);
  }
  /// The shares of rows in the next direction: the method's two loops.
  [[nodiscard]] std::vector<double> coefficients() {
    std::vector<double> shares(static_cast<std::size_t>(in_use())), alphas(static_cast<std::size_t>(slots_));
    const auto along = [&](std::int64_t row) {
      double total = 0;
      for (std::int64_t k = 0; k < in_use(); ++k) total += share_of(shares, k) * product(row, k);
      return total;
    };
    const std::int64_t newest = pairs_ - 1, oldest = locus::detail::larger<std::int64_t>(pairs_ - slots_ + 1, 0);
    shares[0] = -1;
    for (std::int64_t pair = newest; pair >= oldest; --pair) {
      const std::int64_t s = step_row(pair % slots_), y = change_row(pair % slots_);
      const double alpha = along(s) / product(s, y);
      alphas[static_cast<std::size_t>(pair % slots_)] = alpha;
      shares[static_cast<std::size_t>(y)] -= alpha;
    }
    if (newest >= oldest) {
      const std::int64_t s = step_row(newest % slots_), y = change_row(newest % slots_);
      const double scale = product(s, y) / product(y, y);
      for (double& each : shares) each *= scale;
    }
    for (std::int64_t pair = oldest; pair <= newest; ++pair) {
      const std::int64_t s = step_row(pair % slots_), y = change_row(pair % slots_);
      shares[static_cast<std::size_t>(s)] += alphas[static_cast<std::size_t>(pair % slots_)] - along(y) / product(s, y);
    }
    return shares;
  }

  std::int64_t slots_, pairs_ = 0;  ///< pairs_: accepted so far; pair p is in slot p % slots_
  Tensor<T, D> rows_, saved_;
  std::vector<double> products_;
  std::vector<std::string> names_;
  bool knows_products_ = true;
};

}}}  // namespace locus::LOCUS_ABI::optim::detail
