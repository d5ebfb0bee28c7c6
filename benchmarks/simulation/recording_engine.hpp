#pragma once
// An engine without other ranks: it notes each collective and message in the recording, and returns. As over NCCL,
// calls are queued in the current stream. Other ranks give the same few bytes as this one in all_gather, by which ranks
// compare numbers; other collectives leave their targets as they are.

#include "virtual_device.hpp"

#include <locus/distributed/communicator/communicator.hpp>
#include <locus/distributed/engine/subgroup.hpp>

#include <functional>

namespace locus { inline namespace LOCUS_ABI { namespace dist {
/// No reduction is computed.
template <>
struct Reducer<scaling::Virtual> {
  std::int64_t element_bytes, sum_bytes;
  template <class T, class Op>
  [[nodiscard]] static const Reducer& of() {
    static constexpr Reducer reducer{sizeof(T), sizeof(compute_t<T>)};
    return reducer;
  }
};
}}}  // namespace locus::LOCUS_ABI::dist

namespace scaling {

/// Any code that calls a communicator can be recorded with it: what rank `rank` of `size` does.
class RecordingEngine final : public locus::dist::Engine<Virtual> {
 public:
  /// The groups that all ranks choose in the given call of split(), counted from 0. Without it, split() throws.
  using Choices = std::function<locus::dist::GroupChoice(int call, int rank)>;

  RecordingEngine(int rank, int size, Choices choices = {}) : RecordingEngine(rank, size, 1, std::move(choices)) {}

  void run(const locus::dist::Collective<Virtual>& call) override {
    note(call.what, static_cast<double>(call.bytes()));
    if (call.what.kind != locus::dist::Kind::all_gather || call.bytes() > most_copied) return;
    for (int peer = 0; peer < size(); ++peer)
      __builtin_memcpy(at(call.target, peer * call.bytes()), call.source, static_cast<std::size_t>(call.bytes()));
  }
  void meet(const locus::dist::Fingerprint& what, std::int64_t) override { note(what, 0); }
  [[nodiscard]] bool is_queued(locus::dist::Kind kind) const override { return kind < locus::dist::Kind::barrier; }
  [[nodiscard]] locus::Shared<Engine> split(locus::dist::GroupChoice choice, std::int64_t) override {
    if (!choices_)
      locus::fail<locus::ArgumentError>(
          {"split: a recording of one rank does not know the groups of the others; give the engine a function "
           "(call, rank) -> GroupChoice"});
    std::vector<locus::dist::GroupChoice> all;
    for (int peer = 0; peer < size(); ++peer) all.push_back(peer == rank() ? choice : choices_(splits_, peer));
    ++splits_;
    note(split_call, sizeof(choice));
    const locus::dist::detail::Subgroup group(all, rank());
    const int stride = group.size() > 1 ? group.ranks()[1] - group.ranks()[0] : 1;
    return locus::Shared<Engine>(new RecordingEngine(group.rank(), group.size(), stride * stride_, {}));
  }
  void send(const locus::dist::Message& message) override {
    note(message.fingerprint(locus::dist::Kind::send), static_cast<double>(message.bytes()));
  }
  bool has_come(const locus::dist::Message&, double) override { return true; }
  void take(const locus::dist::Message& message) override {
    note(message.fingerprint(locus::dist::Kind::recv), static_cast<double>(message.bytes()));
  }
  void leave(const char*) noexcept override {}

 private:
  static constexpr std::int64_t most_copied = 4096;

  RecordingEngine(int rank, int size, int stride, Choices choices)
      : Engine(rank, size, Virtual{}, locus::dist::Options{.timeout = 60}),
        stride_(stride),
        choices_(std::move(choices)) {}
  void note(const locus::dist::Fingerprint& what, double bytes) {
    Entry entry{.what = Entry::What::collective, .stream = recording.stream, .bytes = bytes};
    entry.call = what;
    entry.ranks = size();
    entry.stride = stride_;
    recording.add(entry);
  }

  int stride_;  ///< between neighbours of a group
  Choices choices_;
  int splits_ = 0;
};

}  // namespace scaling
