#pragma once
// Ranks that are processes, on one machine or several, by messages of MPI.
//
// Sums are not MPI's: those of MPI_Allreduce depend on the machine, and round 16-bit floats at every step. Here each is
// made by one rank, in the order of ranks, and sent to the others.

#include <locus/device/place.hpp>
#include <locus/dist/mpi_session.hpp>

#if LOCUS_MPI

namespace locus::inline LOCUS_ABI::dist {

template <HostAccessible D>
class MpiEngine : public Engine<D> {
  using Call = Collective<D>;

 public:
  /// Bytes of what a rank sums at a time; the next is under way meanwhile.
  static constexpr std::int64_t part_bytes = 1 << 20;

  /// All ranks of `parent` make one at the same time. throws EngineUnavailable
  MpiEngine(MPI_Comm parent, D device, const Options& options) : MpiEngine(Communicators(parent), device, options) {}

  ~MpiEngine() override {
    letters_.clear();
    if (!detail::MpiSession::is_usable() || notices_.has_failed()) return;  // freeing waits for the other ranks
    const Lock lock(detail::MpiSession::instance().mutex());
    MPI_Comm_free(&communicators_.data);
    MPI_Comm_free(&communicators_.notices);
  }

  void run(const Call& call) override {
    require_sound(call.what, call.sequence);
    if (this->options().debug) compare(call);
    switch (call.what.kind) {
      case Kind::all_reduce: return all_reduce(call);
      case Kind::reduce: return two_shot(call, call.what.root);
      case Kind::reduce_scatter: return reduce_scatter(call);
      case Kind::broadcast: return broadcast(call);
      case Kind::barrier: return barrier(call);
      default: return exchange(call);
    }
  }

  void meet(const Fingerprint& what, std::int64_t sequence) override {
    Call call;
    call.what = what;
    call.sequence = sequence;
    require_sound(what, sequence);
    if (this->options().debug) compare(call);
    barrier(call);
  }
  void send(const Message& message) override {
    const Fingerprint what = message.fingerprint(Kind::send);
    require_sound(what, message.sequence);
    if (message.peer == this->rank()) {
      const auto* const bytes = static_cast<const unsigned char*>(message.data);
      own_.push_back({message.tag, {bytes, bytes + message.bytes()}});
      return;
    }
    auto* const letter = new Letter(communicators_.data, letter_tag(message));
    letters_.push_back(Shared<Letter>(letter));
    letter->bytes.resize(static_cast<std::size_t>(header_bytes + message.bytes()));
    const Header header{message.count, static_cast<std::int64_t>(message.type)};
    std::memcpy(letter->bytes.data(), &header, sizeof header);
    if (message.bytes() > 0)
      std::memcpy(letter->bytes.data() + header_bytes, message.data, static_cast<std::size_t>(message.bytes()));
    letter->transfers.send(message.peer, letter->bytes.data(), header_bytes + message.bytes());
    drop_arrived();
  }
  /// The header tells a message of another size or type from the one that is wanted.
  void receive(const Message& message) override {
    const Fingerprint what = message.fingerprint(Kind::recv);
    require_sound(what, message.sequence);
    if (message.peer == this->rank()) return receive_own(message);
    const std::int64_t bytes = probe(message);
    Letter letter(communicators_.data, letter_tag(message));
    letter.bytes.resize(static_cast<std::size_t>(bytes));
    letter.transfers.receive(message.peer, letter.bytes.data(), bytes);
    wait(letter.transfers, letter.transfers.mark(), what, message.sequence);
    Header header{};
    std::memcpy(&header, letter.bytes.data(), sizeof header);
    if (header.count != message.count || header.type != static_cast<std::int64_t>(message.type)) {
      const Fingerprint sent{Kind::send, static_cast<ElementType>(header.type), {}, this->rank(), header.count};
      refuse(message.peer, join("rank ", message.peer, " called ", sent), what, message.sequence);
    }
    if (message.bytes() > 0)
      std::memcpy(message.data, letter.bytes.data() + header_bytes, static_cast<std::size_t>(message.bytes()));
  }
  void leave(const char* why) noexcept override {
    if (why) notices_.fail(this->rank(), join("rank ", this->rank(), " threw: ", why));
    for (int turn = 0; turn < 10000 && !letters_.empty() && !notices_.has_failed(); ++turn) {
      drop_arrived();  // messages whose receiver is late; MPI keeps the small ones itself
      sched_yield();
    }
    notices_.leave();
  }

