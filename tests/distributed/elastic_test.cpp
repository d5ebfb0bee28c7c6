// Runs on: host.
// Runs whose ranks are killed at random moments, and go on from their checkpoints. LOCUS_FUZZ_COUNT kills, by
// LOCUS_FUZZ_SEED; 200 take two minutes.

#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>

#include <locus/expr/operators.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/free_port.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <sys/time.h>

using namespace locus;
using namespace locus_test;

namespace {
using Comm = dist::Communicator<Cpu>;

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}
bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }
/// This process is killed within `microseconds`, in whatever it does then.
void die_within(std::uint64_t microseconds) {
  const itimerval timer{{}, {0, static_cast<suseconds_t>(1 + microseconds)}};
  setitimer(ITIMER_REAL, &timer, nullptr);  // SIGALRM ends a process that does not handle it
}

/// Trains a model on samples that each rank draws, and saves it every other step: in turn before it goes on, and beside
/// it. One rank of each of the first `kills` attempts is killed.
struct KilledRun {
  std::string folder;
  std::int64_t steps, kills, seed;

  void operator()(const Comm& comm, int attempt) const {
    const auto random = random_block(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(attempt), 0);
    const bool dies = attempt < kills && static_cast<int>(random.x % static_cast<unsigned>(comm.size())) == comm.rank();
    if (dies) die_within(random.y % 60'000);
    nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 8}, nn::ReLU{}, nn::Linear<float, Cpu>{8, 1}};
    const auto parallel = dist::distributed(model, comm);
    optim::Adam<float, Cpu> adam{parallel.parameters(), {.lr = 0.01}};
    std::int64_t step = 0;
    dist::Parts parts;
    parts.add("model", model).add("optimizer", adam).add("step", step).add_generators<Cpu>();
    if (const auto newest = dist::newest_checkpoint(folder, comm))
      dist::load_parts(*newest, comm, parts, {.allow_other_ranks = true});
    {
      dist::PartsSaver saver(comm);
      while (step < steps) {
        adam.zero_grad();
        mean(square(parallel(trace(randn<float>({4, 4}))))).backward();
        adam.step();
        ++step;
        if (step % 4 == 0) saver.save(join(folder, "/even"), parts, {.step = step});
        else if (step % 2 == 0) dist::save_parts(join(folder, "/odd"), comm, parts, {.step = step});
      }
      saver.wait();
    }
    dist::save_parts(join(folder, "/last"), comm, parts, {.step = step});
    while (dies) pause();
    comm.barrier();
  }
};
/// The model and the state of the optimizer at the end.
std::string last_bits(const std::string& folder) {
  std::string bits;
  for (const auto& entry : dist::whole_state(folder + "/last"))
    bits += entry.name + std::string(reinterpret_cast<const char*>(entry.bytes.data()),
                                     static_cast<std::size_t>(entry.bytes.elements()));
  return bits;
}
const dist::Options in_order{.timeout = 20, .sums = dist::Sums::in_rank_order};
}  // namespace

TEST_CASE("a run whose ranks are killed at random moments ends with the bits of an undisturbed run") {
  const TemporaryFolder undisturbed, disturbed;
  const std::int64_t kills = from_environment("LOCUS_FUZZ_COUNT", 5), seed = from_environment("LOCUS_FUZZ_SEED", 1);
  const std::int64_t steps = 10 * kills + 10;
  manual_seed(3);
  dist::run_elastic<Cpu>({.ranks = 3, .max_restarts = 0, .options = in_order},
                         KilledRun{undisturbed.path, steps, 0, seed});
  manual_seed(3);
  const Stopwatch watch;
  dist::run_elastic<Cpu>({.ranks = 3, .max_restarts = static_cast<int>(kills), .options = in_order},
                         KilledRun{disturbed.path, steps, kills, seed});
  MESSAGE(kills, " kills, ", watch.seconds(), " s");
  CHECK(last_bits(disturbed.path) == last_bits(undisturbed.path));
  CHECK(dist::checkpoint_info(disturbed.path / "last").step == steps);
  CHECK(disturbed.entries() == 3);  // no temporary folder is left
  CHECK_FALSE(has_children());
}

