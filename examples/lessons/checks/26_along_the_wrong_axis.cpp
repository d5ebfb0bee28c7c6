// expect-error(gcc): x_is_Varying_along_this_axis.*use_the_axis_along_which_it_is_Partial
// expect-error(clang): x is Varying along this axis; use the axis along which it is Partial
// expect-error(nvcc): use_the_axis_along_which_it_is_Partial
#include LESSON

#include <locus/distributed/start/spawn.hpp>

#include <cstdio>

using Product = Over<Tensor<float>, Varying<Data>, Replicated<Model>>;
static_assert(std::is_convertible_v<decltype(product(std::declval<const Mesh&>(), std::declval<const Block&>(),
                                                     std::declval<const Weights&>())),
                                    Product>,
              "product() returns rows that differ along Data and are the same along Model: all_reduce() gives them");

int main() try {
  float found[4] = {};
  dist::spawn<Cpu>(4, [&](const dist::Communicator<Cpu>& comm) {
    const Mesh mesh(comm, {2, 2});
    // The matrix x is {{1, 2}, {3, 4}}, w is {{10}, {100}}; each rank has one element of x.
    const Block x = mesh.label<Varying<Data>, Varying<Model>>(full({1, 1}, static_cast<float>(comm.rank() + 1)));
    const float weight = mesh.along<Model>().rank() == 0 ? 10 : 100;
    const Weights w = mesh.label<Invariant<Data>, Varying<Model>>(full({1, 1}, weight));
    const Product y = product(mesh, x, w);
    found[comm.rank()] = y.local().item();
  });
  if (found[0] == 210 && found[1] == 210 && found[2] == 430 && found[3] == 430) return 0;
  std::printf(
      "{{1, 2}, {3, 4}} times {{10}, {100}} is {{210}, {430}}; the ranks that have the first row have %g and %g, "
      "the others %g and %g\n",
      static_cast<double>(found[0]), static_cast<double>(found[1]), static_cast<double>(found[2]),
      static_cast<double>(found[3]));
  return 1;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
