#pragma once
// Operands of the workloads: random numbers, in enough sets that none is found in a GPU's cache; and comparison of
// results with float64.

#include "gpu.hpp"

#include <locus/cuda/backend.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace bench {

using locus::Cpu;
using locus::Cuda;
using locus::Shape;
using locus::Tensor;

template <class D>
inline constexpr bool on_host = std::is_same_v<D, Cpu>;

/// How many sets of `bytes` exceed three times a GPU's L2 cache, at most 512. One on the host, where caches stay warm.
template <class D>
[[nodiscard]] std::int64_t sets_beyond_cache(D device, double bytes) {
#if LOCUS_CUDA
  if constexpr (!on_host<D>) {
    const auto cache = static_cast<double>(level_2_bytes(device.ordinal));
    return std::min<std::int64_t>(static_cast<std::int64_t>(3 * cache / bytes) + 1, 512);
  }
#endif
  (void)device, (void)bytes;
  return 1;
}

/// Sets of operands, used in rotation.
template <class Set>
class Rotation {
 public:
  template <class Make>
  Rotation(std::int64_t count, const Make& make) {
    for (std::int64_t i = 0; i < count; ++i) sets_.push_back(make());
  }
  [[nodiscard]] Set& next() {
    at_ = at_ + 1 < sets_.size() ? at_ + 1 : 0;
    return sets_[at_];
  }

 private:
  std::vector<Set> sets_;
  std::size_t at_ = 0;
};
/// A rotation that the variants of a workload share.
template <class D, class Make>
[[nodiscard]] auto rotation(D device, double bytes, const Make& make) {
  return std::make_shared<Rotation<decltype(make())>>(sets_beyond_cache(device, bytes), make);
}

/// The largest error so far, relative to its rounding bound; sticks at NaN.
class Worst {
 public:
  void add(double value, double expected, double allowed) {
    const double error = std::abs(value - expected) / allowed;
    if (!(error <= worst_)) worst_ = error;
  }
  [[nodiscard]] double value() const { return worst_; }

 private:
  double worst_ = 0;
};

/// Elements on the host.
template <class T, class D>
[[nodiscard]] Tensor<T, Cpu> on_the_host(const Tensor<T, D>& x) {
  return x.template to<Cpu>();
}
/// Positions to check in `count` elements or rows: windows of `width` at the beginning, at a third and at the end.
[[nodiscard]] inline std::vector<std::int64_t> places(std::int64_t count, std::int64_t width) {
  const std::int64_t last = count > width ? count - width : 0;
  return {0, last / 3, last};
}
/// `width` rows (elements of a vector) from row `from`, copied to the host.
template <class T, class D>
[[nodiscard]] Tensor<T, Cpu> window(const Tensor<T, D>& x, std::int64_t from, std::int64_t width) {
  return on_the_host(x.slice(0, from, std::min(from + width, x.size(0))));
}

/// Copies within the host's memory, with all threads.
void copy_on_host(void* to, const void* from, std::size_t bytes);
template <class D>
void copy_bytes([[maybe_unused]] D device, void* to, const void* from, std::size_t bytes) {
  if constexpr (on_host<D>) copy_on_host(to, from, bytes);
#if LOCUS_CUDA
  else copy_on_gpu(device.ordinal, to, from, bytes);
#endif
}

/// The reference copy of a workload of `bytes`: reads and writes as many bytes in total, at most 1 GiB.
template <class D>
[[nodiscard]] Variant copy_of(D device, double bytes) {
  struct Set {
    Tensor<float, D> from, to;
  };
  const auto count = static_cast<std::int64_t>(std::min(bytes, 0x1p30) / 8);
  const double moved = 8 * static_cast<double>(count);
  const auto sets = rotation(device, moved, [&] {
    return Set{locus::randn<float>({count}, device), Tensor<float, D>({count}, device)};
  });
  const auto run = [=] {
    Set& set = sets->next();
    copy_bytes(device, set.to.data(), set.from.data(), static_cast<std::size_t>(count) * sizeof(float));
    return &set;
  };
  const auto error = [=] {
    const Set& set = *run();
    Worst worst;
    for (std::int64_t at : places(count, 64)) {
      const auto from = window(set.from, at, 64), to = window(set.to, at, 64);
      for (std::int64_t i = 0; i < to.elements(); ++i) worst.add(to(i), from(i), 1e-30);
    }
    return worst.value();
  };
  return {"copy", [=] { (void)run(); }, error, moved};
}

}  // namespace bench
