// Runs on: host; race.
// Ranks that are threads, out of order: receives before sends, exceptions while calls are in flight, threads that
// cannot start, objects that end in another order than usual. Nothing waits for a time-out.

#include <locus/distributed/distributed.hpp>

#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/no_threads.hpp>

#include <optional>

using namespace locus;
using namespace locus_test;

namespace {

/// Calls that do not wait end before this; the time-out is longer.
constexpr double soon = 5;
const dist::Options long_timeout{.timeout = 20};

/// Calls f(comm) on each rank; returns the exception of each. It must not take as long as a time-out.
template <class F>
std::vector<std::string> errors_soon(int ranks, const F& f) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  const Stopwatch watch;
  try {
    dist::spawn<Cpu>(
        ranks,
        [&](dist::Communicator<Cpu> comm) {
          const int rank = comm.rank();
          try {
            f(std::move(comm));
          } catch (const CollectiveError& error) {
            errors[static_cast<std::size_t>(rank)] =
                join("rank ", error.rank, " ", error.collective, ": ", error.what());
            throw;
          } catch (const std::exception& error) {
            errors[static_cast<std::size_t>(rank)] = error.what();
            throw;
          }
        },
        long_timeout);
  } catch (const std::exception&) {}
  CHECK(watch.seconds() < soon);
  return errors;
}

template <class F>
void check_soon(int ranks, const F& f) {
  for (const std::string& error : errors_soon(ranks, f)) CHECK(error == "");
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ranks that all begin to receive before they send, with collectives in between") {
  check_soon(2, [](const dist::Communicator<Cpu>& comm) {
    const int other = 1 - comm.rank();
    auto handle = comm.recv_async(zeros({3}), other);
    const Tensor sum = comm.all_reduced(ones({4}));
    comm.send(full({3}, static_cast<float>(comm.rank())), other);
    CHECK(std::move(handle).wait()(1) == static_cast<float>(other));
    CHECK(sum(0) == 2);
  });
}

TEST_CASE("a receive waits for none of another tag, and those of a tag keep their order") {
  check_soon(2, [](const dist::Communicator<Cpu>& comm) {
    const Tensor first = zeros({1}), second = zeros({1}), third = zeros({1});
    if (comm.rank() == 0) {
      auto a = comm.recv_async(first, 1, 1), b = comm.recv_async(second, 1, 1), c = comm.recv_async(third, 1, 2);
      std::move(c).wait();
      comm.send(third, 1);  // only then the others come
      const Tensor last = zeros({1});
      comm.recv(last, 1, 1);  // behind a and b
      CHECK(std::move(b).wait()(0) == 6);
      CHECK(std::move(a).wait()(0) == 5);
      CHECK(last(0) == 7);
    } else {
      comm.send(full({1}, 3.f), 0, 2);
      comm.recv(first, 0);
      CHECK(first(0) == 3);
      for (const float value : {5.f, 6.f, 7.f}) std::move(comm.send_async(full({1}, value), 0, 1)).wait();
    }
  });
}

TEST_CASE("a rank that throws while a collective is in flight fails, and so do the others, at once") {
  for (const bool receives : {false, true}) {
    const auto errors = errors_soon(2, [&](const dist::Communicator<Cpu>& comm) {
      if (comm.rank() == 0) {
        auto handle = receives ? comm.recv_async(zeros({8}), 1) : comm.all_reduce_async(ones({8}));
        throw std::runtime_error("out of luck");
      }
      Tensor<float> x({3});
      comm.recv(x, 0);
    });
    CHECK(errors[0] == "out of luck");
    CHECK(contains(errors[1], "rank 0 recv: "));
    CHECK(contains(errors[1], "rank 0 threw: "));
  }
}

TEST_CASE("handles and communicators end in any order, also while an exception passes") {
  check_soon(2, [](dist::Communicator<Cpu> given) {
    std::optional<dist::Communicator<Cpu>> comm(std::move(given));
    auto first = comm->all_reduce_async(ones({1000}));
    auto second = comm->all_gather_async(ones({10}));
    {
      const dist::Communicator<Cpu> copy = *comm;
      comm.reset();
      const auto let_go = copy.barrier_async();
    }
    CHECK(std::move(second).wait().elements() == 20);
    CHECK(std::move(first).wait()(999) == 2);
  });
  const auto errors = errors_soon(2, [](dist::Communicator<Cpu> given) {
    dist::Handle<float, Cpu> handle;
    const dist::Communicator<Cpu> comm = std::move(given);
    handle = comm.recv_async(zeros({3}), 1 - comm.rank());
    if (comm.rank() == 0) throw std::runtime_error("out of luck");
    comm.barrier();
  });
  CHECK(errors[0] == "out of luck");
  CHECK(contains(errors[1], "rank 0 barrier: "));
}

