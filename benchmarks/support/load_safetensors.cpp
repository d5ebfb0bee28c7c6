// Loads a safetensors file in several ways, and writes it again; for benchmarks/safetensors.py:
//
//     load_safetensors FILE COPY
//
// prints milliseconds of each, the fastest of ten. COPY is the file that is written.

#include <locus/io/mapped.hpp>
#include <locus/io/safetensors_view.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace locus;

namespace {
template <class F>
void measure(const char* name, const F& f) {
  double best = 1e9;
  for (int run = 0; run < 10; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%s: %.3f\n", name, best);
  std::fflush(stdout);
}

/// Reads a byte of each page.
unsigned touched(const std::byte* data, std::size_t size) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < size; i += 4096) sum += static_cast<unsigned>(data[i]);
  return sum;
}
}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: load_safetensors FILE COPY\n"), 2;
  const std::string path = arguments[1], copy = arguments[2];
  volatile unsigned sink = 0;
  measure("io::load", [&] { (void)io::load(path); });
  measure("io::load_mapped", [&] { (void)io::load_mapped(path); });
  measure("io::load_mapped, every page read", [&] {
    for (const auto& entry : io::load_mapped(path))
      sink = sink + touched(reinterpret_cast<const std::byte*>(entry.bytes.data()),
                            static_cast<std::size_t>(entry.bytes.elements()));
  });
  measure("io::SafetensorsFile", [&] { const io::SafetensorsFile file(path); });
  measure("io::SafetensorsFile, every page read", [&] {
    for (const auto& view : io::SafetensorsFile(path)) sink = sink + touched(view.data.data(), view.data.size());
  });
  const auto state = io::load(path);
  measure("io::save", [&] { io::save(copy, state); });
}
