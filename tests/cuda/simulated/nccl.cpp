// Ranks that meet by an engine of the host: either NCCL moves and combines their elements, over a stand-in for NCCL, or
// the elements travel by way of the host.

#include <locus/cuda/step_runner.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/linear.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <support/free_port.hpp>
#include <support/sharded_training.hpp>
#include <support/skip.hpp>
#include <support/spread_training.hpp>
#include <support/temporary_folder.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#if LOCUS_NCCL

#include "nccl_stand_in.hpp"

using namespace locus;
using namespace locus_test;
using namespace simulated::nccl;

namespace {
/// Ranks that share a GPU also share its failures: a wait of one may have thrown the other's, and left its own.
void forget_failures() {
  for (int left = 2; left > 0;) {
    try {
      cuda::Faults::require_none(left - 1);
      --left;
    } catch (const Error&) {  // once for each failure
    }
  }
}
/// f(rank) in a thread for each, over `Over`, whose ranks meet by host(rank); returns the messages of their errors.
template <class Over, class Host, class F>
std::vector<std::string> in_ranks_of(int ranks, const Host& host, const F& f) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        f(dist::Communicator<Cuda>(Shared<dist::Engine<Cuda>>(new Over(host(rank), Cuda{rank % 2}))));
      } catch (const std::exception& error) {
        thrown[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (ranks > 2) forget_failures();
  return thrown;
}
template <class Over, class F>
std::vector<std::string> in_ranks(int ranks, const F& f, dist::Options options = {}) {
  const auto hosts = dist::LocalRanks<Cpu>::engines(ranks, dist::detail::from_environment(options));
  return in_ranks_of<Over>(
      ranks, [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; }, f);
}
template <class Over, class F>
std::vector<std::string> in_ranks_by_tcp(int ranks, const F& f, dist::Options options = {}) {
  options = dist::detail::from_environment(options);
  const int port = free_port();
  const auto host = [&](int rank) {
    return dist::detail::tcp_engine({.address = "127.0.0.1", .port = port, .rank = rank, .size = ranks}, options);
  };
  return in_ranks_of<Over>(ranks, host, f);
}
}  // namespace

TEST_CASE_TEMPLATE("collectives over an engine of the host equal their references", Over, dist::NcclEngine,
                   dist::StagedEngine<Cuda>) {
  const auto check = [](int ranks, const dist::Options& options, const auto& more) {
    const auto thrown = in_ranks<Over>(
        ranks,
        [&](const dist::Communicator<Cuda>& comm) {
          for (const std::int64_t count : {0, 1, 17, 1000}) {
            check_reductions<float>(comm, count, dist::sum);
            check_moves<float>(comm, count);
          }
          check_reductions<std::uint8_t>(comm, 100, dist::max);
          check_reductions<bool>(comm, 50, dist::sum);
          check_order_of_handles(comm);
          if (options.sums == dist::Sums::fastest) check_groups(comm);
          if constexpr (std::is_same_v<Over, dist::NcclEngine>)
            if (ranks == 4 && options.sums == dist::Sums::fastest) {
              check_divided_training(comm, 2, 2);
              check_model_of_ranks(comm, true);
              check_sharded(comm);
            }
          more(comm);
        },
        options);
    for (const std::string& error : thrown) CHECK(error == "");
  };
  for (const int ranks : {1, 2, 3, 4}) {
    check(ranks, {}, [](const auto& comm) { check_reductions<double>(comm, 333, dist::mean); });
    check(ranks, {.sums = dist::Sums::in_rank_order},
          [](const auto& comm) { check_reductions<half>(comm, 333, dist::mean); });
  }
  check(3, {}, [](const auto& comm) {
    for (const std::int64_t count : {5, 40}) {
      check_type<float>(comm, count);
      check_type<std::int32_t>(comm, count);
      check_type<std::int64_t>(comm, count);
      check_type<bool>(comm, count);
    }
  });
}

