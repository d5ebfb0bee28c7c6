// Runs on: host, cuda (expressions).
// The functions of expr/functions.hpp and expr/activations.hpp. In launches, one functor that selects a function at run
// time stands for all of them, so that few kernels are compiled; the functor of each named function is compared by
// type.
#include <locus/autograd/expression.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/expr/activations.hpp>
#include <locus/expr/functions.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/from.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace locus;
using namespace locus_test;

namespace {

/// NAME(name in the golden numbers, its functor for a T, a call)
#define UNARY_FUNCTIONS(NAME)                             \
  NAME(tan, functor::Tan, tan(x))                         \
  NAME(asin, functor::Asin, asin(x))                      \
  NAME(acos, functor::Acos, acos(x))                      \
  NAME(atan, functor::Atan, atan(x))                      \
  NAME(sinh, functor::Sinh, sinh(x))                      \
  NAME(cosh, functor::Cosh, cosh(x))                      \
  NAME(asinh, functor::Asinh, asinh(x))                   \
  NAME(acosh, functor::Acosh, acosh(x))                   \
  NAME(atanh, functor::Atanh, atanh(x))                   \
  NAME(exp2, functor::Exp2, exp2(x))                      \
  NAME(log2, functor::Log2, log2(x))                      \
  NAME(log10, functor::Log10, log10(x))                   \
  NAME(cbrt, functor::Cbrt, cbrt(x))                      \
  NAME(erfc, functor::Erfc, erfc(x))                      \
  NAME(erfinv, functor::Erfinv, erfinv(x))                \
  NAME(lgamma, functor::Lgamma, lgamma(x))                \
  NAME(digamma, functor::Digamma, digamma(x))             \
  NAME(logit, functor::Logit, logit(x))                   \
  NAME(trunc, functor::Trunc, trunc(x))                   \
  NAME(selu, functor::Selu, selu(x))                      \
  NAME(hardsigmoid, functor::Hardsigmoid, hardsigmoid(x)) \
  NAME(softsign, functor::Softsign, softsign(x))

/// Functions with options: NAME(name, functor for a T, its options, a call).
#define UNARY_WITH_OPTIONS(NAME)                                        \
  NAME(celu, functor::Celu, (0.75), celu(x, 0.75))                      \
  NAME(hardtanh, functor::Hardtanh, (-1, 3), hardtanh(x, -1, 3))        \
  NAME(relu6, functor::Hardtanh, (0, 6), relu6(x))                      \
  NAME(threshold, functor::Threshold, (0.5, -2), threshold(x, 0.5, -2)) \
  NAME(softshrink, functor::Softshrink, (0.5), softshrink(x))           \
  NAME(hardshrink, functor::Hardshrink, (0.75), hardshrink(x, 0.75))    \
  NAME(nan_to_num, functor::NanToNum, (0, 1e30, -1e30), nan_to_num(x, {0, 1e30, -1e30}))

#define BINARY_FUNCTIONS(NAME)                      \
  NAME(atan2, functor::Atan2, atan2(x, y))          \
  NAME(hypot, functor::Hypot, hypot(x, y))          \
  NAME(xlogy, functor::Xlogy, xlogy(x, y))          \
  NAME(copysign, functor::Copysign, copysign(x, y)) \
  NAME(fmod, functor::Fmod, fmod(x, y))

#define UNWRAP(...) __VA_ARGS__
/// A functor with options, which are converted to its type.
template <class R, template <class> class F, class... Option>
LOCUS_FN constexpr F<R> with(Option... options) {
  return {static_cast<R>(options)...};
}

enum Unary {
#define NAME(name, ...) unary_##name,
  UNARY_FUNCTIONS(NAME) UNARY_WITH_OPTIONS(NAME) unary_count
#undef NAME
};
const char* const unary_names[] = {
#define NAME(name, ...) #name,
    UNARY_FUNCTIONS(NAME) UNARY_WITH_OPTIONS(NAME)
#undef NAME
};
enum Binary {
#define NAME(name, ...) binary_##name,
  BINARY_FUNCTIONS(NAME) binary_count
#undef NAME
};
const char* const binary_names[] = {
#define NAME(name, ...) #name,
    BINARY_FUNCTIONS(NAME)
#undef NAME
};

struct AnyUnary {
  Unary kind;
  template <class T, class Use>
  LOCUS_FN T use(const Use& use) const {
    switch (kind) {
#define NAME(name, Functor, call) \
  case unary_##name: return use(Functor{});
      UNARY_FUNCTIONS(NAME)
#undef NAME
#define NAME(name, Functor, options, call) \
  case unary_##name: return use(with<T, Functor>(UNWRAP options));
      UNARY_WITH_OPTIONS(NAME)
#undef NAME
      default: return T(0);
    }
  }
  template <class T>
  struct ValueOf {
    T x;
    template <class F> LOCUS_FN T operator()(const F& f) const { return f(x); }
  };
  template <class T>
  struct SlopeOf {
    T x;
    template <class F>
    LOCUS_FN T operator()(const F& f) const {
      if constexpr (requires { f.by_output(x); }) return f.by_output(f(x));
      else return f.by_input(x);
    }
  };
  template <class T> LOCUS_FN T operator()(T x) const { return use<T>(ValueOf<T>{x}); }
  template <class T> LOCUS_FN T by_input(T x) const { return use<T>(SlopeOf<T>{x}); }
};

struct AnyBinary {
  Binary kind;
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    switch (kind) {
#define NAME(name, Functor, call) \
  case binary_##name: return Functor{}(x, y);
      BINARY_FUNCTIONS(NAME)
#undef NAME
      default: return T(0);
    }
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    switch (kind) {
#define NAME(name, Functor, call) \
  case binary_##name: return Functor{}.by_inputs(x, y);
      BINARY_FUNCTIONS(NAME)
#undef NAME
      default: return {T(0), T(0)};
    }
  }
};

