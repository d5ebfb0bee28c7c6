// Runs on: host.
// The rules of operands against their definition, in numbers: for every tuple of states, an accepted function has on
// every rank the values and gradients that the states promise; a refused one has not, whatever its result is called.

#include <locus/distributed/spread/judge.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

using namespace locus;
using locus::dist::Linearity;
using namespace locus::dist::detail;

namespace {

constexpr int ranks = 3;
constexpr Spread states[] = {Spread::invariant, Spread::replicated, Spread::varying, Spread::partial};

using Numbers = std::array<double, 3>;  // of the operands
using OfRanks = std::array<double, ranks>;

/// A function of `operands` tensors, and of one more argument behind them, if `more` is 'n', a number, or 'f', a
/// function.
struct Function {
  const char* name;
  Linearity kind;
  int operands;
  char more;
  double (*f)(const Numbers& x);
};
const Function functions[] = {
    {"exp(a)", Linearity::any, 1, ' ', [](const Numbers& x) { return std::exp(x[0]); }},
    {"a + 1, of unknown kind", Linearity::any, 1, 'n', [](const Numbers& x) { return x[0] + 1; }},
    {"exp(a) b", Linearity::any, 2, ' ', [](const Numbers& x) { return std::exp(x[0]) * x[1]; }},
    {"sin(a) + b^2", Linearity::any, 2, ' ', [](const Numbers& x) { return std::sin(x[0]) + x[1] * x[1]; }},
    {"sum(a)", Linearity::linear, 1, ' ', [](const Numbers& x) { return 3 * x[0]; }},
    {"a / b", Linearity::linear, 2, ' ', [](const Numbers& x) { return x[0] / x[1]; }},
    {"a / 2", Linearity::linear, 1, 'n', [](const Numbers& x) { return x[0] / 2; }},
    {"a - b", Linearity::additive, 2, ' ', [](const Numbers& x) { return x[0] - x[1]; }},
    {"a + b - 2 c", Linearity::additive, 3, ' ', [](const Numbers& x) { return x[0] + x[1] - 2 * x[2]; }},
    {"a + 1", Linearity::additive, 1, 'n', [](const Numbers& x) { return x[0] + 1; }},
    {"a b", Linearity::bilinear, 2, ' ', [](const Numbers& x) { return x[0] * x[1]; }},
    {"2 a", Linearity::bilinear, 1, 'n', [](const Numbers& x) { return 2 * x[0]; }},
    {"a b, affine", Linearity::affine, 2, ' ', [](const Numbers& x) { return x[0] * x[1]; }},
    {"a b + c", Linearity::affine, 3, ' ', [](const Numbers& x) { return x[0] * x[1] + x[2]; }},
    {"tanh(a b)", Linearity::affine, 2, 'f', [](const Numbers& x) { return std::tanh(x[0] * x[1]); }},
    {"tanh(a b + c)", Linearity::affine, 3, 'f', [](const Numbers& x) { return std::tanh(x[0] * x[1] + x[2]); }},
};

struct Given {
  Spread spread;
  bool collects;
};
using Tuple3 = std::array<Given, 3>;

double derivative(const Function& f, Numbers x, int of) {
  constexpr double step = 1e-6;
  const auto at = static_cast<std::size_t>(of);
  Numbers up = x, down = x;
  up[at] += step, down[at] -= step;
  return (f.f(up) - f.f(down)) / (2 * step);
}
double total(const OfRanks& x) { return x[0] + x[1] + x[2]; }
bool is_same(Spread s) { return s == Spread::invariant || s == Spread::replicated; }
bool is_close(double a, double b) { return std::fabs(a - b) < 1e-4 * (1 + std::fabs(a)); }

/// One call on all ranks.
class Call {
 public:
  Call(const Function& f, const Tuple3& given) : f_(f), given_(given) {
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < 3; ++i) {
        const double of_rank =
            is_same(given[i].spread) ? 0.1 : 0.15 * static_cast<double>(r) * static_cast<double>(i + 1);
        local_[r][i] = 0.5 + 0.3 * static_cast<double>(i) + of_rank;
      }
  }
  /// Whether a result with this state would have the right values, and the operands that collect gradients the right
  /// gradients.
  [[nodiscard]] bool is(Spread result) const {
    for (int i = 0; i < f_.operands; ++i)
      if (result != Spread::varying && given(i).spread == Spread::varying) return false;
    const std::array<Numbers, ranks> whole = meant();
    OfRanks value{};
    for (std::size_t r = 0; r < ranks; ++r) value[r] = f_.f(local_[r]);
    for (std::size_t r = 0; r < ranks; ++r)
      if (!is_close(result == Spread::partial ? total(value) : value[r], f_.f(whole[r]))) return false;
    for (int i = 0; i < f_.operands; ++i)
      if (given(i).collects && !has_gradient(result, i)) return false;
    return true;
  }

