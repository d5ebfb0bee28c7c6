// Loads a safetensors file in several ways; milliseconds of each, the fastest of ten. For benchmarks/safetensors.py.

#include <locus/io/mapped.hpp>
#include <locus/io/safetensors_view.hpp>

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
  std::printf("%s %.3f\n", name, best);
}

/// Reads a byte of each page.
unsigned touched(const std::byte* data, std::size_t size) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < size; i += 4096) sum += static_cast<unsigned>(data[i]);
  return sum;
}
}  // namespace

int main(int, char** arguments) {
  const std::string path = arguments[1];
  volatile unsigned sink = 0;
  measure("copied", [&] { (void)io::load(path); });
  measure("mapped", [&] { (void)io::load_mapped(path); });
  measure("mapped, every page read", [&] {
    for (const auto& entry : io::load_mapped(path))
      sink = sink + touched(reinterpret_cast<const std::byte*>(entry.bytes.data()),
                            static_cast<std::size_t>(entry.bytes.elements()));
  });
  measure("views", [&] { const io::SafetensorsFile file(path); });
  measure("views, every page read", [&] {
    for (const auto& view : io::SafetensorsFile(path)) sink = sink + touched(view.data.data(), view.data.size());
  });
}
