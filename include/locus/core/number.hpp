#pragma once
// Numbers that a program writes beside tensors.

#include <locus/core/check.hpp>
#include <locus/core/dtype.hpp>

#include <limits>
#include <utility>

namespace locus::inline LOCUS_ABI::detail {

/// throws ArgumentError for an integer that T, an integer type, cannot hold: it would wrap around silently
template <class T, class N>
constexpr void require_fits([[maybe_unused]] const N& number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<N> && !std::is_same_v<T, N>) {
    if (!std::in_range<T>(+number)) {
      fail<ArgumentError>({number, " is no value of ", dtype_name<T>(), "; expected ", std::numeric_limits<T>::min(),
                           " to ", std::numeric_limits<T>::max()});
    }
  }
}

}  // namespace locus::inline LOCUS_ABI::detail
