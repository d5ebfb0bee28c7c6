#pragma once
// The adaptive softmax of many classes, of which few are frequent. Not part of locus/locus.hpp.

#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/from.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults.
struct AdaptiveLogSoftmaxOptions {
  double div_value = 4.0;  ///< by how much each cluster's width is smaller than the one before
  bool head_bias = false;
};

/// The log-probability of each row's label, and the negative mean of all.
template <class Y>
struct LogProbabilityAndLoss {
  Y output;  ///< (n,)
  Y loss;    ///< a scalar
};

namespace detail {
template <class X, class Y, class T, class D>
struct AdaptiveSoftmaxMistake
    : locus::detail::FirstMistake<locus::detail::EntropyMistake<X, Y>, locus::detail::PlaceMistake<X, Tensor<T, D>>,
                                  locus::detail::PairMistake<X, Tensor<T, D>>> {};
}  // namespace detail

/// A softmax that computes the scores of rare classes for the rows that need them alone (Grave et al., 2016). Classes
/// are ordered by frequency; `cutoffs` divide them: frequent ones before the first, then clusters of rarer ones, each
/// with a narrower projection. torch.nn.AdaptiveLogSoftmaxWithLoss, with its names of parameters.
/// shape: x (n, features), labels (n,). Parameters: head.weight, head.bias, tail.0.0.weight, tail.0.1.weight, ...
/// cost:  the labels are copied to the host, which waits; two products and a softmax of its rows for each cluster
///
///     nn::AdaptiveLogSoftmaxWithLoss<float, D> softmax{512, 50000, {2000, 10000}};
///     const auto [output, loss] = softmax(trace(features), labels);
template <class T, class D>
class AdaptiveLogSoftmaxWithLoss final : public Layer<AdaptiveLogSoftmaxWithLoss<T, D>, T, D> {
 public:
  using input_type = T;

  Linear<T, D> head;
  std::vector<Sequential<T, D>> tail;

  /// throws ArgumentError unless sizes are positive, cutoffs rise from 1 or more to less than the classes, and the
  /// divisor is positive
  AdaptiveLogSoftmaxWithLoss(std::int64_t features, std::int64_t classes, std::vector<std::int64_t> cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {}, D device = {})
      : head(features, checked(features, classes, cutoffs, options), options.head_bias, device),
        features_(features),
        cutoffs_(std::move(cutoffs)),
        options_(options) {
    cutoffs_.push_back(classes);
    double divisor = options.div_value;
    for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i, divisor *= options.div_value) {
      const auto width = static_cast<std::int64_t>(static_cast<double>(features) / divisor);
      if (width < 1)
        fail<ArgumentError>({"AdaptiveLogSoftmaxWithLoss: cluster ", i, " of ", features, " features has a width of ",
                             features, " / ", divisor,
                             "; expected 1 or more, by fewer cutoffs or a smaller div_value"});
      tail.push_back(Sequential<T, D>{Linear<T, D>{features, width, false, device},
                                      Linear<T, D>{width, cutoffs_[i + 1] - cutoffs_[i], false, device}});
    }
  }

  template <class X, class Y>
    requires(locus::detail::LossOperands<X, Y> && std::is_same_v<device_of<X>, D> && std::is_same_v<value_of<X>, T>)
  [[nodiscard]] auto operator()(const X& x, const Y& labels) const {
    return forward(x.eval(), labels.eval());
  }
