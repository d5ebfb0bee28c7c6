// Runs on: host; race.
// Ranks that reach each other by TCP, as threads of this process: data shared with the background thread, which
// delivers messages.

#include <locus/distributed/distributed.hpp>

#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/free_port.hpp>
#include <support/no_threads.hpp>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace locus;
using locus_test::free_port;

namespace {
/// Calls f(comm) on each rank, in a thread; checks that it throws nothing.
template <class F>
void in_ranks(int ranks, double timeout, const F& f) {
  const int port = free_port();
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(errors.size());
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        f(dist::tcp<Cpu>(dist::TcpPlace{"127.0.0.1", port, rank, ranks, rank}, {.timeout = timeout}));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "");
}
}  // namespace

namespace {
/// A link whose ranks are on simulated machines, and that counts the transfers between them.
struct OnMachines : dist::detail::TcpLink {
  using Base = dist::detail::TcpLink;
  using Base::Base;
  inline static std::vector<int> machines;
  inline static std::atomic<int> between{0};
  [[nodiscard]] int machine_of(int peer) const { return machines[static_cast<std::size_t>(peer)]; }

  struct Transfers : Base::Transfers {
    Transfers(OnMachines& link, int tag) : Base::Transfers(link, tag), link_(&link) {}
    explicit Transfers(OnMachines& link) : Base::Transfers(link) {}
    void send(int peer, const void* data, std::int64_t bytes) {
      between += link_ && bytes > 0 && link_->machine_of(peer) != link_->machine_of(link_->rank());
      Base::Transfers::send(peer, data, bytes);
    }
    OnMachines* link_ = nullptr;  ///< null: for control messages
  };
};
/// A link whose groups do not meet.
struct Apart : dist::detail::TcpLink {
  using TcpLink::TcpLink;
  struct Transfers : TcpLink::Transfers {
    Transfers(Apart& link, int tag) : TcpLink::Transfers(link, tag) {}
    explicit Transfers(Apart& link) : TcpLink::Transfers(link) {}
  };
  template <class Gather, class Make>
  void split(const dist::detail::Subgroup&, const Gather&, double timeout, const Make& make) {
    make(dist::TcpPlace{.size = 0}, timeout);
  }
};
/// f(comm) on each of the ranks, which are on these machines. Returns the number of messages between machines.
template <class F>
int on_machines(const std::vector<int>& machines, dist::Options options, const F& f) {
  using Peers = dist::detail::MessagePeers<OnMachines>;
  options = dist::detail::from_environment(options);
  OnMachines::machines = machines;
  OnMachines::between = 0;
  const int port = free_port(), ranks = static_cast<int>(machines.size());
  std::vector<std::string> errors(machines.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const dist::TcpPlace place{"127.0.0.1", port, rank, ranks, rank};
        const Shared peers(new Peers(options.timeout, place, options.timeout));
        f(dist::Communicator<Cpu>(
            Shared<dist::Engine<Cpu>>(new dist::MessageEngine<Cpu, OnMachines>(peers, Cpu{}, options))));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "");
  return OnMachines::between;
}
}  // namespace

TEST_CASE("ranks on several machines sum within machines first, unless sums are to be in rank order") {
  using locus_test::check_reductions;
  for (const auto& machines : std::vector<std::vector<int>>{
           {0, 0, 1, 1}, {5, 3, 5, 3, 3}, {0, 0, 1, 1, 2, 2}, {0, 1, 2, 3, 0, 1, 2, 3}, {0, 0, 1}, {0, 0, 0}}) {
    for (const auto algorithm : {dist::Algorithm::automatic, dist::Algorithm::by_machine})
      (void)on_machines(machines, {.algorithm = algorithm}, [](const dist::Communicator<Cpu>& comm) {
        for (const std::int64_t count : {1, 130, 5000}) check_reductions<float>(comm, count, dist::sum);
        check_reductions<bfloat16>(comm, 3000, dist::mean);
        check_reductions<std::int32_t>(comm, 3000, dist::prod);
        check_reductions<bool>(comm, 5000, dist::sum);
        check_reductions<double>(comm, 2000, dist::max);
      });
  }
  (void)on_machines({0, 0, 1, 1}, {}, [](const dist::Communicator<Cpu>& comm) {
    check_reductions<float>(comm, 1'100'001, dist::sum);  // three pieces
  });
  // Eight ranks on four machines: two steps of halving and two of doubling, in place of a message to each of six ranks
  // and from each.
  const std::vector<int> four_machines{0, 0, 1, 1, 2, 2, 3, 3};
  const auto reduce = [](const dist::Communicator<Cpu>& comm) { comm.all_reduce(ones({5000})); };
  CHECK(on_machines(four_machines, {}, reduce) == 8 * 4);
  CHECK(on_machines(four_machines, {.sums = dist::Sums::in_rank_order}, reduce) == 8 * 2 * 6);
  std::vector<float> in_order;
  dist::spawn<Cpu>(4, [&](const dist::Communicator<Cpu>& comm) {
    const Tensor<float> sum = comm.all_reduced(locus_test::of_rank<float, Cpu>(comm.rank(), {5000}, {}) / 3.f);
    if (comm.rank() == 0) in_order.assign(sum.data(), sum.data() + sum.elements());
  });
  for (const auto sums : {dist::Sums::in_rank_order, dist::Sums::fastest})
    (void)on_machines({0, 1, 0, 1}, {.sums = sums}, [&](const dist::Communicator<Cpu>& comm) {
      const Tensor<float> sum = comm.all_reduced(locus_test::of_rank<float, Cpu>(comm.rank(), {5000}, {}) / 3.f);
      const bool same = std::memcmp(sum.data(), in_order.data(), in_order.size() * sizeof(float)) == 0;
      if (same != (sums == dist::Sums::in_rank_order)) locus_test::wrong(same ? "the same bits" : "other bits");
    });
}