template <class R>
void check_slopes(const Pack<R, R>& slopes, R by_first, R by_second) {
  CHECK(std::abs(get<0>(slopes) - by_first) <= 1e-6 * std::abs(by_first));
  CHECK(std::abs(get<1>(slopes) - by_second) <= 1e-6 * std::abs(by_second));
}

template <class T, class D>
void check_golden() {
  CAPTURE(dtype_name<T>());
  for (int kind = 0; kind < unary_count; ++kind) {
    const std::string name = unary_names[kind];
    CAPTURE(name);
    const auto x = variable(golden::tensor<T, D>(name + "_x"));
    CHECK_GOLDEN(name, elementwise(AnyUnary{static_cast<Unary>(kind)}, x), ({"x"}), x);
  }
  for (int kind = 0; kind < binary_count; ++kind) {
    const std::string name = binary_names[kind];
    CAPTURE(name);
    const auto x = variable(golden::tensor<T, D>(name + "_x")), y = variable(golden::tensor<T, D>(name + "_y"));
    CHECK_GOLDEN(name, elementwise(AnyBinary{static_cast<Binary>(kind)}, x, y), ({"x", "y"}), x, y);
  }
}

/// The functor that an expression of one function holds.
template <class X>
auto functor_of(const X& expression) {
  return expression.part().tree.f;
}

}  // namespace

LOCUS_DEVICE_TEST("further functions: values and gradients are PyTorch's", D) {
  if constexpr (all_dtypes<D>) check_golden<std::conditional_t<std::is_same_v<D, Cpu>, double, float>, D>();
}

