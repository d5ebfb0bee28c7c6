// A program of somebody else, built against the installed headers.
#include <cstdio>
#include <locus/core/shape.hpp>

int main() {
  const auto shape = locus::broadcast({4, 1}, {3});
  std::printf("%s\n", to_string(shape).c_str());
  return shape == locus::Shape{4, 3} ? 0 : 1;
}
