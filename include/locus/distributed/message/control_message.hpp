#pragma once
// Control messages between ranks that are processes.
//
// A *message* is the argument of one call of send(), until a call of recv() has taken it. A *control message* is small,
// and no rank waits for it. A *transfer* moves bytes of messages, control messages or collectives over a link.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Control messages of a pair of ranks keep their order: when the end of a rank is announced, all its messages have
/// been announced.
struct ControlMessage {
  enum class What : std::int32_t { message, failure, end, call };
  What what = What::end;
  std::int32_t from = -1;
  std::int32_t at_fault = -1;  ///< of a failure: a rank; -1: none in particular
  std::int32_t tag = 0;        ///< of a message
  std::int64_t type = 0;       ///< of its elements
  std::int64_t count = 0;      ///< of a message: elements; of an end: collectives that the sender completed;
                               ///< of a call: its number
  std::int64_t number = 0;     ///< of a message: its index among the messages of the pair
  std::uint64_t group = 0;     ///< the communicator
  char reason[256] = {};       ///< of a failure; of a call: its text
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