LOCUS_DEVICE_TEST("functions of halves: values and gradients are PyTorch's", D) {
  if constexpr (std::is_same_v<D, Cpu>) {
    const auto check = [](const char* name, const auto& function) {
      const auto x = variable(golden::tensor<double, D>("function_x"));
      CHECK_GOLDEN(name, function(x), ({"x"}), x);
    };
    check("glu", [](const auto& x) { return glu(x); });
    check("glu_0", [](const auto& x) { return glu(x, 0); });
    check("swiglu", [](const auto& x) { return swiglu(x); });
  }
}

namespace {
/// f of three golden lists of numbers, and of value, if given, as the fourth argument.
template <class F, class... Value>
void check_numbers(const std::string& name, const F& f, std::initializer_list<const char*> inputs, Value... value) {
  CAPTURE(name);
  const auto numbers = [](const std::string& of) { return golden::reference(of).values; };
  const char* const* const input = inputs.begin();
  const auto x = numbers(std::string("function_") + input[0]), y = numbers(std::string("function_") + input[1]);
  const auto z = numbers(std::string("function_") + input[2]), cotangent = numbers(name + "_cotangent");
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(f(x[i], y[i], z[i], value...) == doctest::Approx(numbers(name)[i]).epsilon(1e-9));
    const auto slopes = f.by_inputs(x[i], y[i], z[i], value...);
    const double given[] = {get<0>(slopes), get<1>(slopes), get<2>(slopes)};
    for (std::size_t k = 0; k < 3; ++k)
      CHECK(cotangent[i] * given[k] == doctest::Approx(numbers(name + "_d" + input[k])[i]).epsilon(1e-9));
  }
}
}  // namespace

TEST_CASE("functions of three tensors: values and gradients are PyTorch's") {
  check_numbers("lerp", functor::Lerp{}, {"a", "b", "w"});
  check_numbers("addcmul", functor::Addcmul{}, {"w", "a", "b"}, -0.75);
  check_numbers("addcdiv", functor::Addcdiv{}, {"w", "a", "b"}, -0.75);
  const Tensor a = from<double>({1, 2}), b = from<double>({3, 5});
  CHECK_CLOSE(addcmul(a, b, b, 2), {19, 52});
}

TEST_CASE("numbers whose distance is no number of the type are interpolated") {
  const auto check = []<class T>(T most) {
    const auto a = variable(from<T>({-1, -1, 1, -1, -1}) * most), b = variable(from<T>({1, 1, -1, 1, 1}) * most);
    const auto y = lerp(a, b, from<T>({0.5, 0.25, 0.25, 0, 1})).eval();
    CHECK_CLOSE(y / most, {0, -0.5, 0.5, -1, 1}, 1e-2);
    y.backward(from<T>({1, 1, 1, 1, 1}));
    CHECK_CLOSE(a.grad(), {0.5, 0.75, 0.75, 1, 0}, 1e-2);
    CHECK_CLOSE(b.grad(), {0.5, 0.25, 0.25, 0, 1}, 1e-2);
  };
  check(3e38f);
  check(1.7e308);
  check(convert<bfloat16>(3e38));
  CHECK_CLOSE(lerp(from({INFINITY, 1}), from({INFINITY, INFINITY}), 0.5), {INFINITY, INFINITY});
}

TEST_CASE("each name makes an expression of its functor, with its options") {
  const Tensor<float> x({2}), y({2});
#define NAME(name, Functor, call) static_assert(std::is_same_v<decltype(functor_of(call)), Functor>, #name);
  UNARY_FUNCTIONS(NAME)
  BINARY_FUNCTIONS(NAME)
#undef NAME
#define NAME(name, Functor, options, call)                                                \
  {                                                                                       \
    const auto given = functor_of(call), expected = with<float, Functor>(UNWRAP options); \
    CHECK(std::memcmp(&given, &expected, sizeof given) == 0);                             \
  }
  UNARY_WITH_OPTIONS(NAME)
#undef NAME
  static_assert(std::is_same_v<decltype(functor_of(lerp(x, y, 0.5))), functor::Lerp>);
  static_assert(std::is_same_v<decltype(functor_of(addcdiv(x, y, y, 2))), functor::Addcdiv>);
  static_assert(std::is_same_v<decltype(functor_of(isnan(x))), functor::IsNan>);
  static_assert(std::is_same_v<decltype(isinf(x))::value_type, bool>);
}

