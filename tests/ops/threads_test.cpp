// Runs on: host; busy, race.
// The number of threads changes no bit of results, forward and backward, of operations that share their work.

#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

#include <support/sanitized.hpp>
#include <support/skip.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using locus_test::is_sanitized;

// For the sanitizer of threads, double is one more type that takes the paths of float.
#if LOCUS_TEST_THREAD_SANITIZER
#define FLOATING_TYPES float, bfloat16
#else
#define FLOATING_TYPES float, bfloat16, double
#endif

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  const Tensor<T> x = a.contiguous(), y = b.contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.elements()) * sizeof(T)) == 0;
}

/// The result of an operation, and a gradient of it.
template <class T>
struct WithGradient {
  Tensor<T> value, gradient;
};
template <class T>
bool same_bits(const WithGradient<T>& a, const WithGradient<T>& b) {
  return same_bits(a.value, b.value) && same_bits(a.gradient, b.gradient);
}

/// Whether compute() gives the same bits with any number of threads. More of them than cores are threads nevertheless.
template <class F>
bool same_for_all_threads(const F& compute) {
  const int threads = cpu::max_threads();
  cpu::set_max_threads(1);
  const auto alone = compute();
  bool same = true;
  for (const int count : is_sanitized ? std::vector{3} : std::vector{2, 3, 5}) {
    cpu::set_max_threads(count);
    same = same && same_bits(compute(), alone);
  }
  cpu::set_max_threads(threads);
  return same;
}

template <class T>
Tensor<T> numbers(const Shape& shape) {
  Generator<Cpu> generator{11};
  return randn<float>(shape, generator).template as<T>();
}

/// The same of f(x), plain and traced, and of its gradient.
template <class T, class F>
bool same_with_gradient(const Tensor<T>& x, const F& f) {
  const auto traced = [&] {
    const auto input = variable(x);
    const auto y = f(input);
    Generator<Cpu> generator{12};
    y.backward(randn<float>(y.shape(), generator).template as<T>().eval());
    return WithGradient<T>{y.value(), input.grad().clone()};
  };
  if (!same_for_all_threads(traced)) return false;
  if constexpr (is_sanitized) return true;  // which has seen the loops
  else return same_for_all_threads([&] { return f(x).eval(); });
}
}  // namespace

TEST_CASE_TEMPLATE("softmax and running sums, along every axis", T, FLOATING_TYPES) {
  for (const Shape& shape : {Shape{700, 300}, Shape{3, 70'000}, Shape{40'000, 5}, Shape{30, 90, 80}}) {
    const auto x = numbers<T>(shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      CAPTURE(shape);
      CAPTURE(axis);
      CHECK(same_with_gradient(x, [&](const auto& v) { return softmax(v, axis); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return log_softmax(v, axis); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return logsumexp(v, axis); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return cumsum(v, axis); }));
    }
  }
}

TEST_CASE_TEMPLATE("reductions and normalization", T, float, bfloat16) {
  for (const Shape& shape : {Shape{700, 300}, Shape{3, 70'000}, Shape{40'000, 5}}) {
    const auto x = numbers<T>(shape);
    CAPTURE(shape);
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}}) {
      CHECK(same_with_gradient(x, [&](const auto& v) { return sum(v, axes); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return var(v, axes); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return max(v, axes); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return norm(v, 2, axes); }));
    }
    CHECK(same_for_all_threads([&] { return argmax(x, 0); }));
    CHECK(same_for_all_threads([&] { return argmax(x, 1); }));
    const Shape columns{shape[1]};
    const auto weight = numbers<T>(columns), bias = numbers<T>(columns);
    CHECK(same_with_gradient(x, [&](const auto& v) { return layer_norm(v, columns, weight, bias); }));
    CHECK(same_with_gradient(weight, [&](const auto& w) { return layer_norm(x, columns, w, bias); }));
  }
}

TEST_CASE_TEMPLATE("batch normalization with a residual and relu, of long and short channels", T, float, bfloat16) {
  for (const Shape& shape : {Shape{40, 5, 30, 33}, Shape{64, 300, 4, 4}, Shape{3000, 70}}) {
    CAPTURE(shape);
    const auto x = numbers<T>(shape), residual = (x * T(-0.5f)).eval();
    const auto weight = numbers<T>({shape[1]});
    const RunningStatistics<float, Cpu> none;
    const auto normalized = [&](const auto& v, const auto& w) {
      return batch_norm(v, none, w, w, residual, {.relu = true});
    };
    CHECK(same_with_gradient(x, [&](const auto& v) { return normalized(v, weight); }));
    CHECK(same_with_gradient(weight, [&](const auto& w) { return normalized(x, w); }));
  }
}

