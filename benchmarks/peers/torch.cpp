// The workloads of cpu.py in libtorch: eager, without autograd. Backward workloads call the operations that autograd
// would call.

#include "../support/host_server.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <cmath>

namespace {
using at::Tensor;
using bench::Prepared;
using bench::Work;

Tensor tensor(const Work& w, std::uint64_t operand, at::IntArrayRef shape) {
  const Tensor x = at::empty(shape, at::kFloat);
  const auto numbers = w.operand(operand, x.numel());
  std::copy_n(numbers->data(), x.numel(), x.data_ptr<float>());
  return x;
}
Tensor vector(const Work& w, std::uint64_t operand) { return tensor(w, operand, {w.elements()}); }
Tensor matrix(const Work& w, std::uint64_t operand) { return tensor(w, operand, {w.rows(), w.cols()}); }

template <class F>
Prepared computing(const F& f) {
  const auto y = std::make_shared<Tensor>();
  const auto run = [=] {
    const c10::InferenceMode nothing_recorded;
    *y = f();
  };
  const auto result = [=] {
    const Tensor values = y->to(at::kFloat).contiguous();
    return std::vector<float>(values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  };
  return {run, result};
}

template <class F>
auto of_one(const F& f) {
  return [=](const Work& w) { return computing([f, a = vector(w, 0)] { return f(a); }); };
}
template <class F>
auto of_two(const F& f) {
  return [=](const Work& w) { return computing([f, a = vector(w, 0), b = vector(w, 1)] { return f(a, b); }); };
}
template <class F>
auto of_matrix(const F& f) {
  return [=](const Work& w) { return computing([f, x = matrix(w, 0)] { return f(x); }); };
}

/// Writes to preallocated memory, as Locus does.
Prepared short_product(const Work& w, bool a_transposed, bool b_transposed) {
  const std::int64_t m = w.size(0), n = w.size(1), k = w.size(2);
  const auto operand = [&](std::uint64_t i, std::int64_t rows, std::int64_t cols, bool transposed) {
    const Tensor x = tensor(w, i, transposed ? at::IntArrayRef{cols, rows} : at::IntArrayRef{rows, cols});
    return transposed ? x.to(at::kBFloat16).t() : x.to(at::kBFloat16);
  };
  const Tensor a = operand(0, m, k, a_transposed), b = operand(1, k, n, b_transposed);
  const Tensor c = at::empty({m, n}, at::kBFloat16);
  return computing([=] {
    Tensor out = c;
    return at::mm_out(out, a, b);
  });
}

Prepared add_vector(const Work& w, at::IntArrayRef shape) {
  return computing([x = matrix(w, 0), v = tensor(w, 1, shape)] { return at::add(x, v); });
}

Prepared softmax_backward(const Work& w) {
  return computing(
      [y = at::softmax(matrix(w, 0), 1), g = matrix(w, 1)] { return at::_softmax_backward_data(g, y, 1, at::kFloat); });
}
Prepared log_softmax_backward(const Work& w) {
  return computing([y = at::log_softmax(matrix(w, 0), 1), g = matrix(w, 1)] {
    return at::_log_softmax_backward_data(g, y, 1, at::kFloat);
  });
}

Prepared layer_norm(const Work& w) {
  const Tensor x = matrix(w, 0), weight = tensor(w, 2, {w.cols()}), bias = tensor(w, 3, {w.cols()});
  return computing([=] { return at::layer_norm(x, {x.size(1)}, weight, bias, 1e-5); });
}
/// Computes all three gradients; checks dx.
Prepared layer_norm_backward(const Work& w) {
  const Tensor x = matrix(w, 0), g = matrix(w, 1);
  const Tensor weight = tensor(w, 2, {w.cols()}), bias = tensor(w, 3, {w.cols()});
  const auto forward = at::native_layer_norm(x, {x.size(1)}, weight, bias, 1e-5);
  return computing([=] {
    return std::get<0>(at::native_layer_norm_backward(g, x, {x.size(1)}, std::get<1>(forward), std::get<2>(forward),
                                                      weight, bias, {true, true, true}));
  });
}

Prepared cross_entropy(const Work& w) {
  const Tensor labels = at::tensor(bench::labels_of(w), at::kLong);
  return computing([x = matrix(w, 0), labels] { return at::cross_entropy_loss(x, labels); });
}

bench::Operations operations() {
  bench::Operations all;
  all["gemm_bfloat16_nn"] = [](const Work& w) { return short_product(w, false, false); };
  all["gemm_bfloat16_nt"] = [](const Work& w) { return short_product(w, false, true); };
  all["gemm_bfloat16_tn"] = [](const Work& w) { return short_product(w, true, false); };
  all["chain"] = of_two([](auto& a, auto& b) { return at::relu((a + b) * a - b) * 0.5; });
  all["add"] = of_two([](auto& a, auto& b) { return at::add(a, b); });
  all["scaled_add"] = of_two([](auto& a, auto& b) { return at::add(a, b, 1.5); });
  all["relu"] = of_one([](auto& a) { return at::relu(a); });
  all["exp"] = of_one([](auto& a) { return at::exp(a); });
  all["tanh"] = of_one([](auto& a) { return at::tanh(a); });
  all["sigmoid"] = of_one([](auto& a) { return at::sigmoid(a); });
  all["gelu"] = of_one([](auto& a) { return at::gelu(a); });
  all["add_row"] = [](const Work& w) { return add_vector(w, {w.cols()}); };
  all["add_column"] = [](const Work& w) { return add_vector(w, {w.rows(), 1}); };
  all["add_transposed"] = [](const Work& w) {
    return computing([x = matrix(w, 0), z = tensor(w, 1, {w.cols(), w.rows()})] { return at::add(x, z.t()); });
  };
  all["transpose"] = of_matrix([](auto& x) { return x.t().contiguous(); });
  all["softmax"] = of_matrix([](auto& x) { return at::softmax(x, 1); });
  all["log_softmax"] = of_matrix([](auto& x) { return at::log_softmax(x, 1); });
  all["softmax_columns"] = of_matrix([](auto& x) { return at::softmax(x, 0); });
  all["log_softmax_columns"] = of_matrix([](auto& x) { return at::log_softmax(x, 0); });
  all["cumsum"] = of_matrix([](auto& x) { return at::cumsum(x, 1); });
  all["cumsum_columns"] = of_matrix([](auto& x) { return at::cumsum(x, 0); });
  all["softmax_backward"] = softmax_backward;
  all["log_softmax_backward"] = log_softmax_backward;
  all["layer_norm"] = layer_norm;
  all["layer_norm_backward"] = layer_norm_backward;
  all["cross_entropy"] = cross_entropy;
  all["sum"] = of_matrix([](auto& x) { return at::sum(x); });
  all["sum_rows"] = of_matrix([](auto& x) { return at::sum(x, at::IntArrayRef{1}); });
  all["sum_columns"] = of_matrix([](auto& x) { return at::sum(x, at::IntArrayRef{0}); });
  all["max"] = of_matrix([](auto& x) { return at::max(x); });
  all["max_rows"] = of_matrix([](auto& x) { return at::amax(x, 1); });
  all["argmax_rows"] = of_matrix([](auto& x) { return at::argmax(x, 1); });
  all["norm"] = of_matrix([](auto& x) { return at::norm(x); });
  all["var_rows"] = of_matrix([](auto& x) { return at::var(x, at::IntArrayRef{1}, false); });
  all["var_columns"] = of_matrix([](auto& x) { return at::var(x, at::IntArrayRef{0}, false); });
  all["squared_distance"] = of_two([](auto& a, auto& b) { return at::sub(a, b).square_().sum(); });
  return all;
}

}  // namespace

int main() { return bench::serve("libtorch " TORCH_VERSION, operations()); }
