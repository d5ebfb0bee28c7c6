#pragma once
// dist::tcp<D>(): processes that meet at an address, without MPI.

#include <locus/core/generator.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/distributed/engine/staged_engine.hpp>
#include <locus/distributed/message/message_engine.hpp>
#include <locus/distributed/tcp/tcp_link.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
[[nodiscard]] inline Shared<Engine<Cpu>> tcp_engine(const TcpPlace& place, const Options& options) {
  using Peers = MessagePeers<TcpLink>;
  const Shared peers(new Peers(options.timeout, place, options.timeout));
  locus::detail::become_rank(place.rank);
  locus::detail::traced_rank_of_process.store(place.rank);
  return peers->or_fail([&] { return Shared<Engine<Cpu>>(new MessageEngine<Cpu, TcpLink>(peers, Cpu{}, options)); });
}
}  // namespace detail

/// Connects the processes that a launcher started, which meet at an address in the environment: MASTER_ADDR,
/// MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK. All processes call it, the same number of times. From then on, each
/// process draws the random numbers of its rank, as with mpi().
///
/// Processes prove to each other that they know the secret of the run, LOCUS_DIST_SECRET or TcpPlace::secret, which may
/// be missing if they meet at a loopback address. Other programs that connect are turned away.
///
/// On Cuda, the processes of a machine take its GPUs in turn; elements travel through page-locked memory.
///
/// throws RendezvousError within the time-out after rank 0 came, and at once for an invalid place, and for a secret
/// that is missing or differs from rank 0's; CudaUnavailable, OutOfMemory without a thread
///
///     auto comm = dist::tcp<Cpu>();   // RANK=0 WORLD_SIZE=2 ./program & RANK=1 WORLD_SIZE=2 ./program
template <class D>
[[nodiscard]] Communicator<D> tcp(const TcpPlace& place, Options options = {}) {
  options = detail::from_environment(options);
  (void)place.checked();
  if constexpr (std::is_same_v<D, Cpu>) {
    const auto host = detail::tcp_engine(place, options);
    return detail::or_leave(*host, [&] { return Communicator<D>(host); });
  } else {
    static_assert(std::is_same_v<D, Cuda>, "dist::tcp has engines for Cpu and Cuda");
    const Cuda device = detail::gpu_of(place.local_rank);  // before ranks meet, so that none waits for this one
    const auto host = detail::tcp_engine(place, options);
    return detail::or_leave(*host,
                            [&] { return Communicator<D>(Shared<Engine<D>>(new StagedEngine<D>(host, device))); });
  }
}
template <class D>
[[nodiscard]] Communicator<D> tcp(Options options = {}) {
  return tcp<D>(TcpPlace::from_environment(), options);
}

}}}  // namespace locus::LOCUS_ABI::dist
