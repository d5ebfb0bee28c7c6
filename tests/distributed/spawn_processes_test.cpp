// Runs on: host.
// Ranks as processes that this one starts.

#include <locus/distributed/distributed.hpp>

#include <locus/nn/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/free_port.hpp>
#include <support/rank_numbers.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

using namespace locus;
using namespace locus_test;

namespace {
using Comm = dist::Communicator<Cpu>;
template <class F>
RankError error_of(int ranks, const F& f) {
  try {
    dist::spawn_processes<Cpu>(ranks, f, {.timeout = 20});
  } catch (const RankError& error) {
    return error;
  }
  return {"nothing", -1};
}
/// Whether a child process is left.
bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }
/// Returns once the other threads of this process sleep. clang 14's address sanitizer does not release its allocator's
/// locks in a child of fork(): a thread that allocates at that moment would stop the child.
void wait_for_idle_threads() {
  const auto all_sleep = [] {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream stat(thread.path() / "stat");
      std::string text;
      std::getline(stat, text);
      const auto name_end = text.rfind(')');
      if (thread.path().filename() != std::to_string(getpid()) && name_end + 2 < text.size() &&
          text[name_end + 2] != 'S')
        return false;
    }
    return true;
  };
  for (int idle = 0; idle < 3; usleep(5000)) idle = all_sleep() ? idle + 1 : 0;
}
}  // namespace

TEST_CASE("ranks are processes: what they compute is that of threads, and nothing of it is seen here") {
  const Tensor<float> mine = zeros({2});
  TemporaryFolder folder;
  for (const int ranks : {1, 3}) {
    CHECK_NOTHROW(dist::spawn_processes<Cpu>(ranks, [&](const Comm& comm) {
      if (comm.size() != ranks || comm.device() != Cpu{}) wrong("not the ranks that were asked for");
      mine.fill_(7);
      check_every_type(comm, 17);
      check_reductions<float>(comm, 300001, dist::sum);
      const nn::Linear<float, Cpu> model{30, 30};  // loops of several threads, after fork()
      const auto parallel = dist::distributed(model, comm);
      mean(parallel(trace(ones({500, 30})))).backward();
      std::ofstream(folder.path / std::to_string(comm.rank())) << getpid();
    }));
    CHECK(mine(0) == 0);
    CHECK(folder.entries() == static_cast<std::size_t>(ranks));
    CHECK(content_of(folder.path / "0") != std::to_string(getpid()));
    CHECK_FALSE(has_children());
  }
}

TEST_CASE("numbers of ranks that no program can start are refused, as threads and as processes") {
  const auto nothing = [](const Comm&) {};
  for (const int ranks : {0, -4, 1048577, 2147483647}) {
    const std::string text = join(ranks, " ranks; expected 1 or more, and 1048576 at most");
    CHECK_THROWS_WITH_AS(dist::spawn_processes<Cpu>(ranks, nothing), join("dist::spawn_processes: ", text).c_str(),
                         ArgumentError);
    CHECK_THROWS_WITH_AS(dist::spawn<Cpu>(ranks, nothing), join("dist::spawn: ", text).c_str(), ArgumentError);
  }
}

TEST_CASE("their random numbers are those of ranks that are threads") {
  manual_seed(11);
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(3, [](const Comm& comm) { check_rank_numbers(comm.rank()); }));
  CHECK(contains(error_of(1, [](const Comm& comm) { check_rank_numbers(comm.rank()); }).what(), "rank 0 drew"));
  const Tensor<float> here = rand({1});
  manual_seed(11);
  CHECK(rand({1})(0) == here(0));
}

TEST_CASE("letters arrive whose sender has ended") {
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(2, [](const Comm& comm) {
    const Tensor<float> x({2000000});
    if (comm.rank() == 1) return comm.send(x.fill_(3), 0);
    usleep(300000);
    comm.recv(x, 1);
    if (x.data()[1999999] != 3) wrong("another letter came");
  }));
}

TEST_CASE("a rank that ends after another does not wait for it") {
  const Stopwatch watch;
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(2,
                                           [](const Comm& comm) {
                                             comm.barrier();
                                             if (comm.rank() == 0) usleep(500000);
                                           },
                                           {.timeout = 10}));
  CHECK(watch.seconds() < 5);
}

TEST_CASE("a process that is a rank itself starts ranks whose letters arrive, and whose numbers are their own") {
  const int port = free_port();
  (void)dist::tcp<Cpu>(dist::TcpPlace{"127.0.0.1", port, 0, 1, 0});
  wait_for_idle_threads();
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(2, [](const Comm& comm) {
    const Tensor<float> x({2000000});
    if (comm.rank() == 1) comm.send(x.fill_(3), 0);
    else usleep(300000), comm.recv(x, 1);
    if (x.data()[1999999] != 3) wrong("another letter came");
  }));
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(2, [](const Comm& comm) {
    const Tensor<float> mine = rand({1});
    if (comm.all_reduced(mine, dist::max)(0) == comm.all_reduced(mine, dist::min)(0)) wrong("ranks drew the same");
  }));
  manual_seed(11);
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(3, [](const Comm& comm) { check_rank_numbers(comm.rank()); }));
}

