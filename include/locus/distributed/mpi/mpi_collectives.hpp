#pragma once
// MPI's own collectives, which know the network: trees, rings, and sums in switches.
//
// They are non-blocking, so that a rank notices others that fail. MPI cannot cancel one: after a failure, it may still
// write to memory. So results arrive in memory of the engine, which is kept then, and are copied from it, a piece while
// the next one is in flight. 16-bit floats travel as float, and are rounded once.

#include <locus/distributed/message/message_peers.hpp>
#include <locus/distributed/mpi/mpi_link.hpp>

#if LOCUS_MPI

#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A non-blocking collective of MPI. MPI cannot cancel one: if this object ends first, the link has open transfers.
class MpiLink::InFlight : public Counted {
 public:
  /// f(communicator, request) begins it, and returns MPI's status. throws EngineUnavailable with MPI's error
  template <class F>
  InFlight(MpiLink& link, const char* name, const F& f) : link_(link), name_(name) {
    const Lock lock(MpiSession::instance().mutex());
    check_mpi(f(link_.data_, &handle_), name_);
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() {
    if (handle_ != MPI_REQUEST_NULL) link_.has_open_transfers_.store(true);
  }
  /// Makes progress. throws EngineUnavailable with MPI's error
  [[nodiscard]] bool is_done() {
    const Lock lock(MpiSession::instance().mutex());
    int is_done = 0;
    check_mpi(MPI_Test(&handle_, &is_done, MPI_STATUS_IGNORE), name_);
    return is_done != 0;
  }

 private:
  MpiLink& link_;
  const char* name_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// The type in which elements are sent and combined. Integers wrap around, as unsigned numbers do.
[[nodiscard]] inline MPI_Datatype mpi_type(ElementType type, bool keeps_sign) {
  switch (type) {
    case ElementType::float64: return MPI_DOUBLE;
    case ElementType::int64: return keeps_sign ? MPI_INT64_T : MPI_UINT64_T;
    case ElementType::uint64: return MPI_UINT64_T;
    case ElementType::int32: return keeps_sign ? MPI_INT32_T : MPI_UINT32_T;
    case ElementType::uint32: return MPI_UINT32_T;
    case ElementType::int16: return keeps_sign ? MPI_INT16_T : MPI_UINT16_T;
    case ElementType::uint16: return MPI_UINT16_T;
    case ElementType::int8: return keeps_sign ? MPI_INT8_T : MPI_UINT8_T;
    case ElementType::uint8:
    case ElementType::boolean: return MPI_UINT8_T;
    default: return MPI_FLOAT;  // float32, and 16-bit floats as float
  }
}
/// MPI's reduction; MPI_OP_NULL: it has none that is the same. Its extremes of floats lose NaN, and sums of 8 and 16
/// bits end at the largest number in Open MPI's vector loops. Sums of bool are any, products all.
[[nodiscard]] inline MPI_Op mpi_op(const Fingerprint& what) {
  const std::string_view op = what.op;
  const bool is_floating = what.type == ElementType::float64 || mpi_type(what.type, false) == MPI_FLOAT;
  const bool is_sum = op == op::Sum::name || op == op::Mean::name;
  if (op == op::Min::name || op == op::Max::name)
    return is_floating ? MPI_OP_NULL : op == op::Min::name ? MPI_MIN : MPI_MAX;
  if (what.type == ElementType::boolean) return is_sum ? MPI_MAX : MPI_MIN;
  if (!is_floating && size_of(what.type) < 4) return MPI_OP_NULL;
  return is_sum ? MPI_SUM : MPI_PROD;
}

/// One call. All ranks make one at the same time.
template <class D>
class MpiCollectives {
 public:
  /// Bytes of a piece, and the least for each rank.
  static constexpr std::int64_t piece_bytes = 4 << 20, least_bytes = 64 << 10;

  /// Whether MPI makes such a call.
  [[nodiscard]] static bool makes(const Fingerprint& what) {
    switch (what.kind) {
      case Kind::all_reduce:
      case Kind::reduce:
      case Kind::reduce_scatter: return what.sums == Sums::fastest && mpi_op(what) != MPI_OP_NULL;
      case Kind::broadcast:
      case Kind::all_gather:
      case Kind::barrier: return true;
      default: return false;
    }
  }

  MpiCollectives(MessagePeers<MpiLink>& peers, const Collective<D>& call) : peers_(peers), call_(call) {}

  /// scratch(bytes): memory that the engine keeps after a failure.
  template <class Scratch>
  void run(const Scratch& scratch) {
    switch (call_.what.kind) {
      case Kind::reduce_scatter: return reduce_scatter(scratch);
      case Kind::broadcast: return broadcast(scratch);
      case Kind::all_gather: return all_gather(scratch);
      case Kind::barrier:
        return wait(
            begin("MPI_Ibarrier", [](MPI_Comm all, MPI_Request* request) { return MPI_Ibarrier(all, request); }));
      default: return reduce(scratch);
    }
  }

 private:
  using InFlight = Shared<MpiLink::InFlight>;

  [[nodiscard]] int size() const { return peers_.link.size(); }
  [[nodiscard]] bool is_root() const { return call_.what.root == peers_.link.rank(); }
  [[nodiscard]] const unsigned char* source(std::int64_t element) const {
    return static_cast<const unsigned char*>(call_.source) + element * element_bytes();
  }
  [[nodiscard]] unsigned char* target(std::int64_t element) const {
    return static_cast<unsigned char*>(call_.target) + element * element_bytes();
  }
  [[nodiscard]] std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(call_.what.type)); }
  [[nodiscard]] bool is_widened() const { return call_.reducer->sum_bytes != call_.reducer->element_bytes; }
  [[nodiscard]] MPI_Datatype type() const { return mpi_type(call_.what.type, is_extreme()); }
  [[nodiscard]] bool is_extreme() const {
    const std::string_view op = call_.what.op;
    return op == op::Min::name || op == op::Max::name;
  }

