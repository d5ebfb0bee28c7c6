#pragma once
// The first random numbers of ranks, on record: the same for threads and for processes. What is wrong is thrown.

#include <locus/tensor/random.hpp>

#include <stdexcept>

namespace locus_test {

/// After manual_seed(11), in rank 0 to 3.
inline void check_rank_numbers(int rank) {
  using namespace locus;
  constexpr float recorded[4][2] = {{0x1.cac6ccp-1f, 0x1.eae616p-1f},
                                    {0x1.7bc74cp-2f, 0x1.439f64p-2f},
                                    {0x1.313c08p-2f, 0x1.10d8dp-3f},
                                    {0x1.fb8fb6p-1f, 0x1.c88c4cp-2f}};
  const Tensor<float> drawn = rand({2});
  if (drawn.data()[0] != recorded[rank][0] || drawn.data()[1] != recorded[rank][1])
    throw std::runtime_error(join("rank ", rank, " drew ", drawn.data()[0], " and ", drawn.data()[1]));
}

}  // namespace locus_test
