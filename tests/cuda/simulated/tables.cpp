// Tables of the Cuda device on the host: plans of products, and the owners of blocks of memory.

#include <locus/core/rng.hpp>
#include <locus/cuda/backend.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <vector>

using namespace locus;

namespace {
/// Neighbouring keys differ in one value only, which is not always the same one.
cuda::detail::GemmPlanKey key_of(std::int64_t number) {
  cuda::detail::GemmPlanKey key{};
  key.values[static_cast<std::size_t>(number % 18)] = 1 + number / 18;
  return key;
}
cuda::detail::GemmPlan plan_of(std::int64_t number) {
  cuda::detail::GemmPlan plan;
  plan.workspace = static_cast<std::size_t>(number);
  return plan;
}
}  // namespace

TEST_CASE("plans are found by their keys, and all are forgotten when the table is full") {
  constexpr std::int64_t most = 4096;
  cuda::detail::GemmPlanTable<cuda::detail::GemmPlan> table;
  CHECK(table.find(key_of(0)) == nullptr);
  for (std::int64_t i = 0; i < most; ++i) REQUIRE(table.add(key_of(i), plan_of(i)).workspace == std::size_t(i));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto* plan = table.find(key_of(i));
    found += plan && plan->workspace == std::size_t(i) ? 1 : 0;
  }
  CHECK(found == most);
  CHECK(table.find(key_of(most)) == nullptr);
  table.add(key_of(most), plan_of(most));
  REQUIRE(table.find(key_of(most)) != nullptr);
  CHECK(table.find(key_of(most))->workspace == std::size_t(most));
  CHECK(table.find(key_of(0)) == nullptr);
}

TEST_CASE("owners of blocks: as a map that is changed in the same way") {
  std::vector<std::byte> memory(200);
  std::vector<std::byte> owners(7);
  cuda::BlockTable table;
  std::map<void*, cuda::StreamMemory*> expected;
  Philox random(7);
  for (int step = 0; step < 5000; ++step) {
    void* const block = &memory[static_cast<std::size_t>(random.bounded(200))];
    if (expected.count(block) || random.bounded(4) == 0) {
      table.erase(block);  // nothing happens where the block is not known
      expected.erase(block);
    } else {
      auto* const owner = reinterpret_cast<cuda::StreamMemory*>(&owners[static_cast<std::size_t>(random.bounded(7))]);
      table.add({.address = block, .owner = owner});
      expected[block] = owner;
    }
    if (step % 100 != 0) continue;
    bool equal = true;
    for (std::byte& byte : memory) {
      const auto known = expected.find(&byte);
      const cuda::MemoryBlock* const found = table.find(&byte);
      equal &= (found ? found->owner : nullptr) == (known == expected.end() ? nullptr : known->second);
    }
    CHECK(equal);
  }
}
