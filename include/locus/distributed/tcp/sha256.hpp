#pragma once
// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), for the handshake between ranks. No library is there on every
// machine: OpenSSL would be a dependency, and AF_ALG is missing in many containers.

#include <locus/core/config.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

class Sha256 {
 public:
  using Digest = std::array<unsigned char, 32>;

  void add(const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) {
      block_[size_++ % block_bytes] = from[i];
      if (size_ % block_bytes == 0) compress();
    }
  }
  /// The digest of all added bytes. Nothing may be added afterwards.
  [[nodiscard]] Digest finish() {
    const std::uint64_t bits = 8 * size_;
    for (unsigned char pad = 0x80; pad || size_ % block_bytes != block_bytes - 8; pad = 0) add(&pad, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
      const auto byte = static_cast<unsigned char>(bits >> shift);
      add(&byte, 1);
    }
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i)
      digest[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
  }
  static constexpr std::size_t block_bytes = 64;

 private:
  [[nodiscard]] static constexpr std::uint32_t rotated(std::uint32_t x, int by) { return x >> by | x << (32 - by); }
  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
  static constexpr std::uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

  /// Adds the full block to the state (FIPS 180-4, 6.2.2).
  void compress() {
    std::uint32_t w[64], s[8];
    for (std::size_t t = 0; t < 16; ++t)
      w[t] = std::uint32_t{block_[4 * t]} << 24 | std::uint32_t{block_[4 * t + 1]} << 16 |
             std::uint32_t{block_[4 * t + 2]} << 8 | block_[4 * t + 3];
    for (int t = 16; t < 64; ++t) {
      const std::uint32_t a = w[t - 15], b = w[t - 2];
      w[t] = w[t - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[t - 7] +
             (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    std::memcpy(s, state_, sizeof s);
    for (int t = 0; t < 64; ++t) {
      const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]),
                          majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      const std::uint32_t first =
          s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + choice + constants[t] + w[t];
      const std::uint32_t second = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + majority;
      std::memmove(s + 1, s, 7 * sizeof *s);
      s[4] += first;
      s[0] = first + second;
    }
    for (int i = 0; i < 8; ++i) state_[i] += s[i];
  }

  std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char block_[block_bytes] = {};
  std::uint64_t size_ = 0;
};

/// HMAC-SHA256 of bytes that are added one after another.
class Hmac {
 public:
  explicit Hmac(std::string_view key) {
    unsigned char padded[Sha256::block_bytes] = {};
    if (key.size() > sizeof padded) {
      Sha256 shortened;
      shortened.add(key.data(), key.size());
      const Sha256::Digest digest = shortened.finish();
      std::memcpy(padded, digest.data(), digest.size());
    } else if (!key.empty()) {
      std::memcpy(padded, key.data(), key.size());
    }
    for (unsigned char& byte : padded) byte ^= 0x36;
    inner_.add(padded, sizeof padded);
    for (unsigned char& byte : padded) byte ^= 0x36 ^ 0x5c;
    outer_.add(padded, sizeof padded);
  }
  Hmac& add(const void* data, std::size_t bytes) {
    inner_.add(data, bytes);
    return *this;
  }
  [[nodiscard]] Sha256::Digest finish() {
    const Sha256::Digest inner = inner_.finish();
    outer_.add(inner.data(), inner.size());
    return outer_.finish();
  }

 private:
  Sha256 inner_{}, outer_{};
};

/// Whether two digests are equal, in a time that does not depend on where they differ.
[[nodiscard]] inline bool are_equal(const Sha256::Digest& a, const Sha256::Digest& b) {
  unsigned int difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned int>(a[i] ^ b[i]);
  return difference == 0;
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