  template <class F>
  [[nodiscard]] InFlight begin(const char* name, const F& f) {
    try {
      return InFlight(new MpiLink::InFlight(peers_.link, name, f));
    } catch (const EngineUnavailable& error) {
      refuse(error);
    }
  }
  void wait(const InFlight& one) {
    try {
      peers_.wait_for_all([&] { return one->is_done(); }, call_.what, call_.sequence);
    } catch (const EngineUnavailable& error) {
      refuse(error);
    }
  }
  /// An error of MPI: mostly, ranks made different calls.
  [[noreturn]] void refuse(const EngineUnavailable& error) {
    peers_.refuse(-1, join(error.what(), call_the_same), call_.what, call_.sequence);
  }

  /// Calls begin(range, room), which returns a collective in flight, and end(range, room), for all pieces of `piece`
  /// elements, each of `room_bytes` bytes of scratch. A piece ends while the next one is in flight.
  template <class Scratch, class Begin, class End>
  void in_pieces(const Scratch& scratch, std::int64_t piece, std::int64_t room_bytes, const Begin& begin_piece,
                 const End& end_piece) {
    const std::int64_t count = call_.what.count, pieces = pieces_of(count, piece);
    unsigned char* const rooms = scratch(room_bytes * (pieces < 2 ? 1 : 2));
    const auto room = [&](std::int64_t i) { return rooms + i % 2 * room_bytes; };
    InFlight now = pieces > 0 ? begin_piece(piece_of(count, piece, 0), room(0)) : InFlight();
    for (std::int64_t i = 0; i < pieces; ++i) {
      const InFlight next = i + 1 < pieces ? begin_piece(piece_of(count, piece, i + 1), room(i + 1)) : InFlight();
      wait(now);
      end_piece(piece_of(count, piece, i), room(i));
      now = next;
    }
  }
  /// Elements of a piece, one or more: as fit into `most` bytes, and at most those of the call.
  [[nodiscard]] std::int64_t elements_in(std::int64_t most, std::int64_t bytes_of_element) const {
    const std::int64_t all = call_.what.count > 0 ? call_.what.count : 1;
    return most / bytes_of_element < all ? most / bytes_of_element : all;
  }
  /// Of a piece with a row for each rank: bytes of a row.
  [[nodiscard]] std::int64_t row_bytes() const {
    return piece_bytes / size() > least_bytes ? piece_bytes / size() : least_bytes;
  }
  /// Of a piece of which each rank may sum a part.
  [[nodiscard]] std::int64_t sum_piece_bytes() const {
    return least_bytes * size() > piece_bytes ? least_bytes * size() : piece_bytes;
  }

