// Features that Locus's own kernels use on a GPU for the first time: clusters, captured steps, CUB.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/locus.hpp>
#include <locus/ops/sort.hpp>

#include <algorithm>
#include <cmath>

#include "experiment.hpp"

namespace first_run {
namespace {
using namespace locus;

#ifdef LOCUS_SIMULATED_CUDA
constexpr bool quick = true;  // a GPU simulated on the host takes a while
#else
constexpr bool quick = false;
#endif

const char* name_of(locus::cuda::RowStorage storage) {
  return storage == locus::cuda::RowStorage::memory ? "shared memory" : "registers";
}

/// softmax of rows, by up to 8 blocks each, against the host.
void try_clusters() {
  locus::cuda::Context& context = locus::cuda::Context::current(0);
  note("clusters can be launched", context.has_clusters() ? "yes" : "no");
  const locus::cuda::RowDevice device{context.multiprocessors(), context.shared_memory(),
                                      locus::cuda::RowPlan::largest_cluster};
  for (const std::int64_t cols : {8192, 32768, 32769, 200000, 400000, 1000000}) {
    const locus::cuda::RowPlan plan = locus::cuda::plan_rows(2, cols, {1, 4}, device);
    Generator<Cpu> generator{1};
    const auto x = randn<float>({2, cols}, generator);
    const auto expected = softmax(x, 1), got = softmax(x.to<Cuda>(), 1).to<Cpu>();
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
      const double wanted = expected.data()[i];
      largest = std::max(largest, wanted);
      const double distance = std::abs(got.data()[i] - wanted);
      if (!(distance <= difference)) difference = distance;
    }
    note(join("rows of ", cols), join("error ", difference / largest, "; planned, if the GPU hosts such clusters: ",
                                      plan.cluster, " blocks of ", plan.threads, " threads, ", name_of(plan.storage),
                                      ", ", plan.shared_bytes(), " bytes of shared memory"));
  }
}

/// A captured step is destroyed right after it was launched, while the GPU works on it.
void try_destruction_in_flight() {
  constexpr std::int64_t elements = std::int64_t{1} << (quick ? 12 : 24);
  constexpr int updates = quick ? 5 : 200, calls = 4;
  const auto x = zeros<float, Cuda>({elements});
  for (int round = 0; round < 3; ++round) {
    x.fill_(0);
    {
      auto step = capture<Cuda>([&] {
        for (int i = 0; i < updates; ++i) x += 1.f;
        const auto more = (x * 2.f).eval();  // memory of the step's own
        x += more - x - x;
      });
      for (int call = 0; call < calls; ++call) step();
    }
    const auto others = full<float, Cuda>({elements}, NAN);  // in the memory that was the step's
    const float smallest = min(x).item(), largest = max(x).item();
    const bool right = smallest == updates * calls && largest == updates * calls;
    note(join("round ", round),
         right ? "right" : join("WRONG: ", smallest, " to ", largest, ", expected ", updates * calls));
    if (!right) fail<CudaError>({"a captured step that is destroyed in flight computes something else"});
  }
}

/// CUB's sort within a captured step.
void try_cub_in_a_capture() {
  Generator<Cpu> generator{1};
  const auto x = randn<float>({quick ? 500 : 100000}, generator).to<Cuda>();
  auto step = capture([&] {
    x += 1.f;
    return sort(x).values;
  });
  for (int call = 0; call < 4; ++call) {
    const Tensor<float> got = step().to<Cpu>(), expected = sort(x.to<Cpu>()).values;
    const bool same = std::equal(got.data(), got.data() + got.elements(), expected.data());
    note(join("call ", call, call < 2 ? " (not a replay)" : " (a replay)"), same ? "right" : "WRONG");
    if (!same) fail<CudaError>({"sort in a captured step computes something else"});
  }
}

}  // namespace

std::vector<Experiment> kernel_experiments() {
  return {
      {"clusters", "do clusters of up to 8 blocks with the largest rows run, and are they right?", &try_clusters},
      {"capture_in_flight", "may a captured step be destroyed while it runs?", &try_destruction_in_flight},
      {"cub_in_a_capture", "does CUB's sort run in a captured step?", &try_cub_in_a_capture},
  };
}

}  // namespace first_run
