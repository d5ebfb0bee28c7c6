#pragma once
// Loops of libraries whose functions take one vector.

#include <cstddef>

namespace accuracy {

/// z = f(x), or f(x, y), of n floats. V has the type of the vector (Type), the number of its floats (size), load(const
/// float*) and store(float*, Type). The last vector is filled up with ones.
template <class V, auto f>
void by_vectors(const void* first, const void* second, void* result, std::size_t n) {
  constexpr bool is_of_two = requires(typename V::Type v) { f(v, v); };
  const auto* const x = static_cast<const float*>(first);
  const auto* const y = static_cast<const float*>(second);
  auto* const z = static_cast<float*>(result);
  const auto of_one = [](const float* at_x, [[maybe_unused]] const float* at_y) {
    if constexpr (is_of_two) return f(V::load(at_x), V::load(at_y));
    else return f(V::load(at_x));
  };
  std::size_t k = 0;
  for (; k + V::size <= n; k += V::size) V::store(z + k, of_one(x + k, y + k));
  float last_x[V::size], last_y[V::size];
  for (std::size_t i = 0; i < V::size; ++i) {
    last_x[i] = k + i < n ? x[k + i] : 1;
    last_y[i] = is_of_two && k + i < n ? y[k + i] : 1;
  }
  V::store(last_x, of_one(last_x, last_y));
  for (std::size_t i = k; i < n; ++i) z[i] = last_x[i - k];
}

}  // namespace accuracy
