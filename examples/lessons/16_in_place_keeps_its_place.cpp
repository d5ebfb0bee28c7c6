// Lesson 16: in place keeps its place
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: put_row() writes a row, which came from the GPU and waits in pinned memory, over row i of a table on Cpu. The
// table keeps its memory and its place, so every handle to it sees the new row.
//
// In PyTorch table[i] = row writes through; were row still on the GPU, it would silently be copied, and the program
// would silently wait for the GPU. With view = table[i] and then view = row, the name is bound to another tensor and
// the table silently keeps its old row. Here a temporary view cannot be assigned to, and in-place operations never copy
// between places.
#include <locus/cuda/pinned.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

void put_row(const Tensor<float, Cpu>& table, std::int64_t i, const Tensor<float, Pinned>& row) {
  table.select(0, i) = row;  // <- mend this
}