TEST_CASE_TEMPLATE("a checkpoint is written beside collectives over an engine of the host", Over, dist::NcclEngine,
                   dist::StagedEngine<Cuda>) {
  const TemporaryFolder folder;
  const auto thrown = in_ranks<Over>(3, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x = zeros<float, Cuda>({4}, comm.device());
    dist::Parts parts;
    parts.add("x", {12}, dist::ElementRange{4 * comm.rank()}, x);
    dist::PartsSaver saver(comm);
    for (int step = 1; step <= 3; ++step) {
      x.fill_(static_cast<float>(10 * comm.rank() + step));
      saver.save(folder.path / "run", parts, {.step = step});
      x.fill_(-1);
      for (int i = 0; i < 10; ++i) comm.all_reduce(x);
    }
    saver.wait();
    x.fill_(0);
    dist::load_parts(folder.path / "run", comm, parts);
    if (x.template to<Cpu>()(3) != static_cast<float>(10 * comm.rank() + 3)) wrong("other elements");
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(folder.entries() == 1);
  if (std::is_same_v<Over, dist::NcclEngine>)
    CHECK(dist::checkpoint_info(folder.path / "run").run.get("NCCL") == "2.12.3");
}

TEST_CASE("NCCL makes the sums, or Locus in the order of ranks: then bits are those of threads") {
  constexpr std::int64_t elements = 200;
  std::vector<std::vector<float>> by_threads(1);
  dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
    const Tensor<float> sum = comm.all_reduced(of_rank<float, Cpu>(comm.rank(), {elements}, {}) / 3.f);
    if (comm.rank() == 0) by_threads[0].assign(sum.data(), sum.data() + elements);
  });
  int other_bits = 0;
  const auto thrown = in_ranks<dist::NcclEngine>(3, [&](const dist::Communicator<Cuda>& comm) {
    const auto x = (of_rank<float, Cuda>(comm.rank(), {elements}, comm.device()) / 3.f).eval().value();
    const auto differs = [&](const Tensor<float, Cuda>& sum) {
      return std::memcmp(sum.to<Cpu>().data(), by_threads[0].data(), elements * sizeof(float)) != 0;
    };
    const auto in_order = comm.with_sums(dist::Sums::in_rank_order);
    comm.barrier();
    collectives = 0;
    comm.barrier();
    const Tensor<float, Cuda> ordered = in_order.all_reduced(x);
    if (differs(ordered)) wrong("sums in the order of ranks have other bits than by threads");
    comm.barrier();
    if (collectives != 0) wrong("NCCL made a sum that was to be in the order of ranks");
    comm.barrier();
    const Tensor<float, Cuda> fastest = comm.all_reduced(x);
    if (comm.rank() == 0) other_bits = differs(fastest);
    comm.barrier();
    if (collectives != 3) wrong("NCCL did not make the sum");
    comm.barrier();
    // 16-bit floats are rounded after each addition by NCCL, and once otherwise.
    const auto halves = full<bfloat16, Cuda>({4}, bfloat16(comm.rank() == 2 ? 256.f : 1.f), comm.device());
    require_elements("by NCCL", comm.all_reduced(halves), [](std::int64_t) { return Expected{256, 0}; });
    require_elements("in order", in_order.all_reduced(halves), [](std::int64_t) { return Expected{258, 0}; });
    // NCCL loses NaN.
    const auto nan = full<float, Cuda>({4}, comm.rank() == 1 ? NAN : 1.f, comm.device());
    if (const Tensor<float> most = comm.all_reduced(nan, dist::max).to<Cpu>(); most(0) == most(0)) wrong("NaN is lost");
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(other_bits == 1);
}

TEST_CASE("the host queues collectives and goes on, before other ranks come and while the GPU is busy") {
  std::atomic<bool> have_queued{false};
  const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    comm.barrier();
    if (comm.rank() == 1)
      while (!have_queued) std::this_thread::yield();
    simulated::queries = 0;
    comm.all_reduce(x);
    auto gathered = comm.all_gather_async(x);
    const Tensor<float, Cuda> next = x + 1.f;
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      if (gathered.done()) wrong("a collective is done without the other rank");
      have_queued = true;
    }
    require_elements("gathered", std::move(gathered).ordered(), [](std::int64_t) { return Expected{2, 0}; });
    require_elements("next", next, [](std::int64_t) { return Expected{3, 0}; });
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(simulated::queries < 100);  // a look every 20 ms
}

