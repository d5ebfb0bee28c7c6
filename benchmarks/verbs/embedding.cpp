// Lookups in a table, and the gradient of the table, of random indices and of equal ones. Sizes: indices, rows of the
// table, columns.

#include "operands.hpp"

#include <locus/autograd/parameter.hpp>
#include <locus/ops/index.hpp>

#include <cmath>

namespace bench {
namespace {

struct Form {
  std::int64_t indices, rows, cols;
  bool equal;  ///< whether all indices are the last row
};

template <class D>
struct Set {
  Form form;
  locus::Parameter<float, D> table;
  Tensor<std::int64_t, D> indices;
  Tensor<float, D> g, y;

  Set(const Form& f, D device)
      : form(f),
        table(locus::randn<float>({f.rows, f.cols}, device)),
        indices(locus::randint(f.equal ? f.rows - 1 : 0, f.rows, {f.indices}, device)),
        g(locus::randn<float>({f.indices, f.cols}, device)) {}

  void train() {
    table.zero_grad();
    const auto result = index_select(trace(table), 0, indices);
    result.backward(g);
    y = result.value();
  }
};

/// The error of the gradient of a row that is looked up, and of its lookup.
template <class D>
double error_of(const Set<D>& set) {
  const auto indices = on_the_host(set.indices);
  const std::int64_t row = indices(0);
  const auto table = window(set.table.value(), row, 1), gradient = window(set.table.grad(), row, 1);
  const auto y = window(set.y, 0, 1);
  Worst worst;
  std::vector<double> sum(static_cast<std::size_t>(set.form.cols)), magnitude(sum.size());
  const auto g = on_the_host(set.g);
  for (std::int64_t i = 0; i < set.form.indices; ++i) {
    if (indices(i) != row) continue;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double element = g(i, static_cast<std::int64_t>(c));
      sum[c] += element, magnitude[c] += std::abs(element);
    }
  }
  for (std::size_t c = 0; c < sum.size(); ++c) {
    const auto column = static_cast<std::int64_t>(c);
    worst.add(y(0, column), table(0, column), 1e-30);
    worst.add(gradient(0, column), sum[c], 16 * 0x1p-24 * magnitude[c] + 1e-30);
  }
  return worst.value();
}

}  // namespace

template <class D>
void add_embedding(Workloads& workloads, Scale scale, D device) {
  std::vector<Form> forms{{17, 5, 8, false}, {300, 5, 8, true}};
  if (scale == Scale::full) {
    constexpr std::int64_t k = 1024;
    forms = {{4 * k, 50257, 768, false}, {64 * k, 50257, 768, false}, {512 * k, 1000, 16, true}};
  }
  for (const Form& f : forms) {
    Workload w{"embedding", f.equal ? "equal indices" : "random indices", "f32", {f.indices, f.rows, f.cols}};
    // Rows are read and written, their gradients read; the table's gradient is written.
    w.bytes = 4 * static_cast<double>((3 * f.indices + f.rows) * f.cols) + 16 * static_cast<double>(f.indices);
    w.prepare = [=, bytes = w.bytes]() -> std::vector<Variant> {
      const auto sets = rotation(device, bytes, [&] { return Set<D>(f, device); });
      const auto run = [=] {
        Set<D>& set = sets->next();
        set.train();
        return &set;
      };
      return {{"locus", [=] { (void)run(); }, [=] { return error_of(*run()); }}, copy_of(device, bytes)};
    };
    workloads.push_back(std::move(w));
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_embedding)