TEST_CASE("dead ranks are left out while enough are left; the failure that is one too many is thrown") {
  const TemporaryFolder folder;
  const auto sizes = [&](const dist::ElasticOptions& options, int kills) {
    const std::string path = folder.path / "sizes";
    (void)folder.write("sizes", "");
    std::string end;
    try {
      dist::run_elastic<Cpu>(options, [&](const Comm& comm, int attempt) {
        if (comm.rank() == 0) std::ofstream(path, std::ios::app) << attempt << ":" << comm.size() << " ";
        comm.barrier();
        if (attempt < kills && comm.rank() == comm.size() - 1) std::raise(SIGKILL);
        comm.barrier();
      });
    } catch (const RankError& error) {
      end = error.what();
    }
    return content_of(path) + end;
  };
  CHECK(sizes({.ranks = 3, .least_ranks = 2, .options = in_order}, 2) == "0:3 1:2 2:2 ");
  CHECK(sizes({.ranks = 2, .options = in_order}, 1) == "0:2 1:2 ");
  CHECK(sizes({.max_restarts = 0}, 0) == "0:1 ");
  CHECK(sizes({.ranks = 2, .max_restarts = 1, .options = in_order}, 2) ==
        "0:2 1:2 the process of rank 1 ended by signal 9");
  CHECK(sizes({.ranks = 2, .max_restarts = 0, .options = in_order}, 1) ==
        "0:2 the process of rank 1 ended by signal 9");
  CHECK_THROWS_AS(sizes({.ranks = 2, .least_ranks = 3}, 0), ArgumentError);
  CHECK_THROWS_AS(sizes({.ranks = -1}, 0), ArgumentError);
  CHECK_THROWS_AS(sizes({.ranks = 1, .max_restarts = -1}, 0), ArgumentError);
  CHECK_FALSE(has_children());
}

TEST_CASE("ranks that throw are started again, all of them; each attempt draws the same numbers") {
  const TemporaryFolder folder;
  manual_seed(4);
  dist::run_elastic<Cpu>({.ranks = 2, .least_ranks = 1, .options = in_order}, [&](const Comm& comm, int attempt) {
    const auto all = comm.all_gather(rand<float>({1}));
    if (comm.rank() == 0) (void)folder.write(join(attempt), join(all(0, 0), " ", all(1, 0), " of ", comm.size()));
    comm.barrier();
    if (attempt < 2 && comm.rank() == 1) throw std::runtime_error("out of luck");
    comm.barrier();
  });
  CHECK(content_of(folder.path / "0") != "");
  CHECK(content_of(folder.path / "1") == content_of(folder.path / "0"));
  CHECK(content_of(folder.path / "2") == content_of(folder.path / "0"));
}

TEST_CASE("a checkpoint of ranks that died loads on the ranks that are left") {
  const TemporaryFolder folder;
  dist::run_elastic<Cpu>({.ranks = 3, .least_ranks = 1, .options = in_order}, [&](const Comm& comm, int attempt) {
    const std::int64_t first = 12 * comm.rank() / comm.size(), last = 12 * (comm.rank() + 1) / comm.size();
    const Tensor<float> piece = zeros({last - first});
    dist::Parts parts;
    parts.add("x", {12}, dist::ElementRange{first}, piece);
    const auto newest = dist::newest_checkpoint(folder.path, comm);
    if (newest) dist::load_parts(*newest, comm, parts);
    if (newest.has_value() != (attempt > 0)) throw std::runtime_error("another checkpoint");
    piece.copy_((piece + 1.f).eval());
    dist::save_parts(folder.path / join("step-", attempt), comm, parts, {.step = attempt});
    if (attempt < 2 && comm.rank() == 0) std::raise(SIGKILL);
    comm.barrier();
  });
  CHECK(dist::checkpoint_info(folder.path / "step-2").ranks == 1);
  CHECK(all(dist::whole<float>(folder.path / "step-2", "x") == 3.f).item());
}

TEST_CASE("under a launcher that restarts processes, a process is one attempt") {
  const int port = free_port();
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(1, [&](const Comm&) {
    for (const auto& [name, value] :
         {Tuple("RANK", "0"), Tuple("WORLD_SIZE", "1"), Tuple("TORCHELASTIC_RESTART_COUNT", "2")})
      setenv(name, value, 1);
    setenv("MASTER_PORT", join(port).c_str(), 1);
    int calls = 0;
    dist::run_elastic<Cpu>({}, [&](const Comm& comm, int attempt) { calls += comm.size() == 1 && attempt == 2; });
    if (calls != 1) throw std::runtime_error("another attempt");
    std::string text;
    try {
      dist::run_elastic<Cpu>({}, [&](const Comm&, int) { throw std::runtime_error("the launcher sees it"); });
    } catch (const std::exception& error) {
      text = error.what();
    }
    if (text != "the launcher sees it") throw std::runtime_error("no exception");
  }));
}
