#pragma once
// Functions in double, from which errors of float functions are measured. mpfr.cpp measures the errors of these.

#include <cstddef>
#include <span>
#include <string_view>

namespace accuracy {

/// The second argument beside a float x.
enum class Second {
  none,
  any,       ///< any float
  exponent,  ///< for x^y: any float, or a number for which x^y is finite
};

/// exact = f(x), or f(x, y), of n numbers; n is a multiple of `lanes`.
using ExactLoop = void (*)(const double* x, const double* y, double* exact, std::size_t n);
inline constexpr std::size_t lanes = 8;

struct Reference {
  const char* name;
  ExactLoop run;
  Second second = Second::none;
  ExactLoop closer = nullptr;  ///< slower, within 1 ulp of double; null: `run` is
};

[[nodiscard]] std::span<const Reference> references();
/// null if there is none of this name
[[nodiscard]] const Reference* reference_of(std::string_view name);

}  // namespace accuracy