#include <locus/refuse/nn/adaptive_log_softmax_class.inc>

  /// throws ShapeError unless shapes fit; IndexError for a label out of range
  template <TensorLike X, TensorLike Y>
  [[nodiscard]] auto forward(const X& x, const Y& labels) const {
    const Tensor<std::int64_t, D>& given = labels.value();
    const Shape shape = x.shape();
    if (shape.rank() != 2 || shape[1] != features_ || !(given.shape() == Shape{shape[0]}))
      fail<ShapeError>({"AdaptiveLogSoftmaxWithLoss: an input of shape ", shape, " and labels of shape ", given.shape(),
                        "; expected (n, ", features_, ") and (n,)"});
    const auto numbers = given.template to<Cpu>();
    const auto of_head = log_softmax(head.forward(x), 1);
    auto output = picked(of_head, columns_of_head(numbers));
    for (std::size_t i = 0; i < tail.size(); ++i) {
      const auto [rows, columns] = members_of(i, numbers);
      if (rows.elements() == 0) continue;
      const auto of_cluster = log_softmax(tail[i](index_select(x, 0, rows)), 1);
      output = index_add(output, 0, rows, picked(of_cluster, columns));
    }
    auto loss = mean(-output).eval();
    return LogProbabilityAndLoss<decltype(output)>{std::move(output), std::move(loss)};
  }
  /// The logarithms of the probabilities of all classes.
  /// shape: (n, features) -> (n, classes)
  template <TensorLike X>
  [[nodiscard]] auto log_prob(const X& x) const {
    const auto of_head = log_softmax(head.forward(x), 1);
    auto all = slice(of_head, 1, 0, cutoffs_[0]);
    for (std::size_t i = 0; i < tail.size(); ++i) {
      const std::int64_t column = cutoffs_[0] + static_cast<std::int64_t>(i);
      const auto of_cluster = log_softmax(tail[i](x), 1);
      all = concat(1, all, (of_cluster + slice(of_head, 1, column, column + 1)).eval());
    }
    return all;
  }
  /// The most probable class of each row.
  /// shape: (n, features) -> (n,)
  template <TensorLike X> [[nodiscard]] auto predict(const X& x) const { return argmax(log_prob(x), 1); }

  void members(const auto& visit) const {
    visit("head", head);
    visit("tail", tail);
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return AdaptiveLogSoftmaxWithLoss<U, E>(features_, cutoffs_.back(), {cutoffs_.begin(), cutoffs_.end() - 1},
                                            options_);
  }

 private:
  /// The number of columns of the head.
  static std::int64_t checked(std::int64_t features, std::int64_t classes, const std::vector<std::int64_t>& cutoffs,
                              const AdaptiveLogSoftmaxOptions& options) {
    bool rises = !cutoffs.empty() && cutoffs.front() >= 1 && cutoffs.back() < classes;
    for (std::size_t i = 1; i < cutoffs.size(); ++i) rises &= cutoffs[i - 1] < cutoffs[i];
    if (features < 1 || !rises)
      fail<ArgumentError>({"AdaptiveLogSoftmaxWithLoss: ", features, " features, ", classes, " classes and ",
                           cutoffs.size(), " cutoffs; expected at least 1 feature, and cutoffs that rise from 1 or ",
                           "more to less than the classes"});
    if (!(options.div_value > 0))
      fail<ArgumentError>({"AdaptiveLogSoftmaxWithLoss: div_value is ", options.div_value, "; expected more than 0"});
    return cutoffs.front() + static_cast<std::int64_t>(cutoffs.size());
  }
  /// An element of each row.
  template <class X>
  [[nodiscard]] static auto picked(const X& x, const Tensor<std::int64_t, D>& columns) {
    return squeeze(gather(x, 1, columns.unsqueeze(1)), 1);
  }
  /// The column of each label, or of its cluster.
  [[nodiscard]] Tensor<std::int64_t, D> columns_of_head(const Tensor<std::int64_t, Cpu>& labels) const {
    const Tensor<std::int64_t, Cpu> columns = labels.clone();
    std::int64_t* const column = columns.data();
    for (std::int64_t row = 0; row < columns.elements(); ++row) {
      const std::int64_t label = column[row];
      if (label < 0 || label >= cutoffs_.back())
        fail<IndexError>({"AdaptiveLogSoftmaxWithLoss: label ", label, " at position ", row,
                          " is out of range; expected 0 to ", cutoffs_.back() - 1});
      for (std::size_t i = 0; i + 1 < cutoffs_.size(); ++i)
        if (label >= cutoffs_[i]) column[row] = cutoffs_[0] + static_cast<std::int64_t>(i);
    }
    return columns.template to<D>(head.weight.device());
  }
  /// The rows whose labels belong to a cluster, and the labels' columns there.
  struct Members {
    Tensor<std::int64_t, D> rows, columns;
  };
  [[nodiscard]] Members members_of(std::size_t cluster, const Tensor<std::int64_t, Cpu>& labels) const {
    std::vector<std::int64_t> rows, columns;
    const Tensor<std::int64_t, Cpu> dense = labels.contiguous();
    for (std::int64_t row = 0; row < dense.elements(); ++row) {
      const std::int64_t label = dense.data()[row];
      if (label < cutoffs_[cluster] || label >= cutoffs_[cluster + 1]) continue;
      rows.push_back(row);
      columns.push_back(label - cutoffs_[cluster]);
    }
    const D device = head.weight.device();
    return {from(rows).template to<D>(device), from(columns).template to<D>(device)};
  }

  std::int64_t features_;
  std::vector<std::int64_t> cutoffs_;  ///< and, last, the number of classes
  AdaptiveLogSoftmaxOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::nn
