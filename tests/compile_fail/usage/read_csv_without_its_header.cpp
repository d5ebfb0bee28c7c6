// `io::read_csv("prices.csv")` without its header.
// group: Headers that locus.hpp leaves out
// because: programs that do not use it would pay for it as they are compiled
// expect-error(gcc): include_locus_io_csv_hpp
// expect-error(nvcc): include_locus_io_csv_hpp
// expect-error(clang): #include <locus/io/csv\.hpp> is missing
#ifndef LOCUS_MUST_FAIL
#include <locus/io/csv.hpp>
#endif
#include <locus/locus.hpp>

using namespace locus;

auto mistake() { return io::read_csv("prices.csv"); }
