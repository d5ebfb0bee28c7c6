// expect-error(gcc): assigning_to_a_temporary_view.*write_through_it_with_copy_
// expect-error(clang): assigning to a temporary view: write through it with copy_\(\)
// expect-error(nvcc): write_through_it_with_copy_
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

static_assert(
    std::is_same_v<decltype(&put_row), void (*)(const Tensor<float>&, std::int64_t, const Tensor<float, Pinned>&)>,
    "put_row() takes a table on Cpu, the index of a row, and a row in pinned memory");

int main() try {
  // Without CUDA there is no page-locked memory; ordinary memory stands in for it.
  float memory[] = {7, 8};
  const Tensor<float, Pinned> row({}, memory, {2}, row_major({2}));
  const Tensor<float, Cpu> table = from({{1, 2}, {3, 4}, {5, 6}});
  put_row(table, 1, row);
  const float wanted[] = {1, 2, 7, 8, 5, 6};
  for (int i = 0; i < 6; ++i) {
    if (table(i / 2, i % 2) == wanted[i]) continue;
    std::printf("element (%d, %d) of the table is %g; expected %g\n", i / 2, i % 2, table(i / 2, i % 2), wanted[i]);
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
