// Runs on: host, cuda (expressions), reference.
#include <locus/expr/operators.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>

using namespace locus;
using namespace locus_test;

namespace {

double axpy_relu(double a, double b, double c, double d) { return std::max(a * b + c, 0.0) * 2 - d; }

/// A user's function template: its argument is named, so the expression passed is computed once.
template <TensorLike X>
auto residual(const X& x) {
  return x * x + x;
}

/// A user's scalar function.
struct Cube {
  template <class T> LOCUS_FN T operator()(T x) const { return x * x * x; }
};

/// An expression of tensors without other handles.
template <class D>
auto pending_sum() {
  const auto a = tensor<float, D>({2}, {1, 2}), b = tensor<float, D>({2}, {10, 20});
  return a + b;
}

template <class D>
struct Four {
  Tensor<float, D> a = sample<float, D>({6, 5}, 1), b = sample<float, D>({6, 5}, 2), c = sample<float, D>({5}, 3),
                   d = sample<float, D>({6, 1}, 4);
  Reference expected() const {
    return reference_map(axpy_relu, reference(a), reference(b), reference(c), reference(d));
  }
};

}  // namespace

LOCUS_DEVICE_TEST("what is not named is one launch and one allocation", D) {
  const Four<D> x;
  LaunchLog launches;
  RequestLog requests;
  Tensor y = relu(x.a * x.b + x.c) * 2 - x.d;
  static_assert(std::is_same_v<decltype(y), Tensor<float, D>>);
  CHECK(launches.launches() == 1);
  if constexpr (std::is_same_v<D, Counting>) {
    CHECK(requests.launches() == 1);
    CHECK(requests.allocations() == 1);
    CHECK(requests.copies() == 0);
  }
  CHECK_CLOSE(y, x.expected());
}

LOCUS_DEVICE_TEST("what is named is computed once, when it is first needed", D) {
  const auto a = sample<float, D>({40}, 1), b = sample<float, D>({40}, 2);
  LaunchLog log;
  auto h = a + b;
  CHECK(log.launches() == 0);
  CHECK_FALSE(h.computed());
  auto y = h * h + h;
  CHECK(log.launches() == 1);
  CHECK(h.computed());
  Tensor z = y;
  CHECK(log.launches() == 2);
  (void)y.eval();
  Tensor again = y;
  CHECK(log.launches() == 2);
  CHECK(again.data() == z.data());
  CHECK_CLOSE(z,
              reference_map([](double p, double q) { return (p + q) * (p + q) + p + q; }, reference(a), reference(b)));
}

LOCUS_DEVICE_TEST("a function template sees a named expression, so it computes it once", D) {
  const auto a = sample<float, D>({7}), b = sample<float, D>({7}, 2);
  LaunchLog log;
  Tensor y = residual(a - b);
  CHECK(log.launches() == 2);
  Tensor z = residual(a);
  CHECK(log.launches() == 3);
  const auto twice = [](double p) { return p * p + p; };
  CHECK_CLOSE(
      y, reference_map([](double p, double q) { return (p - q) * (p - q) + (p - q); }, reference(a), reference(b)));
  CHECK_CLOSE(z, reference_map(+twice, reference(a)));
}

LOCUS_DEVICE_TEST("an expression holds its operands and may be returned, stored and moved", D) {
  CHECK_CLOSE(pending_sum<D>(), {11, 22});
  auto sum = pending_sum<D>();
  auto copy = sum;
  LaunchLog log;
  Tensor product = std::move(sum) * 2;
  CHECK(log.launches() == 1);
  CHECK_CLOSE(product, {22, 44});
  CHECK_CLOSE(copy, {11, 22});
}

