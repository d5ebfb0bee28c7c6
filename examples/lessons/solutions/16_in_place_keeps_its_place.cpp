// Lesson 16: in place keeps its place
//
// Goal: put_row() writes a row, which came from the GPU and waits in pinned memory, over row i of a table on Cpu. The
// table keeps its memory and its place, so every handle to it sees the new row.
//
// In PyTorch table[i] = row writes through; were row still on the GPU, it would silently be copied, and the program
// would silently wait for the GPU. With view = table[i] and then view = row, the name is bound to another tensor and
// the table silently keeps its old row. Here a temporary view cannot be assigned to, and in-place operations never copy
// between places.
//
// hint: A view shares the table's memory. To write through it, copy_() into it.
// hint: The next error is about places: the row must first come to where the table is.
#include <locus/cuda/pinned.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

void put_row(const Tensor<float, Cpu>& table, std::int64_t i, const Tensor<float, Pinned>& row) {
  table.select(0, i).copy_(row.to<Cpu>());
}
