#pragma once
// send and recv of ranks that are processes. A control message announces a message and its size; the elements follow in
// transfers with a tag of their own, so that they are received directly into their destination.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/distributed/message/message_peers.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A message with its memory, until it has been sent. A slow send continues in the background: as long as its rank
/// exists, and for a time-out after the rank has left or its process began to end.
template <class Link>
class OutgoingMessage final : public BackgroundJob {
 public:
  OutgoingMessage(const Shared<MessagePeers<Link>>& peers, const Message& message, const ControlMessage& control,
                  int tag)
      : peers_(peers),
        peer_(message.peer),
        control_(control),
        bytes_(static_cast<const unsigned char*>(message.data),
               static_cast<const unsigned char*>(message.data) + message.bytes()),
        announcement_(peers->link),
        elements_(peers->link, tag) {}

  void post() {
    announcement_.send(peer_, &control_, sizeof control_);
    elements_.send(peer_, bytes_.data(), static_cast<std::int64_t>(bytes_.size()));
  }
  [[nodiscard]] bool is_sent() { return announcement_.first_open() < 0 && elements_.first_open() < 0; }
  /// Abandons the send. Memory that transfers still use is kept.
  void give_up() noexcept {
    announcement_.abandon();
    elements_.abandon();
    if (peers_->link.has_open_transfers()) Link::keep(*this);
  }

 private:
  bool run() override {
    try {
      if (is_sent()) return true;
      if (!peers_->has_left() && !is_last()) watch_ = {};  // until then, there is no time-out
      if (peers_->is_sound() && !peers_->has_ended(peer_) && !peers_->link.is_dead(peer_) &&
          watch_.seconds() < peers_->timeout())
        return false;
    } catch (const std::bad_alloc&) {  // no memory for arriving bytes
      if (watch_.seconds() < peers_->timeout()) return false;
    } catch (const std::exception&) {}
    give_up();
    return true;
  }

  Shared<MessagePeers<Link>> peers_;
  int peer_;
  ControlMessage control_;
  std::vector<unsigned char> bytes_;
  typename Link::Transfers announcement_, elements_;
  Stopwatch watch_{};
};

/// The messages of one rank.
template <class Link>
class PointToPoint {
  using Peers = MessagePeers<Link>;

 public:
  explicit PointToPoint(Shared<Peers> peers)
      : peers_(std::move(peers)), sent_(static_cast<std::size_t>(peers_->link.size())) {}

  /// throws OutOfMemory: nothing was sent; if the send had begun, all ranks fail
  void send(const Message& message) {
    ControlMessage control;
    control.what = ControlMessage::What::message;
    control.from = peers_->link.rank();
    control.tag = message.tag;
    control.type = static_cast<std::int64_t>(message.type);
    control.count = message.count;
    control.group = peers_->link.group();
    std::int64_t& number = sent_[static_cast<std::size_t>(message.peer)];
    control.number = number;
    locus::detail::or_out_of_memory({"send: no memory for a message of ", message.bytes(), " bytes"}, [&] {
      if (message.peer == control.from) {
        const auto* const bytes = static_cast<const unsigned char*>(message.data);
        return peers_->keep_own({control, {bytes, bytes + message.bytes()}});
      }
      post(Shared(new OutgoingMessage<Link>(peers_, message, control, tag_of(control))));
    });
    ++number;
  }
  [[nodiscard]] bool has_come(const Message& message, double waited) {
    const Fingerprint what = message.fingerprint(Kind::recv);
    peers_->require_sound(what, message.sequence);
    const bool has_ended = peers_->has_ended(message.peer);  // read first: messages precede the end
    if (peers_->has_pending(message.peer, message.tag)) return true;
    if (has_ended) peers_->refuse(message.peer, join("rank ", message.peer, has_left_text), what, message.sequence);
    const auto waits = [&] {
      return !peers_->has_ended(message.peer) && !peers_->has_pending(message.peer, message.tag);
    };
    peers_->require_alive(message.peer, waited, waits, what, message.sequence);
    return false;
  }
  void take(const Message& message) {
    const Fingerprint what = message.fingerprint(Kind::recv);
    const auto pending = peers_->take_pending(message.peer, message.tag);
    const ControlMessage& control = pending.control;
    if (control.count != message.count || control.type != static_cast<std::int64_t>(message.type)) {
      const Fingerprint sent{
          Kind::send, static_cast<ElementType>(control.type), {}, peers_->link.rank(), control.count};
      peers_->refuse(message.peer, join("rank ", message.peer, " called ", sent), what, message.sequence);
    }
    if (message.peer == peers_->link.rank()) {
      if (message.bytes() > 0) std::memcpy(message.data, pending.own.data(), static_cast<std::size_t>(message.bytes()));
      return;
    }
    typename Link::Transfers transfers(peers_->link, tag_of(control));
    transfers.receive(message.peer, message.data, message.bytes());
    peers_->wait(transfers, what, message.sequence);
  }

 private:
  /// On failure, all ranks fail: the receiver may have seen a part of the message, so no other message can take its
  /// number.
  void post(const Shared<OutgoingMessage<Link>>& outgoing) {
    try {
      outgoing->post();
      if (!outgoing->is_sent()) BackgroundThread::deliver(Shared<BackgroundJob>(outgoing.get()));
    } catch (const std::exception& error) {
      peers_->threw(error.what());
      outgoing->give_up();
      throw;
    }
  }
  /// Messages have odd tags; collectives have even ones.
  [[nodiscard]] int tag_of(const ControlMessage& control) const {
    return 2 * static_cast<int>(control.number % (peers_->link.most_tag() / 2)) + 1;
  }

  Shared<Peers> peers_;
  std::vector<std::int64_t> sent_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
