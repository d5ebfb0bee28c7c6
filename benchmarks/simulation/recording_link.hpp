#pragma once
// A link without other processes: it notes the transfers of one rank, and all are complete at once. MessageEngine over
// it is the library's own engine, so the notes are the messages that it sends for a collective, in their order.

#include <locus/distributed/message/message_engine.hpp>

#include <vector>

namespace scaling {

/// A transfer, or a wait for all transfers before number `mark`, or bytes that the rank itself reads and writes in
/// sums.
struct Step {
  enum class What { send, receive, wait, work };
  What what;
  int peer = -1;
  std::int64_t number = 0;  ///< bytes, or a mark
};
inline std::vector<Step> steps;

/// message_peers.hpp describes a Link.
class RecordingLink {
 public:
  class Transfers {
   public:
    explicit Transfers(RecordingLink&, int = 0) {}
    void reserve(std::size_t) {}
    void send(int peer, const void*, std::int64_t bytes) { add(Step::What::send, peer, bytes); }
    void receive(int peer, void*, std::int64_t bytes) { add(Step::What::receive, peer, bytes); }
    [[nodiscard]] std::size_t mark() const { return begun_; }
    [[nodiscard]] int first_open(std::size_t mark) {
      if (mark > waited_) steps.push_back({Step::What::wait, -1, static_cast<std::int64_t>(waited_ = mark)});
      return -1;
    }
    [[nodiscard]] int first_open() { return first_open(begun_); }
    void abandon() noexcept {}

   private:
    void add(Step::What what, int peer, std::int64_t bytes) {
      if (bytes == 0) return;
      steps.push_back({what, peer, bytes});
      ++begun_;
    }
    std::size_t begun_ = 0, waited_ = 0;
  };

  RecordingLink(int rank, int size, int of_machine) : rank_(rank), size_(size), of_machine_(of_machine) {}
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int most_tag() const { return 32767; }
  [[nodiscard]] int ranks_on_machine() const { return of_machine_; }
  [[nodiscard]] int machine_of(int peer) const { return peer / of_machine_; }
  [[nodiscard]] std::uint64_t group() const { return 0; }
  [[nodiscard]] bool has_open_transfers() const { return false; }
  [[nodiscard]] bool poll(locus::dist::detail::ControlMessage&) const { return false; }
  [[nodiscard]] bool is_dead(int) const { return false; }
  static void keep(const locus::dist::Owner&) noexcept {}
  static void note_failure(double) noexcept {}
  template <class Gather, class Make>
  void split(const locus::dist::detail::Subgroup& group, const Gather&, double, const Make& make) {
    make(group.rank(), group.size(), of_machine_);
  }

 private:
  int rank_, size_, of_machine_;
};

/// Sums that only note the bytes that the library's loops read and write.
template <class T>
struct NotedSums {
  static void note(std::int64_t bytes) { steps.push_back({Step::What::work, -1, bytes}); }
  static constexpr std::int64_t element = sizeof(T), sum = sizeof(locus::compute_t<T>);
  static constexpr locus::dist::Reducer<locus::Cpu> reducer{
      element,
      sum,
      [](const void*, void*, std::int64_t n) { note(n * (element + sum)); },
      [](const void*, const void*, void*, std::int64_t n) { note(n * (element + 2 * sum)); },
      [](const void*, void*, std::int64_t n, int) { note(n * (element + sum)); },
      [](const void*, const void*, void*, std::int64_t n) { note(n * 3 * sum); }};
};

}  // namespace scaling
