#include "next_byte.hpp"

#include <locus/core/rng.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

char NextByte::drawn(const std::vector<float>& scores) {
  if (!std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); }))
    locus::fail<locus::NumericError>({"a score of the model is NaN or infinite; train it with a smaller --lr"});
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t among = temperature_ == 0 ? 1 : top_k_ == 0 ? order.size() : static_cast<std::size_t>(top_k_);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(among), order.end(),
                    [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(among);
  if (among == 1) return static_cast<char>(order[0]);

  std::vector<double> up_to;  // sums of exp((score - largest) / temperature)
  double sum = 0;
  for (const std::size_t byte : order)
    up_to.push_back(sum += std::exp((static_cast<double>(scores[byte]) - scores[order[0]]) / temperature_));
  const double random = locus::uniform_double(seed_, draws_++) * sum;
  const auto chosen = std::upper_bound(up_to.begin(), up_to.end() - 1, random) - up_to.begin();
  return static_cast<char>(order[static_cast<std::size_t>(chosen)]);
}