 private:
  /// Two of our own, so that messages of the program, and notices, are no one's elements.
  struct Communicators {
    MPI_Comm data = MPI_COMM_NULL, notices = MPI_COMM_NULL;
    int rank = 0, size = 1, on_machine = 1, most_tag = 32767;
    explicit Communicators(MPI_Comm parent) {
      const Lock lock(detail::MpiSession::instance().mutex());
      detail::check_mpi(MPI_Comm_dup(parent, &data), "MPI_Comm_dup");
      detail::check_mpi(MPI_Comm_dup(parent, &notices), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN);
      MPI_Comm_set_errhandler(notices, MPI_ERRORS_RETURN);
      MPI_Comm_rank(data, &rank);
      MPI_Comm_size(data, &size);
      MPI_Comm machine = MPI_COMM_NULL;
      detail::check_mpi(MPI_Comm_split_type(data, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
                        "MPI_Comm_split_type");
      MPI_Comm_size(machine, &on_machine);
      MPI_Comm_free(&machine);
      int has_bound = 0;
      int* bound = nullptr;
      MPI_Comm_get_attr(data, MPI_TAG_UB, &bound, &has_bound);
      if (has_bound) most_tag = *bound;
    }
  };
  struct Header {
    std::int64_t count, type;
  };
  static constexpr std::int64_t header_bytes = sizeof(Header);
  /// A message with its memory, until MPI has sent it.
  struct Letter : Counted {
    Letter(MPI_Comm communicator, int tag) : transfers(communicator, tag) {}
    std::vector<unsigned char> bytes{};
    detail::MpiTransfers transfers;
  };
  struct OwnLetter {
    int tag;
    std::vector<unsigned char> bytes;
  };

  MpiEngine(const Communicators& communicators, D device, const Options& options)
      : Engine<D>(communicators.rank, communicators.size, device, options),
        communicators_(communicators),
        notices_(communicators.notices, communicators.rank, communicators.size),
        is_crowded_(communicators.on_machine > static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))) {}

  // Faults.

  [[noreturn]] void refuse(int at_fault, const std::string& reason, const Fingerprint& what, std::int64_t sequence) {
    notices_.fail(at_fault, reason);
    raise(what, sequence);
  }
  [[noreturn]] void raise(const Fingerprint& what, std::int64_t sequence) const {
    const auto& failure = notices_.failure();
    detail::raise(what, sequence, this->rank(), this->size(), failure.at_fault, failure.reason);
  }
  void require_sound(const Fingerprint& what, std::int64_t sequence) const {
    if (notices_.has_failed()) raise(what, sequence);
  }
  /// Polls `open`, which is the rank that is waited for, or -1, until that.
  template <class Open>
  void wait_for(const Open& open, const Fingerprint& what, std::int64_t sequence) {
    int peer = open();
    if (peer < 0) return;
    const Stopwatch watch;
    double left_at = -1;
    for (std::uint32_t turn = 1; peer >= 0; peer = open(), ++turn) {
      if (is_crowded_) sched_yield();
      if (turn % 256 != 0) continue;
      notices_.read();
      if (notices_.has_failed()) raise(what, sequence);
      const double now = watch.seconds();
      if (notices_.has_left(peer) && left_at < 0) left_at = now;  // what it sent may still be on the way
      if (left_at >= 0 && now > left_at + patience_with_the_absent)
        refuse(peer, join("rank ", peer, " has left: it let go of its communicator"), what, sequence);
      if (now > this->options().timeout) {
        refuse(peer, join("rank ", peer, " did not come within ", this->options().timeout, detail::wait_longer), what,
               sequence);
      }
    }
  }
  void wait(detail::MpiTransfers& transfers, std::size_t mark, const Fingerprint& what, std::int64_t sequence) {
    wait_for([&] { return transfers.first_open(mark); }, what, sequence);
  }
  void wait(detail::MpiTransfers& transfers, const Call& call) {
    wait(transfers, transfers.mark(), call.what, call.sequence);
  }

  /// All ranks make the same call, or fail.
  void compare(const Call& call) {
    std::vector<Fingerprint> all(static_cast<std::size_t>(this->size()));
    static_assert(std::is_trivially_copyable_v<Fingerprint>);
    Fingerprint mine{};
    std::memcpy(&mine, &call.what, sizeof mine);
    detail::MpiTransfers transfers(communicators_.data, 0);
    for_peers([&](int peer) {
      transfers.receive(peer, &all[static_cast<std::size_t>(peer)], sizeof mine);
      transfers.send(peer, &mine, sizeof mine);
    });
    wait(transfers, call);
    all[static_cast<std::size_t>(this->rank())] = mine;
    for (int peer = 1; peer < this->size(); ++peer) {
      const Fingerprint& other = all[static_cast<std::size_t>(peer)];
      if (!(other == all[0]))
        refuse(peer, join("rank ", peer, " called ", other, ", rank 0 ", all[0], detail::call_the_same), call.what,
               call.sequence);
    }
  }