TEST_CASE("the first rank that fails is named, with its text, or how its process ended") {
  const TemporaryFolder folder;
  const auto threw = error_of(3, [&](const Comm& comm) {
    comm.barrier();
    if (comm.rank() == 1) throw std::runtime_error("out of luck");
    try {
      comm.all_reduce(ones({8}));
    } catch (const CollectiveError& error) {
      std::ofstream(folder.path / ("heard" + std::to_string(comm.rank()))) << error.what();
      throw;
    }
  });
  for (const char* name : {"heard0", "heard2"}) {
    std::string heard;
    std::ifstream file(folder.path / name);
    std::getline(file, heard);
    CHECK(heard.find("rank 1 threw: out of luck") != std::string::npos);
  }
  CHECK(std::string(threw.what()) == "rank 1 threw: out of luck");
  CHECK(threw.rank == 1);
  const auto died = error_of(3, [](const Comm& comm) {
    comm.barrier();
    if (comm.rank() == 2) std::raise(SIGKILL);
    comm.all_reduce(ones({8}));
  });
  CHECK(std::string(died.what()) == "the process of rank 2 ended by signal 9");
  CHECK(died.rank == 2);
  const auto left = error_of(2, [](const Comm& comm) {
    if (comm.rank() == 1) _exit(5);
    comm.barrier();
  });
  CHECK(std::string(left.what()) == "the process of rank 1 ended with status 5");
  const auto said_nothing = error_of(2, [](const Comm& comm) {
    comm.barrier();
    if (comm.rank() == 1) _exit(1);
  });
  CHECK(std::string(said_nothing.what()) == "the process of rank 1 ended with status 1");
  CHECK(std::string(error_of(1, [](const Comm&) { throw 3; }).what()) ==
        "rank 0 threw: something that is no std::exception");
  CHECK_THROWS_AS(dist::spawn_processes<Cpu>(0, [](const Comm&) {}), ArgumentError);
  CHECK_FALSE(has_children());
}

TEST_CASE("a rank that dies while a group of ranks meets is named at once, at each moment of the meeting") {
  for (const bool has_met : {false, true}) {
    const Stopwatch watch;
    const TemporaryFolder folder;
    const int port = free_port();
    const auto died = error_of(3, [&](const Comm& comm) {
      dist::detail::TcpLink link(dist::TcpPlace{"127.0.0.1", port, comm.rank(), 3, comm.rank()}, 20);
      const dist::detail::Subgroup group(std::vector<dist::GroupChoice>(3), comm.rank());
      const auto gather = [&](int mine) {
        const auto all = comm.all_gather(full({}, static_cast<std::int32_t>(mine)));
        return std::vector<int>(all.data(), all.data() + 3);
      };
      link.split(group, gather, 20, [&](const dist::TcpPlace& place, double timeout) {
        if (comm.rank() == 2) {
          if (has_met) {
            dist::detail::TcpRendezvous rendezvous(place, timeout);
            const dist::detail::TcpLink::Card mine{rendezvous.door_address(), 1, {}};
            (void)rendezvous.meet({reinterpret_cast<const char*>(&mine), sizeof mine});
          }
          std::raise(SIGKILL);
        }
        try {
          const dist::detail::TcpLink meeting(place, timeout);
        } catch (const RendezvousError& error) {
          std::ofstream(folder.path / std::to_string(comm.rank())) << error.rank << error.what();
          throw;
        }
      });
    });
    CHECK(std::string(died.what()) == "the process of rank 2 ended by signal 9");
    const std::string heard[] = {content_of(folder.path / "0"), content_of(folder.path / "1")};
    const char* const text = "rank 2 ended while ranks met";  // the first that sees it ends, too
    CHECK((contains(heard[0], text) || contains(heard[1], text)));
    for (const std::string& each : heard) {
      CAPTURE(each);
      CHECK(contains(each, " ended while ranks met; see its own output"));
    }
    CHECK(watch.seconds() < 10);
  }
}

TEST_CASE("a rank that stalls when another has failed is killed and named") {
  const Stopwatch watch;
  std::string text;
  try {
    const auto stalls = [](const Comm& comm) {
      while (comm.rank() == 1) pause();
      comm.barrier();
    };
    dist::spawn_processes<Cpu>(3, stalls, {.timeout = 0.5});
  } catch (const RankError& error) {
    CHECK(error.rank == 1);
    text = error.what();
  }
  CHECK(contains(text, "the process of rank 1 stalled, and was killed 1.5 seconds after the first failure: rank "));
  CHECK(contains(text, "barrier()"));
  CHECK(watch.seconds() < 10);
  CHECK_FALSE(has_children());
}

