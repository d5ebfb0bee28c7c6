// Runs on: cuda (ranks).
// Models that ranks on GPUs train together; several ranks share a GPU if there are fewer.

#include <support/distributed.hpp>

#include <support/skip.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// During its lifetime, work of the simulated GPUs is late.
struct Late {
#ifdef LOCUS_SIMULATED_CUDA
  Late() { simulated::late = true; }
  ~Late() { simulated::late = false; }
#else
  ~Late() {}
#endif
};
}  // namespace

TEST_CASE("ranks on GPUs end with the parameters of one process that has the batches of all") {
  NEEDS_CUDA();
  const Late late;
  check_as_one_process<Cuda>({.ranks = 2, .steps = 10});
  check_as_one_process<Cuda>({.ranks = 3, .steps = 10, .parts = 2, .forks = true});
  Schooling plan{.ranks = 2, .steps = 10, .uneven = true};
  plan.options.weigh_by_samples = true;
  check_as_one_process<Cuda>(plan);
}

TEST_CASE("buffers on GPUs are those of rank 0 after each pass") {
  NEEDS_CUDA();
  const Late late;
  CHECK_NOTHROW(dist::spawn<Cuda>(3, [](dist::Communicator<Cuda> comm) {
    const nn::BatchNorm1d<float, Cuda> model(6, {}, comm.device());
    const auto parallel = dist::distributed(model, comm);
    const nn::BatchNorm1d<float, Cuda> of_rank_0 = model.clone();
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto samples = [&](int rank) {
        Generator<Cuda> generator{10 * step + static_cast<std::uint64_t>(rank)};
        return trace(randn<float, Cuda>({4, 6}, generator, comm.device()));
      };
      sum(parallel(samples(comm.rank()))).backward();
      (void)of_rank_0(samples(0));
    }
    CHECK(max(abs(model.running_mean.value() - of_rank_0.running_mean.value())).item() == 0);
    CHECK(model.num_batches_tracked.value().item() == 3);
  }));
}

TEST_CASE("a model that ranks train is not captured: fit launches its steps") {
  NEEDS_CUDA();
  auto models = forked_models(2);
  CHECK_NOTHROW(dist::spawn<Cuda>(2, [&](dist::Communicator<Cuda> comm) {
    auto& own = models[static_cast<std::size_t>(comm.rank())];
    const auto parallel = dist::distributed(std::move(own).to<Cuda>(comm.device()), comm, {.weigh_by_samples = true});
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}};
    const Tensor<float, Cuda> x = full<float, Cuda>({4, 6}, 0.5f, comm.device());
    const auto step = [&] {
      const auto loss = mean(square(parallel(trace(x)))).eval();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      return loss.value();
    };
    auto captured = capture(step);
    if (comm.device() == Cuda{}) {
      (void)captured();  // runs as it is
#if LOCUS_CUDA
      CHECK(contains(message_of<CaptureError>([&] { (void)captured(); }),
                     "the step cannot be captured for replay, because ranks reduce its gradients"));
#endif
    } else {
      (void)step();
    }
    (void)step();  // nothing is left of the attempt
    const auto all = comm.all_gather(nn::flatten(parallel).values()).to<Cpu>();
    CHECK(max(abs(all.select(0, 0) - all.select(0, 1))).item() == 0);
  }));
}

TEST_CASE("a model on another GPU than the communicator's is refused on every rank") {
  NEEDS_CUDA();
  if (cuda::device_count() < 2) SKIP_TEST("one GPU alone");
  CHECK_NOTHROW(dist::spawn<Cuda>(2, [](dist::Communicator<Cuda> comm) {
    const nn::Linear<float, Cuda> model(6, 3, true, Cuda{0});
    CHECK(message_of<DeviceError>([&] { (void)dist::distributed(model, comm); }) ==
          "distributed: 'weight' is on cuda:0, the communicator of rank 1 on cuda:1; move the model first, "
          "std::move(model).to(comm.device())");
    comm.barrier();
  }));
}

TEST_CASE("ranks skip a step together, whichever rank's gradient overflows") {
  NEEDS_CUDA();
  check_skips_together<Cuda>();
}
