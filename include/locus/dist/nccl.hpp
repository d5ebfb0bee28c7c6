#pragma once
// Ranks that are processes with a GPU each, whose elements NCCL moves from GPU to GPU.
//
// Sums are not NCCL's, which round 16-bit floats at every step, in an order of their own: each is made by one rank, in
// the order of ranks, as everywhere in dist. Before each collective the ranks meet on the host, so that one that fails
// is named and nothing is queued that would wait for it forever.

#include <locus/cuda/nccl.hpp>
#include <locus/dist/mpi.hpp>

namespace locus::inline LOCUS_ABI::dist {

#if LOCUS_NCCL
class NcclEngine : public StagedEngine<Cuda> {
  using Call = Collective<Cuda>;

 public:
  /// Bytes that are summed at a time.
  static constexpr std::int64_t piece_bytes = 64 << 20;

  /// Ranks meet by `host`, which is this engine's alone; messages of send and recv go by way of it.
  NcclEngine(const Shared<Engine<Cpu>>& host, Cuda device)
      : StagedEngine<Cuda>(host, device), nccl_(device, host->rank(), host->size(), shared_id(*host)) {}

  void run(const Call& call) override {
    meet(call.what, call.sequence);
    const std::int64_t bytes = call.bytes();
    switch (call.what.kind) {
      case Kind::barrier: return;
      case Kind::all_reduce:
      case Kind::reduce: return reduce(call, call.what.root);
      case Kind::reduce_scatter: {
        const auto row = [&](int rank) { return at(call.source, rank * bytes); };
        return combine(
            call, row, [&](int) { return bytes; }, call.target);
      }
      case Kind::broadcast:
        return nccl_.together([&] {
          for_peers([&](int peer) {
            if (call.what.root == rank()) nccl_.send(call.source, bytes, peer);
            else if (peer == call.what.root) nccl_.receive(call.target, bytes, peer);
          });
        });
      default: {
        const std::int64_t row = call.what.kind == Kind::all_to_all ? bytes : 0;
        nccl_.together([&] {
          for_peers([&](int peer) {
            nccl_.send(at(call.source, peer * row), bytes, peer);
            nccl_.receive(at(call.target, peer * bytes), bytes, peer);
          });
        });
        PeerMemory::copy(device(), at(call.target, rank() * bytes), device(), at(call.source, rank() * row), bytes);
      }
    }
  }

 private:
  [[nodiscard]] static NcclRank::Id shared_id(Engine<Cpu>& host) {
    NcclRank::Id id{};
    if (host.rank() == 0) id = NcclRank::make_id();
    Collective<Cpu> call{{Kind::broadcast, ElementType::uint8, {}, 0, sizeof id}, &id, &id, nullptr, 0};
    host.run(call);
    return id;
  }
  [[nodiscard]] static unsigned char* at(void* data, std::int64_t offset) {
    return static_cast<unsigned char*>(data) + offset;
  }
  [[nodiscard]] static const unsigned char* at(const void* data, std::int64_t offset) {
    return static_cast<const unsigned char*>(data) + offset;
  }
  template <class F>
  void for_peers(const F& f) const {
    for (int i = 1; i < size(); ++i) f((rank() + i) % size());
  }

  /// Sends to each rank what `mine` has for it, and combines what all have for this one. bytes_of(rank) is how much
  /// that is.
  template <class F, class Bytes>
  void combine(const Call& call, const F& mine, const Bytes& bytes_of, void* target) {
    const std::int64_t bytes = bytes_of(rank());
    const Buffer<Cuda> room(device(), static_cast<std::size_t>(bytes * size()));
    std::vector<const void*> sources(static_cast<std::size_t>(size()), mine(rank()));
    nccl_.together([&] {
      for_peers([&](int peer) {
        unsigned char* const theirs = at(room.data(), peer * bytes);
        sources[static_cast<std::size_t>(peer)] = theirs;
        nccl_.send(mine(peer), bytes_of(peer), peer);
        nccl_.receive(theirs, bytes, peer);
      });
    });
    if (bytes > 0)
      call.reducer->combine(device(), sources.data(), size(), &target, 1, bytes / call.reducer->element_bytes, size());
  }

  /// Each rank sums its part and sends it to all; of reduce, to the root alone.
  void reduce(const Call& call, int root) {
    const std::int64_t size = call.reducer->element_bytes, piece = piece_bytes / size;
    for (std::int64_t i = 0; i < pieces_of(call.what.count, piece); ++i) {
      const Range range = piece_of(call.what.count, piece, i);
      const auto part = [&](int rank) {
        const Range within = part_of(range.size(), this->size(), rank);
        return Range{range.begin + within.begin, range.begin + within.end};
      };
      const auto bytes_of = [&](int rank) { return part(rank).size() * size; };
      const bool keeps = root < 0 || root == rank();
      const Buffer<Cuda> own(device(), static_cast<std::size_t>(keeps ? 0 : bytes_of(rank())));
      unsigned char* const own_sum = keeps ? at(call.target, part(rank()).begin * size) : at(own.data(), 0);
      combine(
          call, [&](int rank) { return at(call.source, part(rank).begin * size); }, bytes_of, own_sum);
      nccl_.together([&] {
        for_peers([&](int peer) {
          if (root < 0 || root == peer) nccl_.send(own_sum, bytes_of(rank()), peer);
          if (keeps) nccl_.receive(at(call.target, part(peer).begin * size), bytes_of(peer), peer);
        });
      });
    }
  }

  NcclRank nccl_;
};
#endif

#if LOCUS_MPI && LOCUS_NCCL
inline namespace with_nccl {
/// The processes that mpirun started, with a GPU of their machine each, in turn. Elements go from GPU to GPU.
///
/// throws EngineUnavailable, CudaUnavailable, CudaError where two processes of a machine have one GPU
[[nodiscard]] inline Communicator<Cuda> nccl(Options options = {}) {
  options = detail::from_environment(options);
  const Shared host(new MpiEngine<Cpu>(MPI_COMM_WORLD, Cpu{}, options));
  return Communicator<Cuda>(Shared<Engine<Cuda>>(new NcclEngine(Shared<Engine<Cpu>>(host.get()), host->gpu())));
}
}  // namespace with_nccl
#else
inline namespace without_nccl {
[[nodiscard]] inline Communicator<Cuda> nccl(Options = {}) {
  fail<EngineUnavailable>(
      {"dist::nccl: this program was built without ",
       !LOCUS_MPI ? "MPI, by which ranks meet; install it (apt-get install libopenmpi-dev), and compile with its flags "
                    "(mpicxx --showme); or use threads, dist::spawn<Cuda>"
                  : "NCCL; install it beside the CUDA toolkit, compile with nvcc where <nccl.h> is found, link with "
                    "-lnccl; or use dist::mpi<Cuda>, which needs none"});
}
}  // namespace without_nccl
#endif

}  // namespace locus::inline LOCUS_ABI::dist
