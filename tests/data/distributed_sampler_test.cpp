// Runs on: host.
#include <locus/data/loading/distributed_sampler.hpp>
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/thrown.hpp>

#include <algorithm>

using namespace locus;
using namespace locus_test;
using data::DistributedSampler;
using data::Remainder;

namespace {
using Numbers = std::vector<std::int64_t>;

/// How often all ranks together visit each sample.
Numbers visits(std::int64_t samples, int ranks, const data::DistributedSamplerOptions& options, std::uint64_t epoch) {
  Numbers count(static_cast<std::size_t>(samples));
  for (int rank = 0; rank < ranks; ++rank) {
    const DistributedSampler sampler{samples, rank, ranks, options};
    const Numbers order = sampler.order(epoch);
    REQUIRE(static_cast<std::int64_t>(order.size()) == sampler.size());
    for (const std::int64_t i : order) ++count.at(static_cast<std::size_t>(i));
  }
  return count;
}
std::int64_t total(const Numbers& count) {
  std::int64_t sum = 0;
  for (const std::int64_t n : count) sum += n;
  return sum;
}
struct Member {
  int rank() const { return 1; }
  int size() const { return 3; }
};
}  // namespace

TEST_CASE("ranks together visit every sample once, or as the remainder says, for many sizes and numbers of ranks") {
  for (const bool shuffle : {false, true}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (std::int64_t samples = 1; samples <= 40; ++samples) {
        CAPTURE(ranks);
        CAPTURE(samples);
        const std::uint64_t epoch = static_cast<std::uint64_t>(samples % 3);
        const std::int64_t rest = samples % ranks;
        const Numbers repeated = visits(samples, ranks, {.shuffle = shuffle}, epoch);
        const auto [least, most] = std::minmax_element(repeated.begin(), repeated.end());
        CHECK(*least >= 1);
        CHECK(*most <= *least + 1);
        CHECK(total(repeated) == (samples + ranks - 1) / ranks * ranks);
        CHECK(DistributedSampler(samples, 0, ranks).repeated() == total(repeated) - samples);
        if (samples < ranks) continue;
        const auto kept = visits(samples, ranks, {.shuffle = shuffle, .remainder = Remainder::keep}, epoch);
        CHECK(kept == Numbers(static_cast<std::size_t>(samples), 1));
        const auto dropped = visits(samples, ranks, {.shuffle = shuffle, .remainder = Remainder::drop}, epoch);
        CHECK(*std::max_element(dropped.begin(), dropped.end()) == 1);
        CHECK(total(dropped) == samples - rest);
      }
    }
  }
}

TEST_CASE("rank r visits number r, r + ranks, ... of the order, as PyTorch's sampler does") {
  // list(torch.utils.data.DistributedSampler(range(10), 4, r, shuffle=False)); with drop_last=True
  CHECK(DistributedSampler(10, 0, 4, {.shuffle = false}).order(0) == Numbers{0, 4, 8});
  CHECK(DistributedSampler(10, 1, 4, {.shuffle = false}).order(0) == Numbers{1, 5, 9});
  CHECK(DistributedSampler(10, 2, 4, {.shuffle = false}).order(7) == Numbers{2, 6, 0});
  CHECK(DistributedSampler(10, 3, 4, {.shuffle = false}).order(7) == Numbers{3, 7, 1});
  CHECK(DistributedSampler(10, 3, 4, {.shuffle = false, .remainder = Remainder::drop}).order(0) == Numbers{3, 7});
  CHECK(DistributedSampler(10, 1, 4, {.shuffle = false, .remainder = Remainder::keep}).order(0) == Numbers{1, 5, 9});
  CHECK(DistributedSampler(10, 2, 4, {.shuffle = false, .remainder = Remainder::keep}).order(0) == Numbers{2, 6});
  CHECK(DistributedSampler(2, 4, 7, {.shuffle = false}).order(0) == Numbers{0});  // several times round
  const data::RandomSampler whole{10, 3};
  for (const std::uint64_t epoch : {0u, 1u, 5u}) {
    const Numbers order = whole.order(epoch);
    CHECK(DistributedSampler(10, 1, 4, {.seed = 3}).order(epoch) == Numbers{order[1], order[5], order[9]});
    CHECK(DistributedSampler(10, 3, 4, {.seed = 3}).order(epoch) == Numbers{order[3], order[7], order[1]});
  }
}

TEST_CASE("orders differ between epochs and seeds, and one rank visits all samples") {
  CHECK(DistributedSampler(50, 0, 2).order(0) == DistributedSampler(50, 0, 2).order(0));
  CHECK(DistributedSampler(50, 0, 2).order(0) != DistributedSampler(50, 0, 2).order(1));
  CHECK(DistributedSampler(50, 0, 2).order(0) != DistributedSampler(50, 0, 2, {.seed = 1}).order(0));
  CHECK(DistributedSampler(9, 0, 1).order(2) == data::RandomSampler{9}.order(2));
}

TEST_CASE("a loader advances the epoch, which can be set, and knows of repeated samples") {
  const data::TensorDataset dataset{arange<std::int64_t>(0, 7)};
  const data::DistributedSampler sampler{dataset, Member{}};
  const auto epoch_of = [](auto& loader) {
    Numbers seen;
    for (const auto& [x] : loader) seen.insert(seen.end(), x.data(), x.data() + x.elements());
    return seen;
  };
  auto loader = data::loader<Cpu>(dataset, sampler, {.batch_size = 2});
  CHECK(loader.samples() == 3);
  CHECK(loader.size() == 2);
  CHECK(loader.repeats_samples());
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(loader.epoch() == epoch);
    CHECK(epoch_of(loader) == sampler.order(epoch));
  }
  loader.set_epoch(9);
  CHECK(epoch_of(loader) == sampler.order(9));
  CHECK(loader.epoch() == 10);
  const data::DistributedSampler exact{dataset, Member{}, {.remainder = Remainder::keep}};
  CHECK_FALSE(data::loader<Cpu>(dataset, exact).repeats_samples());
  CHECK_FALSE(data::loader<Cpu>(dataset).repeats_samples());
}

TEST_CASE("a rank that is none, no ranks and too few samples are refused") {
  const auto message = [](std::int64_t samples, int rank, int ranks, Remainder remainder = Remainder::repeat) {
    return message_of<ArgumentError>([&] { DistributedSampler(samples, rank, ranks, {.remainder = remainder}); });
  };
  CHECK(message(4, 0, 0) == "DistributedSampler: 0 ranks; expected 1 or more");
  CHECK(message(4, 2, 2) == "DistributedSampler: the rank is 2; expected 0 to 1");
  CHECK(message(4, -1, 2) == "DistributedSampler: the rank is -1; expected 0 to 1");
  CHECK(message(0, 0, 2) == "DistributedSampler: 0 samples for 2 ranks; expected 1 or more");
  CHECK(message(2, 0, 3, Remainder::keep) ==
        "DistributedSampler: 2 samples for 3 ranks; expected 3 or more, or .remainder = data::Remainder::repeat");
  CHECK(contains(message(2, 2, 3, Remainder::drop), "2 samples for 3 ranks"));
  CHECK(message(2, 2, 3).empty());
  CHECK_THROWS_AS((void)DistributedSampler(INT64_MAX, 0, 2).order(0), OutOfMemory);
  CHECK(DistributedSampler(INT64_MAX, 1, 2).size() == INT64_MAX / 2 + 1);
  CHECK(DistributedSampler(INT64_MAX, 1, 2, {.remainder = Remainder::keep}).size() == INT64_MAX / 2);
}
