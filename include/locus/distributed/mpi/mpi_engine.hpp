#pragma once
// The engine of processes that MPI started.

#include <locus/distributed/message/message_engine.hpp>
#include <locus/distributed/mpi/mpi_collectives.hpp>

#if LOCUS_MPI

namespace locus { inline namespace LOCUS_ABI { namespace dist {

template <HostAccessible D>
class MpiEngine final : public MessageEngine<D, detail::MpiLink> {
  using Peers = detail::MessagePeers<detail::MpiLink>;
  using MessageEngine<D, detail::MpiLink>::MessageEngine;

 public:
  /// All ranks of `parent` make one at the same time. `most_bytes`: the largest message given to MPI. throws
  /// EngineUnavailable
  MpiEngine(MPI_Comm parent, D device, const Options& options, std::int64_t most_bytes = 1 << 30)
      : MessageEngine<D, detail::MpiLink>(
            Shared<Peers>(new Peers(options.timeout, parent, options.timeout, most_bytes)), device, options) {}

  [[nodiscard]] Shared<Engine<D>> split(GroupChoice choice, std::int64_t sequence) override {
    return Shared<Engine<D>>(divided(choice, sequence).get());
  }
  /// split(), of known type.
  [[nodiscard]] Shared<MpiEngine> divided(GroupChoice choice, std::int64_t sequence) {
    return Shared(new MpiEngine(this->peers_of_group(choice, sequence), this->device(), this->options()));
  }

  /// The index of this process among the processes of its machine.
  [[nodiscard]] int rank_on_machine() const { return this->peers().link.rank_on_machine(); }
};

}}}  // namespace locus::LOCUS_ABI::dist
#endif
