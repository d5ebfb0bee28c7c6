// The workloads of cpu.py in Eigen, with results in preallocated memory. Only products and batches of products use
// several threads.

#include "../support/host_server.hpp"

#include <Eigen/Core>

#include <cmath>

namespace {
using bench::Memory;
using bench::Prepared;
using bench::Work;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix, Eigen::Aligned64>;
using Map = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
using RowsMap = Eigen::Map<Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Aligned64>;

// Products.

template <bool transposed>
auto matrix(float* data, std::int64_t rows, std::int64_t cols) {
  if constexpr (transposed) return Eigen::Map<Eigen::MatrixXf>(data, rows, cols);
  else return Eigen::Map<Matrix>(data, rows, cols);
}

template <bool a_transposed, bool b_transposed>
Prepared product(const Work& w) {
  const std::int64_t m = w.size(0), n = w.size(1), k = w.size(2), count = w.size(3);
  const auto a = w.operand(0, count * m * k), b = w.operand(1, count * k * n), c = bench::memory(count * m * n);
  const auto multiply = [=](std::int64_t i) {
    matrix<false>(c->data() + i * m * n, m, n).noalias() =
        matrix<a_transposed>(a->data() + i * m * k, m, k) * matrix<b_transposed>(b->data() + i * k * n, k, n);
  };
  const auto run = [=] {
    if (count == 1) return multiply(0);
#pragma omp parallel for
    for (std::int64_t i = 0; i < count; ++i) multiply(i);
  };
  return {run, [=] { return c->copy(); }};
}

// Formulas of elements.

Map array(const Memory& x) { return Map(x->data(), x->size()); }
RowsMap rows(const Memory& x, const Work& w) { return RowsMap(x->data(), w.rows(), w.cols()); }

/// Runs f(result); `results` is its number of elements.
template <class F>
Prepared writing(std::int64_t results, const F& f) {
  const auto y = bench::memory(results);
  return {[=] { f(y); }, [=] { return y->copy(); }};
}
template <class F>
auto of_one(const F& f) {
  return [=](const Work& w) {
    const auto a = w.operand(0, w.elements());
    return writing(w.elements(), [=](const Memory& y) { array(y) = f(array(a)); });
  };
}
template <class F>
auto of_two(const F& f) {
  return [=](const Work& w) {
    const auto a = w.operand(0, w.elements()), b = w.operand(1, w.elements());
    return writing(w.elements(), [=](const Memory& y) { array(y) = f(array(a), array(b)); });
  };
}

// Rows in sequence: the intermediate results of a row stay in the cache.

template <bool logarithm>
Prepared softmax(const Work& w) {
  const auto x = w.operand(0, w.elements());
  return writing(w.elements(), [=](const Memory& y) {
    const auto from = rows(x, w);
    auto to = rows(y, w);
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      const float largest = from.row(i).maxCoeff();
      if constexpr (logarithm) {
        const float sum = (from.row(i) - largest).exp().sum();
        to.row(i) = from.row(i) - (largest + std::log(sum));
      } else {
        to.row(i) = (from.row(i) - largest).exp();
        to.row(i) *= 1 / to.row(i).sum();
      }
    }
  });
}

Prepared softmax_backward(const Work& w) {
  const Memory p = bench::memory(w.elements()), g = w.operand(1, w.elements());
  const auto forward = softmax<false>(w);
  forward.run();
  const auto values = forward.result();
  std::copy(values.begin(), values.end(), p->data());
  return writing(w.elements(), [=](const Memory& y) {
    const auto of_p = rows(p, w), of_g = rows(g, w);
    auto to = rows(y, w);
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      const float sum = (of_p.row(i) * of_g.row(i)).sum();
      to.row(i) = of_p.row(i) * (of_g.row(i) - sum);
    }
  });
}

Prepared layer_norm(const Work& w) {
  const auto x = w.operand(0, w.elements()), weight = w.operand(2, w.cols()), bias = w.operand(3, w.cols());
  return writing(w.elements(), [=](const Memory& y) {
    const auto from = rows(x, w);
    auto to = rows(y, w);
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      const float mean = from.row(i).mean();
      const float variance = (from.row(i) - mean).square().mean();
      to.row(i) = (from.row(i) - mean) * (1 / std::sqrt(variance + 1e-5f)) * array(weight).transpose() +
                  array(bias).transpose();
    }
  });
}

// Folds.

