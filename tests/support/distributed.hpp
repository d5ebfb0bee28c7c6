#pragma once
// Compares training over ranks (threads of one process) with training in one process.

#include <support/schooling.hpp>

#include <doctest/doctest.h>

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

}  // namespace locus_test
