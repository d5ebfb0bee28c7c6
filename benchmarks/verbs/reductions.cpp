// Sums over everything and along an axis, beside CUB's. Sizes: rows, columns.

#include "operands.hpp"

#include <locus/ops/reduce.hpp>

#include <cmath>

namespace bench {
namespace {

/// Sums of all elements, of each row, or of each column.
enum class Axis { all, rows, columns };
struct Form {
  Axis axis;
  std::int64_t rows, cols;
};

const char* name_of(Axis axis) {
  return axis == Axis::all ? "sum of all" : axis == Axis::rows ? "sums of rows" : "sums of columns";
}

template <class D>
struct Set {
  Tensor<float, D> x, y;
};

/// The error of the total, or of three rows or columns.
template <class D>
double error_of(const Form& form, const Set<D>& set) {
  const auto x = on_the_host(set.x), y = on_the_host(set.y);
  Worst worst;
  const auto judge = [&](float value, std::int64_t first, std::int64_t count, std::int64_t step) {
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double element = x.data()[first + i * step];
      sum += element;
      magnitude += std::abs(element);
    }
    worst.add(value, sum, 8 * 0x1p-24 * magnitude);
  };
  if (form.axis == Axis::all) judge(y.data()[0], 0, x.elements(), 1);
  else if (form.axis == Axis::rows)
    for (const std::int64_t at : places(form.rows, 1)) judge(y.data()[at], at * form.cols, form.cols, 1);
  else
    for (const std::int64_t at : places(form.cols, 1)) judge(y.data()[at], at, form.rows, form.cols);
  return worst.value();
}

template <class D>
std::vector<Variant> prepare(const Form& form, double bytes, D device) {
  const std::int64_t results = form.axis == Axis::all ? 1 : form.axis == Axis::rows ? form.rows : form.cols;
  const auto sets = rotation(device, bytes, [=] {
    return Set<D>{locus::randn<float>({form.rows, form.cols}, device), Tensor<float, D>({results}, device)};
  });
  const auto variant = [=](const char* name, auto add_up) {
    const auto error = [=] {
      Set<D>& set = sets->next();
      add_up(set);
      return error_of(form, set);
    };
    return Variant{name, [=] { add_up(sets->next()); }, error};
  };
  std::vector<Variant> variants{variant("locus", [=](Set<D>& set) {
    if (form.axis == Axis::all) set.y = sum(set.x);
    else set.y = sum(set.x, form.axis == Axis::rows ? 1 : 0);
  })};
#if LOCUS_CUDA
  if constexpr (!on_host<D>) {
    if (form.axis != Axis::columns) {
      const CubSum theirs(device.ordinal, results, form.rows * form.cols / results);
      variants.push_back(variant("CUB", [=](Set<D>& set) { theirs.run(set.x.data(), set.y.data()); }));
    }
  }
#endif
  variants.push_back(copy_of(device, bytes));
  return variants;
}

}  // namespace

template <class D>
void add_reductions(Workloads& workloads, Scale scale, D device) {
  std::vector<Form> forms{{Axis::all, 5, 100}, {Axis::rows, 5, 100}, {Axis::columns, 5, 100}};
  if (scale == Scale::full) {
    constexpr std::int64_t k = 1024;
    forms = {{Axis::all, k, 16 * k},     {Axis::all, k, 256 * k},     {Axis::rows, 64 * k, k},
             {Axis::rows, 64, k * k},    {Axis::rows, 1000003, 31},   {Axis::columns, 64 * k, k},
             {Axis::columns, 64, k * k}, {Axis::columns, 1000003, 31}};
  }
  for (const Form& form : forms) {
    Workload w{"reduce", name_of(form.axis), "f32", {form.rows, form.cols}};
    w.bytes = 4 * static_cast<double>(form.rows * form.cols);
    w.flops = static_cast<double>(form.rows * form.cols);
    w.prepare = [=, bytes = w.bytes] { return prepare(form, bytes, device); };
    workloads.push_back(std::move(w));
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_reductions)
