#pragma once
// dist::nccl(): ranks that are processes with one GPU each; NCCL moves and combines elements.

#include <locus/distributed/engine/device_engine.hpp>
#include <locus/distributed/mpi/mpi.hpp>
#include <locus/distributed/nccl/nccl_link.hpp>
#include <locus/distributed/tcp/tcp.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

#if LOCUS_NCCL
using NcclEngine = DeviceEngine<detail::NcclLink>;

namespace detail {
/// The communicator of ranks that have met through `host`. If one fails meanwhile, ranks that wait for its part of
/// NCCL's id hear of it.
template <class F>
[[nodiscard]] Communicator<Cuda> nccl_by(const Shared<Engine<Cpu>>& host, const F& device) {
  return or_leave(*host, [&] { return Communicator<Cuda>(Shared<Engine<Cuda>>(new NcclEngine(host, device()))); });
}
}  // namespace detail
#endif

#if LOCUS_NCCL
inline namespace with_nccl {
/// Connects processes that meet at an address and take the GPUs of their machine in turn. NCCL moves and combines
/// elements; sums in rank order (Options::sums), and extremes of floats, in which NCCL loses NaN, are made by Locus on
/// GPUs, from elements that NCCL moves. The host queues collectives and goes on, and they can be part of captured
/// steps.
///
/// A thread looks at the collectives in flight every 20 ms. If another rank fails, is gone, leaves, or does not make
/// the call within the time-out, it aborts NCCL; from then on each call of the communicator, and each call that waits
/// for this GPU, throws the error. If none did while the communicator lived, the next wait for this GPU does.
///
/// throws RendezvousError, CudaUnavailable, CudaError if two processes of a machine have one GPU, CollectiveError if a
/// rank fails or is gone meanwhile
[[nodiscard]] inline Communicator<Cuda> nccl(const TcpPlace& place, Options options = {}) {
  options = detail::from_environment(options);
  const Cuda device = detail::gpu_of(place.local_rank);  // before ranks meet, so that none waits for this one
  return detail::nccl_by(detail::tcp_engine(place, options), [&] { return device; });
}
// With MPI it is another function than without: not one symbol.
#if LOCUS_MPI
inline namespace nccl_with_mpi {
#else
inline namespace nccl_without_mpi {
#endif
/// The same without a place. If a launcher set RANK in the environment, as torchrun does, processes meet at the address
/// that it set; else mpirun started them.
///
/// throws EngineUnavailable, too
[[nodiscard]] inline Communicator<Cuda> nccl(Options options = {}) {
#if LOCUS_MPI
  if (!std::getenv("RANK")) {
    options = detail::from_environment(options);
    (void)detail::MpiSession::instance(options.timeout);
    const Shared host(new MpiEngine<Cpu>(MPI_COMM_WORLD, Cpu{}, options));
    return detail::nccl_by(Shared<Engine<Cpu>>(host.get()), [&] { return detail::gpu_of(host->rank_on_machine()); });
  }
#endif
  return nccl(TcpPlace::from_environment(), options);
}
}  // inline namespace
}  // namespace with_nccl
#else
inline namespace without_nccl {
[[noreturn]] inline void refuse_nccl() {
  fail<EngineUnavailable>(
      {"dist::nccl: this program was built without NCCL; install it beside the CUDA toolkit, compile with nvcc where "
       "<nccl.h> is found, link with -lnccl; or use dist::mpi<Cuda> or dist::tcp<Cuda>, which need none"});
}
[[nodiscard]] inline Communicator<Cuda> nccl(const TcpPlace&, Options = {}) { refuse_nccl(); }
[[nodiscard]] inline Communicator<Cuda> nccl(Options = {}) { refuse_nccl(); }
}  // namespace without_nccl
#endif

}}}  // namespace locus::LOCUS_ABI::dist
