// Runs on: cuda (ranks).
// Checkpoints of ranks on GPUs; several ranks share a GPU if there are fewer.

#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>

#include <locus/expr/operators.hpp>
#include <locus/io/training.hpp>
#include <locus/nn/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// During its lifetime, work of the simulated GPUs is late.
struct Late {
#ifdef LOCUS_SIMULATED_CUDA
  Late() { simulated::late = true; }
  ~Late() { simulated::late = false; }
#else
  ~Late() {}
#endif
};
/// A model of two ranks, pieces of a parameter, and what follows from both.
template <class D>
struct Run {
  explicit Run(const dist::Communicator<D>& comm)
      : model(8, 4, true, comm.device()),
        first(12 * comm.rank() / comm.size()),
        piece(zeros<float, D>({12 * (comm.rank() + 1) / comm.size() - first}, comm.device())),
        parallel(dist::distributed(model, comm)),
        adam({model.weight, model.bias, piece}, {.lr = 0.1f}) {
    parts.add("model", model).add("piece", {3, 4}, dist::ElementRange{first}, piece);
    parts.add("optimizer", adam).add("step", step).template add_generators<D>();
  }
  void train(const dist::Communicator<D>& comm, int steps) {
    for (int i = 0; i < steps; ++i, ++step) {
      adam.zero_grad();
      mean(square(parallel(trace(randn<float, D>({4, 8}, comm.device()))))).backward();
      sum(square(trace(piece) - 1.f)).backward();
      adam.step();
    }
  }
  nn::Linear<float, D> model;
  std::int64_t first, step = 0;
  Parameter<float, D> piece;
  dist::Distributed<nn::Linear<float, D>> parallel;
  optim::Adam<float, D> adam;
  dist::Parts parts;
};
}  // namespace

TEST_CASE("a run on GPUs is saved beside its steps, goes on bit for bit, and loads on other ranks and on the host") {
  NEEDS_CUDA();
  const Late late;
  const TemporaryFolder folder;
  std::vector<Tensor<float, Cpu>> weights(2);
  CHECK_NOTHROW(dist::spawn<Cuda>(2, [&](const dist::Communicator<Cuda>& comm) {
    Run<Cuda> run(comm);
    dist::PartsSaver saver(comm);
    run.train(comm, 2);
    saver.save(folder.path / "run", run.parts, {.step = run.step});
    run.train(comm, 2);
    saver.wait();
    weights[static_cast<std::size_t>(comm.rank())] = run.model.weight.value().template to<Cpu>();
  }));
  CHECK(dist::checkpoint_info(folder.path / "run").run.get("gpu").starts_with("cuda:0: "));
  io::save_training(folder.path / "last", nn::Linear<float, Cuda>(2, 2, true, Cuda{cuda::device_count() - 1}));
  CHECK(
      io::read_run_record(folder.path / "last").get("gpu").starts_with(join("cuda:", cuda::device_count() - 1, ": ")));
  CHECK_NOTHROW(dist::spawn<Cuda>(2, [&](const dist::Communicator<Cuda>& comm) {
    Run<Cuda> run(comm);
    dist::load_parts(folder.path / "run", comm, run.parts);
    if (run.step != 2) throw std::runtime_error("another step");
    run.train(comm, 2);
    const Tensor<float, Cpu> mine = run.model.weight.value().template to<Cpu>();
    if (!all(mine == weights[static_cast<std::size_t>(comm.rank())]).item()) throw std::runtime_error("other bits");
  }));
  const auto check_other_ranks = [&]<class D>(D, int ranks) {
    CHECK_NOTHROW(dist::spawn<D>(ranks, [&](const dist::Communicator<D>& comm) {
      Run<D> run(comm);
      dist::load_parts(folder.path / "run", comm, run.parts, {.allow_other_ranks = true});
      const auto expected = dist::whole<float>(folder.path / "run", "piece").reshape({12});
      const Tensor<float, Cpu> mine = run.piece.value().template to<Cpu>();
      if (!all(mine == expected.slice(0, run.first, run.first + mine.elements())).item() || mine(0) == 0)
        throw std::runtime_error("another piece");
    }));
  };
  check_other_ranks(Cuda{}, 3);
  check_other_ranks(Cpu{}, 1);
}
