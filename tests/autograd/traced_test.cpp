// Runs on: host, cuda (graph); counting.
// Traced tensors and parameters: recording, and gradients through views, conversions and copies.
#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/reduce.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

template <class X>
inline constexpr bool is_traced = X::role == Role::traced;
template <class F, class X>
concept Callable = requires(const F& f, const X& x) { f(x); };

void check_gradients(const GradcheckResult& result, const char* file, int line) {
  check_empty(result.what(), file, line);
}

/// A wrong derivative: half of the true one.
struct WrongSquare {
  template <class T> LOCUS_FN T operator()(T x) const { return x * x; }
  template <class T> LOCUS_FN T by_input(T x) const { return x; }
};

}  // namespace

#define CHECK_GRADIENTS(...) check_gradients(gradcheck(__VA_ARGS__), __FILE__, __LINE__)

LOCUS_DEVICE_TEST("an operation is recorded if and only if an operand is traced", D) {
  const auto plain = sample<float, D>({3});
  const Parameter w(sample<float, D>({3}));
  using Plain = Tensor<float, D>;
  static_assert(!is_traced<decltype((plain * plain).eval())>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype((plain * w).eval())>, Plain>);
  static_assert(is_traced<std::remove_cvref_t<decltype((trace(plain) * plain).eval())>>);
  static_assert(is_traced<std::remove_cvref_t<decltype((w * trace(plain)).eval())>>);
  static_assert(is_traced<std::remove_cvref_t<decltype(sum(trace(plain)))>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sum(plain))>, Plain>);

  const auto bytes = counting_bytes.load();
  { const Plain y = plain * w; }
  CHECK(counting_bytes.load() == bytes);
  CHECK_FALSE(Traced(trace(plain) * plain).requires_gradient());  // traced, but no operand collects gradients
  CHECK(Traced(trace(plain) * w).requires_gradient());
}

LOCUS_DEVICE_TEST("a parameter collects what it gets from traced tensors, and nothing from plain ones", D) {
  const auto x = tensor<float, D>({3}, {1, 2, 3});
  const Parameter w(tensor<float, D>({3}, {4, 5, 6}));
  CHECK_CLOSE(x * w, {4, 10, 18});
  CHECK_FALSE(w.has_grad());
  CHECK_THROWS_AS((void)w.grad(), GraphError);
  sum(trace(x) * w).backward();
  CHECK_CLOSE(w.grad(), {1, 2, 3});
  sum(trace(x) * w * w).backward();
  CHECK_CLOSE(w.grad(), {9, 22, 39});
  w.zero_grad();
  CHECK_FALSE(w.has_grad());
}

TEST_CASE("operations on parameters alone do not compile, for they would lose their gradient") {
  using P = Parameter<float, Cpu>;
  const auto refuses = [](auto f) { return !Callable<decltype(f), P>; };
  CHECK(refuses([](const auto& w) -> decltype(w + w) { return w + w; }));
  CHECK(refuses([](const auto& w) -> decltype(w * 2) { return w * 2; }));
  CHECK(refuses([](const auto& w) -> decltype(-w) { return -w; }));
  CHECK(refuses([](const auto& w) -> decltype(exp(w)) { return exp(w); }));
  CHECK(refuses([](const auto& w) -> decltype(square(w)) { return square(w); }));
  CHECK(refuses([](const auto& w) -> decltype(sum(w)) { return sum(w); }));
  CHECK(refuses([](const auto& w) -> decltype(reshape(w, {1})) { return reshape(w, {1}); }));
  CHECK(refuses([](const auto& w) -> decltype(transpose(w)) { return transpose(w); }));
  CHECK(refuses([](const auto& w) -> decltype(permute(w, {1, 0})) { return permute(w, {1, 0}); }));
  CHECK(refuses([](const auto& w) -> decltype(expand(w, {1})) { return expand(w, {1}); }));
  CHECK(refuses([](const auto& w) -> decltype(slice(w, 0, 1)) { return slice(w, 0, 1); }));
  CHECK(refuses([](const auto& w) -> decltype(select(w, 0, 1)) { return select(w, 0, 1); }));
  CHECK(refuses([](const auto& w) -> decltype(flatten(w)) { return flatten(w); }));
  CHECK(refuses([](const auto& w) -> decltype(squeeze(w, 0)) { return squeeze(w, 0); }));
  CHECK(refuses([](const auto& w) -> decltype(squeeze(w)) { return squeeze(w); }));
  CHECK(refuses([](const auto& w) -> decltype(unsqueeze(w, 0)) { return unsqueeze(w, 0); }));
}

LOCUS_DEVICE_TEST("trace(w), w.value() and seen_by(x, w) say what a parameter is", D) {
  const auto x = tensor<float, D>({2}, {1, 1});
  const Parameter w(tensor<float, D>({2}, {3, -4}));
  sum(square(trace(w))).backward();  // a penalty
  CHECK_CLOSE(w.grad(), {6, -8});
  w.zero_grad();
  CHECK_CLOSE(square(w.value()), {9, 16});
  CHECK(std::is_same_v<decltype(seen_by(x, w)), Tensor<float, D>>);
  sum(transpose(reshape(seen_by(trace(x), w), {1, 2})) * 2).backward();
  CHECK_CLOSE(w.grad(), {2, 2});
}

