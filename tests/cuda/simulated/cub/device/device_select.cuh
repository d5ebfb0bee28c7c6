#pragma once
// CUB's selection by flags on the host.

#include <cub/simulated.hpp>

namespace cub {

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count>
  static cudaError_t Flagged(void* memory, std::size_t& bytes, In in, Flags flags, Out out, Count count, int items,
                             cudaStream_t stream) {
    if (items < 1) simulated::stop("a selection among nothing");
    return simulated::in_two_calls(memory, bytes, 100 + static_cast<std::size_t>(items), stream, [=] {
      int selected = 0;
      for (int i = 0; i < items; ++i)
        if (flags[i]) out[selected++] = in[i];
      *count = selected;
    });
  }
};

}  // namespace cub