TEST_CASE_TEMPLATE("a rank over an engine of the host that calls something else is named", Over, dist::NcclEngine,
                   dist::StagedEngine<Cuda>) {
  const auto thrown = in_ranks<Over>(3,
                                     [](const dist::Communicator<Cuda>& comm) {
                                       const Tensor<float, Cuda> x({8}, comm.device());
                                       x.fill_(1);
                                       if (comm.rank() == 2) comm.broadcast(x);
                                       else comm.all_reduce(x);
                                     },
                                     {.debug = true});
  for (const std::string& error : thrown)
    CHECK(error.find("rank 2 called broadcast(8 x float32, root 0)") != std::string::npos);
}

namespace {
/// f(comm), whose exceptions are CollectiveErrors that name `culprit`, on all ranks but the culprit. The ranks meet by
/// threads, or by TCP.
template <class F>
void check_named(int culprit, const char* text, const F& f, const dist::Options& options) {
  for (const bool by_tcp : {false, true}) {
    CAPTURE(by_tcp);
    std::atomic<int> named{0};
    const auto run = [&](const dist::Communicator<Cuda>& comm) {
      try {
        f(comm);
      } catch (const CollectiveError& error) {
        const bool is_right = std::string_view(error.what()).find(text) != std::string_view::npos;
        if (!is_right || error.rank != culprit) wrong(error.what());
        ++named;
        throw;
      }
    };
    const auto thrown =
        by_tcp ? in_ranks_by_tcp<dist::NcclEngine>(3, run, options) : in_ranks<dist::NcclEngine>(3, run, options);
    for (const std::string& error : thrown) CAPTURE(error);
    CHECK(named >= 2);
    std::string all;
    for (const std::string& error : thrown) all += error + "\n";
    CAPTURE(all);
    CHECK(all.find(text) != std::string::npos);
  }
}
/// An all_reduce, awaited.
void reduce_and_wait(const dist::Communicator<Cuda>& comm) {
  const Tensor<float, Cuda> x({8}, comm.device());
  x.fill_(1);
  comm.all_reduce(x);
  (void)x.to<Cpu>();
}
}  // namespace

TEST_CASE("without comparing calls, a rank that calls something else, stalls, leaves or throws is named") {
  check_named(2, "rank 2 called broadcast(8 x float32, root 0), rank 0 all_reduce(8 x float32, sum)",
              [](const dist::Communicator<Cuda>& comm) {
                const Tensor<float, Cuda> x({8}, comm.device());
                x.fill_(1);
                if (comm.rank() == 2) comm.broadcast(x);
                else comm.all_reduce(x);
                (void)x.to<Cpu>();
              },
              {.timeout = 0.4});
  check_named(1, "rank 1 did not come within 0.4 seconds",
              [](const dist::Communicator<Cuda>& comm) {
                reduce_and_wait(comm);
                if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(900));
                reduce_and_wait(comm);
              },
              {.timeout = 0.4});
  check_named(1, "rank 1 has left",
              [](const dist::Communicator<Cuda>& comm) {
                reduce_and_wait(comm);
                if (comm.rank() != 1) reduce_and_wait(comm);
              },
              {});
  check_named(1, "rank 1 threw: out of luck",
              [](const dist::Communicator<Cuda>& comm) {
                reduce_and_wait(comm);
                if (comm.rank() == 1) {
                  comm.abort("out of luck");
                  return;
                }
                reduce_and_wait(comm);
              },
              {});
  check_named(1, "rank 1 threw: an exception",
              [](const dist::Communicator<Cuda>& comm) {
                const Tensor<float, Cuda> x = ones<float, Cuda>({8}, comm.device());
                comm.barrier();
                if (comm.rank() == 1) {
                  comm.all_reduce(x);  // is in flight
                  throw std::length_error("out of luck");
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                reduce_and_wait(comm);
              },
              {});
}

TEST_CASE("a failure is thrown by the wait for a handle, by the next call, and as long as the communicator lives") {
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    reduce_and_wait(comm);
    comm.barrier();
    if (comm.rank() == 1) return comm.abort("out of luck");
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    {
      const dist::Communicator<Cuda> own = comm;
      CHECK_THROWS_AS((void)std::move(own.all_reduce_async(x)).wait(), CollectiveError);
    }
    CHECK_THROWS_AS(comm.all_reduce(x), CollectiveError);
    CHECK_THROWS_AS(comm.barrier(), CollectiveError);
    CHECK_THROWS_AS((void)x.to<Cpu>(), CollectiveError);
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK_NOTHROW((void)ones<float, Cuda>({3}).to<Cpu>());
}

