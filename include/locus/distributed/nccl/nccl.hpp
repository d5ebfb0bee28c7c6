#pragma once
// Ranks that are processes with one GPU each; NCCL moves elements from GPU to GPU. Before each collective the ranks
// meet on the host, so that a rank that failed before is named, and nothing is queued that would wait for it. Then the
// host waits until NCCL is done, and watches the other ranks meanwhile. If one is gone, each of the others hears of it,
// aborts NCCL, and throws: nothing is computed from elements that did not arrive.

#include <locus/cuda/nccl.hpp>
#include <locus/distributed/engine/device_engine.hpp>
#include <locus/distributed/mpi/mpi.hpp>
#include <locus/distributed/tcp/tcp.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

#if LOCUS_NCCL
namespace detail {
/// Called while NCCL is not done: checks whether the other ranks are still there. throws CollectiveError
class NcclWait {
 public:
  NcclWait(Engine<Cpu>& host, const Fingerprint& what, std::int64_t sequence)
      : host_(host), what_(what), sequence_(sequence) {}
  /// is_own: this rank's GPU has not yet reached the collective. This delay does not count for the rank's own time-out,
  /// but for the time-outs of ranks that wait for it.
  void operator()(bool is_own) {
    const double now = watch_.seconds();
    if (now < looked_ + 0.01) return;
    looked_ = now;
    if (is_own) begun_ = now;
    host_.require_others(what_, sequence_);
    if (now - begun_ > host_.options().timeout)
      raise(
          what_, sequence_, host_.rank(), host_.size(), -1,
          join("NCCL moved nothing for ", host_.options().timeout,
               " seconds, though all ranks are there; NCCL_DEBUG=WARN in the environment says why (a longer time-out: "
               "Options::timeout, or LOCUS_DIST_TIMEOUT in the environment)"));
  }

 private:
  Engine<Cpu>& host_;
  Fingerprint what_;
  std::int64_t sequence_;
  Stopwatch watch_;
  double looked_ = 0, begun_ = 0;
};

/// See DeviceEngine.
class NcclLink {
 public:
  static constexpr int most_distances = NcclRank::most_operations / 2;
  NcclLink(const Shared<Engine<Cpu>>& host, Cuda device) : host_(host), nccl_(device) {
    or_leave(*host_, [&] {
      nccl_.start(host_->rank(), host_->size(), shared_id(*host_), NcclWait(*host_, first_call, 0));
      host_->meet(first_call, 0);
    });
  }

  /// Ranks meet before f(), so that all begin, and after it, so that none destroys NCCL while it still sends to others.
  template <class F>
  void run(const Collective<Cuda>& call, const F& f) {
    what_ = call.what;
    sequence_ = call.sequence;
    try {
      host_->meet(call.what, call.sequence);
      or_leave(*host_, f);  // the next call would receive transfers missed here
      host_->meet(call.what, call.sequence);
    } catch (...) {
      nccl_.abort();
      throw;
    }
  }
  static void meet() {}  // run() has met
  template <class F> void together(const F& f) { nccl_.together(f, NcclWait(*host_, what_, sequence_)); }
  void send(const void* data, std::int64_t bytes, int peer) const { nccl_.send(data, bytes, peer); }
  void receive(void* data, std::int64_t bytes, int peer) const { nccl_.receive(data, bytes, peer); }

 private:
  /// The broadcast of NCCL's id, after which NCCL starts.
  static constexpr Fingerprint first_call{Kind::broadcast, ElementType::uint8, {}, 0, sizeof(NcclRank::Id)};
  [[nodiscard]] static NcclRank::Id shared_id(Engine<Cpu>& host) {
    NcclRank::Id id{};
    if (host.rank() == 0) id = NcclRank::make_id();
    host.run({first_call, &id, &id, nullptr, 0});
    return id;
  }

  Shared<Engine<Cpu>> host_;
  NcclRank nccl_;
  Fingerprint what_{};  ///< the call in flight, and its number
  std::int64_t sequence_ = 0;
};
}  // namespace detail

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
/// Connects processes that meet at an address and take the GPUs of their machine in turn. NCCL moves elements from GPU
/// to GPU.
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
