// Runs on: host.
// Starting ranks, and the work of one rank for all. processes_test.py tests the start by mpirun.

#include <locus/distributed/distributed.hpp>

#include <locus/io/safetensors.hpp>
#include <locus/nn/linear.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/free_port.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <cstdlib>

using namespace locus;
using namespace locus_test;

namespace {
using Comm = dist::Communicator<Cpu>;
/// Sets a variable and hides the variables of mpirun, which may have started the tests.
struct Variable {
  Variable(const char* variable, const char* value) : name(variable) {
    for (const char* const one : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK",
                                  "SLURM_STEP_NUM_TASKS", "RANK", "WORLD_SIZE"})
      unsetenv(one);
    if (value) setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name); }
  const char* name;
};
}  // namespace

TEST_CASE("without mpirun, launch starts threads, one where no number is given") {
  const Variable none("PMI_SIZE", nullptr);
  CHECK(dist::launched_processes() == 1);
  for (const int ranks : {0, 1, 3}) {
    Atomic<int> calls{0};
    dist::launch<Cpu>(ranks, [&](const Comm& comm) {
      CHECK(comm.size() == (ranks == 0 ? 1 : ranks));
      calls.fetch_add(1);
    });
    CHECK(calls.load() == (ranks == 0 ? 1 : ranks));
  }
  CHECK_THROWS_AS(dist::launch<Cpu>(-1, [](const Comm&) {}), ArgumentError);
}

TEST_CASE("a number of ranks that mpirun did not start is refused, whatever started the process") {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const Variable started(name, "4");
    CHECK(dist::launched_processes() == 4);
    const auto message = message_of<ArgumentError>([] { dist::launch<Cpu>(3, [](const Comm&) { CHECK(false); }); });
    CHECK(contains(message, "3 ranks, but mpirun started 4 processes; start 3, mpirun -n 3"));
  }
  const Variable wrong("PMI_SIZE", "several");
  CHECK(dist::launched_processes() == 1);
}

TEST_CASE("srun is known by its number of tasks, and must have said how they reach each other") {
  const Variable tasks("SLURM_STEP_NUM_TASKS", "4");
  CHECK(dist::launched_processes() == 1);
  for (const int ranks : {0, 4}) {
    const auto message =
        message_of<EngineUnavailable>([&] { dist::launch<Cpu>(ranks, [](const Comm&) { CHECK(false); }); });
    CHECK(
        contains(message, "srun started 4 processes, and did not tell them of each other; start them with srun --mpi"));
  }
  setenv("PMIX_RANK", "1", 1);
  CHECK(dist::launched_processes() == 4);
  const auto other = message_of<ArgumentError>([] { dist::launch<Cpu>(3, [](const Comm&) { CHECK(false); }); });
  CHECK(contains(other, "3 ranks, but mpirun started 4 processes"));
  unsetenv("PMIX_RANK");
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  int calls = 0;
  dist::launch<Cpu>(1, [&](const Comm& comm) { calls += comm.size(); });
  CHECK(calls == 1);
}

TEST_CASE("a process that torchrun started is the rank that it says") {
  const Variable size("WORLD_SIZE", "1");
  setenv("RANK", "0", 1);
  const int port = free_port();
  setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  int calls = 0;
  dist::launch<Cpu>(0, [&](const Comm& comm) { calls += comm.size(); });
  CHECK(calls == 1);
  CHECK(dist::TcpPlace::from_environment().port == port);
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);  // torchrun listens at the port itself
  CHECK(dist::TcpPlace::from_environment().port == port + 1);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  const auto message = message_of<ArgumentError>([] { dist::launch<Cpu>(3, [](const Comm&) { CHECK(false); }); });
  CHECK(contains(message, "3 ranks, but a launcher started 1 processes; start 3, torchrun --nproc-per-node 3"));
  for (const char* const one : {"RANK", "MASTER_PORT"}) unsetenv(one);
}

#if !LOCUS_MPI
TEST_CASE("processes of a program without MPI are not each a rank 0") {
  const Variable started("PMI_SIZE", "4");
  const auto message = message_of<EngineUnavailable>([] { dist::launch<Cpu>(4, [](const Comm&) { CHECK(false); }); });
  CHECK(contains(message, "built without MPI (each of the 4 processes that mpirun started would be rank 0 of 1)"));
  CHECK(contains(message, "apt-get install libopenmpi-dev"));
}
#endif

TEST_CASE("rank 0 works for all, who go on when it has, also when it failed") {
  TemporaryFolder folder;
  const std::string path = folder.path / "model.safetensors";
  dist::spawn<Cpu>(3, [&](const Comm& comm) {
    const nn::Linear<float, Cpu> model{2, 2};
    dist::on_rank_zero(comm, [&] {
      CHECK(comm.rank() == 0);
      io::save(path, nn::state_dict(model));
    });
    CHECK(io::load<Cpu>(path).size() == 2);  // it is there on all ranks
    const auto save = [&] { dist::on_rank_zero(comm, [&] { io::save("/none/such", nn::state_dict(model)); }); };
    if (comm.rank() == 0) {
      CHECK_THROWS_AS(save(), DataError);
    } else {
      try {
        save();
        CHECK(false);
      } catch (const RankError& error) {
        CHECK(error.rank == 0);
        CHECK(contains(error.what(), "rank 0 threw: cannot write '/none/such'"));
      }
    }
    CHECK_THROWS(dist::on_rank_zero(comm, [] { throw 3; }));
    const Tensor x = ones({4});
    comm.all_reduce(x);
    CHECK(x(0) == 3);
  });
}