LOCUS_DEVICE_TEST("an expression is used wherever a tensor is", D) {
  const auto a = tensor<float, D>({2, 2}, {1, 2, 3, 4});
  auto y = a + 0.5f;
  CHECK(y.shape() == Shape{2, 2});
  CHECK(y.rank() == 2);
  CHECK(y.size(-1) == 2);
  CHECK(y.elements() == 4);
  CHECK(y.device() == a.device());
  CHECK_CLOSE(y.value().transpose(), {{2, 2}, {1.5, 3.5, 2.5, 4.5}});
  CHECK_CLOSE(y.template to<Cpu>(), {{2, 2}, {1.5, 2.5, 3.5, 4.5}});
  CHECK((a.select(0, 0).select(0, 1) * 3).item() == 6.0f);
  CHECK_THROWS_AS((void)y.item(), ShapeError);
  Tensor<float, D> target;
  target = a * 2;
  CHECK_CLOSE(target, {{2, 2}, {2, 4, 6, 8}});
}

LOCUS_DEVICE_TEST("conversions are part of the expression", D) {
  const auto x = tensor<float, D>({4}, {-1.5, 0, 0.5, 2.9});
  LaunchLog log;
  Tensor whole = (x * 2).template as<std::int32_t>() + 1;
  CHECK(log.launches() == 1);
  CHECK_CLOSE(whole, {-2, 1, 2, 6});
  CHECK_CLOSE((x + 0).template as<bool>(), {1, 0, 1, 1});
  CHECK_CLOSE((x > 0).template as<float>() * x, {0, 0, 0.5, 2.9});
  CHECK_CLOSE((x + 0.001f).template as<half>().template as<float>(), {-1.5, 0.001, 0.501, 2.901}, 1e-3);
}

LOCUS_DEVICE_TEST("an operand that changed before its expression was computed is refused", D) {
  const auto a = sample<float, D>({4, 4}), b = sample<float, D>({4, 4}, 2);
  auto early = a + b;
  const auto expected = reference(early);
  auto late = a * b;
  auto nested = relu(a - b) * 2;
  a.select(0, 0) += 1;
  CHECK_CLOSE(early, expected);
  CHECK_THROWS_AS((void)late.eval(), StaleError);
  CHECK_THROWS_AS((Tensor<float, D>(nested)), StaleError);
  CHECK_THROWS_AS((void)(late + 1), StaleError);
  try {
    (void)late.eval();
  } catch (const StaleError& error) {
    CHECK(std::string(error.what()).find("(4, 4)") != std::string::npos);
    CHECK(std::string(error.what()).find(".eval()") != std::string::npos);
  }
  auto filled = b + 1;
  b.fill_(3);
  CHECK_THROWS_AS((void)filled.eval(), StaleError);
  auto copied = b + 1;
  b.copy_(a);
  CHECK_THROWS_AS((void)copied.eval(), StaleError);
  auto updated = a + 1;
  CHECK_NOTHROW(b += updated);
  auto stale = b + 1;
  b *= 2;
  CHECK_THROWS_AS((a += std::move(stale)), StaleError);
}

LOCUS_DEVICE_TEST("copy_ computes what is not named where it is stored, in one launch", D) {
  const Four<D> x;
  const auto wide = zeros<float, D>({6, 10});
  const auto target = wide.slice(1, 5);
  const auto version = wide.version();
  const auto doubles = zeros<double, D>({6, 5});
  {
    LaunchLog launches;
    RequestLog requests;
    target.copy_(relu(x.a * x.b + x.c) * 2 - x.d);
    doubles.copy_(x.a * x.d);
    CHECK(launches.launches() == 2);
    if constexpr (std::is_same_v<D, Counting>) CHECK(requests.allocations() == 0);
  }
  CHECK(wide.version() == version + 1);
  CHECK_CLOSE(target, x.expected());
  CHECK_CLOSE(wide.slice(1, 0, 5), reference(zeros<float, D>({6, 5})));
  CHECK_CLOSE(doubles, reference(x.a * x.d));

  target.copy_(x.c + 1);  // broadcasts
  CHECK_CLOSE(target.select(0, 3), reference(x.c + 1));
  CHECK_CLOSE(target.select(0, 5), reference(x.c + 1));
  auto named = x.a + x.b;
  target.copy_(named);
  CHECK(named.computed());
  target.copy_(std::move(named));
  CHECK_CLOSE(target, reference(x.a + x.b));

  const auto square = arange<float, D>(9).reshape({3, 3});
  square.copy_(square.transpose() + 1);
  CHECK_CLOSE(square, {{3, 3}, {1, 4, 7, 2, 5, 8, 3, 6, 9}});
  auto stale = square + 1;
  square.fill_(0);
  CHECK_THROWS_AS(square.copy_(std::move(stale)), StaleError);
  CHECK_THROWS_AS(square.copy_(x.a + 1), ShapeError);
  CHECK_THROWS_AS((zeros<float, D>({3}).expand({3, 3}).copy_(square + 1)), ArgumentError);
}

