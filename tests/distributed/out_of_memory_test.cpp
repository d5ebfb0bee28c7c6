// Runs on: host; alone.
// Each allocation of ranks that are threads fails once: every rank ends at once, with the right values or an error, and
// nothing leaks.

#include <locus/distributed/distributed.hpp>

#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/failing_memory.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// Collectives with every algorithm, calls in flight, messages.
void work(const dist::Communicator<Cpu>& comm) {
  const int other = comm.size() - 1 - comm.rank();
  const Tensor large = full({20000}, 1.f);
  auto received = comm.recv_async(zeros({5}), other, 1);
  auto summed = comm.all_reduced_async(large);
  comm.send(full({5}, 2.f), other, 1);
  const Tensor all = comm.all_gather(full({3}, 3.f));
  const Tensor own = comm.reduce_scatter(full({comm.size(), 3}, 4.f), dist::max);
  comm.all_reduce(large);
  const float sum = std::move(summed).wait()(19999), message = std::move(received).wait()(4);
  if (sum != 2 || message != 2 || all(1, 2) != 3 || own(2) != 4 || large(0) != 2) fail<NumericError>({"wrong values"});
}

/// Calls work() while one allocation fails. Whether one did.
bool fails_once(std::int64_t successes, dist::Algorithm algorithm) {
  const Stopwatch watch;
  bool happened = false;
  {
    const MemoryFailure failure(successes, true);
    try {
      dist::spawn<Cpu>(2, work, {.timeout = 20, .algorithm = algorithm});
    } catch (const NumericError& error) {
      MemoryFailure::end();
      FAIL(error.what());
    } catch (const std::exception&) {  // the error of the rank that had no memory, or of the other
      CHECK(MemoryFailure::happened());
    }
    happened = MemoryFailure::happened();
  }
  CHECK(watch.seconds() < 10);
  return happened;
}

}  // namespace

TEST_CASE("no memory for any one allocation of ranks that are threads") {
  for (const auto algorithm : {dist::Algorithm::two_shot, dist::Algorithm::ring}) {
    (void)fails_once(INT64_MAX / 2, algorithm);  // allocates objects that are made once
    const std::int64_t before = failing_memory.alive.load();
    int failures = 0;
    for (std::int64_t successes = 0; fails_once(successes, algorithm); ++successes) ++failures;
    CHECK(failures > 30);
    CHECK(failing_memory.alive.load() <= before + 2);  // memory that the system's allocator keeps
  }
}
