// Every operation of several operands with every mix of plain tensors, parameters and traced tensors. A new operation
// is a line of the table at the end.
#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace locus;

namespace {

using Numbers = std::vector<double>;

template <class T>
Numbers numbers_of(const Tensor<T>& given) {
  const auto dense = given.contiguous();
  Numbers numbers(static_cast<std::size_t>(dense.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = convert<double>(dense.data()[i]);
  return numbers;
}

double largest_difference(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  return largest;
}

constexpr const char* name_of(Role role) {
  return role == Role::plain ? "plain" : role == Role::parameter ? "parameter" : "traced";
}

/// The role of one operand in mix number `mix`, of three to the power of how many there are.
constexpr Role role_in(int mix, int operand) {
  for (; operand > 0; --operand) mix /= 3;
  return static_cast<Role>(mix % 3);
}
static_assert(role_in(0, 0) == Role::plain && role_in(1, 0) != role_in(2, 0) && role_in(5, 1) != role_in(5, 0));

constexpr int mixes_of(int operands) { return operands == 0 ? 1 : 3 * mixes_of(operands - 1); }

template <Role role, class T>
auto as_role(const Tensor<T>& x) {
  if constexpr (role == Role::plain) return x;
  else if constexpr (role == Role::parameter) return Parameter<T>(x.clone());
  else if constexpr (FloatingDType<T>) return variable(x);
  else return trace(x);
}

/// The gradient that an operand has collected; empty where it has none.
template <class X>
Numbers gradient_of(const X& x) {
  if constexpr (X::role == Role::plain || !FloatingDType<value_of<X>>) return {};
  else if constexpr (X::role == Role::parameter) return x.has_grad() ? numbers_of(x.grad()) : Numbers{};
  else return x.node()->has_gradient() ? numbers_of(x.grad()) : Numbers{};
}

/// What an operation gives for plain tensors, a cotangent, and the gradients that finite differences say.
struct Expected {
  Numbers values, cotangent;
  std::vector<Numbers> gradients;
};

template <class Op, class... T>
double weighted_sum(const Op& op, const Numbers& weights, const Tensor<T>&... x) {
  const auto result = op(x...);
  const Numbers values = numbers_of(result.value());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
  return sum;
}

/// Central differences by the elements of `moved`, which is one of x.
template <class U, class Op, class... T>
Numbers differences(const Op& op, const Numbers& weights, const Tensor<U>& moved, const Tensor<T>&... x) {
  if constexpr (!FloatingDType<U>) return {};
  else {
    constexpr double step = 1e-6;
    Numbers gradient;
    for (std::int64_t i = 0; i < moved.elements(); ++i) {
      const U kept = moved.data()[i];
      moved.data()[i] = kept + step;
      const double above = weighted_sum(op, weights, x...);
      moved.data()[i] = kept - step;
      const double below = weighted_sum(op, weights, x...);
      moved.data()[i] = kept;
      gradient.push_back((above - below) / (2 * step));
    }
    return gradient;
  }
}

template <class Op, class... T>
Expected expected_of(const Op& op, const Tensor<T>&... x) {
  const auto result = op(x...);
  Expected expected{numbers_of(result.value()), {}, {}};
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    expected.cotangent.push_back(0.5 + 0.25 * static_cast<double>(i % 5));
  if constexpr (FloatingDType<value_of<decltype(result)>>)
    expected.gradients = {differences(op, expected.cotangent, x, x...)...};
  return expected;
}

/// Whether values and gradients are right, and collected by whatever is traced and by parameters beside it alone.
template <class Result, class... X>
void check_result(const Expected& expected, const Result& result, const X&... x) {
  constexpr bool is_traced = ((X::role == Role::traced) || ...);
  CHECK(largest_difference(numbers_of(result.value()), expected.values) == 0);
  CHECK((Result::role == Role::traced) == is_traced);
  if constexpr (is_traced && FloatingDType<value_of<Result>>) {
    const auto traced = result.eval();
    CHECK(traced.requires_gradient() == ((FloatingDType<value_of<X>> && X::role != Role::plain) || ...));
    if (traced.requires_gradient()) traced.backward(from(expected.cotangent).reshape(traced.shape()));
  }
  int operand = 0;
  const auto check_gradient = [&](const auto& one) {
    using One = std::remove_cvref_t<decltype(one)>;
    const bool collects = is_traced && One::role != Role::plain && !expected.gradients.empty();
    const Numbers wanted = collects ? expected.gradients[static_cast<std::size_t>(operand)] : Numbers{};
    ++operand;
    INFO("the gradient of operand ", operand);
    CHECK(largest_difference(gradient_of(one), wanted) < 1e-7);
  };
  (check_gradient(x), ...);
}

/// One mix. It is refused where all tensors are parameters, and taken everywhere else; no parameter holds indices or
/// bool.
template <int mix, class Op, int... i, class... T>
void check_mix(const char* name, const Op& op, const Expected& expected, std::integer_sequence<int, i...>,
               const Tensor<T>&... x) {
  constexpr bool is_mixed = !((role_in(mix, i) == Role::parameter) && ...);
  if constexpr (!((role_in(mix, i) == Role::parameter && !FloatingDType<T>) || ...)) {
    const auto with = [&](const auto&... operands) {
      std::string text = name;
      ((text += std::string(i == 0 ? " of " : ", ") + name_of(role_in(mix, i))), ...);
      constexpr bool is_taken = std::is_invocable_v<const Op&, decltype(operands)...>;
      INFO(text);
      CHECK(is_taken == is_mixed);
      if constexpr (is_taken && is_mixed) check_result(expected, op(operands...), operands...);
    };
    with(as_role<role_in(mix, i)>(x)...);
  }
}

template <class Op, class... T>
void check_mixes(const char* name, const Op& op, const Tensor<T>&... x) {
  const Expected expected = expected_of(op, x...);
  [&]<int... mix>(std::integer_sequence<int, mix...>) {
    (check_mix<mix>(name, op, expected, std::make_integer_sequence<int, sizeof...(T)>{}, x...), ...);
  }(std::make_integer_sequence<int, mixes_of(sizeof...(T))>{});
}

/// A function that can be asked whether it takes its operands. (Two parameters compare as handles do: to a bool.)
#define OF_TWO(...)                  \
  [](const auto& a, const auto& b)   \
    requires requires {              \
      { __VA_ARGS__ } -> TensorLike; \
    }                                \
  {                                  \
    return __VA_ARGS__;              \
  }
#define OF_THREE(...)                             \
  [](const auto& a, const auto& b, const auto& c) \
    requires requires {                           \
      { __VA_ARGS__ } -> TensorLike;              \
    }                                             \
  {                                               \
    return __VA_ARGS__;                           \
  }

struct Blend {
  template <class X, class Y, class Z>
  auto operator()(X x, Y y, Z z) const {
    return x * y + z * z * x;
  }
  template <class X, class Y, class Z>
  auto by_inputs(X x, Y y, Z z) const {
    return Pack<X, Y, Z>(y + z * z, x, Z(2) * z * x);
  }
};

/// Numbers of no pattern, away from one another and from zero, where functions have corners.
Tensor<double> some(const Shape& shape, std::uint64_t seed) {
  Generator<Cpu> generator{seed};
  return rand<double>(shape, generator) + 0.25;
}

constexpr auto blend_formula = [](auto x, auto y, auto z) { return where(x > y, x * z, y) + x; };

const Tensor<double> x = some({2, 3}, 1), y = some({2, 3}, 2), z = some({2, 3}, 3), row = some({3}, 4),
                     row2 = some({3}, 5);
const Tensor<double> w = some({4, 3}, 6), four = some({4}, 7), columns = some({3, 4}, 8);
const Tensor<bool> mask = x > y;
const Tensor<std::int64_t> labels = from({2, 0}).as<std::int64_t>(), picked = from({2, 0, 2}).as<std::int64_t>(),
                           places = from({{1, 0, 0}, {0, 1, 1}}).as<std::int64_t>();

TEST_CASE("arithmetic takes every mix of plain tensors, parameters and traced tensors") {
  check_mixes("a + b", OF_TWO(a + b), x, row);
  check_mixes("a - b", OF_TWO(a - b), x, row);
  check_mixes("a * b", OF_TWO(a * b), x, row);
  check_mixes("a / b", OF_TWO(a / b), x, row);
  check_mixes("a % b", OF_TWO(a % b), x, row);
  check_mixes("minimum(a, b)", OF_TWO(minimum(a, b)), x, y);
  check_mixes("maximum(a, b)", OF_TWO(maximum(a, b)), x, y);
  check_mixes("min(a, b)", OF_TWO(min(a, b)), x, y);
  check_mixes("max(a, b)", OF_TWO(max(a, b)), x, y);
  check_mixes("pow(a, b)", OF_TWO(pow(a, b)), x, row);
}

TEST_CASE("comparisons take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("a == b", OF_TWO(a == b), x, row);
  check_mixes("a != b", OF_TWO(a != b), x, row);
  check_mixes("a < b", OF_TWO(a < b), x, row);
  check_mixes("a <= b", OF_TWO(a <= b), x, row);
  check_mixes("a > b", OF_TWO(a > b), x, row);
  check_mixes("a >= b", OF_TWO(a >= b), x, row);
  check_mixes("a && b", OF_TWO(a && b), mask, mask);
  check_mixes("a || b", OF_TWO(a || b), mask, mask);
}

TEST_CASE("choices take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("clamp(a, b, c)", OF_THREE(clamp(a, b, c)), x, row, row2);
  check_mixes("clamp(a, b, 0.9)", OF_TWO(clamp(a, b, 0.9)), x, y);
  check_mixes("clamp(a, 0.4, b)", OF_TWO(clamp(a, 0.4, b)), x, y);
  check_mixes("where(a, b, c)", OF_THREE(where(a, b, c)), mask, x, row);
  check_mixes("where(a, b, 0.5)", OF_TWO(where(a, b, 0.5)), mask, x);
  check_mixes("where(a, 0.5, b)", OF_TWO(where(a, 0.5, b)), mask, x);
}

TEST_CASE("formulas take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("elementwise(Blend{}, a, b, c)", OF_THREE(elementwise(Blend{}, a, b, c)), x, row, z);
  check_mixes("fuse(formula, a, b, c)", OF_THREE(fuse(blend_formula, a, b, c)), x, row, z);
}

TEST_CASE("products take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("matmul(a, b)", OF_TWO(matmul(a, b)), x, columns);
  check_mixes("linear(a, b)", OF_TWO(linear(a, b)), x, w);
  check_mixes("linear(a, b, c)", OF_THREE(linear(a, b, c)), x, w, four);
  check_mixes("linear(a, b, c, gelu)", OF_THREE(linear(a, b, c, functor::Gelu{})), x, w, four);
}

TEST_CASE("normalizations take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("layer_norm(a, {3}, b)", OF_TWO(layer_norm(a, {3}, b)), x, row);
  check_mixes("layer_norm(a, {3}, b, c)", OF_THREE(layer_norm(a, {3}, b, c)), x, row, row2);
  check_mixes("rms_norm(a, {3}, b)", OF_TWO(rms_norm(a, {3}, b)), x, row);
}

TEST_CASE("losses take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("mse_loss(a, b)", OF_TWO(nn::mse_loss(a, b)), x, y);
  check_mixes("l1_loss(a, b)", OF_TWO(nn::l1_loss(a, b)), x, y);
  check_mixes("huber_loss(a, b, 0.3)", OF_TWO(nn::huber_loss(a, b, 0.3)), x, y);
  check_mixes("binary_cross_entropy_with_logits(a, b)", OF_TWO(nn::binary_cross_entropy_with_logits(a, b)), x, y);
  check_mixes("cross_entropy(a, b)", OF_TWO(cross_entropy(a, b)), x, labels);
  check_mixes("cross_entropy(a, b, weights)", OF_TWO(cross_entropy(a, b, row)), x, labels);
}

TEST_CASE("lookups and joins take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("index_select(a, 1, b)", OF_TWO(index_select(a, 1, b)), x, picked);
  check_mixes("gather(a, 0, b)", OF_TWO(gather(a, 0, b)), x, places);
  check_mixes("embedding(a, b)", OF_TWO(embedding(a, b)), w, picked);
  check_mixes("concat(0, a, b, c)", OF_THREE(concat(0, a, b, c)), x, y, w);
  check_mixes("stack(0, a, b, c)", OF_THREE(stack(0, a, b, c)), x, y, z);
}

/// What writes to a tensor takes whatever is not traced: a traced operand would lose its gradient.
template <class X>
concept Written = requires(const Tensor<double>& target, const X& operand) {
  target += operand, target -= operand, target *= operand, target /= operand, target %= operand, target.copy_(operand);
};
template <class X>
concept WrittenSomehow = requires(const Tensor<double>& target, const X& operand) { target += operand; } ||
                         requires(const Tensor<double>& target, const X& operand) { target -= operand; } ||
                         requires(const Tensor<double>& target, const X& operand) { target *= operand; } ||
                         requires(const Tensor<double>& target, const X& operand) { target /= operand; } ||
                         requires(const Tensor<double>& target, const X& operand) { target %= operand; } ||
                         requires(const Tensor<double>& target, const X& operand) { target.copy_(operand); };
static_assert(Written<Tensor<double>> && Written<Parameter<double>> && !WrittenSomehow<Traced<double>>);

TEST_CASE("what writes to a tensor takes plain tensors and parameters") {
  const auto write = [](const auto& operand) {
    const auto target = some({2, 3}, 9);
    (((target += operand) *= operand) -= operand) /= operand;
    target.slice(0, 0, 1).copy_(operand);
    return numbers_of(target);
  };
  CHECK(write(row) == write(Parameter(row.clone())));
}

}  // namespace