LOCUS_DEVICE_TEST("fuse runs a formula once on symbols: one launch, each tensor once", D) {
  const Four<D> x;
  LaunchLog log;
  Tensor y = fuse([](auto a, auto b, auto c, auto d) { return relu(a * b + c) * 2 - d; }, x.a, x.b, x.c, x.d);
  CHECK(log.launches() == 1);
  CHECK_CLOSE(y, x.expected());
  const auto gelu_written_out = [](auto v) {
    return 0.5f * v * (1 + tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
  };
  CHECK_CLOSE(fuse(gelu_written_out, x.a), reference(gelu<GeluForm::tanh>(x.a)), 1e-6);
}

LOCUS_DEVICE_TEST("fuse takes expressions, conditions, numbers and whole formulas in its parts", D) {
  const auto x = tensor<float, D>({3}, {-1, 0.5, 2}), y = tensor<float, D>({2, 1}, {1, 10});
  LaunchLog log;
  Tensor z = fuse([](auto a, auto b) { return where(a > 0.f, a * b, clamp(a, -0.5, 0)); }, x + 0, y);
  CHECK(log.launches() == 2);
  CHECK_CLOSE(z, Reference({2, 3}, {-0.5, 0.5, 2, -0.5, 5, 20}));
  CHECK_CLOSE(fuse([](auto a) { return a; }, x), reference(x));
  CHECK_CLOSE(fuse([](auto a, auto) { return -a; }, x, y), Reference({2, 3}, {1, -0.5, -2, 1, -0.5, -2}));
  CHECK_CLOSE(fuse([](auto a) { return elementwise(Cube{}, a + 1) % 2; }, tensor<int, D>({3}, {1, 2, 3})), {0, 1, 0});
  auto fused = fuse([](auto a) { return a * a; }, x);
  CHECK_CLOSE(fused + fused * 2, {3, 0.75, 12});
}

namespace {
template <class To, class From, class D>
void check_symbol_converts(const Tensor<From, D>& x) {
  CAPTURE(dtype_name<From>());
  CAPTURE(dtype_name<To>());
  LaunchLog log;
  Tensor y = fuse([](auto a) { return a.template as<To>(); }, x);
  CHECK(log.launches() == 1);
  static_assert(std::is_same_v<decltype(y), Tensor<To, D>>);
  CHECK_CLOSE(y, reference(x.template as<To>()));
}
template <class From, class D, class... To>
void check_symbols_convert() {
  const auto x = tensor<float, D>({2, 3}, {0, 1, 0.3f, 2.6f, 77, 3}).template as<From>();
  (check_symbol_converts<To>(x), ...);
}
}  // namespace

LOCUS_DEVICE_TEST("a symbol of fuse converts as a tensor does", D) {
  check_symbols_convert<float, D, float, double, std::int32_t, std::int64_t, std::uint8_t, bool, half, bfloat16>();
  if constexpr (all_dtypes<D>) {
    check_symbols_convert<double, D, float>();
    check_symbols_convert<std::int32_t, D, float>();
    check_symbols_convert<std::int64_t, D, float>();
    check_symbols_convert<std::uint8_t, D, float>();
    check_symbols_convert<bool, D, float>();
    check_symbols_convert<half, D, double>();
    check_symbols_convert<bfloat16, D, half>();
  }
  const auto x = tensor<float, D>({3}, {0.1f, -2, 3}), y = tensor<float, D>({3}, {3, 4, 5});
  LaunchLog log;
  Tensor z = fuse([](auto a, auto b, auto c) { return (a + b.template as<float>()).template as<double>() * c; }, x,
                  (y > 3.5f).eval(), y.template as<double>());
  CHECK(log.launches() == 3);
  CHECK_CLOSE(z, {0.3, -4, 20}, 1e-6);
  CHECK_CLOSE(fuse([](auto a) { return where(a.template as<bool>(), a, -1); }, x - 3), {-2.9, -5, -1}, 1e-6);
}

LOCUS_DEVICE_TEST("eight operands fit one launch", D) {
  std::vector<Tensor<float, D>> x;
  for (int i = 0; i < 8; ++i) x.push_back(tensor<float, D>({2}, {i + 1.0, 10.0 * i}));
  LaunchLog log;
  Tensor y = ((x[0] + x[1]) * (x[2] - x[3]) + x[4] / x[5]) - x[6] * x[7];
  CHECK(log.launches() == 1);
  CHECK_CLOSE(y, {(1 + 2) * (3 - 4) + 5.0 / 6 - 7 * 8, 10 * (20 - 30) + 40.0 / 50 - 60 * 70});
}

LOCUS_DEVICE_TEST("a scalar function of one's own", D) {
  const auto x = tensor<double, D>({3}, {1, -2, 0.5});
  LaunchLog log;
  Tensor y = elementwise(Cube{}, x + 1) * 2;
  CHECK(log.launches() == 1);
  CHECK_CLOSE(y, {16, -2, 6.75});
}

TEST_CASE("tensors of two ordinals of one device kind do not mix; the message names both") {
  const auto here = tensor<float, Counting>({1}, {1});
  const auto there = here.to(Counting{1});
  CHECK(there.device() == Counting{1});
  auto sum = here + there;
  try {
    (void)sum.eval();
    FAIL("no DeviceError");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find("counting:0") != std::string::npos);
    CHECK(std::string(error.what()).find("counting:1") != std::string::npos);
  }
  CHECK((there + 1).device() == Counting{1});
  CHECK(Tensor<float, Counting>(there * there).device() == Counting{1});
}