TEST_CASE("collectives in flight beside letters, whose sender leaves early") {
  for (int turn = 0; turn < 3; ++turn)
    in_ranks(2, 20, [](const dist::Communicator<Cpu>& comm) {
      const int other = 1 - comm.rank();
      auto sum = comm.all_reduce_async(ones({100000}));
      comm.send(full({500000}, 2.f), other, 3);
      auto pending = comm.recv_async(zeros({500000}), other, 3);
      CHECK(std::move(sum).wait()(99999) == 2);
      CHECK(std::move(pending).wait()(499999) == 2);
      if (comm.rank() == 1) return comm.send(full({1000000}, 4.f), 0, 4);
      usleep(50000);
      const Tensor<float> x({1000000});
      comm.recv(x, 1, 4);
      CHECK(x(999999) == 4);
    });
  dist::detail::TcpLink::finish_sends();
}

TEST_CASE("letters arrive whose receiver asks for them after the time-out, while both are there") {
  in_ranks(2, 1, [](const dist::Communicator<Cpu>& comm) {
    constexpr int letters = 3;
    if (comm.rank() == 0)
      for (int tag = 0; tag < letters; ++tag) comm.send(full({2000000}, static_cast<float>(tag)), 1, tag);
    usleep(1500000);
    if (comm.rank() == 1)
      for (int tag = 0; tag < letters; ++tag) {
        const Tensor<float> x({2000000});
        comm.recv(x, 0, tag);
        CHECK(x(1999999) == static_cast<float>(tag));
      }
    comm.barrier();
  });
}

TEST_CASE("a rank that waits for something else hears of one that failed, and minds none that came to its end") {
  const int port = free_port();
  std::vector<std::thread> threads;
  std::atomic<bool> has_failed{false};
  std::string error;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const auto engine = dist::detail::tcp_engine({"127.0.0.1", port, rank, 3, rank}, {.timeout = 20});
      const dist::Fingerprint barrier{};
      engine->meet(barrier, 0);
      if (rank == 2) return engine->leave(nullptr);
      if (rank == 1) {
        usleep(200000);
        has_failed = true;
        return engine->leave("no more");
      }
      try {
        while (!has_failed) engine->require_others(barrier, 0, 0);
        for (;;) engine->require_others(barrier, 0, 0);
      } catch (const CollectiveError& thrown) {
        error = has_failed ? thrown.what() : "too early";
      }
      engine->leave(nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(error == "barrier(), call 0 of rank 0 of 3: rank 1 threw: no more");
}

TEST_CASE("errors of a group name the ranks of the run, too") {
  in_ranks(4, 20, [](const dist::Communicator<Cpu>& comm) {
    const auto pair = comm.split(comm.rank() / 2, 0, "of a pair");
    if (comm.rank() == 3) pair.abort("no luck");
    if (comm.rank() == 2) {
      try {
        for (;;) pair.barrier();
      } catch (const CollectiveError& error) {
        CHECK(error.rank == 1);
        CHECK(error.rank_of_run == 3);
        CHECK_MESSAGE(std::string(error.what())
                              .find("of rank 0 of 2 of a pair (rank 2 of the run): rank 1 of the group "
                                    "(rank 3 of the run) threw: no luck") != std::string::npos,
                      error.what());
      }
    }
    comm.barrier();
  });
}

TEST_CASE("a group that does not meet names the ranks of the run, too") {
  using Peers = dist::detail::MessagePeers<Apart>;
  const auto options = dist::detail::from_environment({.timeout = 20});
  const int port = free_port();
  std::string errors[4];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      const Shared peers(new Peers(20., dist::TcpPlace{"127.0.0.1", port, rank, 4, rank}, 20.));
      const Shared engine(new dist::MessageEngine<Cpu, Apart>(peers, Cpu{}, options));
      try {
        (void)dist::Communicator<Cpu>(Shared<dist::Engine<Cpu>>(engine.get())).split(rank / 2, 0, "of a pair");
      } catch (const Error& error) {
        errors[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  int named = 0;  // another rank may have heard of the failure first
  for (int rank = 0; rank < 4; ++rank)
    named +=
        errors[rank].find(join("; at fault: rank 0 of the group (rank ", rank / 2 * 2, " of the run); this is rank ",
                               rank % 2, " of 2 of a pair (rank ", rank, " of the run)")) != std::string::npos;
  CHECK_MESSAGE(named > 0, errors[0]);
}

TEST_CASE("a message that waits for its receiver needs no thread of its own") {
  dist::detail::TcpLink::finish_sends();  // ends the thread; the next link starts it before its ranks meet
  in_ranks(2, 20, [](const dist::Communicator<Cpu>& comm) {
    comm.barrier();
    if (comm.rank() == 0) {
      const locus_test::NoThreads refused;
      for (const float value : {1.f, 2.f}) comm.send(full({4000000}, value), 1);
    } else {
      usleep(100000);
      for (const float value : {1.f, 2.f}) {
        const Tensor<float> x({4000000});
        comm.recv(x, 0);
        CHECK(x(3999999) == value);
      }
    }
    comm.barrier();
  });
}

TEST_CASE("a rank without a GPU fails before it meets others, which would wait for it") {
  const Stopwatch watch;
  CHECK_THROWS_AS((void)dist::tcp<Cuda>(dist::TcpPlace{.port = 1, .rank = 1, .size = 2}, {.timeout = 10}),
                  CudaUnavailable);
  CHECK(watch.seconds() < 5);
}
