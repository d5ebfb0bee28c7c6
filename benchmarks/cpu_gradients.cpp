// Backward passes of formulas, rows and pooling, norms and variances on one thread of the host, to compare two versions
// of Locus. two_versions.py compiles this against both, and runs them in turns. A line for each workload: its name, the
// elements, and the fewest nanoseconds of processor time per element.
//
//   g++ -std=c++20 -O2 -Iinclude benchmarks/cpu_gradients.cpp && LOCUS_NUM_THREADS=1 ./a.out [PART OF A NAME]

#include <locus/locus.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include <time.h>

using namespace locus;

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Prints the minimum of many samples of about 50 microseconds: some of them are undisturbed.
template <class F>
void measure(const std::string& name, std::int64_t elements, const std::string& wanted, const F& f) {
  if (name.find(wanted) == std::string::npos) return;
  const auto sample = [&](int times) {
    const double start = now();
    for (int i = 0; i < times; ++i) f();
    return (now() - start) / times;
  };
  sample(3);
  const int times = std::max(1, static_cast<int>(50'000 / sample(3)));
  double fewest = sample(times);
  for (const double end = now() + 60e6; now() < end;) fewest = std::min(fewest, sample(times));
  std::printf("%s %lld %.5f\n", name.c_str(), static_cast<long long>(elements), fewest / static_cast<double>(elements));
  std::fflush(stdout);
}

/// Measures the backward pass of f(x...); the graph is retained between runs.
template <class F, class... X>
void measure_backward(const std::string& name, const std::string& wanted, const F& f, const X&... x) {
  const auto y = Traced(f(x...));
  const auto g = randn<value_of<decltype(y)>>(y.shape());
  measure(name, y.elements(), wanted, [&] {
    (x.zero_grad(), ...);
    y.backward(g, {.retain_graph = true});
  });
}

void formulas(std::int64_t n, const std::string& wanted) {
  const auto variable_of = [&](auto&& x) { return variable(x); };
  const auto a = variable_of(randn({n})), b = variable_of(randn({n})), c = variable_of(rand({n}) + 0.5f);
  measure_backward(
      "multiply", wanted, [](auto& x, auto& y) { return x * y; }, a, b);
  measure_backward(
      "relu", wanted, [](auto& x) { return relu(x); }, a);
  measure_backward(
      "chain", wanted, [](auto& x, auto& y, auto& z) { return relu((x + y) * z - y) * 0.5f; }, a, b, c);
  measure_backward(
      "divide", wanted, [](auto& x, auto& z) { return x / z; }, a, c);
  measure_backward(
      "sqrt", wanted, [](auto& z) { return sqrt(z); }, c);
  measure_backward(
      "sigmoid", wanted, [](auto& x) { return sigmoid(x); }, a);
  measure_backward(
      "gelu", wanted, [](auto& x) { return gelu(x); }, a);
  measure_backward(
      "where", wanted, [](auto& x, auto& y) { return where(x > 0, x * y, y); }, a, b);
  const auto target = rand({n}).eval();
  measure_backward(
      "bce", wanted, [&](auto& x) { return nn::binary_cross_entropy_with_logits(x, target, Reduction::none); }, a);
  measure("bce_forward", n, wanted,
          [&] { return nn::binary_cross_entropy_with_logits(a.value(), target, Reduction::none); });
}

void folds(std::int64_t rows, std::int64_t cols, const std::string& wanted) {
  const Tensor x = randn({rows, cols});
  const std::int64_t n = rows * cols;
  measure("norm", n, wanted, [&] { return norm(x); });
  measure("norm_rows", n, wanted, [&] { return norm(x, 2, 1); });
  measure("norm_columns", n, wanted, [&] { return norm(x, 2, 0); });
  measure("var", n, wanted, [&] { return var(x); });
  measure("var_rows", n, wanted, [&] { return var(x, 1); });
  measure("var_columns", n, wanted, [&] { return var(x, 0); });
  const auto v = variable(x), w = variable(randn({cols})), b = variable(randn({cols}));
  measure("layer_norm_forward", n, wanted, [&] { return layer_norm(x, {cols}, w.value(), b.value()); });
  measure("rms_norm_forward", n, wanted, [&] { return rms_norm(x, {cols}, w.value()); });
  measure_backward(
      "layer_norm", wanted, [&](auto& p, auto& q, auto& r) { return layer_norm(p, {cols}, q, r); }, v, w, b);
  measure_backward(
      "rms_norm", wanted, [&](auto& p, auto& q) { return rms_norm(p, {cols}, q); }, v, w);
  measure_backward(
      "softmax", wanted, [](auto& p) { return softmax(p, 1); }, v);
  measure_backward(
      "softmax_columns", wanted, [](auto& p) { return softmax(p, 0); }, v);
  measure_backward(
      "log_softmax", wanted, [](auto& p) { return log_softmax(p, 1); }, v);
  const auto labels = zeros<std::int64_t>({rows});
  measure_backward(
      "cross_entropy", wanted, [&](auto& p) { return cross_entropy(p, labels, {.reduction = Reduction::none}); }, v);
}

template <class T>
void pooling(const std::string& type, const std::string& wanted) {
  const auto x = variable(randn<T>({4, 8, 56, 56}));
  measure_backward(
      "max_pool_2" + type, wanted, [](auto& p) { return max_pool2d(p, 2); }, x);
  measure_backward(
      "max_pool_3" + type, wanted, [](auto& p) { return max_pool2d(p, 3, 2, 1); }, x);
  measure_backward(
      "max_pool_3_dense" + type, wanted, [](auto& p) { return max_pool2d(p, 3, 1, 1); }, x);
  measure_backward(
      "avg_pool_3" + type, wanted, [](auto& p) { return avg_pool2d(p, 3, 2, 1); }, x);
}

/// The gradients of a perceptron 784-128-10.
void clipping(const std::string& wanted) {
  std::vector<Parameter<float>> parameters;
  std::int64_t n = 0;
  for (const Shape& shape : {Shape{128, 784}, Shape{128}, Shape{10, 128}, Shape{10}}) {
    parameters.emplace_back(randn(shape));
    sum(trace(parameters.back()) * randn(shape)).backward();
    n += parameters.back().value().elements();
  }
  measure("clip_grad_norm", n, wanted, [&] { return optim::clip_grad_norm_(parameters, 1e6); });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "";
  for (const std::int64_t n : {4096, 65536, 1 << 20}) formulas(n, wanted);
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{128, 10}, {128, 768}, {1024, 1024}})
    folds(rows, cols, wanted);
  pooling<float>("", wanted);
  pooling<double>("_double", wanted);
  pooling<bfloat16>("_bfloat16", wanted);
  clipping(wanted);
}
