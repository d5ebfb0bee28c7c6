// The workloads of cpu.py in xtensor with xsimd, with results in preallocated tensors.

#include "../support/host_server.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xnorm.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xtensor_config.hpp>
#include <xtensor/xview.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace {
using bench::Prepared;
using bench::Work;

using Vector = xt::xtensor<float, 1>;
using Matrix = xt::xtensor<float, 2>;
using xt::evaluation_strategy::immediate;

std::shared_ptr<Vector> vector(const Work& w, std::uint64_t operand, std::int64_t count) {
  const auto numbers = w.operand(operand, count);
  auto x = std::make_shared<Vector>(Vector::from_shape({static_cast<std::size_t>(count)}));
  std::copy_n(numbers->data(), count, x->data());
  return x;
}
std::shared_ptr<Matrix> matrix(std::int64_t rows, std::int64_t cols) {
  return std::make_shared<Matrix>(Matrix::from_shape({static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)}));
}
std::shared_ptr<Matrix> matrix(const Work& w, std::uint64_t operand, std::int64_t rows, std::int64_t cols) {
  const auto numbers = w.operand(operand, w.elements());
  auto x = matrix(rows, cols);
  std::copy_n(numbers->data(), w.elements(), x->data());
  return x;
}
std::shared_ptr<Matrix> matrix(const Work& w, std::uint64_t operand) { return matrix(w, operand, w.rows(), w.cols()); }

std::array<std::size_t, 1> along(std::size_t axis) { return {axis}; }

template <class Y, class F>
Prepared writing(const std::shared_ptr<Y>& y, const F& f) {
  return {[=] { f(*y); }, [=] { return std::vector<float>(y->begin(), y->end()); }};
}
std::shared_ptr<Vector> results(std::int64_t count) {
  return std::make_shared<Vector>(Vector::from_shape({static_cast<std::size_t>(count)}));
}

template <class F>
auto of_one(const F& f) {
  return [=](const Work& w) {
    const auto a = vector(w, 0, w.elements());
    return writing(results(w.elements()), [=](Vector& y) { xt::noalias(y) = f(*a); });
  };
}
template <class F>
auto of_two(const F& f) {
  return [=](const Work& w) {
    const auto a = vector(w, 0, w.elements()), b = vector(w, 1, w.elements());
    return writing(results(w.elements()), [=](Vector& y) { xt::noalias(y) = f(*a, *b); });
  };
}
template <class F>
auto fold(const F& f) {
  return [=](const Work& w) {
    const auto x = matrix(w, 0);
    return writing(results(1), [=](Vector& y) { y(0) = static_cast<float>(f(*x)); });
  };
}
template <class F>
auto fold_rows(const F& f) {
  return [=](const Work& w) {
    const auto x = matrix(w, 0);
    return writing(results(w.rows()), [=](Vector& y) { xt::noalias(y) = f(*x); });
  };
}

Prepared add_row(const Work& w) {
  const auto x = matrix(w, 0);
  const auto v = vector(w, 1, w.cols());
  return writing(matrix(w.rows(), w.cols()), [=](Matrix& y) { xt::noalias(y) = *x + *v; });
}
Prepared add_column(const Work& w) {
  const auto x = matrix(w, 0);
  const auto v = vector(w, 1, w.rows());
  return writing(matrix(w.rows(), w.cols()),
                 [=](Matrix& y) { xt::noalias(y) = *x + xt::view(*v, xt::all(), xt::newaxis()); });
}
Prepared add_transposed(const Work& w) {
  const auto x = matrix(w, 0), z = matrix(w, 1, w.cols(), w.rows());
  return writing(matrix(w.rows(), w.cols()), [=](Matrix& y) { xt::noalias(y) = *x + xt::transpose(*z); });
}
Prepared transpose(const Work& w) {
  const auto x = matrix(w, 0);
  return writing(matrix(w.cols(), w.rows()), [=](Matrix& y) { xt::noalias(y) = xt::transpose(*x); });
}