TEST_CASE("failures that no call threw while their communicators lived are thrown by the next waits, each once") {
  const auto hosts = dist::LocalRanks<Cpu>::engines(2, dist::detail::from_environment({}));
  const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
    const dist::Communicator<Cuda> second(
        Shared<dist::Engine<Cuda>>(new dist::NcclEngine(hosts[static_cast<std::size_t>(comm.rank())], comm.device())));
    for (const auto* each : {&comm, &second}) reduce_and_wait(*each);
    comm.barrier();
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      comm.abort("out of luck");
      return second.abort("out of luck again");
    }
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    for (const auto* each : {&comm, &second}) each->all_reduce(x);
  });
  for (const std::string& error : thrown) CHECK(error == "");
  const auto x = ones<float, Cuda>({3});
  std::vector<std::string> failures;
  for (int i = 0; i < 3; ++i) {
    try {
      (void)x.to<Cpu>();
    } catch (const CollectiveError& error) {
      failures.emplace_back(error.what());
    }
  }
  REQUIRE(failures.size() == 2);
  CHECK(failures[0] != failures[1]);
  for (const std::string& failure : failures) CHECK(failure.find("rank 1 threw: out of luck") != std::string::npos);
}

TEST_CASE("a rank whose part of a collective NCCL refuses has failed: the next call meets nothing of this one") {
  std::string refused;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(static_cast<float>(comm.rank()) + 1);
    try {
      refuses_group = comm.rank() == 1;
      comm.broadcast(x);
    } catch (const CudaError& error) {
      refused = error.what();
    }
    comm.broadcast(x);
    (void)x.to<Cpu>();
  });
  CHECK(refused.find("ncclGroupStart") != std::string::npos);
  CHECK(thrown[0].find("rank 1 threw: ncclGroupStart") != std::string::npos);
  CHECK(thrown[1].find("ncclGroupStart") != std::string::npos);
}

TEST_CASE("a rank that fails while others wait in NCCL for its elements ends their wait, and none waits to abort") {
  const auto begin = std::chrono::steady_clock::now();
  longest_abort = 0;
  const auto thrown = in_ranks<dist::NcclEngine>(3, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    refuses_group = comm.rank() == 1;
    comm.broadcast(x, 1);
    (void)x.to<Cpu>();
  });
  CHECK(std::chrono::steady_clock::now() < begin + std::chrono::seconds(4));
  CHECK(longest_abort < 0.7);
  CHECK(thrown[1].find("ncclGroupStart") != std::string::npos);
  for (const int rank : {0, 2}) {
    const std::string& error = thrown[static_cast<std::size_t>(rank)];
    CAPTURE(error);
    CHECK(error.find("broadcast(8 x float32, root 1), call 1 of rank") != std::string::npos);
    CHECK(error.find("rank 1 threw: ncclGroupStart") != std::string::npos);
  }
}

TEST_CASE(
    "a rank that hears of a failure aborts NCCL at once, and not when it is let go: the one that failed waits for it") {
  longest_abort = 0;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    reduce_and_wait(comm);
    comm.barrier();
    if (comm.rank() == 1) throw std::runtime_error("gone");
    CHECK_THROWS_AS(reduce_and_wait(comm), CollectiveError);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  });
  CHECK(thrown[0] == "");
  CHECK(thrown[1] == "gone");
  CHECK(longest_abort < 0.7);
}

TEST_CASE("a rank that lets go waits for its collectives in flight, and NCCL ends in order") {
  finalized = 0;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.all_reduce(x);
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(finalized == 2);
}

TEST_CASE("NCCL that does not start, moves nothing, or fails by itself, ends in an error") {
  loses_elements = true;
  const auto lost = in_ranks<dist::NcclEngine>(2, reduce_and_wait, {.timeout = 0.3});
  for (const std::string& error : lost) CHECK(error.find("NCCL moved nothing for 0.3 seconds") != std::string::npos);
  loses_elements = false;
  starts = false;
  for (const std::string& error : in_ranks<dist::NcclEngine>(2, reduce_and_wait, {.timeout = 0.3}))
    CHECK(error.find("NCCL moved nothing for 0.3 seconds") != std::string::npos);
  starts = true;
  for (const std::string& error : in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
         comm.barrier();
         state = ncclRemoteError;
         reduce_and_wait(comm);
       }))
    CHECK(error.find("ncclGroupEnd: simulated") != std::string::npos);
  state = ncclSuccess;
  for (const std::string& error : in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
         loses_elements = true;
         const Tensor<float, Cuda> x({8}, comm.device());
         x.fill_(1);
         comm.all_reduce(x);
         comm.barrier();
         state = ncclRemoteError;  // after the call was queued
         (void)x.to<Cpu>();
       }))
    CHECK(error.find("NCCL: simulated") != std::string::npos);
  state = ncclSuccess;
  loses_elements = false;
}

