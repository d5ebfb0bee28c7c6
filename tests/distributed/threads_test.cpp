// Runs on: host; race.
// Ranks that are threads: values against serial references, and faults.

#include <locus/distributed/distributed.hpp>
#include <locus/distributed/spread.hpp>

#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>

#include <optional>

using namespace locus;
using namespace locus_test;

namespace {
constexpr int rank_counts[] = {1, 2, 3, 4, 7, 8};

/// The CollectiveError of each rank; other exceptions leave their rank, as spawn says.
template <class F>
std::vector<std::optional<CollectiveError>> errors_of(int ranks, const F& f, const dist::Options& options = {}) {
  std::vector<std::optional<CollectiveError>> errors(static_cast<std::size_t>(ranks));
  try {
    dist::spawn<Cpu>(
        ranks,
        [&](dist::Communicator<Cpu> comm) {
          try {
            f(comm);
          } catch (const CollectiveError& error) {
            errors[static_cast<std::size_t>(comm.rank())] = error;
            throw;
          }
        },
        options);
  } catch (const std::exception&) {}
  return errors;
}
}  // namespace

TEST_CASE("collectives of every type equal their references, for every number of ranks") {
  for (const int ranks : rank_counts)
    for (const std::int64_t count : {0, 1, 17})
      CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [&](dist::Communicator<Cpu> comm) { check_every_type(comm, count); }));
}

TEST_CASE("each way of summing equals the reference, also over several pieces") {
  for (const auto algorithm : {dist::Algorithm::one_shot, dist::Algorithm::two_shot, dist::Algorithm::ring}) {
    for (const int ranks : rank_counts) {
      CAPTURE(ranks);
      CHECK_NOTHROW(dist::spawn<Cpu>(ranks,
                                     [&](dist::Communicator<Cpu> comm) {
                                       check_reductions<float>(comm, 0, dist::sum);
                                       check_reductions<half>(comm, 333, dist::mean);
                                       check_reductions<std::uint8_t>(comm, 1000, dist::sum);
                                       check_reductions<float>(comm, 5001, dist::sum);
                                       if (ranks == 3)
                                         check_reductions<bfloat16>(comm, 100001, dist::sum);  // three passes of a ring
                                     },
                                     {.algorithm = algorithm}));
    }
  }
}

TEST_CASE("groups of ranks are communicators of their own") {
  for (const int ranks : rank_counts)
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu> comm) { check_groups(comm); }));
}

TEST_CASE("a rank that makes another call than a split, or is gone, is named by all; a failed group ends its ranks") {
  const auto barrier = errors_of(3, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 2) comm.barrier();
    else (void)comm.split(0);
  });
  for (const auto& error : barrier) {
    REQUIRE(error);
    CHECK(std::string(error->what()).find("rank 2 called barrier(), rank 0 split()") != std::string::npos);
    CHECK(error->rank == 2);
  }
  const auto gone = errors_of(3, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 1) throw std::runtime_error("no luck");
    (void)comm.split(0);
  });
  CHECK(std::string(gone[0].value().what()).find("split(), call 1 of rank 0 of 3: rank 1 threw: no luck") == 0);
  const auto in_group = errors_of(4, [](const dist::Communicator<Cpu>& comm) {
    const auto group = comm.split(comm.rank() / 2);
    if (comm.rank() == 3) throw std::runtime_error("no luck");
    group.barrier();
    comm.barrier();
  });
  CHECK(
      std::string(in_group[2].value().what()) ==
      "barrier(), call 1 of rank 0 of 2 of a group (rank 2 of the run): rank 1 of the group (rank 3 of the run) threw: "
      "an exception");
  CHECK(in_group[2]->rank == 1);
  CHECK(in_group[2]->rank_of_run == 3);
  for (const int rank : {0, 1}) CHECK(in_group[static_cast<std::size_t>(rank)]->rank >= 2);
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    CHECK_THROWS_WITH_AS((void)comm.split(-1), doctest::Contains("color -1"), ArgumentError);
    comm.barrier();
  });
}

namespace {
struct Grid;
struct Data : Along<Grid> {
  static constexpr const char* name = "Data";
};
struct Model : Along<Grid> {};
}  // namespace

