// Runs on: host.
#include <locus/data/loading/workers.hpp>

#include <doctest/doctest.h>

#include <string>

#include <support/environment_variable.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

TEST_CASE("a GPU's loader has the processors of a GPU or a rank, from 1 to as many batches as are prepared ahead") {
  using data::detail::workers_of;
  CHECK(workers_of({.processors = 16, .gpus = 4}) == 4);
  CHECK(workers_of({.processors = 16, .gpus = 1}) == 8);
  CHECK(workers_of({.processors = 20, .gpus = 8}) == 2);
  CHECK(workers_of({.processors = 4, .gpus = 8}) == 1);
  CHECK(workers_of({.processors = 16, .gpus = 2, .ranks = 4}) == 4);
  CHECK(workers_of({.processors = 16, .gpus = 8, .ranks = 1}) == 2);
  CHECK(workers_of({.processors = 6, .gpus = 0}) == 6);
  CHECK(data::most_suggested_workers == 8);
}

TEST_CASE("on Cpu, loops come first") {
  using data::detail::workers_of;
  CHECK(workers_of({.processors = 16, .loop_threads = 16}) == 0);
  CHECK(workers_of({.processors = 16, .loop_threads = 12}) == 4);
  CHECK(workers_of({.processors = 64, .loop_threads = 2}) == 8);
  CHECK(workers_of({.processors = 16, .ranks = 4, .loop_threads = 1}) == 3);
  CHECK(workers_of({.processors = 16, .ranks = 4, .loop_threads = 16}) == 0);
  const Variable unset("LOCUS_WORKERS", nullptr);
  const int threads = cpu::max_threads();
  cpu::set_max_threads(256);
  CHECK(data::suggested_workers(Cpu{}) == 0);
  cpu::set_max_threads(threads);
}

TEST_CASE("ranks are those that a launcher started on this machine") {
  const Variable mpi("OMPI_COMM_WORLD_LOCAL_SIZE", nullptr), torchrun("LOCAL_WORLD_SIZE", "3");
  CHECK(data::detail::local_ranks() == 3);
  const Variable bad("LOCAL_WORLD_SIZE", "many");
  CHECK(data::detail::local_ranks() == 1);
}

TEST_CASE("LOCUS_WORKERS overrides what is suggested, on every device") {
  for (const auto& [text, count] : {std::pair{"0", 0}, {"3", 3}, {"256", 256}}) {
    const Variable variable("LOCUS_WORKERS", text);
    CHECK(data::suggested_workers() == count);
    CHECK(data::suggested_workers(Cpu{}) == count);
    CHECK(data::suggested_workers(Cuda{}) == count);
  }
  for (const char* const text : {"257", "-1", "2 ", "two", "99999999999999999999"}) {
    CAPTURE(text);
    const Variable variable("LOCUS_WORKERS", text);
    const std::string message = message_of<ArgumentError>([] { (void)data::suggested_workers(Cpu{}); });
    CHECK(message == join("LOCUS_WORKERS is \"", text, "\"; expected a number of threads, 0 to 256"));
  }
  const Variable unset("LOCUS_WORKERS", "");
  const int of_a_gpu = data::suggested_workers(Cuda{});
  CHECK(of_a_gpu >= 1);
  CHECK(of_a_gpu <= data::most_suggested_workers);
}
