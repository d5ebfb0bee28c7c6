// Runs on: cuda (ranks).
// Ranks on GPUs; several ranks share a GPU if there are fewer: values against serial references, orders of streams, and
// faults. Simulated GPUs are two, connected or not.

#include <locus/distributed/distributed.hpp>

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/data_parallel.hpp>
#include <support/skip.hpp>
#include <support/synchronized.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// During its lifetime, sets whether kernels of one simulated GPU reach the memory of the other, and whether work is
/// late.
struct Simulated {
  explicit Simulated([[maybe_unused]] bool are_connected, [[maybe_unused]] bool late = false) {
#ifdef LOCUS_SIMULATED_CUDA
    simulated::are_connected = are_connected;
    simulated::late = late;
  }
  ~Simulated() {
    simulated::are_connected = true;
    simulated::late = false;
#endif
  }
};

template <class F>
void check_ranks(int ranks, const F& f, const dist::Options& options = {}) {
  CHECK_NOTHROW(dist::spawn<Cuda>(ranks, f, options));
}

}  // namespace

TEST_CASE("collectives of ranks on GPUs equal their references") {
  NEEDS_CUDA();
  for (const bool are_connected : {true, false}) {
    [[maybe_unused]] const Simulated machine(are_connected);
    for (const int ranks : {1, 2, 3, 4, 7, 8}) {
      CAPTURE(ranks);
      check_ranks(ranks, [&](dist::Communicator<Cuda> comm) {
        for (const std::int64_t count : {0, 1, 17}) {
          check_reductions<float>(comm, count, dist::sum);
          check_moves<float>(comm, count);
        }
        check_reductions<half>(comm, 203, dist::mean);
        check_reductions<std::int32_t>(comm, 100, dist::sum);
#ifdef LOCUS_SIMULATED_CUDA
        if (ranks == 3 && are_connected) check_every_type(comm, 17);
#endif
        check_order_of_handles(comm);
        check_groups(comm);
      });
    }
  }
}

TEST_CASE("each way of summing on GPUs equals the reference") {
  NEEDS_CUDA();
  for (const bool are_connected : {true, false}) {
    [[maybe_unused]] const Simulated machine(are_connected);
    for (const auto algorithm : {dist::Algorithm::one_shot, dist::Algorithm::two_shot, dist::Algorithm::ring}) {
      for (const int ranks : {2, 3, 7}) {
        CAPTURE(ranks);
        CAPTURE(to_string(algorithm));
        check_ranks(ranks,
                    [&](dist::Communicator<Cuda> comm) {
                      check_reductions<half>(comm, 333, dist::mean);
                      check_reductions<float>(comm, 1027, dist::sum);
                    },
                    {.algorithm = algorithm});
      }
    }
  }
}

TEST_CASE("a ring on GPUs of several passes") {
  NEEDS_CUDA();
  check_ranks(3,
              [](dist::Communicator<Cuda> comm) {
                const auto x =
                    full<float, Cuda>({(1 << 18) * 3 * 2 + 5}, static_cast<float>(comm.rank() + 1), comm.device());
                comm.all_reduce(x);
                const Tensor<float> host = x.to<Cpu>();
                for (std::int64_t i = 0; i < host.elements(); ++i)
                  if (host.data()[i] != 6)
                    return wrong(join("element ", i, " is ", static_cast<double>(host.data()[i])));
              },
              {.algorithm = dist::Algorithm::ring});
}

TEST_CASE("collectives are ordered with what each rank queues before and after, however late GPUs work") {
  NEEDS_CUDA();
  for (const bool are_connected : {true, false}) {
    [[maybe_unused]] const Simulated machine(are_connected, true);
    for (const auto algorithm : {dist::Algorithm::one_shot, dist::Algorithm::two_shot, dist::Algorithm::ring}) {
      check_ranks(3,
                  [](dist::Communicator<Cuda> comm) {
                    const float mine = static_cast<float>(comm.rank() + 1);
                    const auto is = [](double value) { return [value](std::int64_t) { return Expected{value, 0}; }; };
                    const Tensor<float, Cuda> x = full<float, Cuda>({300}, mine, comm.device()) * 2.f;
                    comm.all_reduce(x);
                    x.copy_(x + 1.f);  // not before others have read the reduced elements
                    const Tensor<float, Cuda> y = comm.all_reduced(x);
                    const Tensor<float, Cuda> z = full<float, Cuda>({300}, mine, comm.device());
                    auto handle = comm.all_reduce_async(z);
                    require_elements("x", x, is(13));
                    require_elements("y", y, is(39));
                    require_elements("z", std::move(handle).ordered(), is(6));
                    comm.send(x, (comm.rank() + 1) % 3);
                    x.fill_(0);
                    const Tensor<float, Cuda> received({300}, comm.device());
                    comm.recv(received, (comm.rank() + 2) % 3);
                    require_elements("received", received, is(13));
                  },
                  {.algorithm = algorithm});
    }
  }
}