TEST_CASE(
    "errors name the axis of a mesh, the rank along it, and the rank of the run; so do errors of groups of groups") {
  const auto along = [](const auto& call) {
    return errors_of(4, [&](const dist::Communicator<Cpu>& comm) {
      const dist::Mesh<Cpu, Data, Model> mesh(comm, {2, 2});
      call(comm, mesh);
    });
  };
  const auto data = along([](const dist::Communicator<Cpu>& comm, const auto& mesh) {
    if (comm.rank() == 3) throw std::runtime_error("no luck");
    if (comm.rank() == 1) mesh.template along<Data>().communicator().barrier();
  });
  CHECK(
      std::string(data[1].value().what()) ==
      "barrier(), call 1 of rank 0 of 2 along Data (rank 1 of the run): rank 1 of the group (rank 3 of the run) threw: "
      "an exception");
  const auto model = along([](const dist::Communicator<Cpu>& comm, const auto& mesh) {
    const auto alone = mesh.template along<Model>().communicator().split(0, -comm.rank(), "from the last on");
    if (comm.rank() == 2) throw std::runtime_error("no luck");
    if (comm.rank() == 3) alone.all_reduce(ones({comm.rank() == 3 ? 2 : 3}));
  });
  CHECK(std::string(model[3].value().what())
            .find("of rank 0 of 2 from the last on (rank 3 of the run): rank 1 of the group "
                  "(rank 2 of the run) threw: an exception") != std::string::npos);
  const auto numbered = along([](const dist::Communicator<Cpu>& comm, const auto& mesh) {
    if (comm.rank() < 2) mesh.template along<Model>().communicator().all_reduce(ones({2 + comm.rank()}));
  });
  CHECK(std::string(numbered[0].value().what())
            .find("of rank 0 of 2 along axis 1 (rank 0 of the run): rank 1 of the group "
                  "(rank 1 of the run) called all_reduce(3 x float32") != std::string::npos);
}

TEST_CASE("larger tensors, chosen by size") {
  CHECK_NOTHROW(dist::spawn<Cpu>(4, [](dist::Communicator<Cpu> comm) {
    for (const std::int64_t count : {4096, 4097, 20001}) {
      check_reductions<float>(comm, count, dist::sum);
      check_moves<float>(comm, count);
    }
  }));
}

TEST_CASE("results are the same from run to run, however the ranks come") {
  std::vector<float> first;
  for (int run = 0; run < 4; ++run) {
    dist::spawn<Cpu>(3, [&](dist::Communicator<Cpu> comm) {
      if (comm.rank() == run % 3) usleep(2000);
      const auto y = comm.all_reduced(of_rank<float, Cpu>(comm.rank(), {9001}, Cpu{}));
      if (comm.rank() != 0) return;
      const std::vector<float> now(y.data(), y.data() + y.elements());
      if (run == 0) first = now;
      else CHECK(first == now);
    });
  }
}

TEST_CASE("handles are taken in any order, and outlive their communicator") {
  for (const int ranks : {1, 3})
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu> comm) { check_order_of_handles(comm); }));
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    std::optional<dist::Communicator<Cpu>> mine(std::move(comm));
    auto handle = mine->all_reduce_async(full({3}, 1.0f));
    mine.reset();
    CHECK(std::move(handle).wait()(2) == 2);
    CHECK_FALSE(handle.started());
    CHECK_THROWS_AS(std::move(handle).wait(), ArgumentError);
  });
}

TEST_CASE("an in-place collective counts as a change") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const Tensor x = ones({4});
    const auto y = x + 1.0f;
    comm.all_reduce(x);
    CHECK_THROWS_AS((void)y.eval(), StaleError);
  });
}

TEST_CASE("what is wrong on one rank alone is thrown there before others see anything") {
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    CHECK_THROWS_AS(comm.broadcast(ones({3}), 2), ArgumentError);
    CHECK_THROWS_AS(comm.reduce(ones({3}), -1), ArgumentError);
    CHECK_THROWS_AS((void)comm.reduce_scatter(ones({3})), ShapeError);
    CHECK_THROWS_AS((void)comm.all_to_all(full({}, 1.0f)), ShapeError);
    CHECK_THROWS_AS(comm.all_reduce(ones({1}).expand({3})), ArgumentError);
    CHECK_THROWS_AS(comm.send(ones({3}), 7), ArgumentError);
    comm.barrier();
  });
  for (const int ranks : {0, -1})
    CHECK_THROWS_AS(dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu>) {}), ArgumentError);
  CHECK_THROWS_AS(dist::spawn<Cpu>(2, [](dist::Communicator<Cpu>) {}, {.timeout = -1}), ArgumentError);
}

