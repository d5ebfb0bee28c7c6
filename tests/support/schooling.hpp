#pragma once
// Training over ranks, and the same training in one process, from a common plan of each rank's steps. Independent of
// the test framework, since processes that mpirun starts use it, too.

#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

#include <cmath>
#include <vector>

namespace locus_test {
using namespace locus;

/// A trunk and three heads; each call uses one head, never the last. (n, 6) -> (n, 3)
template <class T, class D>
struct Forked : nn::Layer<Forked<T, D>, T, D> {
  nn::Linear<T, D> trunk{6, 9};
  std::vector<nn::Linear<T, D>> heads{nn::Linear<T, D>{9, 3}, nn::Linear<T, D>{9, 3}, nn::Linear<T, D>{9, 3}};

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, std::size_t head = 0) const {
    return heads[head](tanh(trunk(x))).eval();
  }
  void members(const auto& visit) const { visit("trunk", trunk), visit("heads", heads); }
  template <class U, class E> [[nodiscard]] auto twin() const { return Forked<U, E>{}; }
};

/// A different model for each rank; the list is the same in every run and on every rank.
[[nodiscard]] inline std::vector<Forked<float, Cpu>> forked_models(int ranks) {
  Generator<Cpu> generator{7};
  std::vector<Forked<float, Cpu>> models(static_cast<std::size_t>(ranks));
  for (const auto& model : models)
    for (const auto& parameter : model.parameters())
      parameter.value().copy_(0.3f * randn<float>(parameter.shape(), generator));
  return models;
}

struct Schooling {
  int ranks = 2, steps = 50;
  int parts = 1;        ///< backward passes of a step
  bool forks = false;   ///< ranks use different heads
  bool uneven = false;  ///< ranks have different numbers of samples, some none
  dist::DistributedOptions options = {.bucket_bytes = 200, .first_bucket_bytes = 40};

  [[nodiscard]] std::size_t head(int rank, int step) const {
    return !forks || step % 3 == 0 ? 0 : static_cast<std::size_t>(rank + step) % 2;
  }
  [[nodiscard]] int samples(int rank, int step) const {
    if (!uneven) return 4;
    return rank == ranks - 1 && step % 5 == 4 ? 0 : 1 + (2 * rank + step) % 4;
  }
  [[nodiscard]] int all_samples(int step) const {
    int all = 0;
    for (int rank = 0; rank < ranks; ++rank) all += samples(rank, step);
    return all;
  }
  [[nodiscard]] double share(int rank, int step) const {
    return uneven ? static_cast<double>(samples(rank, step)) / all_samples(step) : 1.0 / ranks;
  }
};

/// The samples of all ranks in one part of a step.
template <class D>
[[nodiscard]] Tensor<float, D> samples_of_all(const Schooling& plan, int step, int part, D device) {
  Generator<Cpu> generator{static_cast<std::uint64_t>(1000 + 10 * step + part)};
  return randn<float>({plan.all_samples(step), 6}, generator).template to<D>(device);
}
template <class D>
[[nodiscard]] Tensor<float, D> samples_of(const Schooling& plan, int rank, int step, int part, D device) {
  std::int64_t begin = 0;
  for (int other = 0; other < rank; ++other) begin += plan.samples(other, step);
  return samples_of_all(plan, step, part, device).slice(0, begin, begin + plan.samples(rank, step));
}

/// Backward pass of the mean squared distance to a function of the samples.
template <class M, class D>
void backward(const M& model, const Tensor<float, D>& x, std::size_t head, double weight) {
  const auto loss = mean(square(model(trace(x), head) - sin(x.slice(1, 0, 3)))).eval();
  loss.backward(full<float, D>({}, static_cast<float>(weight), x.device()));
}

[[nodiscard]] inline optim::SgdOptions sgd_options() { return {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}; }

/// All parameters, concatenated.
template <class M>
[[nodiscard]] std::vector<float> values_of(const M& model) {
  std::vector<float> values;
  for (const auto& parameter : model.parameters()) {
    const Tensor<float> host = parameter.value().template to<Cpu>();
    values.insert(values.end(), host.data(), host.data() + host.elements());
  }
  return values;
}

/// Trains one rank; returns its final parameters. norms: of the reduced gradients, by which the ranks clip.
template <class D>
[[nodiscard]] std::vector<float> values_of_rank(const dist::Communicator<D>& comm, Forked<float, Cpu> own,
                                                const Schooling& plan, std::vector<float>* norms = nullptr) {
  const int rank = comm.rank();
  const auto parallel = dist::distributed(std::move(own).template to<D>(comm.device()), comm, plan.options);
  optim::Sgd optimizer{parallel.parameters(), sgd_options()};
  for (int step = 0; step < plan.steps; ++step) {
    optimizer.zero_grad();
    const auto one_part = [&](int part) {
      Tensor<float, D> x = samples_of(plan, rank, step, part, comm.device());
      if (plan.samples(rank, step) == 0) {
        x = full<float, D>({2, 6}, NAN, comm.device());
        parallel.weigh(0);
      }
      backward(parallel, x, plan.head(rank, step), 1.0 / plan.parts);
    };
    for (int part = 0; part + 1 < plan.parts; ++part) {
      const auto guard = parallel.no_sync();
      one_part(part);
    }
    one_part(plan.parts - 1);
    const auto norm = optim::clip_grad_norm_(parallel.parameters(), 0.5);
    if (norms) norms->push_back(norm.item());
    optimizer.step();
  }
  return values_of(parallel);
}

/// The same training in one process, which has all samples.
template <class D>
[[nodiscard]] std::vector<float> values_of_one(const Schooling& plan, std::vector<float>* norms = nullptr) {
  const auto model = std::move(forked_models(1)[0]).template to<D>();
  optim::Sgd optimizer{model.parameters(), sgd_options()};
  for (int step = 0; step < plan.steps; ++step) {
    optimizer.zero_grad();
    for (int part = 0; part < plan.parts; ++part) {
      if (!plan.forks) {
        backward(model, samples_of_all(plan, step, part, D{}), 0, 1.0 / plan.parts);
        continue;
      }
      for (int rank = 0; rank < plan.ranks; ++rank)
        backward(model, samples_of(plan, rank, step, part, D{}), plan.head(rank, step),
                 plan.share(rank, step) / plan.parts);
    }
    const auto norm = optim::clip_grad_norm_(model.parameters(), 0.5);
    if (norms) norms->push_back(norm.item());
    optimizer.step();
  }
  return values_of(model);
}

/// |a - b| / |b|
[[nodiscard]] inline double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0, size = 0;
  if (a.size() != b.size()) return HUGE_VAL;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(square / size);
}

}  // namespace locus_test
