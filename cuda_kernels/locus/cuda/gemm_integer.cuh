#pragma once
// Integer products, by tiles in shared memory.

#include <locus/cuda/launch_plan.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// Integers are multiplied and added as unsigned numbers, which wrap around.
template <class T>
using integer_accumulator_t = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T, class E>
struct IntegerProduct {
  MatrixRef<const T> a, b;
  MatrixRef<T> c;
  GemmBatch batch;
  E epilogue;
  bool accumulates;
  ProductTiles tiles;
};

template <class T, class E>
__global__ void __launch_bounds__(ProductTiles::threads) gemm_by_tiles(const __grid_constant__ IntegerProduct<T, E> p) {
  using A = integer_accumulator_t<T>;
  constexpr int tile = ProductTiles::tile;
  __shared__ A left[tile][tile + 1], right[tile][tile + 1];
  const int x = static_cast<int>(threadIdx.x) % tile, y = static_cast<int>(threadIdx.x) / tile;
  for (int64_t task = blockIdx.x; task < p.tiles.tasks; task += gridDim.x) {
    const int64_t i = p.tiles.matrix(task), row = p.tiles.row(task) + y, col = p.tiles.col(task) + x;
    const T* const a = p.a.data + i * p.batch.a_stride;
    const T* const b = p.b.data + i * p.batch.b_stride;
    A sum = 0;
    for (int64_t k = 0; k < p.a.cols; k += tile) {
      const bool a_inside = row < p.a.rows && k + x < p.a.cols, b_inside = k + y < p.b.rows && col < p.b.cols;
      left[y][x] = a_inside ? static_cast<A>(a[row * p.a.row_stride + (k + x) * p.a.col_stride]) : A(0);
      right[y][x] = b_inside ? static_cast<A>(b[(k + y) * p.b.row_stride + col * p.b.col_stride]) : A(0);
      __syncthreads();
#pragma unroll
      for (int j = 0; j < tile; ++j) sum += left[y][j] * right[j][x];
      __syncthreads();
    }
    if (row < p.c.rows && col < p.c.cols) {
      T& target = p.c.data[i * p.batch.c_stride + row * p.c.row_stride + col * p.c.col_stride];
      target = static_cast<T>(p.epilogue(static_cast<T>(sum), p.accumulates ? target : T(0), row, col));
    }
  }
}

template <class T, class E>
void integer_gemm(Context& context, const GemmBatch& batch, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                  const MatrixRef<T>& c, const E& epilogue) {
  const ProductTiles tiles(batch.count, c.rows, c.cols);
  if (streams_are_checked()) [[unlikely]] {
    StreamUses uses(
        locus::detail::describe_gemm(locus::detail::type_text<E>(), batch.count, c.rows, c.cols, a.cols, sizeof(T)));
    const auto add = [&](const auto& matrix, int64_t batch_stride, bool writes) {
      const int64_t extent[] = {batch.count, matrix.rows, matrix.cols};
      const int64_t stride[] = {batch_stride, matrix.row_stride, matrix.col_stride};
      uses.add(matrix.data, 3, extent, stride, sizeof(T), writes);
    };
    add(a, batch.a_stride, false), add(b, batch.b_stride, false), add(c, batch.c_stride, true);
    uses.read_pointers_in(&epilogue, sizeof epilogue);
    context.check_order(uses);
  }
  ++locus::detail::launches.gemm;
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(
        locus::detail::describe_gemm(locus::detail::type_text<E>(), batch.count, c.rows, c.cols, a.cols, sizeof(T)));
  gemm_by_tiles<T, E><<<tiles.blocks(), ProductTiles::threads, 0, context.stream()>>>(
      IntegerProduct<T, E>{a, b, c, batch, epilogue, epilogue.accumulates(), tiles});
  context.launched("gemm", std::array<std::int64_t, 4>{batch.count, c.rows, c.cols, a.cols});
  trace.end(tiles.blocks(), ProductTiles::threads);
}

}}}  // namespace locus::LOCUS_ABI::cuda::detail
