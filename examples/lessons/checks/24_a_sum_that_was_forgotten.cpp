// expect-error(gcc): an_Invariant_operand_such_as_a_parameter_w.*<Data>.*say_ranks_replicated_w
// expect-error(clang): an Invariant operand, such as a parameter w, meets one that is not; say ranks.replicated.w.
// expect-error(nvcc): say_ranks_replicated_w
#include LESSON

#include <locus/distributed/spread/mesh.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/reduce.hpp>

#include <cstdio>

static_assert(
    std::is_convertible_v<decltype(std::declval<const Regression&>().forward(std::declval<const Samples&>())), Samples>,
    "forward() takes traced samples that differ between ranks, and returns such values");

int main() try {
  float found[3] = {};
  dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Data> mesh(comm, {3});
    const auto& data = mesh.along<Data>();
    // The sample of rank r is r + 1, the weight is 1: the loss is (r + 1)^2 and its gradient 2 (r + 1)^2.
    const Regression model{data, mesh.same(Parameter<float>(ones({1, 1})))};
    const auto x = mesh.label<Varying<Data>>(full({1, 1}, static_cast<float>(data.rank() + 1)));
    const Samples y = model.forward(trace(x));
    data.partial(mean(square(y)) / data.size()).backward();  // parts of one sum: the mean of the losses
    if (model.w.local().has_grad()) found[data.rank()] = model.w.grad().item();
  });
  for (const float gradient : found) {
    if (gradient > 9.33f && gradient < 9.34f) continue;
    std::printf("the gradients of three ranks' losses are 2, 8 and 18; a rank has %g, expected their mean, 9.33333\n",
                static_cast<double>(gradient));
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
