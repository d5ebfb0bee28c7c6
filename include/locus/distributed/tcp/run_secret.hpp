#pragma once
// The secret of a run: ranks know it, and other programs of the network do not.

#include <locus/core/system/environment.hpp>
#include <locus/distributed/tcp/handshake.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

inline constexpr std::size_t least_secret = 16;  ///< characters
inline constexpr const char* how_to_set_secret =
    "set LOCUS_DIST_SECRET to the same text on all ranks, of 16 random characters or more, as of: openssl rand -hex 32";

/// Whether a text is a UUID, as torchrun makes one at random with --standalone.
[[nodiscard]] inline bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hexadecimal = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (i == 8 || i == 13 || i == 18 || i == 23 ? c != '-' : !is_hexadecimal) return false;
  }
  return true;
}

/// LOCUS_DIST_SECRET; without it, torchrun's id of the run, if it is a UUID, as with --standalone. Empty: there is
/// none. throws RendezvousError for a short secret
[[nodiscard]] inline std::string secret_from_environment() {
  const std::string_view secret = locus::detail::environment("LOCUS_DIST_SECRET");
  if (!secret.empty() && secret.size() < least_secret)
    throw RendezvousError(join("dist: LOCUS_DIST_SECRET has ", secret.size(), " characters; expected ", least_secret,
                               " or more: ", how_to_set_secret),
                          -1);
  if (!secret.empty()) return std::string(secret);
  const std::string_view run = locus::detail::environment("TORCHELASTIC_RUN_ID");
  return is_uuid(run) ? std::string(run) : std::string();
}

/// throws RendezvousError if the system has no random bytes
[[nodiscard]] inline std::string random_secret() {
  const Nonce bytes = random_nonce();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
