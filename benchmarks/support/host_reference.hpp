#pragma once
// The workloads of cpu.py in float64, at sampled positions, with error bounds.
//
// Elements: a formula of each element. Rows: an operation on each row of (rows, cols). Sizes of products: m, n, k and
// the batch.

#include "host_work.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {
namespace detail {

using Result = std::vector<float>;
constexpr double epsilon = 0x1p-24;

/// The largest error so far, relative to its rounding bound; sticks at NaN.
class Worst {
 public:
  void add(double value, double expected, double allowed) {
    const double error = std::abs(value - expected) / (allowed + 1e-30);
    if (!(error <= worst_)) worst_ = error;
  }
  [[nodiscard]] double value() const { return worst_; }

 private:
  double worst_ = 0;
};

/// About `wanted` of `count` positions, including the first and the last.
inline std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t wanted) {
  const std::int64_t step = std::max<std::int64_t>(1, count / wanted);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count - 1; i += step) places.push_back(i);
  places.push_back(count - 1);
  return places;
}

/// The last two letters of the operation name the transposed operand: nn, nt or tn.
inline double error_of_product(const Work& w, const Result& c) {
  const std::string form = w.operation.substr(w.operation.size() - 2);
  const bool a_transposed = form == "tn", b_transposed = form == "nt";
  const std::int64_t m = w.size(0), n = w.size(1), k = w.size(2), batch = w.size(3);
  const Memory a = w.operand(0, batch * m * k), b = w.operand(1, batch * k * n);
  Worst worst;
  for (const std::int64_t at : some_of(batch * m * n, 61)) {
    const std::int64_t one = at / (m * n), i = at / n % m, j = at % n;
    double sum = 0, magnitude = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      const double x = (*a)[one * m * k + (a_transposed ? l * m + i : i * k + l)];
      const double y = (*b)[one * k * n + (b_transposed ? j * k + l : l * n + j)];
      sum += x * y;
      magnitude += std::abs(x * y);
    }
    const double stored = w.of_bfloat16() ? 0x1p-8 * std::abs(sum) : 0;
    worst.add(c.at(static_cast<std::size_t>(at)), sum, 8 * epsilon * magnitude + stored);
  }
  return worst.value();
}

/// A formula of one or two elements, and the magnitude of its intermediate results, for the rounding bound.
struct Formula {
  int operands;
  double (*value)(double a, double b);
  double (*magnitude)(double a, double b);
};

inline const std::map<std::string, Formula>& formulas() {
  static const auto none = [](double, double) { return 0.0; };
  static const auto first = [](double a, double) { return std::abs(a); };
  static const auto both = [](double a, double b) { return std::abs(a) + std::abs(b); };
  static const std::map<std::string, Formula> all{
      {"chain",
       {2, [](double a, double b) { return 0.5 * std::max((a + b) * a - b, 0.0); },
        [](double a, double b) { return (std::abs(a) + std::abs(b)) * std::abs(a) + std::abs(b); }}},
      {"add", {2, [](double a, double b) { return a + b; }, both}},
      {"scaled_add", {2, [](double a, double b) { return a + 1.5 * b; }, both}},
      {"copy", {1, [](double a, double) { return a; }, none}},
      {"relu", {1, [](double a, double) { return std::max(a, 0.0); }, none}},
      {"exp", {1, [](double a, double) { return std::exp(a); }, none}},
      {"tanh", {1, [](double a, double) { return std::tanh(a); }, none}},
      {"sigmoid", {1, [](double a, double) { return 1 / (1 + std::exp(-a)); }, none}},
      {"gelu", {1, [](double a, double) { return 0.5 * a * (1 + std::erf(a * std::sqrt(0.5))); }, first}}};
  return all;
}

inline double error_of_elements(const Work& w, const Result& y, const Formula& formula) {
  const Memory a = w.operand(0, w.elements()), b = formula.operands > 1 ? w.operand(1, w.elements()) : a;
  Worst worst;
  for (const std::int64_t i : some_of(w.elements(), 20011)) {
    const double p = (*a)[i], q = (*b)[i], value = formula.value(p, q);
    worst.add(y.at(static_cast<std::size_t>(i)), value, 32 * epsilon * (std::abs(value) + formula.magnitude(p, q)));
  }
  return worst.value();
}

