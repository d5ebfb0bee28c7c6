#pragma once
// One TCP connection: transfers in both directions. A frame with the number of bytes and the tag precedes the bytes.

#include <locus/core/std/shared.hpp>
#include <locus/distributed/message/control_message.hpp>
#include <locus/distributed/tcp/socket.hpp>

#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// One thread at a time uses it.
class TcpStream {
 public:
  static constexpr std::int32_t control_tag = -1;
  struct Frame {
    std::int64_t bytes = 0, tag = 0;
  };
  /// A transfer uses the caller's memory until it is done, or abandoned.
  struct Transfer : Counted {
    Frame frame{};
    int peer = -1;
    bool receives = false, is_done = false;
    bool has_own = false;              ///< it arrived before its request: `own` grows with the bytes
    unsigned char* data = nullptr;     ///< null: not wanted any more
    std::int64_t at = 0;               ///< bytes received or sent; of a send, bytes of its frame, too
    std::vector<unsigned char> own{};  ///< bytes that arrived before their request, or of an abandoned send
  };

  TcpStream() = default;
  explicit TcpStream(Socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] bool has_ended() const { return has_ended_; }
  /// -1: there is no connection, or it has ended.
  [[nodiscard]] int descriptor() const { return has_ended_ ? -1 : socket_.number(); }
  [[nodiscard]] bool has_unwritten() const { return !has_ended_ && !sending_.empty(); }

