// A user's program, compiled by nvcc.
#include <cstdio>
#include <locus/core/shape.hpp>

int main() { std::printf("%s\n", to_string(locus::broadcast({4, 1}, {3})).c_str()); }