/// add_row, add_column, add_transposed and transpose of a matrix.
inline double error_of_layout(const Work& w, const Result& y) {
  const std::int64_t rows = w.rows(), cols = w.cols();
  const bool adds_transposed = w.operation == "add_transposed", adds_row = w.operation == "add_row";
  const Memory x = w.operand(0, rows * cols), v = w.operand(1, adds_transposed ? rows * cols : adds_row ? cols : rows);
  Worst worst;
  for (const std::int64_t at : some_of(rows * cols, 20011)) {
    const std::int64_t i = at / cols, j = at % cols;
    if (w.operation == "transpose") {
      worst.add(y.at(static_cast<std::size_t>(j * rows + i)), (*x)[at], 0);
    } else {
      const double p = (*x)[at], q = (*v)[adds_transposed ? j * rows + i : adds_row ? j : i];
      worst.add(y.at(static_cast<std::size_t>(at)), p + q, 4 * epsilon * (std::abs(p) + std::abs(q)));
    }
  }
  return worst.value();
}

/// Result of an operation on a row x, or of its backward pass with the gradient g, and the error bound of each element.
struct RowValues {
  std::vector<double> y, allowed;
  void add(double value, double tolerance) {
    y.push_back(value);
    allowed.push_back(tolerance);
  }
};

inline double log_sum_exp(const std::vector<double>& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += std::exp(v - largest);
  return largest + std::log(sum);
}

inline RowValues softmax_row(const std::vector<double>& x, const std::vector<double>& g, bool logarithm,
                             bool backward) {
  RowValues r;
  const double sum = log_sum_exp(x);
  double gradients = 0, magnitude = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    gradients += logarithm ? g[j] : g[j] * std::exp(x[j] - sum);
    magnitude += std::abs(g[j]);
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double p = std::exp(x[j] - sum);
    if (!backward && logarithm) r.add(x[j] - sum, 32 * epsilon * (std::abs(x[j]) + std::abs(sum)));
    else if (!backward) r.add(p, 256 * epsilon * p);
    else if (logarithm) r.add(g[j] - p * gradients, 64 * epsilon * (std::abs(g[j]) + p * magnitude));
    else r.add(p * (g[j] - gradients), 64 * epsilon * p * (std::abs(g[j]) + 4));
  }
  return r;
}

/// layer_norm with eps 1e-5, or dx of its backward pass.
inline RowValues layer_norm_row(const std::vector<double>& x, const std::vector<double>& g, const Memory& weight,
                                const Memory& bias, bool backward) {
  const auto count = static_cast<double>(x.size());
  double mean = 0, variance = 0, of_gradient = 0, of_product = 0;
  for (const double v : x) mean += v / count;
  for (const double v : x) variance += (v - mean) * (v - mean) / count;
  const double scale = 1 / std::sqrt(variance + 1e-5);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double d = g[j] * (*weight)[static_cast<std::int64_t>(j)];
    of_gradient += d / count;
    of_product += d * (x[j] - mean) * scale / count;
  }
  RowValues r;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double w = (*weight)[static_cast<std::int64_t>(j)], b = (*bias)[static_cast<std::int64_t>(j)];
    const double normalized = (x[j] - mean) * scale;
    if (backward) r.add(scale * (g[j] * w - of_gradient - normalized * of_product), 1e-5 * (1 + std::abs(g[j] * w)));
    else r.add(normalized * w + b, 1e-5 * (1 + std::abs(normalized * w) + std::abs(b)));
  }
  return r;
}

/// Prefix sums.
inline RowValues cumsum_row(const std::vector<double>& x) {
  RowValues r;
  double sum = 0, magnitude = 0;
  for (const double v : x) {
    sum += v, magnitude += std::abs(v);
    r.add(sum, 8 * epsilon * magnitude);
  }
  return r;
}

/// Operations on rows, or on columns ("softmax_columns").
inline double error_of_rows(const Work& w, const Result& y) {
  const bool across = w.operation.find("_columns") != std::string::npos;
  const std::int64_t count = across ? w.cols() : w.rows(), length = across ? w.rows() : w.cols();
  const std::int64_t apart = across ? 1 : w.cols(), step = across ? w.cols() : 1;
  const bool backward = w.operation.find("_backward") != std::string::npos;
  const Memory x = w.operand(0, w.elements()), g = w.operand(1, w.elements());
  const Memory weight = w.operand(2, w.cols()), bias = w.operand(3, w.cols());
  Worst worst;
  for (const std::int64_t i : some_of(count, 3)) {
    std::vector<double> p, q;
    for (std::int64_t j = 0; j < length; ++j) {
      p.push_back((*x)[i * apart + j * step]);
      q.push_back((*g)[i * apart + j * step]);
    }
    const RowValues row = w.operation.find("cumsum") == 0 ? cumsum_row(p)
                          : w.operation.find("layer_norm") == 0
                              ? layer_norm_row(p, q, weight, bias, backward)
                              : softmax_row(p, q, w.operation.find("log_softmax") == 0, backward);
    for (std::size_t j = 0; j < row.y.size(); ++j)
      worst.add(y.at(static_cast<std::size_t>(i * apart + static_cast<std::int64_t>(j) * step)), row.y[j],
                row.allowed[j]);
  }
  return worst.value();
}