TEST_CASE("a rank on a GPU that throws, leaves or calls something else is named by the others") {
  NEEDS_CUDA();
  for (int run = 0; run < 6; ++run) {
    std::vector<int> at_fault(3, -1);
    const dist::Options options{.algorithm = run % 2 ? dist::Algorithm::ring : dist::Algorithm::two_shot};
    CHECK_THROWS(dist::spawn<Cuda>(
        3,
        [&](dist::Communicator<Cuda> comm) {
          const auto x = full<float, Cuda>({5000}, 1.f, comm.device());
          comm.all_reduce(x);
          try {
            if (comm.rank() == 2 && run % 3 == 0) throw std::runtime_error("out of luck");
            if (comm.rank() == 2 && run % 3 == 1) return;
            if (comm.rank() == 2) comm.broadcast(x);
            else comm.all_reduce(x);
          } catch (const CollectiveError& error) {
            at_fault[static_cast<std::size_t>(comm.rank())] = error.rank;
            throw;
          }
        },
        options));
    CHECK(at_fault[0] == 2);
    CHECK(at_fault[1] == 2);
  }
}

TEST_CASE("batch normalization of ranks on GPUs is that of one process with the whole batch") {
  NEEDS_CUDA();
  for (const int ranks : {2, 3, 4})
    check_ranks(ranks, [](dist::Communicator<Cuda> comm) { check_synchronized_batch_norm(comm); });
}

TEST_CASE("a model on several GPUs, or several times on one, trains as it does alone") {
  NEEDS_CUDA();
  const int gpus = cuda::device_count();
  for (const bool late : {false, true}) {
    for (const bool are_connected : {true, false}) {
      [[maybe_unused]] const Simulated machine(are_connected, late);
      CHECK_NOTHROW(check_data_parallel<Cuda>({Cuda{0}, Cuda{0}}));
      if (gpus < 2) continue;
      CHECK_NOTHROW(check_data_parallel<Cuda>({Cuda{0}, Cuda{1}}));
      CHECK_NOTHROW(check_data_parallel<Cuda>({Cuda{1}, Cuda{0}, Cuda{1}}));
    }
  }
  const auto model = perceptron(Cuda{gpus - 1});
  const dist::DataParallel parallel(model);
  CHECK(static_cast<int>(parallel.places().size()) == gpus);
  CHECK(parallel.places()[0] == Cuda{gpus - 1});
  const auto x = of_rank<float, Cuda>(0, {9, 4}, Cuda{gpus - 1});
  CHECK_NOTHROW(require_near("prediction", parallel(x), model(x), 1e-5));
  if (gpus > 1) CHECK_THROWS_AS((dist::DataParallel(model, {Cuda{0}, Cuda{gpus - 1}})), DeviceError);
}

TEST_CASE("a model on several places cannot be part of a captured step") {
  NEEDS_CUDA();
  const auto model = perceptron(Cuda{0});
  const dist::DataParallel parallel(model, {Cuda{0}, Cuda{0}});
  const auto x = of_rank<float, Cuda>(0, {4, 4}, Cuda{0});
  auto step = capture([&] { return parallel(x); });
  const auto repeat = [&] {
    for (int i = 0; i < 3; ++i) (void)step();  // captured as soon as it was computed once
  };
  CHECK_THROWS_AS(repeat(), CaptureError);
}

TEST_CASE("a tensor on another GPU than the communicator's is refused before others see anything") {
  NEEDS_CUDA();
  if (cuda::device_count() < 2) SKIP_TEST("one GPU alone");
  check_ranks(2, [](dist::Communicator<Cuda> comm) {
    CHECK_THROWS_AS(comm.all_reduce(ones<float, Cuda>({3}, Cuda{1 - comm.rank()})), DeviceError);
    comm.barrier();
  });
  CHECK_THROWS_AS(dist::spawn<Cuda>(65, [](dist::Communicator<Cuda>) {}), ArgumentError);
}
