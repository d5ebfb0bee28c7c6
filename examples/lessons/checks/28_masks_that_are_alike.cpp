// expect-error(gcc): each_rank_would_draw_its_own_numbers.*with_numbers_of_mesh_generator
// expect-error(clang): each rank would draw its own numbers; say dropout.x, p, numbers. with numbers of mesh.generator
// expect-error(nvcc): with_numbers_of_mesh_generator
#include LESSON

#include <locus/distributed/start/spawn.hpp>

#include <cstdio>
#include <string>

static_assert(std::is_convertible_v<decltype(std::declval<Dropout&>()(std::declval<const Hidden&>())), Hidden>,
              "a Dropout returns values that differ along Data and are the same along Model, as its input");

int main() try {
  std::string first[4], second[4];  // a letter for each element of a rank's result: d, dropped, or k, kept
  dist::spawn<Cpu>(4, [&](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Data, Model> mesh(comm, {2, 2});
    Dropout dropped{mesh};
    const Hidden x = trace(mesh.label<Varying<Data>, Invariant<Model>>(ones({32})));
    for (std::string* const shown : {first, second}) {
      const Hidden y = dropped(x);
      const Tensor<float> of_rank = y.local().value();
      for (std::int64_t i = 0; i < 32; ++i) shown[comm.rank()] += of_rank(i) == 0 ? 'd' : 'k';
    }
  });
  const char* wrong = first[0] != first[1] || first[2] != first[3] ? "ranks that have the same x drop other elements"
                      : first[0] == first[2]                       ? "ranks with other samples drop the same elements"
                      : first[0] == second[0]                      ? "the second step drops the elements of the first"
                                                                   : nullptr;
  if (wrong) std::printf("%s\n", wrong);
  return wrong ? 1 : 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