TEST_CASE("a rank that ended by itself right before it was killed has not stalled") {
  using dist::detail::RankProcess;
  const auto killed = [](int status, bool ended_well = false) {
    return RankProcess{.is_running = false, .is_killed = true, .has_ended_well = ended_well, .status = status};
  };
  CHECK_FALSE(killed(0).has_stalled());
  CHECK_FALSE(killed(0).has_failed());
  CHECK_FALSE(killed(5 << 8).has_stalled());
  CHECK(killed(5 << 8).is_silent());
  CHECK(killed(SIGKILL).has_stalled());
  CHECK_FALSE(killed(SIGKILL).is_silent());
  CHECK(killed(RankProcess::unknown).has_stalled());
  CHECK_FALSE(killed(RankProcess::unknown, true).has_stalled());
}

TEST_CASE("where the system does not say how a process ended, the rank does") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(3, [](const Comm& comm) { comm.barrier(); }));
  const auto died = error_of(2, [](const Comm& comm) {
    if (comm.rank() == 1) std::raise(SIGKILL);
  });
  CHECK(died.rank == 1);
  CHECK(contains(died.what(), "the process of rank 1 ended without a word; the system does not say how"));
  CHECK(std::string(error_of(2, [](const Comm&) { throw std::runtime_error("no"); }).what()).ends_with("threw: no"));
  std::signal(SIGCHLD, before);
  CHECK_FALSE(has_children());
}

TEST_CASE("a process that a rank leaves behind is not waited for") {
  const Stopwatch watch;
  const auto failure = error_of(2, [](const Comm& comm) {
    if (comm.rank() == 1 && fork() == 0) {
      sleep(5);
      _exit(0);
    }
    comm.barrier();
    if (comm.rank() == 1) throw std::runtime_error("gone");
  });
  CHECK(std::string(failure.what()) == "rank 1 threw: gone");
  CHECK(watch.seconds() < 4);
}

TEST_CASE("a child of fork() lets go of a communicator without a word to other ranks") {
  const int port = free_port();
  CHECK_NOTHROW(dist::spawn_processes<Cpu>(2, [port](const Comm& started) {
    const int rank = started.rank();
    std::optional<Comm> comm(dist::tcp<Cpu>(dist::TcpPlace{"127.0.0.1", port, rank, 2, rank}, {.timeout = 20}));
    const Tensor<float> x = ones({2000000});
    comm->all_reduce_async(x).wait();  // runs in a thread, which the child does not have
    if (rank == 0) comm->send(x, 1);   // in flight, since rank 1 asks for it later
    for (const bool aborts : {false, true}) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(10);
        if (aborts) comm->abort("child");
        comm.reset();  // as exit() does where it is static
        _exit(0);
      }
      int status = -1;
      if (waitpid(child, &status, 0) != child || status != 0) wrong("the child did not end");
      comm->barrier();
    }
    usleep(50000);
    comm->barrier();
    if (rank == 0) return;
    x.fill_(0);
    comm->recv(x, 0);
    if (x.data()[1999999] != 2) wrong("another message came");
  }));
}

TEST_CASE("ranks end with the process that started them, also where that is killed") {
  for (const bool by_thread : {false, true}) {  // a thread that ends later than its ranks, and one that is cut off
    int says[2], lives[2];
    REQUIRE(pipe(says) == 0);
    REQUIRE(pipe(lives) == 0);
    std::fflush(nullptr);
    const pid_t starter = fork();
    REQUIRE(starter >= 0);
    if (starter == 0) {
      close(says[0]), close(lives[0]);
      const auto start = [&] {
        dist::spawn_processes<Cpu>(2, [&](const Comm& comm) {
          comm.barrier();
          if (write(says[1], "r", 1) == 1) sleep(30);  // as a rank that trains on
        });
      };
      if (by_thread) std::thread(start).join();
      else start();
      _exit(0);
    }
    close(says[1]), close(lives[1]);
    char byte = 0;
    for (int rank = 0; rank < 2; ++rank) REQUIRE(read(says[0], &byte, 1) == 1);
    REQUIRE(kill(starter, SIGKILL) == 0);
    REQUIRE(waitpid(starter, nullptr, 0) == starter);
    pollfd open_by_ranks{lives[0], POLLIN, 0};
    CHECK(::poll(&open_by_ranks, 1, 5000) == 1);  // end of file: no process has the other end any more
    close(says[0]), close(lives[0]);
  }
}
