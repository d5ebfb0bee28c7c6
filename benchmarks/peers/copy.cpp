// Memory bandwidth: memcpy of "copy COUNT" floats by all threads, the bound of workloads that read and write as many
// bytes.

#include "../support/host_server.hpp"

#include <cstring>

#include <omp.h>

int main() {
  return bench::serve("memcpy", {{"copy", [](const bench::Work& w) {
                                    const auto from = w.operand(0, w.elements()), to = bench::memory(w.elements());
                                    const auto run = [=] {
#pragma omp parallel
                                      {
                                        const std::int64_t threads = omp_get_num_threads(), i = omp_get_thread_num();
                                        const std::int64_t first = from->size() * i / threads;
                                        const std::int64_t last = from->size() * (i + 1) / threads;
                                        std::memcpy(to->data() + first, from->data() + first,
                                                    static_cast<std::size_t>(last - first) * sizeof(float));
                                      }
                                    };
                                    return bench::Prepared{run, [=] { return to->copy(); }};
                                  }}});
}