template <class F>
auto fold(const F& f) {
  return [=](const Work& w) {
    const auto x = w.operand(0, w.elements());
    return writing(1, [=](const Memory& y) { (*y)[0] = f(array(x)); });
  };
}
template <class F>
auto fold_rows(const F& f) {
  return [=](const Work& w) {
    const auto x = w.operand(0, w.elements());
    return writing(w.rows(), [=](const Memory& y) { array(y) = f(rows(x, w)); });
  };
}

Prepared sum_columns(const Work& w) {
  const auto x = w.operand(0, w.elements());
  return writing(w.cols(), [=](const Memory& y) { array(y).transpose() = rows(x, w).colwise().sum(); });
}

Prepared argmax_rows(const Work& w) {
  const auto x = w.operand(0, w.elements());
  return writing(w.rows(), [=](const Memory& y) {
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      Eigen::Index at = 0;
      (void)rows(x, w).row(i).maxCoeff(&at);
      (*y)[i] = static_cast<float>(at);
    }
  });
}

Prepared var_rows(const Work& w) {
  const auto x = w.operand(0, w.elements());
  return writing(w.rows(), [=](const Memory& y) {
    const auto from = rows(x, w);
    for (std::int64_t i = 0; i < w.rows(); ++i) (*y)[i] = (from.row(i) - from.row(i).mean()).square().mean();
  });
}

bench::Operations operations() {
  bench::Operations all;
  all["gemm_nn"] = product<false, false>;
  all["gemm_nt"] = product<false, true>;
  all["gemm_tn"] = product<true, false>;
  all["chain"] = of_two([](auto a, auto b) { return ((a + b) * a - b).max(0.f) * 0.5f; });
  all["add"] = of_two([](auto a, auto b) { return a + b; });
  all["scaled_add"] = of_two([](auto a, auto b) { return a + b * 1.5f; });
  all["relu"] = of_one([](auto a) { return a.max(0.f); });
  all["exp"] = of_one([](auto a) { return a.exp(); });
  all["tanh"] = of_one([](auto a) { return a.tanh(); });
  all["sigmoid"] = of_one([](auto a) { return a.logistic(); });
  all["add_row"] = [](const Work& w) {
    const auto x = w.operand(0, w.elements()), v = w.operand(1, w.cols());
    return writing(w.elements(), [=](const Memory& y) { rows(y, w) = rows(x, w).rowwise() + array(v).transpose(); });
  };
  all["add_column"] = [](const Work& w) {
    const auto x = w.operand(0, w.elements()), v = w.operand(1, w.rows());
    return writing(w.elements(), [=](const Memory& y) { rows(y, w) = rows(x, w).colwise() + array(v); });
  };
  all["add_transposed"] = [](const Work& w) {
    const auto x = w.operand(0, w.elements()), z = w.operand(1, w.elements());
    return writing(w.elements(), [=](const Memory& y) {
      MatrixMap(y->data(), w.rows(), w.cols()) =
          MatrixMap(x->data(), w.rows(), w.cols()) + MatrixMap(z->data(), w.cols(), w.rows()).transpose();
    });
  };
  all["transpose"] = [](const Work& w) {
    const auto x = w.operand(0, w.elements());
    return writing(w.elements(), [=](const Memory& y) {
      MatrixMap(y->data(), w.cols(), w.rows()) = MatrixMap(x->data(), w.rows(), w.cols()).transpose();
    });
  };
  all["softmax"] = softmax<false>;
  all["log_softmax"] = softmax<true>;
  all["softmax_backward"] = softmax_backward;
  all["layer_norm"] = layer_norm;
  all["sum"] = fold([](auto x) { return x.sum(); });
  all["max"] = fold([](auto x) { return x.maxCoeff(); });
  all["norm"] = fold([](auto x) { return x.matrix().norm(); });
  all["sum_rows"] = fold_rows([](auto x) { return x.rowwise().sum(); });
  all["max_rows"] = fold_rows([](auto x) { return x.rowwise().maxCoeff(); });
  all["sum_columns"] = sum_columns;
  all["argmax_rows"] = argmax_rows;
  all["var_rows"] = var_rows;
  all["squared_distance"] = [](const Work& w) {
    const auto a = w.operand(0, w.elements()), b = w.operand(1, w.elements());
    return writing(1, [=](const Memory& y) { (*y)[0] = (array(a) - array(b)).square().sum(); });
  };
  return all;
}

}  // namespace

int main() {
  return bench::serve("Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
                          std::to_string(EIGEN_MINOR_VERSION),
                      operations());
}