  // Collectives.

  /// Messages of calls that differ have other tags: they do not meet, and time out instead of giving nonsense. Even
  /// ones are of collectives, odd ones of letters, 0 of comparisons.
  [[nodiscard]] int tag_of(const Call& call) const {
    std::uint64_t hash = static_cast<std::uint64_t>(call.sequence) * 0x9e3779b97f4a7c15u;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value ^ hash >> 29) * 0xbf58476d1ce4e5b9u; };
    mix(static_cast<std::uint64_t>(call.what.kind) << 8 | static_cast<std::uint64_t>(call.what.type));
    mix(static_cast<std::uint64_t>(call.what.count));
    for (const char letter : call.what.op) mix(static_cast<std::uint64_t>(letter));
    mix(static_cast<std::uint64_t>(call.what.root + 1));
    return 2 + static_cast<int>((hash >> 20) % static_cast<std::uint64_t>(communicators_.most_tag / 2 - 1)) * 2;
  }
  [[nodiscard]] int letter_tag(const Message& message) const {
    if (message.tag < 0 || message.tag > communicators_.most_tag / 2 - 1)
      fail<ArgumentError>({"dist: tag ", message.tag, "; expected 0 to ", communicators_.most_tag / 2 - 1});
    return 2 * message.tag + 1;
  }
  /// f(peer) for all others, beginning after this rank, so that not all write to the same one.
  template <class F>
  void for_peers(const F& f) const {
    for (int i = 1; i < this->size(); ++i) f((this->rank() + i) % this->size());
  }
  [[nodiscard]] static unsigned char* at(void* data, std::int64_t offset) {
    return static_cast<unsigned char*>(data) + offset;
  }
  [[nodiscard]] static const unsigned char* at(const void* data, std::int64_t offset) {
    return static_cast<const unsigned char*>(data) + offset;
  }
  static void copy(void* target, const void* source, std::int64_t bytes) {
    if (bytes > 0 && target != source) std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  [[nodiscard]] unsigned char* scratch(std::int64_t bytes) {
    if (static_cast<std::int64_t>(scratch_.size()) < bytes) scratch_.resize(static_cast<std::size_t>(bytes));
    return scratch_.data();
  }

  void all_reduce(const Call& call) {
    switch (choose_algorithm(Links::messages, call.bytes(), this->size(), this->options().algorithm)) {
      case Algorithm::one_shot: return one_shot(call);
      case Algorithm::ring:
        if (this->size() > 1) return ring(call);
        [[fallthrough]];
      default: return two_shot(call, -1);
    }
  }

  void one_shot(const Call& call) {
    unsigned char* const room = scratch(call.bytes() * this->size());
    detail::MpiTransfers transfers(communicators_.data, tag_of(call));
    std::vector<const void*> sources(static_cast<std::size_t>(this->size()), call.source);
    for_peers([&](int peer) {
      sources[static_cast<std::size_t>(peer)] = room + peer * call.bytes();
      transfers.receive(peer, room + peer * call.bytes(), call.bytes());
      transfers.send(peer, call.source, call.bytes());
    });
    wait(transfers, call);
    void* const target = call.target;
    detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, call.what.count});
  }

  /// A piece of the elements, cut into a part for each rank, and what this rank knows of its part.
  struct Summed {
    Range piece, mine;
    unsigned char* room;
    std::size_t mark;
  };
  [[nodiscard]] Range part(Range piece, int rank) const {
    const Range within = part_of(piece.size(), this->size(), rank);
    return {piece.begin + within.begin, piece.begin + within.end};
  }

  /// Each rank sums its part of every piece and sends it to all, or to the root alone. While it sums, the next piece is
  /// under way.
  void two_shot(const Call& call, int root) {
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / size, n = this->size();
    const std::int64_t piece = per_part * n, pieces = pieces_of(call.what.count, piece);
    unsigned char* const rooms = scratch(2 * n * part_bytes);
    detail::MpiTransfers transfers(communicators_.data, tag_of(call));
    const auto begin = [&](std::int64_t i) {
      Summed next{piece_of(call.what.count, piece, i), {}, rooms + i % 2 * n * part_bytes, 0};
      next.mine = part(next.piece, this->rank());
      for_peers([&](int peer) {
        const Range theirs = part(next.piece, peer);
        transfers.receive(peer, next.room + peer * part_bytes, next.mine.size() * size);
        transfers.send(peer, at(call.source, theirs.begin * size), theirs.size() * size);
      });
      next.mark = transfers.mark();
      return next;
    };
    Summed now = pieces > 0 ? begin(0) : Summed{};
    for (std::int64_t i = 0; i < pieces; ++i) {
      const Summed next = i + 1 < pieces ? begin(i + 1) : Summed{};
      wait(transfers, now.mark, call.what, call.sequence);
      fold(call, now);
      for_peers([&](int peer) {
        const Range theirs = part(now.piece, peer);
        if (root < 0 || root == this->rank())
          transfers.receive(peer, at(call.target, theirs.begin * size), theirs.size() * size);
        if (root < 0 || root == peer) transfers.send(peer, result(call, root, now), now.mine.size() * size);
      });
      if (root >= 0 && root != this->rank()) wait(transfers, call);  // the room is free again
      now = next;
    }
    wait(transfers, call);
  }
  /// Where the sum of this rank's part goes: into the target, or, of reduce, into its own place in the room.
  [[nodiscard]] unsigned char* result(const Call& call, int root, const Summed& summed) const {
    if (root < 0 || root == this->rank()) return at(call.target, summed.mine.begin * call.reducer->element_bytes);
    return summed.room + this->rank() * part_bytes;
  }
  void fold(const Call& call, const Summed& summed) const {
    std::vector<const void*> sources;
    for (int peer = 0; peer < this->size(); ++peer)
      sources.push_back(peer == this->rank() ? at(call.source, summed.mine.begin * call.reducer->element_bytes)
                                             : summed.room + peer * part_bytes);
    void* const target = result(call, call.what.kind == Kind::reduce ? call.what.root : -1, summed);
    detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, summed.mine.size()});
  }

  /// From and to neighbours alone. Partial sums travel in the reduction's type: 16-bit floats are rounded once.
  void ring(const Call& call) {
    const int n = this->size(), me = this->rank(), next = (me + 1) % n, before = (me + n - 1) % n;
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / 8, pass = per_part * n;
    unsigned char* const rooms = scratch(2 * part_bytes);
    for (std::int64_t i = 0; i < pieces_of(call.what.count, pass); ++i) {
      const Range piece = piece_of(call.what.count, pass, i);
      for (int step = 0; step < n; ++step) {  // the last sends nothing on
        detail::MpiTransfers transfers(communicators_.data, tag_of(call));
        unsigned char *const taken = rooms + step % 2 * part_bytes, *const sent = rooms + (step + 1) % 2 * part_bytes;
        const Range mine = part(piece, ring_summed(me, n, step)), last = part(piece, ring_summed(me, n, step - 1));
        if (step == 0) call.reducer->load(at(call.source, part(piece, me).begin * size), sent, part(piece, me).size());
        if (step + 1 < n) {
          transfers.receive(before, taken, mine.size() * call.reducer->sum_bytes);
          transfers.send(next, sent, last.size() * call.reducer->sum_bytes);
          wait(transfers, call);
          call.reducer->combine(taken, at(call.source, mine.begin * size), taken, mine.size());
        } else {
          call.reducer->store(sent, at(call.target, last.begin * size), last.size(), n);
        }
      }
      for (int step = 0; step + 1 < n; ++step) {
        const Range taken = part(piece, ring_taken(me, n, step)), given = part(piece, ring_taken(next, n, step));
        detail::MpiTransfers transfers(communicators_.data, tag_of(call));
        transfers.receive(before, at(call.target, taken.begin * size), taken.size() * size);
        transfers.send(next, at(call.target, given.begin * size), given.size() * size);
        wait(transfers, call);
      }
    }
  }

  void reduce_scatter(const Call& call) {
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / size;
    unsigned char* const room = scratch(this->size() * part_bytes);
    for (std::int64_t i = 0; i < pieces_of(call.what.count, per_part); ++i) {
      const Range piece = piece_of(call.what.count, per_part, i);
      detail::MpiTransfers transfers(communicators_.data, tag_of(call));
      const auto row = [&](int rank) { return at(call.source, (rank * call.what.count + piece.begin) * size); };
      std::vector<const void*> sources(static_cast<std::size_t>(this->size()), row(this->rank()));
      for_peers([&](int peer) {
        sources[static_cast<std::size_t>(peer)] = room + peer * part_bytes;
        transfers.receive(peer, room + peer * part_bytes, piece.size() * size);
        transfers.send(peer, row(peer), piece.size() * size);
      });
      wait(transfers, call);
      void* const target = at(call.target, piece.begin * size);
      detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, piece.size()});
    }
  }

  /// all_gather and all_to_all.
  void exchange(const Call& call) {
    const std::int64_t bytes = call.bytes();
    const auto row = [&](int peer) { return at(call.source, call.what.kind == Kind::all_to_all ? peer * bytes : 0); };
    detail::MpiTransfers transfers(communicators_.data, tag_of(call));
    for_peers([&](int peer) {
      transfers.receive(peer, at(call.target, peer * bytes), bytes);
      transfers.send(peer, row(peer), bytes);
    });
    copy(at(call.target, this->rank() * bytes), row(this->rank()), bytes);
    wait(transfers, call);
  }
  /// The root gives each rank a part, and everybody passes its own on.
  void broadcast(const Call& call) {
    const std::int64_t size = static_cast<std::int64_t>(size_of(call.what.type));
    const Range all{0, call.what.count};
    const bool is_root = call.what.root == this->rank();
    const auto data = [&](int rank) { return at(call.target, part(all, rank).begin * size); };
    const auto bytes = [&](int rank) { return part(all, rank).size() * size; };
    if (is_root) copy(call.target, call.source, call.bytes());
    detail::MpiTransfers transfers(communicators_.data, tag_of(call));
    for_peers([&](int peer) {
      if (is_root) transfers.send(peer, data(peer), bytes(peer));
    });
    if (!is_root) transfers.receive(call.what.root, data(this->rank()), bytes(this->rank()));
    wait(transfers, call);
    for_peers([&](int peer) {
      if (!is_root) transfers.receive(peer, data(peer), bytes(peer));
      if (peer != call.what.root) transfers.send(peer, data(this->rank()), bytes(this->rank()));
    });
    wait(transfers, call);
  }
  void barrier(const Call& call) {
    char mine = 0;
    std::vector<char> theirs(static_cast<std::size_t>(this->size()));
    detail::MpiTransfers transfers(communicators_.data, tag_of(call));
    for_peers([&](int peer) {
      transfers.receive(peer, &theirs[static_cast<std::size_t>(peer)], 1);
      transfers.send(peer, &mine, 1);
    });
    wait(transfers, call);
  }

  // Messages.

  [[nodiscard]] std::int64_t probe(const Message& message) {
    int bytes = 0;
    const auto open = [&] {
      const Lock lock(detail::MpiSession::instance().mutex());
      int has_come = 0;
      MPI_Status status;
      detail::check_mpi(MPI_Iprobe(message.peer, letter_tag(message), communicators_.data, &has_come, &status),
                        "MPI_Iprobe");
      if (has_come) MPI_Get_count(&status, MPI_BYTE, &bytes);
      return has_come ? -1 : message.peer;
    };
    wait_for(open, message.fingerprint(Kind::recv), message.sequence);
    return bytes;
  }
  void receive_own(const Message& message) {
    const Fingerprint what = message.fingerprint(Kind::recv);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].tag != message.tag) continue;
      const std::vector<unsigned char> bytes = std::move(own_[i].bytes);
      own_.erase(own_.begin() + static_cast<std::ptrdiff_t>(i));
      if (static_cast<std::int64_t>(bytes.size()) != message.bytes())
        refuse(this->rank(), join("the message has ", bytes.size(), " bytes"), what, message.sequence);
      return copy(message.data, bytes.data(), message.bytes());
    }
    refuse(this->rank(), "no message was sent to this rank by itself", what, message.sequence);
  }
  void drop_arrived() {
    std::vector<Shared<Letter>> open;
    for (const Shared<Letter>& letter : letters_)
      if (letter->transfers.first_open(letter->transfers.mark()) >= 0) open.push_back(letter);
    letters_.swap(open);
  }

  static constexpr double patience_with_the_absent = 0.5;  ///< seconds
  Communicators communicators_;
  detail::MpiNotices notices_;
  bool is_crowded_;
  std::vector<unsigned char> scratch_;
  std::vector<Shared<Letter>> letters_;
  std::vector<OwnLetter> own_;
};

}  // namespace locus::inline LOCUS_ABI::dist
#endif