/// The mean over the rows of log(sum(e^x)) - x[label], with labels from labels_of.
inline double error_of_cross_entropy(const Work& w, const Result& y) {
  const Memory x = w.operand(0, w.elements());
  double loss = 0;
  for (std::int64_t i = 0; i < w.rows(); ++i) {
    const float* const row = x->data() + i * w.cols();
    loss += log_sum_exp(std::vector<double>(row, row + w.cols())) - row[i % w.cols()];
  }
  loss /= static_cast<double>(w.rows());
  return std::abs(y.at(0) - loss) / (1e-5 * std::abs(loss));
}

/// Checks a fold of `count` elements with the stride `step`.
inline void judge_fold(const std::string& operation, float found, const float* x, std::int64_t count, std::int64_t step,
                       Worst& worst) {
  double sum = 0, magnitude = 0, squares = 0, largest = -1e300;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = x[i * step];
    sum += v;
    magnitude += std::abs(v);
    squares += v * v;
    if (v > largest) largest = v, at = i;
  }
  const auto n = static_cast<double>(count);
  if (operation.find("sum") == 0) worst.add(found, sum, 8 * epsilon * magnitude);
  else if (operation.find("mean") == 0) worst.add(found, sum / n, 8 * epsilon * magnitude / n);
  else if (operation.find("argmax") == 0) worst.add(found, static_cast<double>(at), 0);
  else if (operation.find("max") == 0) worst.add(found, largest, 0);
  else if (operation.find("norm") == 0) worst.add(found, std::sqrt(squares), 1e-4 * std::sqrt(squares));
  else worst.add(found, (squares - sum * sum / n) / n, 1e-5 * squares / n);
}

/// Folds of all elements, of rows ("sum_rows"), or of columns.
inline double error_of_fold(const Work& w, const Result& y) {
  const Memory x = w.operand(0, w.elements());
  const bool by_rows = w.operation.find("_rows") != std::string::npos;
  Worst worst;
  if (by_rows) {
    for (const std::int64_t i : some_of(w.rows(), 3))
      judge_fold(w.operation, y.at(static_cast<std::size_t>(i)), x->data() + i * w.cols(), w.cols(), 1, worst);
  } else if (w.operation.find("_columns") != std::string::npos) {
    for (const std::int64_t j : some_of(w.cols(), 3))
      judge_fold(w.operation, y.at(static_cast<std::size_t>(j)), x->data() + j, w.rows(), w.cols(), worst);
  } else {
    judge_fold(w.operation, y.at(0), x->data(), w.elements(), 1, worst);
  }
  return worst.value();
}

/// The sum of (a - b)^2, fused or in two passes.
inline double error_of_squared_distance(const Work& w, const Result& y) {
  const Memory a = w.operand(0, w.elements()), b = w.operand(1, w.elements());
  double sum = 0;
  for (std::int64_t i = 0; i < w.elements(); ++i) {
    const double d = static_cast<double>((*a)[i]) - (*b)[i];
    sum += d * d;
  }
  return std::abs(y.at(0) - sum) / (1e-4 * sum);
}

}  // namespace detail

/// The largest error of a result relative to its rounding bound: more than 1, or NaN, is wrong.
inline double error_of(const Work& w, const std::vector<float>& result) {
  const std::string& name = w.operation;
  if (name.find("gemm_") == 0) return detail::error_of_product(w, result);
  const auto formula = detail::formulas().find(name);
  if (formula != detail::formulas().end()) return detail::error_of_elements(w, result, formula->second);
  if (name == "add_row" || name == "add_column" || name == "add_transposed" || name == "transpose")
    return detail::error_of_layout(w, result);
  if (name == "cross_entropy") return detail::error_of_cross_entropy(w, result);
  if (name == "squared_distance") return detail::error_of_squared_distance(w, result);
  if (name.find("softmax") != std::string::npos || name.find("layer_norm") == 0 || name.find("cumsum") == 0)
    return detail::error_of_rows(w, result);
  return detail::error_of_fold(w, result);
}

/// Labels of cross_entropy: a class for each row.
[[nodiscard]] inline std::vector<std::int64_t> labels_of(const Work& w) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < w.rows(); ++i) labels.push_back(i % w.cols());
  return labels;
}

}  // namespace bench
