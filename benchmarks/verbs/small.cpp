// Operations on tensors so small that the host's time per operation dominates. Size: elements of a side.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/expr/operators.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>

#include <cmath>

namespace bench {
namespace {

template <class D>
struct Set {
  Tensor<float, D> a, b, y;
};

using Host = Set<Cpu>;

struct Add {
  static constexpr const char* name = "add";
  template <class D> static void run(Set<D>& set) { set.y = set.a + set.b; }
  static void judge(const Host& set, Worst& worst) {
    for (std::int64_t i = 0; i < set.a.elements(); ++i) {
      const double sum = static_cast<double>(set.a.data()[i]) + set.b.data()[i];
      worst.add(set.y.data()[i], sum, 0x1p-24 * std::abs(sum) + 1e-30);
    }
  }
};
struct SumOfAll {
  static constexpr const char* name = "sum";
  template <class D> static void run(Set<D>& set) { set.y = sum(set.a); }
  static void judge(const Host& set, Worst& worst) {
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < set.a.elements(); ++i) sum += set.a.data()[i], magnitude += std::abs(set.a.data()[i]);
    worst.add(set.y.item(), sum, 8 * 0x1p-24 * magnitude);
  }
};
struct SoftmaxOfRows {
  static constexpr const char* name = "softmax";
  template <class D> static void run(Set<D>& set) { set.y = softmax(set.a, 1); }
  static void judge(const Host& set, Worst& worst) {
    for (std::int64_t i = 0; i < set.a.size(0); ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < set.a.size(1); ++j) sum += std::exp(static_cast<double>(set.a(i, j)));
      for (std::int64_t j = 0; j < set.a.size(1); ++j) {
        const double value = std::exp(static_cast<double>(set.a(i, j))) / sum;
        worst.add(set.y(i, j), value, 1e-5 * value);
      }
    }
  }
};
struct Product {
  static constexpr const char* name = "product";
  template <class D> static void run(Set<D>& set) { set.y = matmul(set.a, set.b); }
  static void judge(const Host& set, Worst& worst) {
    worst.add(error_of(set.a, set.b, set.y, rounding_of("f32")), 0, 1);
  }
};

template <class Operation, class D>
void add(Workloads& workloads, std::int64_t side, D device) {
  Workload w{"small", Operation::name, "f32", {side}};
  w.bytes = 4 * static_cast<double>(side * side);
  w.prepare = [=]() -> std::vector<Variant> {
    const auto make = [=] {
      return Set<D>{locus::randn<float>({side, side}, device), locus::randn<float>({side, side}, device), {}};
    };
    const auto set = std::make_shared<Set<D>>(make());
    const auto error = [=] {
      Operation::run(*set);
      Worst worst;
      Operation::judge({on_the_host(set->a), on_the_host(set->b), on_the_host(set->y)}, worst);
      return worst.value();
    };
    return {{"locus", [=] { Operation::run(*set); }, error}};
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_small(Workloads& workloads, Scale scale, D device) {
  const std::int64_t side = scale == Scale::tiny ? 8 : 64;
  add<Add>(workloads, side, device);
  add<SumOfAll>(workloads, side, device);
  add<SoftmaxOfRows>(workloads, side, device);
  add<Product>(workloads, side, device);
}

}  // namespace bench

LOCUS_BENCHMARK(add_small)
