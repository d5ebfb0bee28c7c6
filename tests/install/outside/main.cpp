// A user's program, built against the installed headers with the flags of pkg-config or CMake.
#include <zlib.h>

#include <cstdio>
#include <locus/core/shape.hpp>

static_assert(LOCUS_THREADS == 1, "the flags lack -pthread and -fopenmp");
static_assert(LOCUS_ZLIB == 1, "the flags leave zlib out, which is here");

int main() {
  const auto shape = locus::broadcast({4, 1}, {3});
  std::printf("%s, zlib %s\n", to_string(shape).c_str(), zlibVersion());
  return shape == locus::Shape{4, 3} ? 0 : 1;
}