TEST_CASE("an asynchronous call for which the system grants no thread throws; the rank may go on") {
  check_soon(2, [](const dist::Communicator<Cpu>& comm) {
    comm.barrier();
    if (comm.rank() == 0) {
      const NoThreads refused;
      CHECK_THROWS_AS((void)comm.all_reduce_async(ones({3})), OutOfMemory);
      CHECK_THROWS_AS((void)comm.recv_async(ones({3}), 1), OutOfMemory);
    }
    comm.barrier();  // threads of all ranks can start again
    auto handle = comm.all_reduce_async(ones({3}));
    CHECK(std::move(handle).wait()(2) == 2);
    comm.barrier();
  });
  const auto errors = errors_soon(2, [](const dist::Communicator<Cpu>& comm) {
    comm.barrier();
    if (comm.rank() == 1) return comm.all_reduce(ones({3}));
    const NoThreads refused;
    const auto handle = comm.all_reduce_async(ones({3}));
  });
  CHECK(contains(errors[0], "no thread"));
  CHECK(contains(errors[1], "rank 0 all_reduce: "));
  CHECK_THROWS_AS(([] {
                    const NoThreads refused;
                    dist::spawn<Cpu>(
                        2, [](dist::Communicator<Cpu> comm) { comm.barrier(); }, long_timeout);
                  }()),
                  OutOfMemory);
}

TEST_CASE("a message that was sent before its sender left, is received; after a failure each call throws at once") {
  check_soon(2, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 0) return comm.send(full({100000}, 4.f), 1, 7);
    usleep(20000);
    const Tensor<float> x({100000});
    comm.recv(x, 0, 7);
    CHECK(x(99999) == 4);
  });
  const auto errors = errors_soon(3, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 0) throw std::runtime_error("out of luck");
    CHECK_THROWS_AS(comm.barrier(), CollectiveError);
    CHECK_THROWS_AS(comm.send(ones({1}), 1), CollectiveError);
    CHECK_THROWS_AS(std::move(comm.send_async(ones({1}), 2)).wait(), CollectiveError);
    auto handle = comm.recv_async(ones({1}), 3 - comm.rank());
    CHECK_THROWS_AS(std::move(handle).wait(), CollectiveError);
    comm.recv(ones({1}), 3 - comm.rank());
  });
  CHECK(contains(errors[1], "rank 0 recv: "));
  CHECK(contains(errors[2], "rank 0 threw: out of luck"));
}

TEST_CASE("whatever a collective throws, its rank has failed") {
  dist::detail::Rendezvous group(2, 20, 2);
  CHECK_THROWS_AS(group.guard(0, [] { throw 3; }), int);
  CHECK_THROWS_WITH_AS(group.require_sound(1, {}, 1),
                       doctest::Contains("rank 0 threw: something that is no std::exception"), CollectiveError);
}

namespace {
/// Takes some time, and says that it ends.
class SlowJob : public dist::detail::Job {
 public:
  explicit SlowJob(Atomic<int>& ended) : ended_(ended) {}
  ~SlowJob() override { ended_.fetch_add(1); }

 protected:
  bool run() override {
    usleep(50000);
    return true;
  }

 private:
  Atomic<int>& ended_;
};
/// Adds a job in its destructor, as the last owner of a communicator may in the background.
class AddingJob final : public SlowJob {
 public:
  AddingJob(Atomic<int>& ended, dist::detail::Worker& worker, const Shared<dist::detail::Job>& next)
      : SlowJob(ended), worker_(worker), next_(next) {}
  ~AddingJob() override { worker_.add(next_); }

 private:
  dist::detail::Worker& worker_;
  Shared<dist::detail::Job> next_;
};
}  // namespace

TEST_CASE("a worker that ends does what its last jobs add; then it may begin anew") {
  Atomic<int> ended{0};
  dist::detail::Worker worker;
  for (int turn = 1; turn <= 2; ++turn) {
    {
      const Shared<dist::detail::Job> last(new SlowJob(ended));
      worker.add(Shared<dist::detail::Job>(new AddingJob(ended, worker, last)));
    }
    worker.finish();
    CHECK(ended.load() == 2 * turn);
  }
}