  template <class Scratch>
  void reduce(const Scratch& scratch) {
    const bool is_all = call_.what.kind == Kind::all_reduce;
    const std::int64_t sum_bytes = call_.reducer->sum_bytes, piece = elements_in(sum_piece_bytes(), sum_bytes);
    const auto begin_piece = [&](Range range, unsigned char* room) {
      if (is_widened()) call_.reducer->load(source(range.begin), room, range.size());
      const void* const from = !is_widened() ? source(range.begin) : is_all || is_root() ? MPI_IN_PLACE : room;
      const int count = static_cast<int>(range.size());
      return begin(is_all ? "MPI_Iallreduce" : "MPI_Ireduce", [&](MPI_Comm all, MPI_Request* request) {
        return is_all ? MPI_Iallreduce(from, room, count, type(), mpi_op(call_.what), all, request)
                      : MPI_Ireduce(from, room, count, type(), mpi_op(call_.what), call_.what.root, all, request);
      });
    };
    in_pieces(scratch, piece, piece * sum_bytes, begin_piece, [&](Range range, const unsigned char* room) {
      if (is_all || is_root()) call_.reducer->store(room, target(range.begin), range.size(), size());
    });
  }
  template <class Scratch>
  void reduce_scatter(const Scratch& scratch) {
    const std::int64_t sum_bytes = call_.reducer->sum_bytes, piece = elements_in(row_bytes(), sum_bytes);
    const auto begin_piece = [&](Range range, unsigned char* room) {
      for (int row = 0; row < size(); ++row)
        call_.reducer->load(source(row * call_.what.count + range.begin), room + row * range.size() * sum_bytes,
                            range.size());
      return begin("MPI_Ireduce_scatter_block", [&](MPI_Comm all, MPI_Request* request) {
        return MPI_Ireduce_scatter_block(room, room + size() * piece * sum_bytes, static_cast<int>(range.size()),
                                         type(), mpi_op(call_.what), all, request);
      });
    };
    in_pieces(scratch, piece, (size() + 1) * piece * sum_bytes, begin_piece,
              [&](Range range, const unsigned char* room) {
                call_.reducer->store(room + size() * piece * sum_bytes, target(range.begin), range.size(), size());
              });
  }
  template <class Scratch>
  void broadcast(const Scratch& scratch) {
    const std::int64_t piece = elements_in(piece_bytes, element_bytes());
    if (is_root()) copy(call_.target, call_.source, call_.bytes());
    const auto begin_piece = [&](Range range, unsigned char* room) {
      void* const data = is_root() ? target(range.begin) : room;  // MPI reads the root's alone
      return begin("MPI_Ibcast", [&](MPI_Comm all, MPI_Request* request) {
        return MPI_Ibcast(data, static_cast<int>(range.size() * element_bytes()), MPI_BYTE, call_.what.root, all,
                          request);
      });
    };
    in_pieces(scratch, piece, piece * element_bytes(), begin_piece, [&](Range range, const unsigned char* room) {
      if (!is_root()) copy(target(range.begin), room, range.size() * element_bytes());
    });
  }
  template <class Scratch>
  void all_gather(const Scratch& scratch) {
    const std::int64_t piece = elements_in(row_bytes(), element_bytes());
    const auto begin_piece = [&](Range range, unsigned char* room) {
      const int bytes = static_cast<int>(range.size() * element_bytes());
      return begin("MPI_Iallgather", [&](MPI_Comm all, MPI_Request* request) {
        return MPI_Iallgather(source(range.begin), bytes, MPI_BYTE, room, bytes, MPI_BYTE, all, request);
      });
    };
    in_pieces(scratch, piece, size() * piece * element_bytes(), begin_piece,
              [&](Range range, const unsigned char* room) {
                const std::int64_t bytes = range.size() * element_bytes();
                for (int row = 0; row < size(); ++row)
                  copy(target(row * call_.what.count + range.begin), room + row * bytes, bytes);
              });
  }
  static void copy(void* to, const void* from, std::int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  MessagePeers<MpiLink>& peers_;
  const Collective<D>& call_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