TEST_CASE("nan_to_num takes the largest number of the element type for infinities, and for what is beyond it") {
  const Tensor<float> x({1});
  const auto of_float = functor_of(nan_to_num(x));
  CHECK((of_float.nan == 0 && of_float.posinf == std::numeric_limits<float>::max() &&
         of_float.neginf == std::numeric_limits<float>::lowest()));
  CHECK(functor_of(nan_to_num(Tensor<half>({1}))).posinf == 65504);
  CHECK(functor_of(nan_to_num(Tensor<bfloat16>({1}), {.neginf = -1})).neginf == -1);
  CHECK(functor_of(nan_to_num(Tensor<double>({1}))).posinf == std::numeric_limits<double>::max());
  CHECK(std::isinf(functor_of(nan_to_num(x, {.posinf = INFINITY})).posinf));
}

TEST_CASE("further functions where they end, and of what is no number") {
  const double inf = INFINITY, nan = NAN;
  const auto check = [](const char* name, const auto& f, std::initializer_list<std::pair<double, double>> values) {
    for (const auto& value : values) {
      const double x = value.first, y = value.second;
      INFO(std::string(name), " of ", x);
      const double of_double = f(x), of_float = static_cast<double>(f(static_cast<float>(x)));
      for (const double given : {of_double, of_float}) {
        CHECK(((std::isnan(y) && std::isnan(given)) || (given == doctest::Approx(y) || given == y)));
        CHECK((std::isnan(y) || std::signbit(given) == std::signbit(y)));
      }
    }
  };
  const double half_pi = std::acos(0.0);
  check("tan", functor::Tan{}, {{-0.0, -0.0}, {inf, nan}, {nan, nan}});
  check("asin", functor::Asin{}, {{-0.0, -0.0}, {1, half_pi}, {-1, -half_pi}, {1.5, nan}, {nan, nan}, {inf, nan}});
  check("acos", functor::Acos{}, {{1, 0}, {-1, 2 * half_pi}, {-1.5, nan}, {nan, nan}});
  check("atan", functor::Atan{}, {{-0.0, -0.0}, {inf, half_pi}, {-inf, -half_pi}, {nan, nan}});
  check("sinh", functor::Sinh{}, {{-0.0, -0.0}, {inf, inf}, {-inf, -inf}, {nan, nan}});
  check("cosh", functor::Cosh{}, {{0, 1}, {-inf, inf}, {nan, nan}});
  check("asinh", functor::Asinh{}, {{-0.0, -0.0}, {-inf, -inf}, {nan, nan}});
  check("acosh", functor::Acosh{}, {{1, 0}, {0.5, nan}, {inf, inf}, {-inf, nan}, {nan, nan}});
  check("atanh", functor::Atanh{}, {{-0.0, -0.0}, {1, inf}, {-1, -inf}, {2, nan}, {nan, nan}});
  check("exp2", functor::Exp2{}, {{-inf, 0}, {inf, inf}, {10, 1024}, {nan, nan}});
  check("log2", functor::Log2{}, {{0, -inf}, {-1, nan}, {inf, inf}, {1024, 10}, {nan, nan}});
  check("log10", functor::Log10{}, {{-0.0, -inf}, {-1, nan}, {inf, inf}, {1000, 3}, {nan, nan}});
  check("cbrt", functor::Cbrt{}, {{-0.0, -0.0}, {-27, -3}, {-inf, -inf}, {nan, nan}});
  check("erfc", functor::Erfc{}, {{inf, 0}, {-inf, 2}, {nan, nan}});
  check("erfinv", functor::Erfinv{}, {{-0.0, -0.0}, {1, inf}, {-1, -inf}, {1.5, nan}, {-inf, nan}, {nan, nan}});
  check("lgamma", functor::Lgamma{}, {{0, inf}, {-1, inf}, {1, 0}, {2, 0}, {-inf, inf}, {inf, inf}, {nan, nan}});
  check("digamma", functor::Digamma{}, {{0, -inf}, {-0.0, inf}, {-1, nan}, {inf, inf}, {-inf, nan}, {nan, nan}});
  check("logit", functor::Logit{}, {{0, -inf}, {1, inf}, {0.5, 0}, {-1, nan}, {2, nan}, {nan, nan}});
  check("trunc", functor::Trunc{}, {{-0.5, -0.0}, {0x1p53, 0x1p53}, {-2.75, -2}, {-inf, -inf}, {nan, nan}});
  check("selu", functor::Selu{}, {{-0.0, -0.0}, {inf, inf}, {-inf, -1.7580993408473766}, {nan, nan}});
  check("celu", [](auto x) { return with<decltype(x), functor::Celu>(2)(x); }, {{-inf, -2}, {inf, inf}, {nan, nan}});
  check("hardsigmoid", functor::Hardsigmoid{}, {{-inf, 0}, {inf, 1}, {nan, nan}});
  check("hardtanh", [](auto x) { return with<decltype(x), functor::Hardtanh>(-1, 1)(x); },
        {{-inf, -1}, {inf, 1}, {nan, nan}});
  check("softsign", functor::Softsign{}, {{-inf, -1}, {inf, 1}, {nan, nan}});
  check("threshold", [](auto x) { return with<decltype(x), functor::Threshold>(1, 7)(x); },
        {{1, 7}, {inf, inf}, {nan, nan}});
  check("softshrink", [](auto x) { return with<decltype(x), functor::Softshrink>(1)(x); },
        {{-inf, -inf}, {1, 0}, {nan, nan}});
  check("hardshrink", [](auto x) { return with<decltype(x), functor::Hardshrink>(1)(x); },
        {{-inf, -inf}, {1, 0}, {nan, nan}});
  check("nan_to_num", [](auto x) { return with<decltype(x), functor::NanToNum>(5, 6, 7)(x); },
        {{nan, 5}, {inf, 6}, {-inf, 7}, {-0.0, -0.0}, {1, 1}});
  CHECK((functor::IsNan{}(nan) && !functor::IsNan{}(inf) && functor::IsInf{}(-inf) && !functor::IsInf{}(nan) &&
         !functor::IsInf{}(1.0f)));
  CHECK(functor::NanToNum<double>{0, 1, 2}.by_input(nan) == 0);
  check_slopes(functor::Copysign{}.by_inputs(2.0, -0.0), -1.0, 0.0);
  check_slopes(functor::Atan2{}.by_inputs(0.0, 0.0), 0.0, 0.0);
  check_slopes(functor::Hypot{}.by_inputs(0.0f, 0.0f), 0.0f, 0.0f);
  check_slopes(functor::Atan2{}.by_inputs(1e30f, 1e30f), 5e-31f, -5e-31f);
}

