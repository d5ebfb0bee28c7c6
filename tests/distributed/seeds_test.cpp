// Runs on: host.
// Random numbers of ranks: different on each, the same in every run.

#include <locus/distributed/distributed.hpp>

#include <locus/autograd/checkpoint.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <doctest/doctest.h>

#include <support/rank_numbers.hpp>

#include <algorithm>

using namespace locus;
using namespace locus_test;

namespace {
constexpr int ranks = 4;

/// Calls f on each rank; returns its results.
template <class F>
std::vector<Tensor<float>> on_each_rank(const F& f) {
  std::vector<Tensor<float>> results(ranks);
  dist::spawn<Cpu>(ranks,
                   [&](dist::Communicator<Cpu> comm) { results[static_cast<std::size_t>(comm.rank())] = f(comm); });
  return results;
}
bool equal(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() && std::equal(a.data(), a.data() + a.elements(), b.data());
}
bool all_differ(const std::vector<Tensor<float>>& x) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (equal(x[i], x[j])) return false;
  return true;
}
bool equal(const std::vector<Tensor<float>>& a, const std::vector<Tensor<float>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return equal(x, y); });
}
}  // namespace

TEST_CASE("ranks draw numbers of their own, the same in every run, others in every spawn") {
  // Many numbers in turns: threads that shared a generator would take them in another order each time.
  const auto draw = [](dist::Communicator<Cpu> comm) {
    Tensor<float> x = rand({64});
    for (int i = 0; i < 50; ++i) {
      comm.barrier();
      x = rand({64});
    }
    return x;
  };
  manual_seed(3);
  const auto first = on_each_rank(draw), second = on_each_rank(draw);
  CHECK(all_differ(first));
  CHECK_FALSE(equal(first, second));
  manual_seed(3);
  CHECK(equal(on_each_rank(draw), first));
  CHECK(equal(on_each_rank(draw), second));
  manual_seed(4);
  CHECK_FALSE(equal(on_each_rank(draw), first));
}

TEST_CASE("a spawn leaves the numbers of the thread that calls it alone") {
  manual_seed(5);
  const Tensor<float> expected = rand({8});
  manual_seed(5);
  (void)on_each_rank([](auto) {
    manual_seed(77);
    return Tensor<float>(rand({8}));
  });
  CHECK(equal(rand({8}), expected));
}

TEST_CASE("ranks that say the same seed draw the numbers of this seed, each from the beginning") {
  manual_seed(6);
  const Tensor<float> alone = randn({9});
  const auto drawn = on_each_rank([](dist::Communicator<Cpu> comm) {
    if (comm.rank() > 0) (void)rand({comm.rank()}).eval();
    manual_seed(6);
    comm.barrier();
    return Tensor<float>(randn({9}));
  });
  for (const auto& numbers : drawn) CHECK(equal(numbers, alone));
}

TEST_CASE("dropout differs between ranks, and a checkpoint drops on each rank what it dropped") {
  const Tensor<float> x = ones({256});
  const auto dropped = [&](dist::Communicator<Cpu>) { return Tensor<float>(nn::Dropout{0.5}(trace(x)).value()); };
  CHECK(all_differ(on_each_rank(dropped)));
  const auto gradients = on_each_rank([&](dist::Communicator<Cpu>) {
    const auto input = variable(ones({256}));
    const auto y = checkpoint([](const auto& in) { return nn::Dropout{0.5}(in)*in; }, input);
    y.backward(ones({256}));
    CHECK(equal(Tensor<float>(input.grad()), Tensor<float>(y.value() * 2.f)));  // y = mask * x^2, at x = 1
    return Tensor<float>(input.grad());
  });
  CHECK(all_differ(gradients));
}

TEST_CASE("ranks within ranks have numbers of their own, too") {
  const auto draw = [](dist::Communicator<Cpu>) {
    Tensor<float> inner[2];
    dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) { inner[comm.rank()] = rand({4}); });
    CHECK_FALSE(equal(inner[0], inner[1]));
    return inner[0];
  };
  manual_seed(9);
  const auto drawn = on_each_rank(draw);
  CHECK(all_differ(drawn));
  manual_seed(9);
  CHECK(equal(on_each_rank(draw), drawn));
}

TEST_CASE("a thread is one rank at a time, and one after another") {
  Tensor<float> first, second;
  {
    const detail::ThreadRank rank(1, 5);
    first = rand({3});
    CHECK_THROWS_AS(detail::ThreadRank(2, 5), ArgumentError);
    second = rand({3});
  }
  { const detail::ThreadRank other(2, 5); }
  const detail::ThreadRank anew(1, 5);
  CHECK(equal(rand({3}), first));
  CHECK(equal(rand({3}), second));
}

TEST_CASE("numbers of a rank are on record: those of its process under mpirun are the same") {
  manual_seed(11);
  dist::spawn<Cpu>(ranks, [](dist::Communicator<Cpu> comm) { CHECK_NOTHROW(check_rank_numbers(comm.rank())); });
}
