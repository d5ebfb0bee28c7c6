#pragma once
// Ranks of a device whose elements travel through the host.

#include <locus/cuda/backend.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/device/buffer.hpp>
#include <locus/distributed/engine/engine.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// The GPU of a process: the processes of a machine take its GPUs in turn. throws CudaUnavailable
[[nodiscard]] inline Cuda gpu_of(int rank_on_machine) {
  const int gpus = cuda::device_count();
  if (gpus == 0) cuda::require_device(0);
  return {rank_on_machine % (gpus > 0 ? gpus : 1)};
}
}  // namespace detail

/// An engine of D on top of a Cpu engine: copies sources to page-locked memory, and results back.
template <class D>
class StagedEngine : public Engine<D> {
 public:
  StagedEngine(Shared<Engine<Cpu>> host, D device)
      : Engine<D>(host->rank(), host->size(), device, host->options()), host_(std::move(host)) {}

  [[nodiscard]] const char* name() const override { return host_->name(); }
  void run(const Collective<D>& call) override {
    const int n = this->size();
    const Kind kind = call.what.kind;
    const bool reads_rows = kind == Kind::reduce_scatter || kind == Kind::all_to_all;
    const bool writes_rows = kind == Kind::all_gather || kind == Kind::all_to_all;
    const bool reads = kind != Kind::broadcast || call.what.root == this->rank();
    const bool writes = kind != Kind::reduce || call.what.root == this->rank();
    Shared<Rooms> rooms;
    detail::or_leave(*host_, [&] {  // a counted call: failing alone would shift later ones
      rooms = Shared(new Rooms);
      rooms->source = room(call.bytes() * (reads_rows ? n : 1));
      rooms->target = call.source == call.target ? rooms->source : room(call.bytes() * (writes_rows ? n : 1));
      if (reads) to_host(call.source, rooms->source);
    });
    Collective<Cpu> on_host{call.what, rooms->source.data(), rooms->target.data(), nullptr, call.sequence, rooms.get()};
    if (call.reducer) on_host.reducer = &call.reducer->on_host();
    host_->run(on_host);
    if (writes) to_device(rooms->target, call.target);
  }
  void meet(const Fingerprint& what, std::int64_t sequence) override { host_->meet(what, sequence); }
  [[nodiscard]] Shared<Engine<D>> split(GroupChoice choice, std::int64_t sequence) override {
    const Shared<Engine<Cpu>> host = host_->split(choice, sequence);
    return detail::or_leave(*host, [&] { return Shared<Engine<D>>(new StagedEngine(host, this->device())); });
  }
  void send(const Message& message) override {
    const Buffer<Pinned> source = room(message.bytes());
    to_host(message.data, source);
    Message on_host = message;
    on_host.data = source.data();
    host_->send(on_host);
  }
  bool has_come(const Message& message, double waited) override { return host_->has_come(message, waited); }
  void rest(int turn) override { host_->rest(turn); }
  void take(const Message& message) override {
    const Shared rooms(new Rooms);
    rooms->target = room(message.bytes());
    Message on_host = message;
    on_host.data = rooms->target.data();
    on_host.owner = rooms.get();
    host_->take(on_host);
    to_device(rooms->target, message.data);
  }
  void leave(const char* why) noexcept override { host_->leave(why); }
  [[nodiscard]] bool keeps_memory() const override { return host_->keeps_memory(); }

 protected:
  [[nodiscard]] Engine<Cpu>& host() const { return *host_; }

 private:
  /// Page-locked memory of one call.
  struct Rooms : Owner {
    Buffer<Pinned> source, target;
  };
  [[nodiscard]] static Buffer<Pinned> room(std::int64_t bytes) { return {Pinned{}, static_cast<std::size_t>(bytes)}; }
  void to_host(const void* source, const Buffer<Pinned>& target) const {
    if (target.bytes()) Transfer<D, Pinned>::copy(this->device(), source, Pinned{}, target.data(), target.bytes());
  }
  void to_device(const Buffer<Pinned>& source, void* target) const {
    if (source.bytes()) Transfer<Pinned, D>::copy(Pinned{}, source.data(), this->device(), target, source.bytes());
  }
  Shared<Engine<Cpu>> host_;
};

}}}  // namespace locus::LOCUS_ABI::dist
