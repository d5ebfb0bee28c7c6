#pragma once
// Compares training over ranks (threads of one process) with training in one process.

#include <support/reference.hpp>
#include <support/schooling.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace locus_test {

/// Final parameters of every rank. norms: the gradient norms by which rank 0 clips.
template <class D>
[[nodiscard]] std::vector<std::vector<float>> values_of_ranks(const Schooling& plan,
                                                              std::vector<float>* norms = nullptr) {
  std::vector<std::vector<float>> results(static_cast<std::size_t>(plan.ranks));
  auto models = forked_models(plan.ranks);
  dist::spawn<D>(plan.ranks, [&](dist::Communicator<D> comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    results[rank] = values_of_rank(comm, std::move(models[rank]), plan, rank == 0 ? norms : nullptr);
  });
  return results;
}

/// Ranks end with bitwise equal parameters, in repeated runs and without overlap, and close to the parameters of one
/// process.
template <class D>
void check_as_one_process(const Schooling& plan) {
  std::vector<float> norms, norms_of_one;
  const auto results = values_of_ranks<D>(plan, &norms);
  const auto one = values_of_one<D>(plan, &norms_of_one);
  for (const auto& values : results) CHECK(values == results[0]);
  CHECK(relative_distance(results[0], one) < 1e-6);
  CHECK(relative_distance(norms, norms_of_one) < 1e-5);
  CHECK(values_of_ranks<D>(plan)[0] == results[0]);
  Schooling at_the_end = plan;
  at_the_end.options.overlap = false;
  CHECK(values_of_ranks<D>(at_the_end)[0] == results[0]);
}

/// Where the gradient of one rank overflows, a scaler skips the step of all ranks, and the next step is made; also
/// where gradients lie in several runs of memory, since a parameter between them is of no optimizer.
template <class D>
void check_skips_together() {
  CHECK_NOTHROW(dist::spawn<D>(2, [](dist::Communicator<D> comm) {
    const D device = comm.device();
    manual_seed(3);
    nn::Sequential<float, D> model{nn::Linear<float, D>{3, 3}, nn::Linear<float, D>{3, 3}};
    const auto parallel = dist::distributed(std::move(model).template to<D>(device), comm);
    const auto all = parallel.parameters();
    optim::Sgd optimizer{std::vector{all[0], all[2], all[3]}, {.lr = 0.1}};
    optim::GradScaler<D> scaler{{.init_scale = 4}, device};
    const auto x = ones<float, D>({2, 3}, device);
    const auto values = [&] {
      std::vector<double> result;
      for (const auto& parameter : optimizer.parameters())
        for (const double value : reference(parameter.value()).values) result.push_back(value);
      return result;
    };
    for (int step = 0; step < 4; ++step) {
      const auto before = values();
      const bool skips = step % 2 == 1;
      const float factor = skips && comm.rank() == step / 2 ? std::numeric_limits<float>::infinity() : 1.f;
      optimizer.zero_grad();
      scaler.scale(mean(parallel(trace(x)) * factor)).backward();
      CHECK(locus::detail::gradient_runs(optimizer.parameters()).size() == 2);
      scaler.step(optimizer);
      scaler.update();
      CHECK((values() == before) == skips);
      CHECK(scaler.skipped_steps() == (step + 1) / 2);
      CHECK(scaler.scale_factor() == (step < 1 ? 4 : step < 3 ? 2 : 1));
      const auto of_both = comm.all_gather(optimizer.parameters()[0].value());
      CHECK_CLOSE(of_both.select(0, 0), reference(of_both.select(0, 1)), 0);
    }
  }));
}

}  // namespace locus_test
