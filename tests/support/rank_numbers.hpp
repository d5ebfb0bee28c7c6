#pragma once
// Recorded first random numbers of ranks: the same for threads and for processes. Errors are thrown.

#include <locus/tensor/random.hpp>

#include <stdexcept>

namespace locus_test {

/// To be called in ranks 0 to 3 of the first group of ranks after manual_seed(11).
inline void check_rank_numbers(int rank) {
  using namespace locus;
  constexpr float recorded[4][2] = {{0x1.d2c63ap-1f, 0x1.f2c63p-3f},
                                    {0x1.7aa50ap-1f, 0x1.6e74d6p-1f},
                                    {0x1.934998p-2f, 0x1.12f9c8p-1f},
                                    {0x1.2f998p-2f, 0x1.334da8p-2f}};
  const Tensor<float> drawn = rand({2});
  if (drawn.data()[0] != recorded[rank][0] || drawn.data()[1] != recorded[rank][1])
    throw std::runtime_error(join("rank ", rank, " drew ", drawn.data()[0], " and ", drawn.data()[1]));
}

}  // namespace locus_test