TEST_CASE("a GPU that is busy for longer than the time-out is no rank that stalls") {
  const auto thrown = in_ranks<dist::NcclEngine>(
      1,
      [](const dist::Communicator<Cuda>& comm) {
        const Tensor<float, Cuda> x({8}, comm.device());
        x.fill_(3);
        const auto begin = std::chrono::steady_clock::now();
        simulated::enqueue(
            cuda::Context::current(comm.device().ordinal).stream(), [] {},
            [begin] { return std::chrono::steady_clock::now() > begin + std::chrono::milliseconds(500); });
        comm.all_reduce(x);
        CHECK(x.to<Cpu>()(7) == 3);
      },
      {.timeout = 0.2});
  CHECK(thrown[0] == "");
}

namespace {
/// A captured step of `comm` whose result depends on all ranks and on x: replays repeat its collectives.
void check_replays(const dist::Communicator<Cuda>& comm) {
  const Tensor<float, Cuda> x({300}, comm.device());
  auto step = capture(
      [&] {
        const Tensor<float, Cuda> doubled = x * 2.f;
        comm.all_reduce(doubled);
        auto handle = comm.all_gather_async(doubled + static_cast<float>(comm.rank()));
        const Tensor<float, Cuda> rows = std::move(handle).ordered();
        const Tensor<float, Cuda> part = comm.reduce_scatter(rows, dist::mean);
        comm.broadcast(part, 1);
        // Beside the product, which does not touch its memory.
        const Tensor<float, Cuda> doubled_again = part * 2.f;
        auto beside = comm.all_reduce_async(doubled_again, dist::mean);
        const Tensor<float, Cuda> tripled = part * 3.f;
        const Tensor<float, Cuda> difference = tripled - std::move(beside).wait();
        (void)comm.all_gather_async(tripled);  // nobody waits for it
        return difference;
      },
      comm.device());
  for (int i = 0; i < 5; ++i) {
    x.fill_(static_cast<float>(i * comm.rank()));
    // Row 1 is the mean over ranks of 2 i + 1.
    require_elements("replayed", step(), [&](std::int64_t) { return Expected{2. * i + 1, 0}; });
    reduce_and_wait(comm);
  }
}
}  // namespace

TEST_CASE("collectives are part of captured steps, and replays order them with other calls") {
  for (const bool late : {false, true}) {
    simulated::late = late;
    for (const auto sums : {dist::Sums::fastest, dist::Sums::in_rank_order}) {
      for (const bool debug : {false, true}) {
        const auto thrown = in_ranks<dist::NcclEngine>(2, check_replays, {.debug = debug, .sums = sums});
        for (const std::string& error : thrown) CHECK(error == "");
      }
    }
  }
  simulated::late = false;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    const auto is_refused = [&](const char* text, const auto& f) {
      const Tensor<float, Cuda> x = ones<float, Cuda>({3}, comm.device());
      auto step = capture([&] { return f(x), x; }, comm.device());
      (void)step();
      try {
        (void)step();
      } catch (const CaptureError& error) {
        if (std::string_view(error.what()).find(text) == std::string_view::npos) wrong(error.what());
        return;
      }
      wrong(join("captured: ", text));
    };
    is_refused("a collective (barrier)", [&](const auto&) { comm.barrier(); });
    const Tensor<float, Cuda> here = ones<float, Cuda>({3}, comm.device());
    auto elsewhere = capture([&] { comm.all_reduce(here); }, Cuda{1 - comm.rank()});
    elsewhere();
    CHECK_THROWS_AS(elsewhere(), CaptureError);  // the communicator goes on
    is_refused("a collective (send)", [&](const auto& x) { comm.send(x, comm.rank()); });
    const Tensor<float, Cuda> two = ones<float, Cuda>({3}, comm.device());
    is_refused("a collective (recv)", [&](const auto&) {
      if (!locus::detail::is_capturing()) comm.send(two, comm.rank());
      comm.recv(two, comm.rank());
    });
    reduce_and_wait(comm);
  });
  for (const std::string& error : thrown) CHECK(error == "");
}