namespace {
/// Compares with the C library's function of double, on ordinary numbers and corner cases.
template <class F>
void check_pairs(const char* name, const F& f, double (*exact)(double, double), double units) {
  std::vector<float> numbers = {0, 1, 1e-45f, 1.5f, 2.5f, 3e38f, 1e-30f, INFINITY, NAN};
  for (std::uint64_t i = 0; i < 60; ++i)
    numbers.push_back(static_cast<float>(std::exp(20 * uniform_double(3, i) - 10)));
  for (const float a : numbers)
    for (const float b : numbers)
      for (const float x : {a, -a})
        for (const float y : {b, -b}) {
          const double expected = exact(static_cast<double>(x), static_cast<double>(y));
          const double given = static_cast<double>(f(x, y)),
                       nearest = static_cast<double>(static_cast<float>(expected));
          if (std::isnan(expected) && std::isnan(given)) continue;
          if (given == nearest && std::signbit(given) == std::signbit(expected)) continue;
          const double unit = std::ldexp(1.0, std::max(std::ilogb(expected) - 23, -149));
          if (!(std::abs(given - expected) <= units * unit))
            FAIL_CHECK(std::string(name), "(", x, ", ", y, ") is ", given, ", exactly ", expected);
        }
}
}  // namespace

TEST_CASE("functions of two floats are within two units in the last place, with the library's corners") {
  check_pairs(
      "atan2", functor::Atan2{}, [](double y, double x) { return std::atan2(y, x); }, 2);
  check_pairs(
      "hypot", functor::Hypot{}, [](double x, double y) { return std::hypot(x, y); }, 1);
  check_pairs(
      "xlogy", functor::Xlogy{}, [](double x, double y) { return x == 0 && !std::isnan(y) ? 0.0 : x * std::log(y); },
      2);
  check_pairs(
      "copysign", functor::Copysign{}, [](double x, double y) { return std::copysign(x, y); }, 0);
  check_pairs(
      "fmod", functor::Fmod{}, [](double x, double y) { return std::fmod(x, y); }, 0);
}

