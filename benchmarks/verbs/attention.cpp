// Causal attention of heads that lie side by side, forward and with backward pass. Sizes: batch, heads, length, width
// of a head.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/autograd/parameter.hpp>
#include <locus/ops/attention.hpp>

#include <cmath>

namespace bench {
namespace {

using locus::convert;

struct Form {
  std::int64_t batch, heads, length, width;
  [[nodiscard]] std::int64_t columns() const { return heads * width; }
};

template <class T, class D>
struct Set {
  Form form;
  Tensor<T, D> x, g, y;  ///< x: queries, keys and values, (batch, length, 3 columns)
  locus::Traced<T, D> traced;

  Set(const Form& f, D device)
      : form(f),
        x(locus::randn<T>({f.batch, f.length, 3 * f.columns()}, device)),
        g(locus::randn<T>({f.batch, f.length, f.columns()}, device)),
        traced(locus::variable(x)) {}

  void forward() { y = packed_attention(x, form.heads, {.is_causal = true}); }
  void train() {
    traced.zero_grad();
    const auto result = packed_attention(traced, form.heads, {.is_causal = true});
    result.backward(g);
    y = result.value();
  }
};

/// The largest error of the results, and of the gradients if `trained`, of some queries.
template <class T, class D>
double error_of(const Set<T, D>& set, bool trained) {
  const Form& f = set.form;
  const Rounding rounding = rounding_of(std::is_same_v<T, float> ? "f32" : "bf16");
  const double scale = 1 / std::sqrt(static_cast<double>(f.width));
  const auto x = on_the_host(set.x.select(0, f.batch - 1)), y = on_the_host(set.y.select(0, f.batch - 1));
  const auto g = on_the_host(set.g.select(0, f.batch - 1));
  Tensor<T, Cpu> dx;
  if (trained) dx = on_the_host(set.traced.grad().select(0, f.batch - 1));
  const std::int64_t first = (f.heads - 1) * f.width;  // column of the last head
  Worst worst;
  for (const std::int64_t query : places(f.length, 1)) {
    const auto at = [&](const auto& matrix, std::int64_t row, std::int64_t c) {
      return convert<double>(matrix(row, c));
    };
    const auto dot = [&](const auto& a, std::int64_t row, std::int64_t from, std::int64_t key, std::int64_t to) {
      double sum = 0;
      for (std::int64_t c = 0; c < f.width; ++c) sum += at(a, row, from + c) * at(x, key, to + c);
      return sum;
    };
    std::vector<double> p(static_cast<std::size_t>(query + 1)), dp(p.size());
    double total = 0, delta = 0;
    for (std::size_t key = 0; key < p.size(); ++key) {
      const auto row = static_cast<std::int64_t>(key);
      total += p[key] = std::exp(scale * dot(x, query, first, row, f.columns() + first));
      dp[key] = dot(g, query, first, row, 2 * f.columns() + first);
    }
    for (std::size_t key = 0; key < p.size(); ++key) p[key] /= total, delta += p[key] * dp[key];
    for (std::int64_t c = first; c < first + f.width; ++c) {
      double value = 0, gradient = 0, magnitude = 0, of_gradient = 0;
      for (std::size_t key = 0; key < p.size(); ++key) {
        const auto row = static_cast<std::int64_t>(key);
        const double v = at(x, row, 2 * f.columns() + c), k = at(x, row, f.columns() + c);
        value += p[key] * v, magnitude += p[key] * std::abs(v);
        gradient += scale * p[key] * (dp[key] - delta) * k;
        of_gradient += scale * p[key] * (std::abs(dp[key]) + std::abs(delta)) * std::abs(k);
      }
      const auto allowed = [&](double size, double result) {  // scores and weights are rounded, too
        return 4 * (rounding.sum + rounding.result) * size + 2 * rounding.result * std::abs(result) + 1e-6;
      };
      worst.add(at(y, query, c), value, allowed(magnitude, value));
      if (trained) worst.add(at(dx, query, c), gradient, allowed(of_gradient, gradient));
    }
  }
  return worst.value();
}

template <class T, class D>
void add(Workloads& workloads, const Form& f, bool trains, D device) {
  Workload w{"attention",
             trains ? "training" : "forward",
             std::is_same_v<T, float> ? "f32" : "bf16",
             {f.batch, f.heads, f.length, f.width}};
  const double rows = static_cast<double>(f.batch * f.length), columns = static_cast<double>(f.columns());
  const double operands = rows * columns * sizeof(T);
  w.bytes = (trains ? 12 : 4) * operands;  // x, y; again for gradients, g, dx
  // Two products of half of all pairs, five more for gradients.
  w.flops = (trains ? 7. : 2.) * rows * static_cast<double>(f.length) * columns;
  w.prepare = [=]() -> std::vector<Variant> {
    const auto sets = rotation(device, 4 * operands, [&] { return Set<T, D>(f, device); });
    const auto run = [=] {
      Set<T, D>& set = sets->next();
      if (trains) set.train();
      else set.forward();
      return &set;
    };
    return {Variant{"locus", [=] { (void)run(); }, [=] { return error_of(*run(), trains); }}};
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_attention(Workloads& workloads, Scale scale, D device) {
  const std::vector<Form> forms = scale == Scale::tiny
                                      ? std::vector<Form>{{2, 2, 9, 4}}
                                      : std::vector<Form>{{4, 12, 1024, 64}, {1, 16, 4096, 128}, {1, 16, 16384, 128}};
  for (const Form& form : forms) {
    if (on_host<D> && form.length > 4096) continue;
    for (const bool trains : {false, true}) {
      add<float>(workloads, form, trains, device);
      add<locus::bfloat16>(workloads, form, trains, device);
    }
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_attention)