TEST_CASE("a rank that does not replay a captured step is named, and no replay follows a failure or a communicator") {
  std::atomic<int> refused{0};
  check_named(1, "rank 1 has left",
              [&](const dist::Communicator<Cuda>& comm) {
                const Tensor<float, Cuda> x({8}, comm.device());
                auto step = capture([&] { return comm.all_reduced(x); }, comm.device());
                try {  // a rank that shares its GPU with a faster one can hear of the failure by the first wait
                  for (int i = 0; i < 3; ++i) (void)step();
                  (void)x.to<Cpu>();
                  if (comm.rank() == 1) return;
                  (void)step();
                  (void)x.to<Cpu>();
                } catch (const CollectiveError&) {
                  CHECK_THROWS_AS((void)step(), CollectiveError);
                  ++refused;
                  throw;
                }
              },
              {});
  CHECK(refused == 4);
  const auto thrown = in_ranks<dist::NcclEngine>(1, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x = ones<float, Cuda>({8}, comm.device());
    std::optional<dist::Communicator<Cuda>> inner = dist::Communicator<Cuda>(Shared<dist::Engine<Cuda>>(
        new dist::NcclEngine(dist::LocalRanks<Cpu>::engines(1, dist::detail::from_environment({}))[0], comm.device())));
    auto step = capture([&] { return inner->all_reduced(x); }, comm.device());
    for (int i = 0; i < 3; ++i) (void)step();
    inner.reset();
    CHECK_THROWS_AS((void)step(), ArgumentError);
  });
  CHECK(thrown[0] == "");
}

namespace {
/// The parameters after some steps of a model of two ranks, each captured or not. `gives_up`: the first capture throws
/// after a forward pass of other samples.
std::vector<float> trained(bool captured, const dist::DistributedOptions& options, bool gives_up = false) {
  std::vector<float> values[2];
  const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
    const nn::Linear<float, Cuda> model(6, 3, true, comm.device());
    for (const auto& parameter : model.parameters())
      parameter.value().copy_(of_rank<float, Cuda>(7, parameter.shape(), comm.device()) * 0.1f);
    const auto parallel = dist::distributed(model, comm, options);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1, .momentum = 0.9}};
    const Tensor<float, Cuda> x({4 + comm.rank(), 6}, comm.device());
    int calls = 0;
    const auto train = [&] {
      if (++calls == 2 && gives_up) {
        (void)parallel(trace(zeros<float, Cuda>({1 + 16 * comm.rank(), 6}, comm.device())));
        throw std::length_error("given up");
      }
      const auto loss = mean(square(parallel(trace(x)))).eval();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      return loss.value();
    };
    auto step = capture(train, comm.device());
    for (int i = 0; i < 5; ++i) {
      x.copy_(of_rank<float, Cuda>(comm.rank() + 2 * i, x.shape(), comm.device()));
      if (i == 1 && gives_up) CHECK_THROWS_AS((void)step(), std::length_error);
      if (captured) (void)step();
      else (void)train();
    }
    const Tensor<float> host = nn::flatten(model).values().to<Cpu>();
    values[comm.rank()].assign(host.data(), host.data() + host.elements());
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(values[0] == values[1]);
  return values[0];
}
}  // namespace

TEST_CASE("a captured step of a model of several ranks reduces its gradients, and equals the step bit for bit") {
  for (const bool late : {false, true}) {
    simulated::late = late;
    for (const auto& options : {dist::DistributedOptions{.first_bucket_bytes = 1},
                                {.weigh_by_samples = true},
                                {.overlap = false, .static_graph = true, .reduce_in = dist::ReduceIn::bfloat16}})
      CHECK(trained(true, options) == trained(false, options));
  }
  simulated::late = false;
}

TEST_CASE("samples of a capture that is given up do not weigh") {
  CHECK(trained(true, {.weigh_by_samples = true}, true) == trained(false, {.weigh_by_samples = true}));
}

