// Lesson 16: in place keeps its place
//
// Goal: put_row() writes a row, which came from the GPU and waits in pinned memory, over row i of a table on Cpu.
// The table keeps its memory and its place, so everyone who holds it sees the new row.
//
// In PyTorch table[i] = row writes through; were row still on the GPU, it would silently be copied, and the program
// would silently wait for the GPU. With a name in between, view = table[i] and then view = row, the name gets
// another tensor and the table silently keeps its old row. Here a temporary view is not assigned to, and what writes
// in place never moves anything between places.
//
// hint: A view shares the table's memory. To write through it, copy_() into it.
// hint: The next error is about places: the row must first come to where the table is.
#include <locus/cuda/pinned.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

void put_row(const Tensor<float, Cpu>& table, std::int64_t i, const Tensor<float, Pinned>& row) {
  table.select(0, i).copy_(row.to<Cpu>());
}
