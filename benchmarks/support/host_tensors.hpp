#pragma once
// Workloads of cpu.py in Locus: operands as tensors, and a timed function of them.

#include "host_server.hpp"

#include <locus/ops/view.hpp>
#include <locus/tensor/tensor.hpp>

#include <algorithm>

namespace bench {

using Tensor = locus::Tensor<float, locus::Cpu>;

[[nodiscard]] inline Tensor tensor(const Work& w, std::uint64_t operand, const locus::Shape& shape) {
  Tensor x(shape);
  const Memory numbers = w.operand(operand, x.elements());
  std::copy_n(numbers->data(), x.elements(), x.data());
  return x;
}

/// Each run creates its result tensor, as programs do; the allocator recycles the memory of an earlier one.
template <class T>
[[nodiscard]] Prepared computing(const T& f) {
  const auto y = std::make_shared<decltype(f())>();
  return {[=] { *y = f(); }, [=] { return std::vector<float>(y->data(), y->data() + y->elements()); }};
}

}  // namespace bench
