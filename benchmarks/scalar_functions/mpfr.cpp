// Errors of the functions of reference.cpp, measured by MPFR with 160 bits, asked for by benchmarks/scalar_functions.py
// line by line:
//
//   FUNCTION COUNT  ->  the largest error in ulp of float at COUNT random floats
//
// Half of the arguments are any floats, half are of magnitudes from 2^-14 to 2^8.

#include "errors.hpp"
#include "random.hpp"
#include "reference.hpp"

#include "../support/json_lines.hpp"

#include <mpfr.h>

#include <map>
#include <string>

using namespace accuracy;
using namespace locus;

namespace {

constexpr mpfr_prec_t precision = 160;
constexpr mpfr_rnd_t nearest = MPFR_RNDN;

class Number {
 public:
  Number() { mpfr_init2(value_, precision); }
  explicit Number(double x) : Number() { mpfr_set_d(value_, x, nearest); }
  Number(const Number& other) : Number() { mpfr_set(value_, other.value_, nearest); }
  Number& operator=(const Number& other) {
    mpfr_set(value_, other.value_, nearest);
    return *this;
  }
  ~Number() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
Number of(Unary f, const Number& x) {
  Number y;
  f(y.get(), x.get(), nearest);
  return y;
}
Number of(Binary f, const Number& x, const Number& y) {
  Number z;
  f(z.get(), x.get(), y.get(), nearest);
  return z;
}
Number operator+(const Number& x, const Number& y) { return of(&mpfr_add, x, y); }
Number operator-(const Number& x, const Number& y) { return of(&mpfr_sub, x, y); }
Number operator*(const Number& x, const Number& y) { return of(&mpfr_mul, x, y); }
Number operator/(const Number& x, const Number& y) { return of(&mpfr_div, x, y); }
Number minus(const Number& x) { return of(&mpfr_neg, x); }

const Number one(1), two(2);

Number sigmoid(const Number& x) { return one / (one + of(&mpfr_exp, minus(x))); }
Number softplus(const Number& x) { return of(&mpfr_log1p, of(&mpfr_exp, x)); }
Number gelu(const Number& x) { return x * of(&mpfr_erfc, minus(x) / of(&mpfr_sqrt, two)) / two; }
Number gelu_tanh(const Number& x) {
  Number pi;
  mpfr_const_pi(pi.get(), nearest);
  const Number cube(x * x * x), factor(Number(44715) / Number(1000000));
  return x * sigmoid(two * of(&mpfr_sqrt, two / pi) * (x + factor * cube));
}
/// Newton's steps from double's value.
Number erfinv(const Number& x) {
  Number pi;
  mpfr_const_pi(pi.get(), nearest);
  double given = mpfr_get_d(x.get(), nearest), start[lanes] = {}, y[lanes];
  std::fill_n(start, lanes, given);
  reference_of("erfinv")->run(start, start, y, lanes);
  Number root(y[0]);
  for (int step = 0; step < 2; ++step) {
    const Number slope(two / of(&mpfr_sqrt, pi) * of(&mpfr_exp, minus(root * root)));
    root = root - (of(&mpfr_erf, root) - x) / slope;
  }
  return root;
}
Number lgamma(const Number& x) {
  Number y;
  int sign = 0;
  mpfr_lgamma(y.get(), &sign, x.get(), nearest);
  return y;
}

using Exact = Number (*)(const Number& x, const Number& y);
#define OF_ONE(name, mpfr)                                             \
  {                                                                    \
    #name, [](const Number& x, const Number&) { return of(&mpfr, x); } \
  }
#define SAME(name) OF_ONE(name, mpfr_##name)
const std::map<std::string, Exact, std::less<>> functions = {
    SAME(exp),
    SAME(exp2),
    SAME(expm1),
    SAME(log),
    SAME(log2),
    SAME(log10),
    SAME(log1p),
    SAME(sin),
    SAME(cos),
    SAME(tan),
    SAME(asin),
    SAME(acos),
    SAME(atan),
    SAME(sinh),
    SAME(cosh),
    SAME(tanh),
    SAME(asinh),
    SAME(acosh),
    SAME(atanh),
    SAME(sqrt),
    SAME(cbrt),
    SAME(erf),
    SAME(erfc),
    SAME(digamma),
    OF_ONE(rsqrt, mpfr_rec_sqrt),
    {"reciprocal", [](const Number& x, const Number&) { return one / x; }},
    {"erfinv", [](const Number& x, const Number&) { return erfinv(x); }},
    {"lgamma", [](const Number& x, const Number&) { return lgamma(x); }},
    {"sigmoid", [](const Number& x, const Number&) { return sigmoid(x); }},
    {"logit", [](const Number& x, const Number&) { return of(&mpfr_log, x / (one - x)); }},
    {"silu", [](const Number& x, const Number&) { return x * sigmoid(x); }},
    {"softplus", [](const Number& x, const Number&) { return softplus(x); }},
    {"mish", [](const Number& x, const Number&) { return x * of(&mpfr_tanh, softplus(x)); }},
    {"elu", [](const Number& x, const Number&) { return mpfr_sgn(x.get()) > 0 ? x : of(&mpfr_expm1, x); }},
    {"gelu", [](const Number& x, const Number&) { return gelu(x); }},
    {"gelu_exact", [](const Number& x, const Number&) { return gelu(x); }},
    {"gelu_tanh", [](const Number& x, const Number&) { return gelu_tanh(x); }},
    {"pow", [](const Number& x, const Number& y) { return of(&mpfr_pow, x, y); }},
    {"atan2", [](const Number& x, const Number& y) { return of(&mpfr_atan2, x, y); }},
    {"hypot", [](const Number& x, const Number& y) { return of(&mpfr_hypot, x, y); }},
    {"xlogy", [](const Number& x, const Number& y) { return x * of(&mpfr_log, y); }},
};

struct Request {
  static constexpr const char* form = "FUNCTION COUNT";
  std::string function;
  std::uint64_t count = 0;
  friend std::istream& operator>>(std::istream& in, Request& r) { return in >> r.function >> r.count; }
};

float argument(std::uint64_t k) {
  const std::uint64_t random = mixed(k);
  constexpr std::uint32_t low = std::bit_cast<std::uint32_t>(0x1p-14f), high = std::bit_cast<std::uint32_t>(0x1p8f);
  if (k % 2 == 0) return float_of(random);
  return float_of((low + random % (high - low)) | (random >> 32 << 31));
}

/// |computed - exact| in ulp of float at `exact`; 0 where there is no finite number.
double error_of(double computed, const Number& exact) {
  if (!std::isfinite(computed) || mpfr_number_p(exact.get()) == 0) return 0;
  const double rounded = mpfr_get_d(exact.get(), nearest);
  if (std::abs(rounded) > past_largest) return 0;
  return std::abs(mpfr_get_d((Number(computed) - exact).get(), nearest)) / ulp_of(rounded);
}

void answer(const Request& request) {
  const Reference* const reference = reference_of(request.function);
  const auto found = functions.find(request.function);
  if (!reference || found == functions.end())
    fail<ArgumentError>({"\"", detail::printable(request.function), "\" is no function that MPFR computes"});
  double worst = 0;
  float at = 0;
  for (std::uint64_t k = 0; k < request.count; k += lanes) {
    double x[lanes], y[lanes], exact[lanes];
    for (std::uint64_t i = 0; i < lanes; ++i) {
      const float first = argument(k + i);
      x[i] = static_cast<double>(first);
      y[i] = static_cast<double>(second_for(first, reference->second));
    }
    reference->run(x, y, exact, lanes);
    for (std::uint64_t i = 0; i < lanes; ++i) {
      if (!std::isfinite(x[i]) || x[i] == 0) continue;
      const double error = error_of(exact[i], found->second(Number(x[i]), Number(y[i])));
      if (error > worst) worst = error, at = static_cast<float>(x[i]);
    }
  }
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("function", request.function).member("inputs", request.count);
  bench::print(json.member("ulp", worst).member("x", static_cast<double>(at)).end_object());
}

}  // namespace

int main() { return bench::answer_lines<Request>("mpfr", &answer); }