TEST_CASE("integers: fmod has the sign of the dividend, addcmul multiplies them") {
  CHECK(functor::Fmod{}(-5, 3) == -2);
  CHECK(functor::Fmod{}(5, -3) == 2);
  CHECK(functor::Fmod{}(5, 0) == 0);
  CHECK(functor::Fmod{}(INT64_MIN, std::int64_t{-1}) == 0);
  CHECK(functor::Fmod{}(std::uint8_t{200}, std::uint8_t{7}) == 4);
  CHECK(functor::Addcmul{}(1, 2, 3, -4) == -23);
}

TEST_CASE("options that no function takes are refused, by name") {
  const Tensor<float> x({3});
  CHECK_THROWS_WITH_AS((void)celu(x, 0), doctest::Contains("celu: alpha is 0"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)hardtanh(x, 2, 1), doctest::Contains("low <= high"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)softshrink(x, -1), doctest::Contains("softshrink: lambda is -1"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)hardshrink(x, NAN), doctest::Contains("hardshrink: lambda"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)threshold(x, 1, INFINITY), doctest::Contains("threshold: value"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)logit(x, NAN), doctest::Contains("logit: eps"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)glu(x), doctest::Contains("glu: extent 3 of dimension 0"), ShapeError);
}

namespace {
template <class X>
concept HasTan = requires(X x) { tan(x); };
template <class X>
concept HasGlu = requires(X x) { glu(x); };
template <class L, class R>
concept HasAtan2 = requires(L y, R x) { atan2(y, x); };
template <class X, class A>
concept HasAddcmul = requires(X x, A a) { addcmul(x, a, a); };
}  // namespace

TEST_CASE("further functions refuse integers, other places and other element types") {
  CHECK((HasTan<Tensor<half>> && HasGlu<Tensor<float>> && HasAtan2<Tensor<float>, float> &&
         HasAtan2<int, Tensor<double>>));
  CHECK_FALSE((HasTan<Tensor<std::int32_t>> || HasTan<Tensor<float, Pinned>> || HasGlu<Tensor<bool>>));
  CHECK_FALSE((HasAtan2<Tensor<float>, Tensor<double>> || HasAtan2<Tensor<float>, Tensor<float, Cuda>>));
  CHECK_FALSE((HasAtan2<Tensor<std::int32_t>, Tensor<std::int32_t>>));
  CHECK((HasAddcmul<Tensor<std::int32_t>, Tensor<std::int32_t>> && HasAddcmul<Tensor<float>, Tensor<float>>));
  CHECK_FALSE(HasAddcmul<Tensor<float>, Tensor<double>>);
}