LOCUS_DEVICE_TEST("frozen tensors stay frozen through operations, expressions and views", D) {
  const auto x = frozen(variable(tensor<float, D>({2, 2}, {1, 2, 3, 4})));
  CHECK(x.is_frozen());
  const Traced y = x * 2 + 1;
  CHECK(y.is_frozen());
  CHECK(transpose(y).is_frozen());
  CHECK(sum(y).is_frozen());
  CHECK_FALSE(trace(tensor<float, D>({1}, {1})).is_frozen());
  sum(y).backward();
  CHECK_CLOSE(x.grad(), {{2, 2}, {2, 2, 2, 2}});  // recorded nevertheless
}

LOCUS_DEVICE_TEST("copies of a parameter share it, a clone does not", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2}));
  const Parameter same = w, own = w.clone();
  CHECK(same == w);
  CHECK_FALSE(own == w);
  w.value() += 1;
  CHECK_CLOSE(same.value(), {2, 3});
  CHECK_CLOSE(own.value(), {1, 2});
  const Parameter<float, D> empty;
  CHECK_FALSE(empty.defined());
  CHECK_FALSE(empty.has_grad());
  CHECK_FALSE(empty.clone().defined());
  CHECK(w.rank() == 1);
  CHECK(w.size(-1) == 2);
  CHECK(w.elements() == 2);
}

LOCUS_DEVICE_TEST("gradients of views", D) {
  const auto x = sample<double, D>({3, 4}, 1), z = sample<double, D>({2, 3, 2}, 2);
  CHECK_GRADIENTS([](auto v) { return v.reshape({2, 6}) * v.reshape({2, 6}); }, x);
  CHECK_GRADIENTS([](auto v) { return v.transpose() * 2; }, x);
  CHECK_GRADIENTS([](auto v) { return square(v.permute({2, 0, 1})); }, z);
  CHECK_GRADIENTS([](auto v) { return square(v.select(1, -1)); }, x);
  CHECK_GRADIENTS([](auto v) { return square(v.slice(1, 1, to_end, 2)); }, x);
  CHECK_GRADIENTS([](auto v) { return v.slice(0, 0, 2) + v.slice(0, 1, 3); }, x);
  CHECK_GRADIENTS([](auto v) { return square(v.unsqueeze(0).expand({5, 3, 4})); }, x);
  CHECK_GRADIENTS([](auto v) { return v.flatten() * 3; }, z);
  CHECK_GRADIENTS([](auto v) { return square(v.unsqueeze(0).unsqueeze(-1).squeeze()) * squeeze(v); }, x);
  CHECK_GRADIENTS(
      [](auto v) {
        return square(v.select(0, 0).squeeze(-1)) + v.transpose(0, 1).unsqueeze(1).flatten(0, 1).select(0, 0);
      },
      sample<double, D>({3, 1}, 3));
}

LOCUS_DEVICE_TEST("a tensor and several of its views add their gradients", D) {
  const auto x = variable(tensor<float, D>({2, 3}, {1, 2, 3, 4, 5, 6}));
  (sum(x.select(0, 0) * 10) + sum(x.select(0, 1)) + sum(x)).backward();
  CHECK_CLOSE(x.grad(), {{2, 3}, {11, 11, 11, 2, 2, 2}});
}

LOCUS_DEVICE_TEST("a copy on another device brings its gradient back", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  const auto on_host = x.template to<Cpu>();
  static_assert(std::is_same_v<device_of<decltype(on_host)>, Cpu>);
  sum(on_host * on_host).backward();
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(x.grad())>, Tensor<float, D>>);
  CHECK_CLOSE(x.grad(), {2, 4, 6});
}

LOCUS_DEVICE_TEST("integers can be traced, and index what is differentiated", D) {
  const auto labels = trace(tensor<std::int64_t, D>({3}, {2, 0, 2}));
  CHECK_FALSE(labels.requires_gradient());
  const Parameter w(tensor<float, D>({3}, {1, 2, 3}));
  sum(labels.template as<float>() * w).backward();
  CHECK_CLOSE(w.grad(), {2, 0, 2});
}

LOCUS_DEVICE_TEST("gradcheck finds what is wrong", D) {
  const auto x = tensor<double, D>({2}, {0.5, 2});
  const auto wrong = gradcheck([](auto v) { return elementwise(WrongSquare{}, v); }, x);
  CHECK_FALSE(wrong);
  CHECK(wrong.what().find("gradient of input 0 at element 0 of shape (2,)") == 0);
  CHECK(gradcheck([](auto v) { return square(v); }, x));
  CHECK_FALSE(gradcheck([](auto v) { return v * v.value(); }, x));  // half of the gradient is detached
  const auto jump = tensor<double, D>({1}, {1.0});
  CHECK_FALSE(gradcheck([](auto v) { return floor(v); }, jump));
  CHECK(gradcheck([](auto v) { return floor(v + 0.5); }, jump));  // zero is right, and no gradient counts as zero
}

template <class X>
concept HasBackward = requires(X x) { x.backward(); };
template <class X>
concept CanBeVariable = requires(X x) { variable(x); };

TEST_CASE("plain tensors cannot be differentiated, nor integers vary") {
  using Plain = Tensor<float, Cpu>;
  CHECK_FALSE(HasBackward<Plain>);
  CHECK_FALSE(HasBackward<decltype(std::declval<Plain>() + std::declval<Plain>())>);
  CHECK(HasBackward<Traced<float, Cpu>>);
  CHECK(HasBackward<decltype(std::declval<Traced<float, Cpu>>() + std::declval<Plain>())>);
  CHECK_FALSE(HasBackward<Traced<std::int64_t, Cpu>>);
  CHECK(CanBeVariable<Plain>);
  CHECK_FALSE(CanBeVariable<Tensor<std::int64_t, Cpu>>);
}
