// Softmax, layer normalization and cross-entropy of the rows of a matrix. Sizes: rows, columns.

#include "operands.hpp"

#include <locus/expr/operators.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/softmax.hpp>

#include <cmath>

namespace bench {
namespace {

template <class D>
struct Set {
  Tensor<float, D> x, weight, bias;
  Tensor<std::int64_t, D> labels;
  Tensor<float, D> y;

  Set(std::int64_t rows, std::int64_t cols, D device)
      : x(locus::randn<float>({rows, cols}, device)),
        weight(locus::randn<float>({cols}, device)),
        bias(locus::randn<float>({cols}, device)),
        labels(locus::randint(0, cols, {rows}, device)) {}
};

/// One row in float64.
struct Row {
  Tensor<float, Cpu> x;
  std::int64_t cols = x.size(1);

  [[nodiscard]] double log_sum_exp() const {
    double sum = 0;
    for (std::int64_t j = 0; j < cols; ++j) sum += std::exp(static_cast<double>(x(0, j)));
    return std::log(sum);
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (std::int64_t j = 0; j < cols; ++j) sum += x(0, j);
    return sum / static_cast<double>(cols);
  }
  [[nodiscard]] double variance() const {
    const double mu = mean();
    double sum = 0;
    for (std::int64_t j = 0; j < cols; ++j) sum += (x(0, j) - mu) * (x(0, j) - mu);
    return sum / static_cast<double>(cols);
  }
};

constexpr double epsilon = 1e-5;
constexpr double rounding = 64 * 0x1p-24;

// One class per operation: run() computes it, judge() compares one row with float64.
struct Softmax {
  static constexpr const char* name = "softmax";
  template <class D> static void run(Set<D>& set) { set.y = softmax(set.x, 1); }
  template <class D>
  static void judge(const Set<D>& set, std::int64_t at, const Row& row, Worst& worst) {
    const auto y = window(set.y, at, 1);
    const double sum = row.log_sum_exp();
    for (std::int64_t j = 0; j < row.cols; ++j) {
      const double value = std::exp(row.x(0, j) - sum);
      worst.add(y(0, j), value, rounding * value + 1e-30);
    }
  }
};
struct LayerNorm {
  static constexpr const char* name = "layer_norm";
  template <class D>
  static void run(Set<D>& set) {
    set.y = layer_norm(set.x, set.weight.shape(), set.weight, set.bias, epsilon);
  }
  template <class D>
  static void judge(const Set<D>& set, std::int64_t at, const Row& row, Worst& worst) {
    const auto y = window(set.y, at, 1);
    const auto weight = on_the_host(set.weight), bias = on_the_host(set.bias);
    const double mu = row.mean(), scale = 1 / std::sqrt(row.variance() + epsilon);
    for (std::int64_t j = 0; j < row.cols; ++j) {
      const double term = (row.x(0, j) - mu) * scale * weight(j);
      worst.add(y(0, j), term + bias(j), rounding * (std::abs(term) + std::abs(bias(j)) + std::abs(mu)) + 1e-5);
    }
  }
};
struct CrossEntropy {
  static constexpr const char* name = "cross_entropy";
  template <class D>
  static void run(Set<D>& set) {
    set.y = cross_entropy(set.x, set.labels, {.reduction = locus::Reduction::none});
  }
  template <class D>
  static void judge(const Set<D>& set, std::int64_t at, const Row& row, Worst& worst) {
    const auto y = window(set.y, at, 1);
    const auto label = window(set.labels, at, 1);
    const double sum = row.log_sum_exp(), logit = row.x(0, label(0));
    worst.add(y(0), sum - logit, rounding * (std::abs(sum) + std::abs(logit)));
  }
};

template <class Operation, class D>
std::vector<Variant> prepare(std::int64_t rows, std::int64_t cols, double bytes, D device) {
  const auto sets = rotation(device, bytes, [=] { return Set<D>(rows, cols, device); });
  const auto error = [=] {
    Set<D>& set = sets->next();
    Operation::run(set);
    Worst worst;
    for (const std::int64_t at : places(rows, 1)) Operation::judge(set, at, Row{window(set.x, at, 1)}, worst);
    return worst.value();
  };
  return {{"locus", [=] { Operation::run(sets->next()); }, error}, copy_of(device, bytes)};
}

template <class Operation, class D>
void add(Workloads& workloads, std::int64_t rows, std::int64_t cols, D device) {
  Workload w{"rows", Operation::name, "f32", {rows, cols}};
  const auto elements = static_cast<double>(rows * cols);
  const bool reads_alone = std::is_same_v<Operation, CrossEntropy>;
  w.bytes = reads_alone ? 4 * elements + 12 * static_cast<double>(rows) : 8 * elements;
  w.prepare = [=, bytes = w.bytes] { return prepare<Operation>(rows, cols, bytes, device); };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_rows(Workloads& workloads, Scale scale, D device) {
  const std::int64_t elements = scale == Scale::tiny ? 1 << 10 : on_host<D> ? 1 << 24 : 1 << 26;
  const std::vector<std::int64_t> columns = scale == Scale::tiny
                                                ? std::vector<std::int64_t>{10, 256}
                                                : std::vector<std::int64_t>{1024, 4096, 16384, 50257, 65536, 262144};
  for (const std::int64_t cols : columns) {
    add<Softmax>(workloads, elements / cols, cols, device);
    add<LayerNorm>(workloads, elements / cols, cols, device);
    add<CrossEntropy>(workloads, elements / cols, cols, device);
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_rows)
