// The same, compiled by nvcc; runs only where a device answers.
#include <cstdio>
#include <locus/core/shape.hpp>

int main() { std::printf("%s\n", to_string(locus::broadcast({4, 1}, {3})).c_str()); }
