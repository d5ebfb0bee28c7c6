// expect-error(gcc): beside_a_Partial_operand_every_rank_would_add_what_is_the_same_on_all<.*all_reduce_the_Partial_one_first
// expect-error(clang): beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first
// expect-error(nvcc): all_reduce_the_Partial_one_first
#include LESSON

#include <locus/distributed/spread/mesh.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/ops/reduce.hpp>

#include <cstdio>

using Whole = Over<Traced<float>>;
static_assert(std::is_convertible_v<decltype(row_linear(std::declval<const dist::Ranks<Model, Cpu>&>(),
                                                        std::declval<const Columns&>(), std::declval<const Weight&>(),
                                                        std::declval<const Bias&>())),
                                    Whole>,
              "row_linear() returns a traced value that is the same on all ranks: all_reduce<Invariant>() gives it");

int main() try {
  float values[3] = {}, gradients[3] = {};
  dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Model> mesh(comm, {3});
    // x is {1, 1, 1}, w is {1, 10, 100}, b is 5000; each rank has one column.
    const float weights[] = {1, 10, 100};
    const Columns x = trace(mesh.label<Varying<Model>>(ones({1, 1})));
    const Weight w = mesh.label<Varying<Model>>(Parameter<float>(full({1, 1}, weights[comm.rank()])));
    const Bias b = mesh.same(Parameter<float>(full({1}, 5000.0f)));
    const Whole y = row_linear(mesh.along<Model>(), x, w, b);
    values[comm.rank()] = y.value().item();
    sum(y).eval().backward();
    gradients[comm.rank()] = b.grad().item();
  });
  for (int rank = 0; rank < 3; ++rank) {
    if (values[rank] == 5111 && gradients[rank] == 1) continue;
    std::printf("1 + 10 + 100 + 5000 is 5111 and has the derivative 1 by the bias; rank %d has %g and %g\n", rank,
                static_cast<double>(values[rank]), static_cast<double>(gradients[rank]));
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
