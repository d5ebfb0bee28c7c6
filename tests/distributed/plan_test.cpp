// Runs on: host.
// The algorithm and the partition of sums, for every size and rank count that matters.

#include <locus/distributed/message/machines.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace locus;
using namespace locus::dist;

namespace {
constexpr std::int64_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 1000, 4096, 65535, 65536, 1 << 20, (1 << 28) + 3};
}

TEST_CASE("parts are in order, without gaps, and begin at multiples of the grain") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    for (const std::int64_t count : sizes) {
      std::int64_t at = 0, largest = 0, smallest = count;
      for (int rank = 0; rank < ranks; ++rank) {
        const Range part = part_of(count, ranks, rank);
        REQUIRE(part.begin == at);
        REQUIRE(part_of(Range{100, 100 + count}, ranks, rank) == Range{100 + part.begin, 100 + part.end});
        REQUIRE(part.end >= part.begin);
        if (part.size() > 0) REQUIRE(part.begin % part_grain == 0);
        if (part.size() > largest) largest = part.size();
        if (part.size() < smallest) smallest = part.size();
        at = part.end;
      }
      REQUIRE(at == count);
      REQUIRE(largest - smallest <= 2 * part_grain - 1);
    }
  }
}

TEST_CASE("pieces cover everything once") {
  for (const std::int64_t count : sizes) {
    for (const std::int64_t piece : {1 << 20, 4096, 100}) {
      if (count / piece > 100000) continue;
      std::int64_t at = 0;
      for (std::int64_t i = 0; i < pieces_of(count, piece); ++i) {
        const Range range = piece_of(count, piece, i);
        REQUIRE(range.begin == at);
        REQUIRE(range.size() > 0);
        REQUIRE(range.size() <= piece);
        at = range.end;
      }
      REQUIRE(at == count);
    }
  }
}

TEST_CASE("larger sums never take a way that is for smaller ones, and what is wanted is taken") {
  for (const Links links : {Links::shared_memory, Links::peer_memory, Links::copies, Links::messages}) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      Algorithm last = Algorithm::one_shot;
      for (std::int64_t bytes = 0; bytes < std::int64_t{1} << 34; bytes = 2 * bytes + 1) {
        const Algorithm chosen = choose_algorithm(links, bytes, ranks);
        CHECK(chosen >= last);
        CHECK(chosen != Algorithm::automatic);
        if (ranks < 3) CHECK(chosen != Algorithm::ring);
        for (const Algorithm wanted : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::ring})
          CHECK(choose_algorithm(links, bytes, ranks, wanted) == wanted);
        last = chosen;
      }
    }
  }
  CHECK(choose_algorithm(Links::peer_memory, 256 << 10, 4) == Algorithm::one_shot);
  CHECK(choose_algorithm(Links::peer_memory, (256 << 10) + 1, 4) == Algorithm::two_shot);
  CHECK(choose_algorithm(Links::peer_memory, 8 << 20, 4) == Algorithm::two_shot);
  CHECK(choose_algorithm(Links::peer_memory, (8 << 20) + 1, 4) == Algorithm::ring);
  CHECK(choose_algorithm(Links::shared_memory, std::int64_t{1} << 40, 4) == Algorithm::two_shot);
  CHECK(to_string(Algorithm::two_shot) == "two-shot");
}

