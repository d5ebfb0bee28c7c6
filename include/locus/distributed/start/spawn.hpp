#pragma once
// Ranks as threads of this process.

#include <locus/core/generator.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/distributed/threads/local.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// Threads that are ranks, and the exception of the first that failed.
template <class D, class F>
struct Spawned {
  struct Rank {
    Spawned* all;
    Shared<RankContext<D>> member;
    pthread_t thread{};
  };
  const F& f;
  std::uint64_t seed = 0;
  std::vector<Rank> ranks{};
  Mutex mutex{};
  std::exception_ptr failure{};

  void run(Rank& rank) noexcept {
    try {
      or_leave(*rank.member->engine, [&] {
        try {
          const locus::detail::ThreadRank numbers(rank.member->engine->rank(), seed);
          const locus::detail::TracedRank in_traces(rank.member->engine->rank());
          f(Communicator<D>(rank.member));
        } catch (...) {
          note_failure();  // before others hear of it, and throw
          throw;
        }
      });
    } catch (...) {}
    rank.member = {};
  }
  void note_failure() noexcept {
    const Lock lock(mutex);
    if (!failure) failure = std::current_exception();
  }
};
}  // namespace detail

/// Calls f(Communicator<D>) for each of `ranks` ranks, in a thread for each; returns when all calls have returned.
///
/// Each rank draws its own random numbers, different in each spawn and the same in every run: they follow from the seed
/// of the calling thread. manual_seed() in a rank affects this rank alone; ranks with the same seed draw the same
/// numbers.
///
/// On Cuda, rank r is on GPU r modulo the number of GPUs: several ranks may share one.
///
/// throws the exception of the first rank that failed, after all ranks ended; ArgumentError for less than one rank, or
/// more than 2^20; OutOfMemory
///
///     dist::spawn<Cpu>(4, [](dist::Communicator<Cpu> comm) {
///       Tensor x = full({3}, float(comm.rank()));
///       comm.all_reduce(x);                           // 6 6 6 on each
///     });
template <class D, class F>
void spawn(int ranks, const F& f, Options options = {}) {
  detail::require_ranks("dist::spawn", ranks);
  options = detail::from_environment(options);
  detail::Spawned<D, F> all{f};
  locus::detail::or_out_of_memory({"dist::spawn: no memory for ", ranks, " ranks; spawn fewer"}, [&] {
    for (const Shared<Engine<D>>& engine : LocalRanks<D>::engines(ranks, options))
      all.ranks.push_back({&all, Shared(new detail::RankContext<D>(engine))});
  });
  all.seed = locus::detail::draw_seed_of_ranks();
  std::size_t started = 0;
  for (auto& rank : all.ranks) {
    const auto run = [](void* of) -> void* {
      auto& self = *static_cast<typename detail::Spawned<D, F>::Rank*>(of);
      self.all->run(self);
      return nullptr;
    };
    if (pthread_create(&rank.thread, nullptr, run, &rank) != 0) break;
    ++started;
  }
  if (started < all.ranks.size()) all.ranks[started].member->engine->leave("the system grants no thread for this rank");
  for (std::size_t i = started; i < all.ranks.size(); ++i) all.ranks[i].member = {};
  for (std::size_t i = 0; i < started; ++i) pthread_join(all.ranks[i].thread, nullptr);
  if (started < all.ranks.size())
    fail<OutOfMemory>({"dist::spawn: the system grants no thread for rank ", started, " of ", ranks, "; spawn fewer"});
  if (all.failure) std::rethrow_exception(all.failure);
}

}}}  // namespace locus::LOCUS_ABI::dist
