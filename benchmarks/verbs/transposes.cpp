// Copies of transposed matrices, beside a plain copy. Sizes: rows, columns.

#include "operands.hpp"

namespace bench {
namespace {

template <class T, class D>
void add(Workloads& workloads, std::int64_t rows, std::int64_t cols, D device) {
  Workload w{"transpose", "copy", std::is_same_v<T, float> ? "f32" : "bf16", {rows, cols}};
  w.bytes = 2 * static_cast<double>(rows * cols) * sizeof(T);
  w.prepare = [=, bytes = w.bytes]() -> std::vector<Variant> {
    struct Set {
      Tensor<T, D> x, y;
    };
    const auto sets = rotation(device, bytes, [&] { return Set{locus::randn<T>({rows, cols}, device), {}}; });
    const auto run = [=] {
      Set& set = sets->next();
      set.y = set.x.transpose().contiguous();
      return &set;
    };
    const auto error = [=] {
      const Set& set = *run();
      Worst worst;
      for (const std::int64_t at : places(rows, 2)) {
        const auto x = window(set.x, at, 2), y = on_the_host(set.y.slice(1, at, at + x.size(0)).contiguous());
        for (std::int64_t i = 0; i < x.size(0); ++i)
          for (std::int64_t j = 0; j < cols; ++j)
            worst.add(locus::convert<double>(y(j, i)), locus::convert<double>(x(i, j)), 1e-30);
      }
      return worst.value();
    };
    return {{"locus", [=] { (void)run(); }, error}, copy_of(device, bytes)};
  };
  workloads.push_back(std::move(w));
}

}  // namespace

template <class D>
void add_transposes(Workloads& workloads, Scale scale, D device) {
  const std::int64_t side = scale == Scale::tiny ? 33 : 8192;
  for (const std::int64_t cols : {side, side - 1}) {
    add<float>(workloads, side, cols, device);
    add<locus::bfloat16>(workloads, side, cols, device);
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_transposes)