TEST_CASE_TEMPLATE("attention, in parts of many heads and of few rows", T, float, bfloat16) {
  for (const Shape& shape : {Shape{2, 8, 70, 24}, Shape{1, 2, 600, 20}}) {
    CAPTURE(shape);
    const auto x = numbers<T>(shape);
    const auto keys = (x * T(0.5f)).eval();
    for (const bool is_causal : {false, true}) {
      const auto attention = [&](const auto& q, const auto& k, const auto& v) {
        Generator<Cpu> generator{14};
        return scaled_dot_product_attention(q, k, v, {.is_causal = is_causal, .dropout = 0.1}, generator);
      };
      CHECK(same_with_gradient(x, [&](const auto& v) { return attention(v, keys, x); }));
      CHECK(same_with_gradient(x, [&](const auto& v) { return attention(keys, v, v); }));
    }
  }
}

TEST_CASE_TEMPLATE("lookups, whose gradients meet where indices repeat", T, float, bfloat16) {
  Generator<Cpu> generator{13};
  const auto indices = randint(0, 700, {2000}, generator);
  const auto x = numbers<T>({700, 300});
  CHECK(same_with_gradient(x, [&](const auto& v) { return index_select(v, 0, indices); }));
  CHECK(same_with_gradient(x.transpose(), [&](const auto& v) { return index_select(v, 1, indices); }));
  CHECK(same_with_gradient(x, [&](const auto& v) { return embedding(v, indices); }));
  const auto places = randint(0, 300, {700, 400}, generator);
  CHECK(same_with_gradient(x, [&](const auto& v) { return gather(v, 1, places); }));
  const auto rows = randint(0, 700, {900, 300}, generator);
  CHECK(same_with_gradient(x, [&](const auto& v) { return gather(v, 0, rows); }));
  CHECK(same_for_all_threads([&] { return sort(x, 0).values; }));
  CHECK(same_for_all_threads([&] { return sort(x, 1).indices; }));
}

TEST_CASE_TEMPLATE("linear layers and cross-entropy", T, float, bfloat16) {
  const auto x = numbers<T>({500, 300}), w = numbers<T>({200, 300}), b = numbers<T>({200});
  Generator<Cpu> generator{14};
  const auto labels = randint(0, 200, {500}, generator);
  CHECK(same_with_gradient(x, [&](const auto& v) { return linear(v, w, b, functor::Relu{}); }));
  CHECK(same_with_gradient(w, [&](const auto& v) { return linear(x, v, b, functor::Tanh{}); }));
  CHECK(same_with_gradient(b, [&](const auto& v) { return linear(x, w, v); }));
  CHECK(same_with_gradient(linear(x, w, b), [&](const auto& v) { return cross_entropy(v, labels); }));
}

TEST_CASE_TEMPLATE("pooling", T, FLOATING_TYPES) {
  const auto x = numbers<T>({3, 90, 90});
  CHECK(same_with_gradient(x, [&](const auto& v) { return max_pool2d(v, 3, 2, 1); }));
  CHECK(same_with_gradient(x, [&](const auto& v) { return avg_pool2d(v, 3, 2, 1); }));
}

namespace {
/// Waits until as many planes were begun, or for some seconds: one thread alone waits in vain.
struct MeetingWalk {
  Atomic<int>* begun;
  template <class Add>
  LOCUS_FN void operator()(std::int64_t, const Add& add) const {
    begun->fetch_add(1);
    for (int i = 0; i < 5000 && begun->load() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    add(0, begun->load() == 2 ? 1.f : 0.f);
  }
};
}  // namespace

TEST_CASE("two planes of pooled images are enough for two threads in the backward pass") {
  const int threads = cpu::max_threads();
  cpu::set_max_threads(2);
  if (cpu::max_threads() < 2) SKIP_TEST("the program is compiled without threads");
  Atomic<int> begun{0};
  const Tensor<float> dx({2, 64, 64});
  constexpr auto collected = nullptr;  // the host scatters
  detail::add_from_windows(dx, false, 2, 64, 64, MeetingWalk{&begun}, collected);
  CHECK(sum(dx).item() == 2.f);
  cpu::set_max_threads(threads);
}
