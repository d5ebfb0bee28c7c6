// Runs on: host; alone.
// A user's device chooses between two algorithms of an operation by CostModel.

#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/optim/clip.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <support/reference_device.hpp>

namespace locus_test {

/// The reference device, in memory that the host can access, with its own cost model.
struct Folding {
  friend constexpr bool operator==(Folding, Folding) = default;
};
[[nodiscard]] inline std::string to_string(Folding) { return "folding"; }

}  // namespace locus_test

namespace locus {
using locus_test::Folding;
using locus_test::ReferenceDevice;

template <>
struct Backend<Folding> {
  using Base = Backend<ReferenceDevice>;
  static void* allocate(Folding, std::size_t bytes) { return Base::allocate({}, bytes); }
  static void deallocate(Folding, void* data, std::size_t bytes) noexcept { Base::deallocate({}, data, bytes); }
  static MemoryStats memory_stats(Folding) { return Base::memory_stats({}); }
  static void synchronize(Folding) {}
  static void map(Folding, const auto&... x) { Base::map(ReferenceDevice{}, x...); }
  static void for_each_row(Folding, std::int64_t rows, std::int64_t cols, const auto& f) {
    Base::for_each_row(ReferenceDevice{}, rows, cols, f);
  }
  static void reduce(Folding, const auto& plan, const auto& f, const auto& op, const auto& in, const auto* previous,
                     auto* out) {
    Base::reduce(ReferenceDevice{}, plan, f, op, in, previous, out);
  }
  template <class T, class E>
  static void gemm(Folding, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    Base::gemm(ReferenceDevice{}, batch, a, b, c, epilogue);
  }
};
template <>
struct Transfer<Folding, Cpu> {
  static void copy(Folding, const void* source, Cpu, void* target, std::size_t bytes) {
    Transfer<ReferenceDevice, Cpu>::copy({}, source, {}, target, bytes);
  }
};
template <>
struct Transfer<Cpu, Folding> {
  static void copy(Cpu, const void* source, Folding, void* target, std::size_t bytes) {
    Transfer<Cpu, ReferenceDevice>::copy({}, source, {}, target, bytes);
  }
};
template <>
struct CostModel<Folding> {
  static constexpr bool folds_across_memory = true;
  static constexpr bool follows_indices = false;
  static constexpr bool checks_indices = false;
  static constexpr bool folds_again = false;
  static constexpr bool reads_scalars = false;
};
template <>
inline constexpr bool can_access<Cpu, Folding> = true;
static_assert(Device<Folding>);
}  // namespace locus

using namespace locus;

TEST_CASE("softmax along columns takes the way that the device's cost model names, with the same result") {
  const Tensor<float> x = randn({20, 64});
  const auto by_rows = x.to<ReferenceDevice>();
  const auto by_folds = x.to<Folding>();
  const LaunchLog rows;
  const Tensor expected = softmax(by_rows, 0).to<Cpu>();
  CHECK(rows.counts().rows == 1);
  CHECK(rows.counts().reduce == 0);
  const LaunchLog folds;
  const Tensor found = softmax(by_folds, 0).to<Cpu>();
  CHECK(folds.counts().rows == 0);
  CHECK(folds.counts().reduce == 2);
  CHECK(folds.counts().map == 1);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 64; ++j) CHECK(found(i, j) == doctest::Approx(expected(i, j)).epsilon(1e-6));
}

TEST_CASE("a device whose memory the host shares need not take the host's ways") {
  const Tensor<float, Folding> large({3});
  for (int i = 0; i < 3; ++i) large.data()[i] = 1e30f;
  const LaunchLog log;
  const Tensor length = norm(large);
  CHECK(log.counts().reduce == 1);  // the safe fold at once, whereas the host folds twice
  CHECK(length.item() == doctest::Approx(1.7320508e30f));
  const Tensor<std::int64_t, Folding> indices({2});
  indices.data()[0] = 2, indices.data()[1] = 7;
  const Tensor picked = index_select(large, 0, indices);
  CHECK(picked.data()[0] == 1e30f);
  CHECK(std::isnan(picked.data()[1]));
}

TEST_CASE("a norm is read by the host or by the launch that clips, with the same result") {
  const Tensor<float> x = randn({77});
  const auto clipped = [&]<class D>(D, double most, std::int64_t launches) {
    const Parameter<float, D> w(zeros({77}).template to<D>());
    Traced(trace(w) * 1.f).backward(x.template to<D>());
    (void)flatten(std::vector{w});
    const LaunchLog log;
    const auto norm = optim::clip_grad_norm_(std::vector{w}, most);
    CHECK(log.launches() == launches);
    return concat({w.grad().template to<Cpu>(), norm.template to<Cpu>().reshape({1})});
  };
  for (const double most : {0.5, 1e6}) {
    const auto on_host = clipped(Cpu{}, most, most < 1 ? 2 : 1), in_launch = clipped(Folding{}, most, 2);
    for (std::int64_t i = 0; i < 78; ++i) CHECK(on_host(i) == doctest::Approx(in_launch(i)).epsilon(1e-6));
  }
}
