#pragma once
// The begin of a connection between ranks: both sides prove that they know the secret of the run, and send it to
// nobody.
//
//   door -> visitor   Challenge      a random number
//   visitor -> door   Introduction   another one; rank and size; HMAC(secret, "visitor", both numbers, rank and size)
//   door -> visitor   Answer         HMAC(secret, "door", the same); zeros: refused
//
// The door reads rank and size after it has compared the proof. A recorded handshake is worth nothing later, as both
// numbers are new.

#include <locus/distributed/tcp/sha256.hpp>
#include <locus/distributed/tcp/socket.hpp>

#include <sys/random.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

using Nonce = std::array<unsigned char, 32>;
using Proof = Sha256::Digest;

/// What a visitor says of itself.
struct Hello {
  std::int32_t rank = 0, size = 0;
  std::int64_t bytes = 0;  ///< that follow the handshake
};
struct Challenge {
  char magic[8] = {'l', 'o', 'c', 'u', 's', ' ', '2', '\n'};  ///< tells Locus from other programs
  Nonce nonce{};
};
struct Introduction {
  Nonce nonce{};
  Hello hello{};
  Proof proof{};
};
static_assert(sizeof(Challenge) == 40 && sizeof(Introduction) == 80, "no padding: all bytes are sent");

/// throws RendezvousError if the system has no random bytes
[[nodiscard]] inline Nonce random_nonce() {
  Nonce nonce{};
  if (getentropy(nonce.data(), nonce.size()) != 0)
    throw RendezvousError(join("dist: the system grants no random bytes: ", std::strerror(errno)), -1);
  return nonce;
}

/// The proof of a side, "visitor" or "door".
[[nodiscard]] inline Proof proof_of(std::string_view side, std::string_view secret, const Nonce& of_door,
                                    const Introduction& visitor) {
  return Hmac(secret)
      .add(side.data(), side.size())
      .add(of_door.data(), of_door.size())
      .add(visitor.nonce.data(), visitor.nonce.size())
      .add(&visitor.hello, sizeof visitor.hello)
      .finish();
}

/// How a listener took an introduction.
enum class Welcome {
  admitted,
  refused,   ///< the secrets differ
  impostor,  ///< it does not know the secret, and let this process in all the same
  silent     ///< it is another program, or closed the connection, or did not answer in time
};

/// Introduces this process to a door, as a visitor, until `seconds` on the watch.
[[nodiscard]] inline Welcome introduce(const Socket& door, std::string_view secret, const Hello& hello,
                                       const Stopwatch& watch, double seconds) {
  Challenge challenge;
  Introduction mine{.nonce = random_nonce(), .hello = hello};
  if (!door.read_all(&challenge, sizeof challenge, watch, seconds) ||
      std::memcmp(challenge.magic, Challenge{}.magic, sizeof challenge.magic) != 0)
    return Welcome::silent;
  mine.proof = proof_of("visitor", secret, challenge.nonce, mine);
  Proof answer{};
  if (!door.write_all(&mine, sizeof mine, watch, seconds) || !door.read_all(&answer, sizeof answer, watch, seconds))
    return Welcome::silent;
  if (are_equal(answer, proof_of("door", secret, challenge.nonce, mine))) return Welcome::admitted;
  return are_equal(answer, Proof{}) ? Welcome::refused : Welcome::impostor;
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
