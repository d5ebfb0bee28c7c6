// Copies between the host and a GPU, from pageable and from page-locked memory, and beside a product. Size: bytes.

#include "operands.hpp"

#include <locus/ops/matmul.hpp>
#include <locus/tensor/copy_async.hpp>

namespace bench {
namespace {

using locus::Pinned;

struct Set {
  Tensor<float, Cpu> pageable, to_pageable;
  Tensor<float, Pinned> pinned, to_pinned;
  Tensor<float, Cuda> here, to_here, a, product;
  locus::Stream<Cuda> copies;

  Set(std::int64_t count, std::int64_t side, Cuda device)
      : pageable(locus::randn<float>({count})),
        pinned(pageable.to<Pinned>()),
        here(pageable.to<Cuda>(device)),
        a(locus::randn<float>({side, side}, device)),
        copies(device) {}
};

/// A direction: the copy, and its result as a tensor on the host.
struct Transfer {
  const char* name;
  void (*run)(Set& set);
  Tensor<float, Cpu> (*arrived)(const Set& set);
};

Tensor<float, Cpu> arrived_here(const Set& set) { return set.to_here.to<Cpu>(); }

void copy_and_multiply(Set& set) {
  auto arriving = copy_async(set.pinned, set.copies);
  set.product = matmul(set.a, set.a);
  set.to_here = std::move(arriving).ordered();
}

constexpr Transfer transfers[] = {
    {"pageable to gpu", [](Set& set) { set.to_here = set.pageable.to<Cuda>(set.here.device()); }, arrived_here},
    {"pageable from gpu", [](Set& set) { set.to_pageable = set.here.to<Cpu>(); },
     [](const Set& set) { return set.to_pageable; }},
    {"pinned to gpu", [](Set& set) { set.to_here = set.pinned.to<Cuda>(set.here.device()); }, arrived_here},
    {"pinned from gpu", [](Set& set) { set.to_pinned = set.here.to<Pinned>(); },
     [](const Set& set) { return set.to_pinned.to<Cpu>(); }},
    {"pinned beside a product", copy_and_multiply, arrived_here}};

std::vector<Variant> prepare(const Transfer& transfer, std::int64_t bytes, std::int64_t side, Cuda device) {
  const auto set = std::make_shared<Set>(bytes / 4, side, device);
  const auto error = [=] {
    transfer.run(*set);
    const auto arrived = transfer.arrived(*set);
    const auto size = static_cast<std::size_t>(bytes);
    return std::memcmp(arrived.data(), set->pageable.data(), size) == 0 ? 0.0 : HUGE_VAL;
  };
  std::vector<Variant> variants{{"locus", [=] { transfer.run(*set); }, error}};
  if (transfer.run == copy_and_multiply) {
    variants.push_back({"product alone", [=] { set->product = matmul(set->a, set->a); }, [] { return 0.0; }});
  }
  return variants;
}

}  // namespace

void add_transfers(Workloads& workloads, Scale scale, Cuda device) {
  const std::vector<std::int64_t> sizes =
      scale == Scale::tiny ? std::vector<std::int64_t>{4096} : std::vector<std::int64_t>{1 << 20, 1 << 28};
  for (const std::int64_t bytes : sizes) {
    for (const Transfer& transfer : transfers) {
      Workload w{"transfer", transfer.name, "f32", {bytes}};
      w.bytes = static_cast<double>(bytes);
      w.blocks = true;
      w.prepare = [=] { return prepare(transfer, bytes, scale == Scale::tiny ? 16 : 4096, device); };
      workloads.push_back(std::move(w));
    }
  }
}

}  // namespace bench
