// Formulas of one to eight operations on two tensors, each fused into one launch. Sizes: operations, elements.

#include "operands.hpp"

#include <locus/expr/elementwise.hpp>
#include <locus/expr/operators.hpp>

#include <cmath>

namespace bench {
namespace {

/// The first operations of maximum(relu((a + b) * a - b) * 0.5 + a, b) - 1.
template <int operations, class A, class B>
auto chain(A a, B b) {
  if constexpr (operations == 1) return a + b;
  else if constexpr (operations == 2) return chain<1>(a, b) * a;
  else if constexpr (operations == 3) return chain<2>(a, b) - b;
  else if constexpr (operations == 4) return relu(chain<3>(a, b));
  else if constexpr (operations == 5) return chain<4>(a, b) * 0.5f;
  else if constexpr (operations == 6) return chain<5>(a, b) + a;
  else if constexpr (operations == 7) return maximum(chain<6>(a, b), b);
  else return chain<7>(a, b) - 1.f;
}

/// chain<operations> of two numbers; `magnitude` bounds its intermediate results.
double expected(int operations, double a, double b, double& magnitude) {
  double t = a + b;
  magnitude = std::abs(a) + std::abs(b);
  if (operations >= 2) t *= a, magnitude *= std::abs(a);
  if (operations >= 3) t -= b, magnitude += std::abs(b);
  if (operations >= 4) t = t > 0 ? t : 0;
  if (operations >= 5) t *= 0.5;
  if (operations >= 6) t += a, magnitude += std::abs(a);
  if (operations >= 7) t = t > b ? t : b;
  if (operations >= 8) t -= 1, magnitude += 1;
  return t;
}

template <int operations, class D>
std::vector<Variant> prepare(std::int64_t elements, D device) {
  struct Set {
    Tensor<float, D> a, b, y;
  };
  const double bytes = 12 * static_cast<double>(elements);
  const auto sets = rotation(device, bytes, [=] {
    return Set{locus::randn<float>({elements}, device), locus::randn<float>({elements}, device), {}};
  });
  const auto run = [=] {
    Set& set = sets->next();
    set.y = fuse([](auto a, auto b) { return chain<operations>(a, b); }, set.a, set.b);
    return &set;
  };
  const auto error = [=] {
    const Set& set = *run();
    Worst worst;
    for (const std::int64_t at : places(elements, 4096)) {
      const auto a = window(set.a, at, 4096), b = window(set.b, at, 4096), y = window(set.y, at, 4096);
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        double magnitude = 0;
        const double value = expected(operations, a(i), b(i), magnitude);
        worst.add(y(i), value, 4 * 0x1p-24 * magnitude + 1e-30);
      }
    }
    return worst.value();
  };
  return {{"locus", [=] { (void)run(); }, error}, copy_of(device, bytes)};
}

template <class D, int... i>
void add(Workloads& workloads, std::int64_t elements, D device, std::integer_sequence<int, i...>) {
  const auto add_one = [&](int operations, auto prepare_it) {
    Workload w{"expression", "chain", "f32", {operations, elements}};
    w.bytes = 12 * static_cast<double>(elements);
    w.flops = static_cast<double>(operations) * static_cast<double>(elements);
    w.prepare = prepare_it;
    workloads.push_back(std::move(w));
  };
  (add_one(i + 1, [=] { return prepare<i + 1>(elements, device); }), ...);
}

}  // namespace

template <class D>
void add_expressions(Workloads& workloads, Scale scale, D device) {
  const std::vector<std::int64_t> sizes = scale == Scale::tiny
                                              ? std::vector<std::int64_t>{1000}
                                              : std::vector<std::int64_t>{std::int64_t{1} << 24, std::int64_t{1} << 28};
  for (const std::int64_t elements : sizes) add(workloads, elements, device, std::make_integer_sequence<int, 8>{});
}

}  // namespace bench

LOCUS_BENCHMARK(add_expressions)
