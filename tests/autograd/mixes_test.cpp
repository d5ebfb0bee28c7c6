// Runs on: host.
// Every operation of several operands with every mix of plain tensors, parameters, trained or frozen, and traced
// tensors. A new operation is a line of the table at the end.
#include <locus/locus.hpp>

#include <support/reference.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace locus;
using locus_test::Reference, locus_test::reference;

namespace {

constexpr const char* name_of(Role role) {
  return role == Role::plain ? "plain" : role == Role::parameter ? "parameter" : "traced";
}

/// The role of one operand in mix number `mix`, from 0 to 3^operands - 1.
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

using Numbers = std::vector<double>;

/// The gradient that an operand has collected; empty if it has none.
template <class X>
Reference gradient_of(const X& x) {
  if constexpr (X::role == Role::plain || !FloatingDType<value_of<X>>) return {};
  else if constexpr (X::role == Role::parameter) return x.has_grad() ? reference(x.grad()) : Reference{};
  else return x.node()->has_gradient() ? reference(x.grad()) : Reference{};
}

/// Results of an operation on plain tensors, a cotangent, and gradients from finite differences.
struct Expected {
  Numbers values, cotangent;
  std::vector<Numbers> gradients;
};

template <class Op, class... T>
double weighted_sum(const Op& op, const Numbers& weights, const Tensor<T>&... x) {
  const auto result = op(x...);
  const Numbers values = reference(result.value()).values;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
  return sum;
}

/// Central differences by the elements of `moved`, one of the operands x.
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
  Expected expected{reference(result.value()).values, {}, {}};
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    expected.cotangent.push_back(0.5 + 0.25 * static_cast<double>(i % 5));
  if constexpr (FloatingDType<value_of<decltype(result)>>)
    expected.gradients = {differences(op, expected.cotangent, x, x...)...};
  return expected;
}

struct Operand {
  Role role;
  bool is_floating, is_frozen = false;

  /// Whether the operand collects a gradient if any operand is traced.
  [[nodiscard]] bool collects() const { return is_floating && role != Role::plain && !is_frozen; }
};

/// Outcome of an operation on one mix of operands.
struct Outcome {
  bool is_taken = false, is_traced = false, requires_gradient = false;
  Reference values{};
  std::vector<Reference> gradients{};
};

template <class Op, class... X>
Outcome outcome_of(const Op& op, const Numbers& cotangent, const X&... x) {
  Outcome outcome;
  if constexpr (std::is_invocable_v<const Op&, const X&...>) {
    const auto result = op(x...);
    outcome = {true, result.role == Role::traced, false, reference(result.value()), {}};
    if constexpr (result.role == Role::traced && FloatingDType<value_of<decltype(result)>>) {
      const auto traced = result.eval();
      outcome.requires_gradient = traced.requires_gradient();
      if (outcome.requires_gradient) traced.backward(from(cotangent).reshape(traced.shape()));
    }
    outcome.gradients = {gradient_of(x)...};
  }
  return outcome;
}

/// The error in an outcome; empty if correct. A mix is refused only if all tensors are parameters. Values and gradients
/// have to be right, and only traced operands and, beside them, unfrozen parameters collect gradients.
std::string problem_of(const std::vector<Operand>& operands, const Expected& expected, const Outcome& outcome) {
  const auto any = [&](const auto& is) { return std::any_of(operands.begin(), operands.end(), is); };
  const bool is_mixed = any([](Operand x) { return x.role != Role::parameter; });
  const bool is_traced = any([](Operand x) { return x.role == Role::traced; });
  if (outcome.is_taken != is_mixed) return outcome.is_taken ? "is taken" : "is refused";
  if (!is_mixed) return {};
  if (outcome.is_traced != is_traced) return outcome.is_traced ? "is traced" : "is not traced";
  std::string problem = locus_test::difference_of(outcome.values, expected.values, 0);
  const bool has_gradients = is_traced && !expected.gradients.empty();
  if (outcome.requires_gradient != (has_gradients && any([](Operand x) { return x.collects(); })))
    problem += outcome.requires_gradient ? " requires a gradient" : " requires no gradient";
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Numbers wanted = has_gradients && operands[i].collects() ? expected.gradients[i] : Numbers{};
    const std::string different =
        locus_test::difference_of(outcome.gradients[i], wanted, 1e-7, 1);  // of sums that cancel
    if (!different.empty()) problem += join(" the gradient of operand ", i, ": ", different);
  }
  return problem;
}

