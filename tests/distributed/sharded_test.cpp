// Runs on: host.
// Models of which each rank has a part.

#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <support/sharded_training.hpp>

using namespace locus;
using namespace locus_test;

TEST_CASE("ranks with parts of a GPT-2 train as one process") {
  for (const int ranks : {1, 2, 4})
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu> comm) { check_sharded(comm); }));
}