 private:
  [[nodiscard]] const Given& given(int i) const { return given_[static_cast<std::size_t>(i)]; }
  /// The operands that each rank's stand for.
  [[nodiscard]] std::array<Numbers, ranks> meant() const {
    std::array<Numbers, ranks> result = local_;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t r = 0; r < ranks && given_[i].spread == Spread::partial; ++r)
        result[r][i] = local_[0][i] + local_[1][i] + local_[2][i];
    return result;
  }
  /// The gradient that rank r starts from: the same on all ranks where the result's gradient is.
  [[nodiscard]] static double start(Spread result, std::size_t r) {
    return is_same(dual(result)) ? 0.8 : 0.4 + 0.3 * static_cast<double>(r * r);
  }
  /// The loss that these gradients stand for, as a function of the operands that are meant.
  [[nodiscard]] double loss(Spread result, const std::array<Numbers, ranks>& x) const {
    if (result == Spread::varying) {
      double sum = 0;
      for (std::size_t r = 0; r < ranks; ++r) sum += f_.f(x[r]) * start(result, r);
      return sum;
    }
    const double g =
        result == Spread::replicated ? start(result, 0) + start(result, 1) + start(result, 2) : start(result, 0);
    return f_.f(x[0]) * g;
  }
  /// Whether the gradient that each rank computes alone is the one that the operand's state promises.
  [[nodiscard]] bool has_gradient(Spread result, int i) const {
    OfRanks local{};
    for (std::size_t r = 0; r < ranks; ++r) local[r] = start(result, r) * derivative(f_, local_[r], i);
    const auto at = static_cast<std::size_t>(i);
    for (std::size_t r = 0; r < ranks; ++r) {
      auto up = meant(), down = meant();
      for (std::size_t q = 0; q < ranks; ++q)
        if (given(i).spread != Spread::varying || q == r) up[q][at] += 1e-6, down[q][at] -= 1e-6;
      const double truth = (loss(result, up) - loss(result, down)) / 2e-6;
      if (!is_close(truth, given(i).spread == Spread::replicated ? total(local) : local[r])) return false;
    }
    return true;
  }

  const Function& f_;
  Tuple3 given_;
  std::array<Numbers, ranks> local_{};
};

/// Every verdict, at compile time: judge() does not run.
constexpr int choices = 8;  // four states, with a gradient or without
template <Linearity kind, int operands, char more>
struct Verdicts {
  locus::dist::detail::Verdict of[choices * choices * choices];
  consteval Verdicts() : of{} {
    for (int n = 0; n < choices * choices * choices; ++n) {
      Operand x[4] = {};
      for (int i = 0, left = n; i < operands; ++i, left /= choices)
        x[i] = {true, true, left % 2 == 0, false, states[left / 2 % 4]};
      x[operands].is_number = more == 'n';
      of[n] = judge(kind, x, operands + (more != ' '));
    }
  }
};
template <Linearity kind, int operands, char more>
constexpr Verdicts<kind, operands, more> verdicts{};

const locus::dist::detail::Verdict* verdicts_of(const Function& f) {
  const auto with = [&]<Linearity kind>() -> const locus::dist::detail::Verdict* {
    if (f.operands == 1) return f.more == 'n' ? verdicts<kind, 1, 'n'>.of : verdicts<kind, 1, ' '>.of;
    if (f.operands == 2) return f.more == 'f' ? verdicts<kind, 2, 'f'>.of : verdicts<kind, 2, ' '>.of;
    return f.more == 'f' ? verdicts<kind, 3, 'f'>.of : verdicts<kind, 3, ' '>.of;
  };
  switch (f.kind) {
    case Linearity::any: return with.operator()<Linearity::any>();
    case Linearity::linear: return with.operator()<Linearity::linear>();
    case Linearity::additive: return with.operator()<Linearity::additive>();
    case Linearity::bilinear: return with.operator()<Linearity::bilinear>();
    default: return with.operator()<Linearity::affine>();
  }
}

std::string text(const Function& f, const Tuple3& given) {
  std::string result = f.name;
  for (int i = 0; i < f.operands; ++i)
    result += std::string(" ") + "IRVP"[static_cast<int>(given[static_cast<std::size_t>(i)].spread)] +
              (given[static_cast<std::size_t>(i)].collects ? "" : " without a gradient");
  return result;
}

}  // namespace

TEST_CASE("accepted calls have the right values and gradients, on every rank") {
  int accepted = 0;
  for (const Function& f : functions) {
    for (int n = 0; n < static_cast<int>(std::pow(choices, f.operands)); ++n) {
      Tuple3 given{};
      for (int i = 0, left = n; i < f.operands; ++i, left /= choices)
        given[static_cast<std::size_t>(i)] = {states[left / 2 % 4], left % 2 == 0};
      const auto verdict = verdicts_of(f)[n];
      if (verdict.unsound != Unsound::nothing) continue;
      ++accepted;
      CAPTURE(text(f, given));
      CHECK(Call(f, given).is(verdict.spread));
    }
  }
  CHECK(accepted > 500);
}

TEST_CASE("refused calls are wrong for a function of their kind, whatever state the result gets") {
  int refused = 0;
  for (const Linearity kind :
       {Linearity::any, Linearity::linear, Linearity::additive, Linearity::bilinear, Linearity::affine}) {
    for (const int operands : {1, 2, 3}) {
      for (const char more : {' ', 'n', 'f'}) {
        for (int n = 0; n < static_cast<int>(std::pow(choices, operands)); ++n) {
          Tuple3 given{};
          for (int i = 0, left = n; i < operands; ++i, left /= choices)
            given[static_cast<std::size_t>(i)] = {states[left / 2 % 4], left % 2 == 0};
          bool is_refused = false, is_wrong = false;
          std::string tried;
          for (const Function& f : functions) {
            if (f.kind != kind || f.operands != operands || f.more != more) continue;
            is_refused = verdicts_of(f)[n].unsound != Unsound::nothing;
            bool is_right = false;
            for (const Spread result : states) is_right = is_right || Call(f, given).is(result);
            is_wrong = is_wrong || !is_right;
            tried = text(f, given);
          }
          if (!is_refused) continue;
          ++refused;
          CAPTURE(tried);
          CHECK(is_wrong);
        }
      }
    }
  }
  CHECK(refused > 300);
}
