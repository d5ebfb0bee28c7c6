// `data::read_image("cat.jpg")` without its header.
// group: Headers that locus.hpp leaves out
// because: programs that do not use it would pay for it as they are compiled
// expect-error(gcc): include_locus_data_files_image_file_hpp
// expect-error(nvcc): include_locus_data_files_image_file_hpp
// expect-error(clang): #include <locus/data/files/image_file\.hpp> is missing
#ifndef LOCUS_MUST_FAIL
#include <locus/data/files/image_file.hpp>
#endif
#include <locus/locus.hpp>

using namespace locus;

auto mistake() { return data::read_image("cat.jpg"); }