TEST_CASE("fit replays the steps of ranks over NCCL, unless it accumulates gradients") {
  const auto fitted = [](bool captures, std::int64_t accumulate) {
    std::vector<float> values[2];
    std::int64_t replays = 0;
    const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
      const nn::Linear<float, Cuda> model(6, 1, true, comm.device());
      for (const auto& parameter : model.parameters()) parameter.value().fill_(0.1f);
      const auto parallel = dist::distributed(model, comm, {.weigh_by_samples = true});
      optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}};
      const data::TensorDataset rows{of_rank<float, Cpu>(0, {22, 6}, {}), of_rank<float, Cpu>(1, {22, 1}, {})};
      auto batches = data::loader<Cuda>(rows, data::DistributedSampler{rows, comm}, {.batch_size = 4}, comm.device());
      const data::DistributedSampler once{rows, comm, {.shuffle = false, .remainder = data::Remainder::keep}};
      auto valid = data::loader<Cuda>(rows, once, {.batch_size = 4}, comm.device());
      History history;
      const auto before = locus::detail::launches.replay;
      fit(parallel, optimizer, nn::MSELoss{}, batches, valid, history,
          {.epochs = 3, .capture = captures, .accumulate = accumulate});
      if (comm.rank() == 0) replays = locus::detail::launches.replay - before;
      const Tensor<float> host = nn::flatten(model).values().to<Cpu>();
      values[comm.rank()].assign(host.data(), host.data() + host.elements());
    });
    for (const std::string& error : thrown) CHECK(error == "");
    CHECK(values[0] == values[1]);
    return std::pair{values[0], replays};
  };
  const auto captured = fitted(true, 1), launched = fitted(false, 1);
  CHECK(captured.first == launched.first);
  CHECK(captured.second == 5);  // of three epochs of two whole batches and a smaller one, all but the first step
  CHECK(launched.second == 0);
  CHECK(fitted(true, 2).second == 0);
}

TEST_CASE("a step in which a rank lacks a gradient is captured only with a static graph") {
  for (const bool is_static : {false, true}) {
    std::atomic<int> refused{0};
    const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
      const nn::Linear<float, Cuda> model(6, 3, true, comm.device());
      const auto parallel = dist::distributed(model, comm, {.static_graph = is_static});
      const Tensor<float, Cuda> x = ones<float, Cuda>({4, 6}, comm.device());
      auto step = capture(
          [&] {
            model.zero_grad();
            (void)parallel(trace(x));  // whose bias gets no gradient
            sum(square(trace(model.weight))).backward();
            return model.weight.grad();
          },
          comm.device());
      (void)step();
      try {
        for (int i = 0; i < 2; ++i) (void)step();
      } catch (const CaptureError& error) {
        if (std::string_view(error.what()).find("say .static_graph = true") == std::string_view::npos)
          wrong(error.what());
        ++refused;
      }
      reduce_and_wait(comm);
    });
    for (const std::string& error : thrown) CHECK(error == "");
    CHECK(refused == (is_static ? 0 : 2));
  }
}

TEST_CASE("asynchronous collectives of a communicator are queued in one stream, whatever other streams there are") {
  {
    const std::lock_guard lock(streams_mutex);
    streams.clear();
  }
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    std::deque<Stream<Cuda>> others;
    for (int i = 0; i < 4; ++i) {
      comm.all_reduce_async(x).wait();
      others.emplace_back(comm.device());
    }
    CHECK(x.to<Cpu>()(7) == 16);
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(streams.size() == 2);
}

namespace {
/// NCCL as it were if a group could have four operations.
struct FewOperations : dist::detail::NcclLink {
  using dist::detail::NcclLink::NcclLink;
  static constexpr int most_distances = 2;
};
}  // namespace

TEST_CASE("groups have no more operations than NCCL takes, and none waits for a later group of another rank") {
  most_operations = 4;
  largest_group = 0;
  for (const int ranks : {4, 7}) {
    const auto check = [](const dist::Communicator<Cuda>& comm) {
      for (const std::int64_t count : {1, 17, 1000}) {
        check_reductions<float>(comm, count, dist::sum);
        check_moves<float>(comm, count);
      }
    };
    const auto thrown = in_ranks<dist::DeviceEngine<FewOperations>>(ranks, check, {.sums = dist::Sums::in_rank_order});
    for (const std::string& error : thrown) CHECK(error == "");
  }
  CHECK(largest_group == 4);
  most_operations = 2048;
}

