#pragma once
// dist::run_elastic: ranks that are started again when one of them dies.

#include <locus/distributed/start/launch.hpp>
#include <locus/distributed/start/spawn_processes.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

struct ElasticOptions {
  int ranks = 0;         ///< processes to start; 0: as many as a launcher started, or one
  int least_ranks = 0;   ///< ranks that died are started anew only if fewer are left; 0: always as many as at first
  int max_restarts = 3;  ///< after which a failure is thrown
  Options options{};     ///< of the communicators
};

namespace detail {
[[nodiscard]] inline ElasticOptions checked(ElasticOptions options) {
  if (options.ranks == 0) options.ranks = options.least_ranks > 1 ? options.least_ranks : 1;
  if (options.least_ranks == 0) options.least_ranks = options.ranks;
  require_ranks("dist::run_elastic", options.ranks);
  if (options.least_ranks < 1 || options.least_ranks > options.ranks)
    fail<ArgumentError>({"dist::run_elastic: .least_ranks = ", options.least_ranks, " of ", options.ranks,
                         " ranks; expected 1 to ", options.ranks, ", or 0 for as many as at first"});
  if (options.max_restarts < 0)
    fail<ArgumentError>({"dist::run_elastic: .max_restarts = ", options.max_restarts, "; expected 0 or more"});
  return options;
}
/// The attempt of a process that torchrun started, by TORCHELASTIC_RESTART_COUNT.
[[nodiscard]] inline int attempt_from_environment() {
  const int count =
      locus::detail::number_from_environment("TORCHELASTIC_RESTART_COUNT", "restarts by torchrun", 0, INT32_MAX);
  return count < 0 ? 0 : count;
}
/// The default callback of a restart.
struct PrintFailure {
  void operator()(const RankError& why, int attempt) const {
    std::fprintf(stderr, "locus: run_elastic: attempt %d failed, and the ranks start again: %s\n", attempt, why.what());
  }
};
}  // namespace detail

/// Calls f(Communicator<D>, attempt) on each rank, in a process of its own for each, as spawn_processes() does. When a
/// rank throws, dies or stalls, the other ranks throw CollectiveError, which names it, and end; then all ranks are
/// started again, up to .max_restarts times, with attempt 1, 2, ...: f loads the newest checkpoint, and goes on from
/// there. Ranks that died are left out while .least_ranks are left; ranks that threw are not.
///
/// All attempts draw the same random numbers from the start, so that a run that saves the generators of its ranks goes
/// on as without a failure. Before each restart, the starting process calls on_restart(RankError, failed attempt),
/// which prints a line on stderr by default.
///
/// If a launcher started this process, calls f once, as launch() does, and throws its
/// exception: `torchrun --max-restarts` starts all processes again, and the attempt is its count of restarts.
///
/// throws RankError as spawn_processes(), when no restart is left; ArgumentError for numbers out of range; as launch()
///
///     dist::run_elastic<Cpu>({.ranks = 4, .max_restarts = 10}, [&](dist::Communicator<Cpu> comm, int attempt) {
///       ...
///       if (const auto newest = dist::newest_checkpoint("run", comm)) dist::load_parts(*newest, comm, parts);
///       for (; step < 1000; ++step) train();
///     });
template <class D, class F, class G = detail::PrintFailure>
void run_elastic(const ElasticOptions& given, const F& f, const G& on_restart = {}) {
  if (launched_processes() > 1 || (std::getenv("RANK") && std::getenv("WORLD_SIZE"))) {
    const int attempt = detail::attempt_from_environment();
    return launch<D>(
        given.ranks, [&](const Communicator<D>& comm) { f(Communicator<D>(comm), attempt); }, given.options);
  }
  const ElasticOptions options = detail::checked(given);
  int ranks = options.ranks;
  for (int attempt = 0;; ++attempt) {
    const detail::ProcessesEnd end = detail::run_processes<D>(
        ranks, [&](const Communicator<D>& comm) { f(Communicator<D>(comm), attempt); }, options.options);
    if (!end.failure || attempt == options.max_restarts) {
      (void)locus::detail::draw_seed_of_ranks();  // as each rank did
      return end.rethrow();
    }
    on_restart(*end.failure, attempt);
    ranks = ranks - end.dead > options.least_ranks ? ranks - end.dead : options.least_ranks;
  }
}

}}}  // namespace locus::LOCUS_ABI::dist