LOCUS_DEVICE_TEST("the value of a temporary expression is a tensor of its own", D) {
  const auto& sum = (sample<float, D>({4}, 1) * 0 + 2).value();
  CHECK_CLOSE(sum, {2, 2, 2, 2});
}

LOCUS_DEVICE_TEST("a reduction takes a computed expression as it was computed", D) {
  auto a = sample<float, D>({3, 4});
  const auto computed = [&] {
    auto h = a * 2.f;
    (void)h.eval();
    return h;
  };
  const Tensor expected = sum(a * 2.f).template to<Cpu>();
  auto h = computed();
  a += 1.f;
  CHECK(sum(std::move(h)).template to<Cpu>().item() == expected.item());
}

LOCUS_DEVICE_TEST("a pending expression is viewed as the tensor that it becomes, computed once", D) {
  const auto a = sample<float, D>({2, 3});
  const auto doubled = a * 2.f;
  const Tensor expected = doubled;
  LaunchLog log;
  CHECK_CLOSE((a * 2.f).reshape({3, 2}).select(0, 1), reference(expected.reshape({3, 2}).select(0, 1)));
  CHECK_CLOSE(doubled.transpose().slice(0, 1), reference(expected.transpose().slice(0, 1)));
  CHECK((doubled.flatten().shape() == Shape{6} && doubled.unsqueeze(0).squeeze(0).shape() == Shape{2, 3}));
  CHECK(doubled.permute({1, 0}).expand({4, 3, 2}).shape() == Shape{4, 3, 2});
}