/// Not a template, as there are hundreds of mixes to compile.
[[gnu::noinline]] void report(const char* name, const std::vector<Operand>& operands, const Expected& expected,
                              const Outcome& outcome) {
  std::string problem = problem_of(operands, expected, outcome);
  if (!problem.empty()) {
    std::string text = name;
    for (const Operand& operand : operands)
      text += join(&operand == &operands[0] ? " of " : ", ",
                   operand.is_frozen ? "frozen parameter" : name_of(operand.role));
    problem = join(text, ": ", problem);
  }
  locus_test::check_empty(problem, __FILE__, __LINE__);
}

template <class X>
void freeze(const X& x) {
  if constexpr (X::role == Role::parameter) x.requires_grad_(false);
  else if constexpr (X::role == Role::traced) x.zero_grad();
}

/// Checks the operands as given, and again with their parameters frozen.
template <class Op, class... X>
void check_operands(const char* name, const Op& op, const Expected& expected, const X&... x) {
  std::vector<Operand> operands{Operand{X::role, FloatingDType<value_of<X>>}...};
  report(name, operands, expected, outcome_of(op, expected.cotangent, x...));
  if constexpr (((X::role == Role::parameter) || ...)) {
    (freeze(x), ...);
    for (Operand& operand : operands) operand.is_frozen = operand.role == Role::parameter;
    report(name, operands, expected, outcome_of(op, expected.cotangent, x...));
  }
}

/// One mix of roles. No parameter holds indices or bool.
template <int mix, class Op, int... i, class... T>
void check_mix(const char* name, const Op& op, const Expected& expected, std::integer_sequence<int, i...>,
               const Tensor<T>&... x) {
  if constexpr (!((role_in(mix, i) == Role::parameter && !FloatingDType<T>) || ...))
    check_operands(name, op, expected, as_role<role_in(mix, i)>(x)...);
}

template <class Op, class... T>
void check_mixes(const char* name, const Op& op, const Tensor<T>&... x) {
  const Expected expected = expected_of(op, x...);
  [&]<int... mix>(std::integer_sequence<int, mix...>) {
    (check_mix<mix>(name, op, expected, std::make_integer_sequence<int, sizeof...(T)>{}, x...), ...);
  }(std::make_integer_sequence<int, mixes_of(sizeof...(T))>{});
}

/// A function constrained by whether it takes its operands. (Two parameters compare as handles: to a bool.)
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
  template <class X, class Y, class Z> auto operator()(X x, Y y, Z z) const { return x * y + z * z * x; }
  template <class X, class Y, class Z>
  auto by_inputs(X x, Y y, Z z) const {
    return Pack<X, Y, Z>(y + z * z, x, Z(2) * z * x);
  }
};

/// Irregular numbers, distant from one another and from zero, where functions have corners.
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
  check_mixes("scaled_dot_product_attention(a, b, c)", OF_THREE(scaled_dot_product_attention(a, b, c)), x, y, z);
  check_mixes("linear(a, b, c, gelu)", OF_THREE(linear(a, b, c, functor::Gelu{})), x, w, four);
}

TEST_CASE("normalizations and prelu take every mix of plain tensors, parameters and traced tensors") {
  check_mixes("layer_norm(a, {3}, b)", OF_TWO(layer_norm(a, {3}, b)), x, row);
  check_mixes("layer_norm(a, {3}, b, c)", OF_THREE(layer_norm(a, {3}, b, c)), x, row, row2);
  check_mixes("rms_norm(a, {3}, b)", OF_TWO(rms_norm(a, {3}, b)), x, row);
  check_mixes("group_norm(a, 1, b, c)", OF_THREE(group_norm(a, 1, b, c)), x, row, row2);
  check_mixes("prelu(a, b)", OF_TWO(prelu(a, b)), x, row);
  check_mixes("batch_norm(a, {}, b, c)", OF_THREE(batch_norm(a, RunningStatistics<double, Cpu>{}, b, c)), x, row, row2);
  check_mixes("batch_norm(a, {}, b, b, c)", OF_THREE(batch_norm(a, RunningStatistics<double, Cpu>{}, b, b, c)), x, row,
              y);
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

/// Operations that write to a tensor take any untraced operand: a traced operand would lose its gradient.
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
    return reference(target).values;
  };
  CHECK(write(row) == write(Parameter(row.clone())));
}

}  // namespace