  void receive(const Shared<Transfer>& wanted) {
    for (std::size_t i = 0; i < unasked_.size(); ++i) {
      const Shared<Transfer> found = unasked_[i];
      if (!is_same(found->frame, wanted->frame)) continue;
      unasked_.erase(unasked_.begin() + static_cast<std::ptrdiff_t>(i));
      if (wanted->data) std::memcpy(wanted->data, found->own.data(), static_cast<std::size_t>(found->at));
      wanted->at = found->at;
      wanted->is_done = found->is_done;
      if (!found->is_done) arriving_ = wanted;  // which found was: the rest arrives where it is wanted
      return;
    }
    wanted_.push_back(wanted);
  }
  void send(const Shared<Transfer>& transfer) {
    sending_.push_back(transfer);
    write();
  }
  /// Reads the bytes that have arrived, control messages to `controls`, and writes until the connection is full. It
  /// reads first: a peer that ended may have sent something before. throws std::bad_alloc; a later call goes on where
  /// this one stopped
  void progress(std::vector<ControlMessage>& controls, int peer) {
    if (!has_ended_) {
      read(controls, peer);
      write();
    }
    if (has_ended_) drop_controls();
  }
  /// Whether a transfer is over. A control message to a process that has ended is not waited for; elements to it are an
  /// error of their collective.
  [[nodiscard]] bool is_over(const Transfer& transfer) const {
    return transfer.is_done || (transfer.frame.tag == control_tag && has_ended_);
  }
  /// From now on, the stream does not use the memory of a transfer.
  void abandon(Transfer& transfer) noexcept {
    auto& list = transfer.receives ? wanted_ : sending_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].get() != &transfer || (!transfer.receives && transfer.at > 0)) continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (transfer.receives) transfer.data = nullptr;
    else keep_rest(transfer);
  }

  /// Ends the writing direction.
  void finish_writing() const {
    if (socket_) shutdown(socket_.number(), SHUT_WR);
  }
  /// Reads and drops bytes. Whether the peer has closed the connection, too.
  [[nodiscard]] bool drain() {
    char sink[4096];
    while (socket_ && !has_ended_)
      if (std::int64_t at = 0; !read_some(sink, sizeof sink, at)) break;
    return !socket_ || has_ended_;
  }

 private:
  static constexpr std::int64_t frame_size = sizeof(Frame);
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 47;  ///< the address space of a process

  /// Drops control messages to a peer that has ended.
  void drop_controls() {
    std::erase_if(sending_, [](const Shared<Transfer>& transfer) {
      if (transfer->frame.tag == control_tag) transfer->is_done = true;
      return transfer->is_done;
    });
  }
  void write() {
    std::size_t done = 0;
    while (done < sending_.size() && write(*sending_[done])) ++done;
    sending_.erase(sending_.begin(), sending_.begin() + static_cast<std::ptrdiff_t>(done));
  }
  /// Writes a transfer. Whether it is complete.
  [[nodiscard]] bool write(Transfer& transfer) {
    const std::int64_t end = frame_size + transfer.frame.bytes;
    while (transfer.at < end) {
      const bool in_frame = transfer.at < frame_size;
      const void* const from = in_frame ? reinterpret_cast<const unsigned char*>(&transfer.frame) + transfer.at
                                        : transfer.data + (transfer.at - frame_size);
      const std::int64_t count = has_ended_ ? 0 : socket_.write_some(from, (in_frame ? frame_size : end) - transfer.at);
      if (count < 0) has_ended_ = true;
      if (count <= 0) return false;
      transfer.at += count;
    }
    return transfer.is_done = true;
  }

  void read(std::vector<ControlMessage>& controls, int peer) {
    while (read_frame(peer) && read_bytes(*arriving_)) {
      has_arrived(*arriving_, controls);
      arriving_ = {};
    }
  }
  /// Reads the next frame. Whether it is complete, so that `arriving_` is the transfer that receives its bytes.
  [[nodiscard]] bool read_frame(int peer) {
    if (arriving_) return true;
    auto* const frame = reinterpret_cast<unsigned char*>(&frame_);
    while (frame_bytes_ < frame_size)
      if (!read_some(frame + frame_bytes_, frame_size - frame_bytes_, frame_bytes_)) return false;
    if (!is_valid(frame_)) return end(), false;
    arriving_ = target(peer);
    frame_bytes_ = 0;
    return true;
  }
  /// Whether a rank may have sent it. A frame of another length than a transfer's comes from another program.
  [[nodiscard]] static bool is_valid(const Frame& frame) {
    if (frame.tag == control_tag) return frame.bytes == sizeof(ControlMessage);
    return frame.bytes > 0 && frame.bytes < most_bytes;
  }
  void end() noexcept {
    socket_ = {};
    has_ended_ = true;
  }
  /// Reads the bytes of a transfer. Whether all have arrived.
  [[nodiscard]] bool read_bytes(Transfer& transfer) {
    while (transfer.at < transfer.frame.bytes) {
      unsigned char sink[4096];
      if (transfer.has_own && transfer.at == static_cast<std::int64_t>(transfer.own.size())) grow(transfer);
      const std::int64_t end = transfer.has_own ? static_cast<std::int64_t>(transfer.own.size()) : transfer.frame.bytes;
      const std::int64_t left = end - transfer.at;
      const bool has_come = transfer.data ? read_some(transfer.data + transfer.at, left, transfer.at)
                                          : read_some(sink, left < 4096 ? left : 4096, transfer.at);
      if (!has_come) return false;
    }
    return true;
  }
  /// Reads some bytes, and adds their number to `at`. Whether any arrived.
  [[nodiscard]] bool read_some(void* data, std::int64_t bytes, std::int64_t& at) {
    const std::int64_t count = socket_.read_some(data, bytes);
    if (count < 0) has_ended_ = true;
    if (count > 0) at += count;
    return count > 0;
  }
  /// Allocates by the bytes that have arrived: a frame may promise more than ever comes.
  static void grow(Transfer& transfer) {
    constexpr std::int64_t least = 1 << 16;
    const std::int64_t wanted = transfer.at < least ? least : 2 * transfer.at;
    transfer.own.resize(static_cast<std::size_t>(wanted < transfer.frame.bytes ? wanted : transfer.frame.bytes));
    transfer.data = transfer.own.data();
    transfer.has_own = true;
  }
  /// The transfer that receives the bytes of the current frame.
  [[nodiscard]] Shared<Transfer> target(int peer) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (!is_same(wanted_[i]->frame, frame_)) continue;
      Shared<Transfer> found = std::move(wanted_[i]);
      wanted_.erase(wanted_.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
    Shared unasked(new Transfer);
    unasked->frame = frame_;
    unasked->peer = peer;
    grow(*unasked);
    if (frame_.tag != control_tag) unasked_.push_back(unasked);
    return unasked;
  }
  static void has_arrived(Transfer& transfer, std::vector<ControlMessage>& controls) {
    if (transfer.frame.tag == control_tag) {
      ControlMessage control;
      std::memcpy(&control, transfer.own.data(), sizeof control);
      control.from = transfer.peer;
      controls.push_back(control);
    }
    transfer.is_done = true;
  }
  /// Copies the rest of a partly written send, which has to be written to its end. Without memory for that, the
  /// connection ends.
  void keep_rest(Transfer& transfer) noexcept {
    try {
      transfer.own.assign(transfer.data, transfer.data + transfer.frame.bytes);
      transfer.data = transfer.own.data();
    } catch (const std::bad_alloc&) {
      end();
    }
  }
  [[nodiscard]] static bool is_same(const Frame& a, const Frame& b) { return a.tag == b.tag && a.bytes == b.bytes; }

  Socket socket_{};
  bool has_ended_ = false;
  Frame frame_{};                 ///< of the next bytes
  std::int64_t frame_bytes_ = 0;  ///< bytes of the frame that have arrived
  Shared<Transfer> arriving_{};
  std::vector<Shared<Transfer>> wanted_{}, unasked_{}, sending_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
