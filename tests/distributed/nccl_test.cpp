// Runs on: cuda (ranks).
// Ranks over NCCL itself: one on one GPU, and one on each GPU of the machine. Faults are tried over a stand-in for
// NCCL: cuda/simulated/nccl.cpp.

#include <locus/cuda/step_runner.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/linear.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/skip.hpp>

#include <string>
#include <thread>
#include <vector>

#if LOCUS_NCCL
#include <support/loaded_nccl.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// f(comm) on ranks that are threads with a GPU each.
template <class F>
void over_nccl(int ranks, const dist::Options& options, const F& f) {
  const auto hosts = dist::LocalRanks<Cpu>::engines(ranks, dist::detail::from_environment(options));
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        f(dist::Communicator<Cuda>(
            Shared<dist::Engine<Cuda>>(new dist::NcclEngine(hosts[static_cast<std::size_t>(rank)], Cuda{rank}))));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "");
}
/// One rank, and as many as there are GPUs.
[[nodiscard]] std::vector<int> numbers_of_ranks_over_nccl() {
  const int gpus = cuda::device_count();
  return gpus > 1 ? std::vector<int>{1, gpus} : std::vector<int>{1};
}
/// Why NCCL cannot be tried; null: it can.
[[nodiscard]] const char* why_without_nccl() {
  if (!cuda::is_available()) return "no CUDA device answers";
  if (!nccl_function("ncclCommInitRankConfig")) return "no libnccl.so.2";
  int version = 0;
  (void)ncclGetVersion(&version);
  return version < NCCL_VERSION_CODE ? "libnccl is older than the nccl.h that this program was compiled with" : nullptr;
}
}  // namespace

TEST_CASE("collectives over NCCL on GPUs equal their references") {
  if (const char* const why = why_without_nccl()) SKIP_TEST(why);
  for (const int ranks : numbers_of_ranks_over_nccl()) {
    CAPTURE(ranks);
    for (const auto sums : {dist::Sums::fastest, dist::Sums::in_rank_order}) {
      over_nccl(ranks, {.timeout = 30, .sums = sums}, [&](const dist::Communicator<Cuda>& comm) {
        for (const std::int64_t count : {0, 1, 1000, 300001}) {
          check_reductions<float>(comm, count, dist::sum);
          check_moves<float>(comm, count);
        }
        check_reductions<double>(comm, 1000, dist::mean);
        check_reductions<std::int32_t>(comm, 1000, dist::max);
        check_reductions<bool>(comm, 1000, dist::sum);
        if (ranks == 1 || sums == dist::Sums::in_rank_order) check_reductions<bfloat16>(comm, 1000, dist::mean);
        check_order_of_handles(comm);
        check_groups(comm);
      });
    }
  }
}

TEST_CASE("captured steps with collectives over NCCL on GPUs") {
  if (const char* const why = why_without_nccl()) SKIP_TEST(why);
  for (const int ranks : numbers_of_ranks_over_nccl()) {
    CAPTURE(ranks);
    over_nccl(ranks, {.timeout = 30}, [&](const dist::Communicator<Cuda>& comm) {
      const nn::Linear<float, Cuda> model(6, 3, true, comm.device()), same = model.clone();
      const auto parallel = dist::distributed(model, comm), alone = dist::distributed(same, comm);
      optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}}, other{alone.parameters(), {.lr = 0.1}};
      const Tensor<float, Cuda> x({4, 6}, comm.device());
      const auto train = [&](const auto& trained, auto& by) {
        const auto loss = mean(square(trained(trace(x)))).eval();
        by.zero_grad();
        loss.backward();
        by.step();
        return comm.all_gather(loss.value());
      };
      auto step = capture([&] { return train(parallel, optimizer); }, comm.device());
      for (int i = 0; i < 5; ++i) {
        x.copy_(of_rank<float, Cuda>(comm.rank() + i, x.shape(), comm.device()));
        const Tensor<float> captured = step().to<Cpu>(), launched = train(alone, other).to<Cpu>();
        for (int rank = 0; rank < ranks; ++rank)
          if (captured(rank) != launched(rank)) wrong(join("step ", i, ": another loss of rank ", rank));
      }
    });
  }
}
#endif