TEST_CASE("sums of more ranks than a launch combines are those of their order") {
  static_assert(PeerMemory::most_ranks < 66);
  const auto thrown = in_ranks<dist::NcclEngine>(66, [](const dist::Communicator<Cuda>& comm) {
    const auto x = of_rank<half, Cuda>(comm.rank(), {10}, comm.device());
    const auto y = comm.with_sums(dist::Sums::in_rank_order).all_reduced(x, dist::mean);
    require_elements("all_reduced", y, [&](std::int64_t i) { return expected<half>(66, i, dist::mean); });
  });
  for (const std::string& error : thrown) CHECK(error == "");
}

namespace {
/// A rank of many, which meets no other.
struct Alone final : dist::Engine<Cpu> {
  Alone(int rank, int size) : dist::Engine<Cpu>(rank, size, Cpu{}, {}) {}
  void run(const dist::Collective<Cpu>&) override {}
  void meet(const dist::Fingerprint&, std::int64_t) override {}
  Shared<dist::Engine<Cpu>> split(dist::GroupChoice, std::int64_t) override { return {}; }
  void send(const dist::Message&) override {}
  bool has_come(const dist::Message&, double) override { return true; }
  void take(const dist::Message&) override {}
  void leave(const char*) noexcept override {}
};
/// Notes the group, from 1 on, of each send and of each receive.
struct NotingLink {
  static constexpr int most_distances = dist::detail::NcclLink::most_distances;
  static constexpr int ranks = 1030;
  inline static std::vector<char> sent, received;  ///< at from * ranks + to
  inline static int largest = 0;

  NotingLink(const Shared<Alone>& host, Cuda) : rank(host->rank()) {}
  template <class F> void run(const dist::Collective<Cuda>&, const F& f) const { f(); }
  static void meet() {}
  static Shared<Alone> split(dist::GroupChoice, std::int64_t) { return {}; }
  template <class F>
  void together(const F& f) {
    operations = 0;
    ++group;
    f();
    largest = std::max(largest, operations);
  }
  void send(const void*, std::int64_t, int peer) { note(sent, rank * ranks + peer); }
  void receive(void*, std::int64_t, int peer) { note(received, peer * ranks + rank); }
  void note(std::vector<char>& groups, int at) {
    groups[static_cast<std::size_t>(at)] = group;
    ++operations;
  }
  int rank, operations = 0;
  char group = 0;
};
}  // namespace

TEST_CASE("of more ranks than fit into a group, each send is in the group of the same number as its receive") {
  constexpr int ranks = NotingLink::ranks;
  const Tensor<std::uint8_t, Cuda> x({ranks});
  for (const auto kind : {dist::Kind::all_gather, dist::Kind::broadcast}) {
    NotingLink::sent.assign(std::size_t{ranks} * ranks, 0);
    NotingLink::received = NotingLink::sent;
    for (int rank = 0; rank < ranks; ++rank) {
      dist::DeviceEngine<NotingLink> engine(Shared(new Alone(rank, ranks)), Cuda{});
      dist::Collective<Cuda> call;
      call.what = {kind, ElementType::uint8, {}, 3, 1};
      call.source = call.target = x.data();
      engine.run(call);
    }
    const auto unsent = std::count(NotingLink::sent.begin(), NotingLink::sent.end(), 0);
    CHECK(ranks * ranks - unsent == (kind == dist::Kind::broadcast ? ranks - 1 : ranks * (ranks - 1)));
    CHECK((NotingLink::sent == NotingLink::received));
    CHECK(NotingLink::largest <= 2048);
  }
}

TEST_CASE("a rank that cannot bring its elements to the host has failed: later calls are not taken for this one") {
  std::atomic<bool> has_failed{false};
  const auto thrown = in_ranks<dist::StagedEngine<Cuda>>(2, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({3000000}, comm.device());
    x.fill_(1);
    comm.barrier();
    if (comm.rank() == 1) {
      simulated::calls_until_failure = 1;
      CHECK_THROWS_AS(comm.all_reduce(x), Error);
      simulated::calls_until_failure = 0;
      has_failed = true;
    }
    while (!has_failed) std::this_thread::yield();
    comm.all_reduce(x);
  });
  for (const std::string& error : thrown) CHECK(error.find("rank 1 threw: ") != std::string::npos);
}

#else
TEST_CASE("collectives by NCCL") { SKIP_TEST("no nccl.h beside the toolkit"); }
#endif