TEST_CASE("a ring sums every chunk over all ranks once, in the order of the ring, and brings it everywhere") {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    // The ranks whose elements are in each rank's sum of a chunk.
    std::vector<std::vector<std::vector<int>>> sums(n, std::vector<std::vector<int>>(n));
    for (int step = 0; step + 1 < ranks; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int chunk = ring_summed(rank, ranks, step), before = (rank + ranks - 1) % ranks;
        auto sum = step == 0 ? std::vector<int>{before}
                             : sums[static_cast<std::size_t>(before)][static_cast<std::size_t>(chunk)];
        REQUIRE(static_cast<int>(sum.size()) == step + 1);
        REQUIRE(sum.front() == chunk);
        sum.push_back(rank);
        sums[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)] = sum;
      }
    }
    std::vector<std::vector<bool>> has(n, std::vector<bool>(n, false));
    for (int rank = 0; rank < ranks; ++rank) {
      const auto owned = static_cast<std::size_t>(ring_owned(rank, ranks));
      CHECK(ring_summed(rank, ranks, ranks - 2) == static_cast<int>(owned));
      CHECK(sums[static_cast<std::size_t>(rank)][owned].size() == n);
      has[static_cast<std::size_t>(rank)][owned] = true;
    }
    for (int step = 0; step + 1 < ranks; ++step) {
      const auto earlier = has;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto chunk = static_cast<std::size_t>(ring_taken(rank, ranks, step));
        REQUIRE(earlier[static_cast<std::size_t>((rank + ranks - 1) % ranks)][chunk]);
        has[static_cast<std::size_t>(rank)][chunk] = true;
      }
    }
    for (const auto& of_rank : has)
      for (const bool chunk : of_rank) CHECK(chunk);
  }
}

TEST_CASE("sums in rank order make no ring, which begins each chunk at another rank, even if it is wanted") {
  constexpr std::int64_t large = 1 << 28;
  for (const Links links : {Links::peer_memory, Links::copies}) {
    CHECK(choose_algorithm(links, large, 4) == Algorithm::ring);
    CHECK(choose_algorithm(links, large, 4, Algorithm::automatic, Sums::in_rank_order) == Algorithm::two_shot);
    CHECK(choose_algorithm(links, large, 4, Algorithm::ring, Sums::in_rank_order) == Algorithm::two_shot);
    CHECK(choose_algorithm(links, large, 4, Algorithm::by_machine, Sums::in_rank_order) == Algorithm::two_shot);
    CHECK(choose_algorithm(links, 1, 4, Algorithm::automatic, Sums::in_rank_order) == Algorithm::one_shot);
  }
}

TEST_CASE("ranks of machines, in whatever order they are named") {
  const std::vector<int> of_rank{7, 2, 7, 2, 2, 9, 9};
  const dist::detail::Machines machines(7, [&](int rank) { return of_rank[static_cast<std::size_t>(rank)]; });
  CHECK(machines.count() == 3);
  CHECK(machines.parts() == 2);
  CHECK(machines.are_worth_it());
  CHECK((machines.ranks_of(1) == std::vector<int>{1, 3, 4}));
  CHECK(machines.place(4).machine == 1);
  CHECK(machines.place(4).index == 2);
  CHECK(!dist::detail::Machines(4, [](int) { return 0; }).are_worth_it());
  CHECK(!dist::detail::Machines(3, [](int rank) { return rank / 2; }).are_worth_it());  // one is alone
}

TEST_CASE("halving leaves each member a part of its own, and peers keep what the other gives") {
  for (const auto& [count, members] : {std::pair{1, 1}, {2, 2}, {3, 2}, {7, 4}, {8, 8}, {1000, 512}})
    CHECK(dist::detail::halving_members(count) == members);
  for (const int members : {1, 2, 4, 8}) {
    for (const std::int64_t count : sizes) {
      std::vector<Range> kept(static_cast<std::size_t>(members), Range{64, 64 + count});
      for (int mask = members / 2; mask > 0; mask /= 2) {
        const std::vector<Range> before = kept;
        for (int member = 0; member < members; ++member) {
          const auto own = static_cast<std::size_t>(member), peer = static_cast<std::size_t>(member ^ mask);
          const dist::detail::Halves mine = dist::detail::halves_of(before[own], member, mask);
          REQUIRE(before[own] == before[peer]);
          REQUIRE(mine.given == dist::detail::halves_of(before[peer], member ^ mask, mask).kept);
          kept[own] = mine.kept;
        }
      }
      std::int64_t all = 0;
      for (const Range& range : kept) all += range.size();
      REQUIRE(all == count);
    }
  }
}
