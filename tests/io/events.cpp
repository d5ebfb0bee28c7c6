// Writes events to the given folder: one of every kind; with "on", scalars until it is killed; with a step, scalars of
// a run that resumes at this step. tensor_board_test.py reads them.

#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/report/tensor_board.hpp>
#include <locus/tensor/factory.hpp>

#include <locus/tensor/from.hpp>

#include <cstdio>
#include <cstdlib>

using namespace locus;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2 && std::string_view(argv[2]) != "on") {
    const std::int64_t first = std::atoll(argv[2]);
    const io::TensorBoard again(argv[1], {.purge_step = first});
    for (std::int64_t step = first; step < first + 5; ++step) again.add_scalar("loss/train", 7, step);
    return 0;
  }
  const io::TensorBoard board(argv[1]);
  std::printf("%s\n", board.path().c_str());
  std::fflush(stdout);
  for (std::int64_t step = 0; argc > 2; ++step) board.add_scalar("loss", 0.5, step);

  for (std::int64_t step = 0; step < 300; ++step)
    board.add_scalar("loss/train", 1. / static_cast<double>(1 + step), step);
  board.add_histogram("weight", from({-1, 0, 0.5, 1, 1}), 7, 4);
  board.add_histogram("equal", from({3, 3}), 0);
  board.add_histogram("none", from({__builtin_nanf("")}), 0);
  board.add_image("grey", from<std::uint8_t>({0, 128, 255, 7, 8, 9}).reshape({1, 2, 3}), 3);
  board.add_image("colours", from<std::uint8_t>({255, 1, 2, 255, 3, 4}).reshape({3, 1, 2}), 4);
  board.add_text("note", "**bold** £", 5);
  board.add_graph(nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{3, 2}, nn::ReLU{}}, zeros<float>({4, 3}));
  board.add_hparams({{"lr", 0.5}, {"nesterov", true}, {"optimizer", "Adam"}, {"layers", 3}}, {{"accuracy", 0.75}});
}