TEST_CASE("a rank that throws ends the others, which name it; spawn throws what it threw") {
  for (int run = 0; run < 20; ++run) {
    const int culprit = run % 3;
    std::string thrown;
    const auto errors = errors_of(3, [&](const dist::Communicator<Cpu>& comm) {
      comm.barrier();
      if (comm.rank() == culprit) throw std::runtime_error("out of luck");
      Tensor x = ones({run % 2 ? 10 : 100000});
      comm.all_reduce(x);
    });
    for (int rank = 0; rank < 3; ++rank) {
      const auto& error = errors[static_cast<std::size_t>(rank)];
      REQUIRE(error.has_value() == (rank != culprit));
      if (!error) continue;
      CHECK(error->rank == culprit);
      CHECK(error->collective == "all_reduce");
      CHECK(error->sequence == 2);
      CHECK(std::string(error->what()).find("out of luck") != std::string::npos);
    }
  }
  CHECK_THROWS_WITH(dist::spawn<Cpu>(2,
                                     [](dist::Communicator<Cpu> comm) {
                                       if (comm.rank() == 1) throw std::runtime_error("out of luck");
                                       comm.barrier();
                                     }),
                    "out of luck");
}

TEST_CASE("a rank that leaves early, or waits for a message that nobody sends, is named") {
  for (int run = 0; run < 20; ++run) {
    const auto errors = errors_of(2, [](const dist::Communicator<Cpu>& comm) {
      if (comm.rank() == 1) return;
      Tensor<float> x({3});
      comm.recv(x, 1);
    });
    REQUIRE(errors[0].has_value());
    CHECK(errors[0]->rank == 1);
    CHECK(errors[0]->collective == "recv");
  }
  const auto errors = errors_of(2, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 0) comm.send(ones({4}), 1);
    else comm.recv(ones({3}), 0);
  });
  REQUIRE(errors[1].has_value());
  CHECK(std::string(errors[1]->what()).find("send(4 x float32") != std::string::npos);
}

TEST_CASE("a rank that stalls is named after the time-out") {
  for (int run = 0; run < 2; ++run) {
    const auto errors = errors_of(3,
                                  [&](const dist::Communicator<Cpu>& comm) {
                                    comm.barrier();
                                    if (comm.rank() == 1) usleep(900000);
                                    comm.all_reduce(ones({run % 2 ? 10 : 100000}));
                                  },
                                  {.timeout = 0.5});
    for (const auto& error : errors) {
      REQUIRE(error.has_value());  // the stalled rank, too, when it comes
      CHECK(error->rank == 1);
      CHECK(error->sequence == 2);
    }
  }
}

TEST_CASE("calls that differ are refused on all ranks, by kind, size, type, op and root") {
  using Comm = dist::Communicator<Cpu>;
  using Call = void (*)(const Comm&);
  constexpr Call sum = [](const Comm& comm) { comm.all_reduce(ones({8})); };
  constexpr Call others[] = {[](const Comm& comm) { comm.broadcast(ones({8}), 0); },
                             [](const Comm& comm) { comm.barrier(); },
                             [](const Comm& comm) { comm.all_reduce(ones({9})); },
                             [](const Comm& comm) { comm.all_reduce(ones({90000})); },
                             [](const Comm& comm) { comm.all_reduce(ones<double>({8})); },
                             [](const Comm& comm) { comm.all_reduce(ones({8}), dist::max); },
                             [](const Comm& comm) { comm.reduce(ones({8}), 0); }};
  for (const Call other : others) {
    for (int run = 0; run < 3; ++run) {
      const auto errors = errors_of(3, [&](const Comm& comm) { (comm.rank() == 2 ? other : sum)(comm); });
      for (const auto& error : errors) {
        REQUIRE(error.has_value());
        CHECK(error->rank == 2);
        CHECK(error->sequence == 1);
        CHECK(std::string(error->what()).find("rank 2 called") != std::string::npos);
      }
    }
  }
}

TEST_CASE("after a failure, each later call throws the same, also those in flight, and nothing waits") {
  const auto errors = errors_of(2, [](const dist::Communicator<Cpu>& comm) {
    if (comm.rank() == 1) return;
    auto handle = comm.all_reduce_async(ones({8}));
    CHECK_THROWS_AS(std::move(handle).wait(), CollectiveError);
    CHECK_THROWS_AS(comm.send(ones({3}), 1), CollectiveError);
    const auto let_go = comm.all_gather_async(ones({8}));
    comm.barrier();
  });
  REQUIRE(errors[0].has_value());
  CHECK(errors[0]->collective == "barrier");
}
