// expect-error(gcc): the_loss_is_Replicated_and_the_gradients_of_all_ranks_would_be_added.*go_back_from_the_Partial_value
// expect-error(clang): the loss is Replicated and the gradients of all ranks would be added; go back from the Partial value
// expect-error(nvcc): go_back_from_the_Partial_value
#include LESSON

#include <locus/distributed/spread/mesh.hpp>
#include <locus/distributed/start/spawn.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&backward), float (*)(const dist::Ranks<Data, Cpu>&, const Loss&)>,
              "backward() takes the ranks along Data and a loss that differs between them, and returns a number");

int main() try {
  float gradients[3] = {}, means[3] = {};
  dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Data> mesh(comm, {3});
    const auto& data = mesh.along<Data>();
    // The loss of rank r is 3 (r + 1) times a weight of 1.
    const Parameter<float> w(ones({}));
    const auto x = mesh.label<Varying<Data>>(full({}, static_cast<float>(3 * (data.rank() + 1))));
    const Loss loss = data.replicated(mesh.same(w)) * x;
    means[data.rank()] = backward(data, loss);
    if (w.has_grad()) gradients[data.rank()] = w.grad().item();
  });
  for (int rank = 0; rank < 3; ++rank) {
    if (means[rank] == 6 && gradients[rank] == 6) continue;
    std::printf(
        "the losses of three ranks are 3, 6 and 9, and their derivatives by a weight, too; rank %d has the mean %g "
        "and the gradient %g, expected 6 and 6\n",
        rank, static_cast<double>(means[rank]), static_cast<double>(gradients[rank]));
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
