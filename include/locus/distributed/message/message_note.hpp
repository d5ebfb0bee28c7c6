#pragma once
// What ranks that are processes tell each other beside elements.
//
// A *message* is what one call of send() gives one of recv(). A *letter* is a message on its way, from send() until it
// is taken. A *note* is small, and nobody has to wait for it. *Transfers* are of a link: the bytes of letters, notes
// and collectives travel by them.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Notes of a pair of ranks keep their order: when one says that its sender has ended, all letters were announced.
struct Note {
  enum class What : std::int32_t { letter, failure, end };
  What what = What::end;
  std::int32_t from = -1;
  std::int32_t at_fault = -1;  ///< of a failure: a rank; -1: nobody in particular
  std::int32_t tag = 0;        ///< of a letter
  std::int64_t type = 0;       ///< of its elements
  std::int64_t count = 0;      ///< of a letter: elements; of an end: collectives that the sender completed
  std::int64_t number = 0;     ///< of a letter among those of the pair
  std::uint64_t group = 0;     ///< the communicator
  char reason[256] = {};       ///< of a failure
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