/// Rows in sequence: the intermediate results of a row stay in the cache.
template <class F>
Prepared by_rows(const Work& w, const F& f) {
  const auto x = matrix(w, 0);
  return writing(matrix(w.rows(), w.cols()), [=](Matrix& y) {
    const auto cols = static_cast<std::size_t>(w.cols());
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      const auto from = xt::adapt(x->data() + i * w.cols(), cols, xt::no_ownership(), std::array<std::size_t, 1>{cols});
      auto to = xt::adapt(y.data() + i * w.cols(), cols, xt::no_ownership(), std::array<std::size_t, 1>{cols});
      f(from, to);
    }
  });
}
template <bool logarithm>
Prepared softmax(const Work& w) {
  return by_rows(w, [](const auto& x, auto& y) {
    const float largest = xt::amax(x, immediate)();
    if constexpr (logarithm) {
      const float sum = xt::sum(xt::exp(x - largest), immediate)();
      xt::noalias(y) = x - (largest + std::log(sum));
    } else {
      xt::noalias(y) = xt::exp(x - largest);
      const float sum = xt::sum(y, immediate)();
      xt::noalias(y) = y * (1 / sum);
    }
  });
}
Prepared layer_norm(const Work& w) {
  const auto weight = vector(w, 2, w.cols()), bias = vector(w, 3, w.cols());
  const auto count = static_cast<float>(w.cols());
  return by_rows(w, [=](const auto& x, auto& y) {
    const float mean = xt::sum(x, immediate)() / count;
    const float variance = xt::sum(xt::square(x - mean), immediate)() / count;
    xt::noalias(y) = (x - mean) * (1 / std::sqrt(variance + 1e-5f)) * *weight + *bias;
  });
}

bench::Operations operations() {
  bench::Operations all;
  all["chain"] = of_two([](auto& a, auto& b) { return xt::maximum((a + b) * a - b, 0.f) * 0.5f; });
  all["add"] = of_two([](auto& a, auto& b) { return a + b; });
  all["scaled_add"] = of_two([](auto& a, auto& b) { return a + b * 1.5f; });
  all["relu"] = of_one([](auto& a) { return xt::maximum(a, 0.f); });
  all["exp"] = of_one([](auto& a) { return xt::exp(a); });
  all["tanh"] = of_one([](auto& a) { return xt::tanh(a); });
  all["sigmoid"] = of_one([](auto& a) { return 1.f / (1.f + xt::exp(-a)); });
  all["gelu"] = of_one([](auto& a) { return 0.5f * a * (1.f + xt::erf(a * 0.70710678f)); });
  all["add_row"] = add_row;
  all["add_column"] = add_column;
  all["add_transposed"] = add_transposed;
  all["transpose"] = transpose;
  all["softmax"] = softmax<false>;
  all["log_softmax"] = softmax<true>;
  all["layer_norm"] = layer_norm;
  all["sum"] = fold([](auto& x) { return xt::sum(x, immediate)(); });
  all["max"] = fold([](auto& x) { return xt::amax(x, immediate)(); });
  all["norm"] = fold([](auto& x) { return std::sqrt(xt::sum(xt::square(x), immediate)()); });
  all["sum_rows"] = fold_rows([](auto& x) { return xt::sum(x, {1}, immediate); });
  all["max_rows"] = fold_rows([](auto& x) { return xt::amax(x, {1}, immediate); });
  all["argmax_rows"] = fold_rows([](auto& x) { return xt::argmax(x, 1); });
  all["var_rows"] = fold_rows([](auto& x) { return xt::variance(x, along(1), immediate); });
  all["var_columns"] = [](const Work& w) {
    const auto x = matrix(w, 0);
    return writing(results(w.cols()), [=](Vector& y) { xt::noalias(y) = xt::variance(*x, along(0), immediate); });
  };
  all["sum_columns"] = [](const Work& w) {
    const auto x = matrix(w, 0);
    return writing(results(w.cols()), [=](Vector& y) { xt::noalias(y) = xt::sum(*x, {0}, immediate); });
  };
  all["squared_distance"] = [](const Work& w) {
    const auto a = vector(w, 0, w.elements()), b = vector(w, 1, w.elements());
    return writing(results(1), [=](Vector& y) { y(0) = xt::sum(xt::square(*a - *b), immediate)(); });
  };
  return all;
}

}  // namespace

int main() {
  return bench::serve("xtensor " + std::to_string(XTENSOR_VERSION_MAJOR) + "." + std::to_string(XTENSOR_VERSION_MINOR) +
                          "." + std::to_string(XTENSOR_VERSION_PATCH),
                      operations());
}
