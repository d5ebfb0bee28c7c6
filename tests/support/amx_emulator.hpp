#pragma once
// The tile instructions (AMX) of x86-64 for processors that lack them: the processor raises SIGILL at each; the handler
// emulates the instruction and continues after it. An invalid use, such as tiles of mismatched shapes, ends the program
// with a message.
//
// Follows Intel's Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TILERELEASE,
// TDPBF16PS.

#if defined(__x86_64__) && defined(__linux__)
#include <sys/ucontext.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace locus_test {

/// During its life, tile instructions work on every thread.
class AmxEmulator {
 public:
  AmxEmulator() {
    struct sigaction action {};
    action.sa_sigaction = emulate;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, &before_);
  }
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;
  ~AmxEmulator() { sigaction(SIGILL, &before_, nullptr); }

 private:
  struct Tile {
    std::uint8_t bytes[16][64];
  };
  /// The tile registers of a thread, and their shapes from ldtilecfg.
  struct State {
    bool configured = false;
    int rows[8] = {}, row_bytes[8] = {};
    Tile tiles[8] = {};
  };
  static State& state() {
    static thread_local State of_this_thread;
    return of_this_thread;
  }
  struct sigaction before_ {};

  [[noreturn]] static void stop(const char* why) {
    std::fprintf(stderr, "amx_emulator: %s\n", why);
    std::abort();
  }
  static void require(bool holds, const char* rule) {
    if (!holds) stop(rule);
  }

  static std::uint64_t general_register(const mcontext_t& machine, int number) {
    constexpr int at[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<std::uint64_t>(machine.gregs[at[number]]);
  }

  /// A decoded instruction with a three-byte VEX prefix.
  struct Instruction {
    int prefix, opcode, reg, rm, other;  ///< `other` is VEX.vvvv
    bool in_registers;                   ///< rm is a register; otherwise the operand lies at `address`
    std::uint64_t address;               ///< address of a tile's first row, without the index
    std::int64_t stride;                 ///< index times scale: the stride between the tile's rows
    std::int64_t length;
  };
  static std::int64_t displacement(const std::uint8_t* at, int bytes) {
    std::int32_t wide = 0;
    if (bytes == 1) return static_cast<std::int8_t>(*at);
    if (bytes == 4) std::memcpy(&wide, at, 4);
    return wide;
  }
  static Instruction decode(const mcontext_t& machine) {
    const auto begin = static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
    const auto* code = reinterpret_cast<const std::uint8_t*>(begin);
    require(code[0] == 0xC4 && (code[1] & 0x1F) == 2 && (code[2] & 0x84) == 0,
            "an illegal instruction that is no tile's");
    const int index_high = code[1] & 0x40 ? 0 : 8, base_high = code[1] & 0x20 ? 0 : 8, mode = code[4] >> 6;
    Instruction read{};
    read.prefix = code[2] & 3;
    read.other = ~(code[2] >> 3) & 15;
    read.opcode = code[3];
    read.reg = code[4] >> 3 & 7;
    read.rm = code[4] & 7;
    read.in_registers = mode == 3;
    std::int64_t length = 5;
    if (!read.in_registers) {
      int base = read.rm | base_high, bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
      bool has_base = !(mode == 0 && read.rm == 5);
      if (read.rm == 4) {
        const int sib = code[length++], index = (sib >> 3 & 7) | index_high;
        base = (sib & 7) | base_high;
        has_base = !(mode == 0 && (sib & 7) == 5);
        if (index != 4) read.stride = static_cast<std::int64_t>(general_register(machine, index) << (sib >> 6));
      }
      if (!has_base) bytes = 4;
      read.address = static_cast<std::uint64_t>(displacement(code + length, bytes));
      length += bytes;
      if (has_base) read.address += general_register(machine, base);
      else if (read.rm == 5) read.address += begin + static_cast<std::uint64_t>(length);  // to the next instruction
    }
    read.length = length;
    return read;
  }
  static void configure(State& tiles, const std::uint8_t* from) {
    require(from[0] == 1, "ldtilecfg: expected palette 1");
    for (int i = 1; i < 16; ++i) require(from[i] == 0, "ldtilecfg: expected to begin at row 0, and no reserved bytes");
    for (int t = 0; t < 8; ++t) {
      std::uint16_t row_bytes = 0;
      std::memcpy(&row_bytes, from + 16 + 2 * t, 2);
      tiles.rows[t] = from[48 + t];
      tiles.row_bytes[t] = row_bytes;
      require(tiles.rows[t] <= 16 && row_bytes <= 64, "ldtilecfg: expected at most 16 rows of 64 bytes");
      require(row_bytes % 4 == 0, "ldtilecfg: expected rows of whole words, which tdpbf16ps needs");
      require((tiles.rows[t] == 0) == (row_bytes == 0), "ldtilecfg: a tile of rows without bytes, or of no rows");
    }
    for (int i = 32; i < 48; ++i) require(from[i] == 0, "ldtilecfg: expected no more than 8 tiles");
    for (int i = 56; i < 64; ++i) require(from[i] == 0, "ldtilecfg: expected no more than 8 tiles");
    std::memset(tiles.tiles, 0, sizeof tiles.tiles);
    tiles.configured = true;
  }
  static void require_form(const State& tiles, int tile) {
    require(tiles.configured, "a tile before ldtilecfg or behind tilerelease");
    require(tiles.rows[tile] > 0, "a tile of no rows");
  }

  /// Flushes denormals to zero.
  static float flushed(float x) { return x < 0x1p-126f && x > -0x1p-126f ? 0.f * x : x; }
  /// The numbers of a tile of pairs: numbers[row][2 * pair + which].
  struct Numbers {
    float numbers[16][32];
    explicit Numbers(const Tile& tile) {
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 32; ++j) {
          const std::uint32_t bits = static_cast<std::uint32_t>(tile.bytes[i][2 * j] << 16) |
                                     static_cast<std::uint32_t>(tile.bytes[i][2 * j + 1]) << 24;
          std::memcpy(&numbers[i][j], &bits, 4);
          numbers[i][j] = flushed(numbers[i][j]);
        }
    }
  };
  static float multiply_add(float x, float y, float sum) { return flushed(std::fma(x, y, sum)); }
  static void multiply(State& tiles, int sums, int left, int right) {
    for (const int tile : {sums, left, right}) require_form(tiles, tile);
    require(sums != left && sums != right && left != right, "tdpbf16ps: expected three tiles");
    require(tiles.rows[sums] == tiles.rows[left], "tdpbf16ps: as many rows of sums as of the left operand");
    require(tiles.row_bytes[sums] == tiles.row_bytes[right],
            "tdpbf16ps: as many columns of sums as of the right operand");
    require(tiles.row_bytes[left] == 4 * tiles.rows[right], "tdpbf16ps: as many pairs in a row as rows on the right");
    const Numbers a(tiles.tiles[left]), b(tiles.tiles[right]);
    for (int i = 0; i < tiles.rows[sums]; ++i)
      for (int j = 0; j < tiles.row_bytes[sums] / 4; ++j) {
        float of_even = 0, of_odd = 0, sum = 0;
        for (int k = 0; k < tiles.rows[right]; ++k) {
          of_even = multiply_add(a.numbers[i][2 * k], b.numbers[k][2 * j], of_even);
          of_odd = multiply_add(a.numbers[i][2 * k + 1], b.numbers[k][2 * j + 1], of_odd);
        }
        std::uint8_t* const at = tiles.tiles[sums].bytes[i] + 4 * j;
        std::memcpy(&sum, at, 4);
        sum = flushed(flushed(sum) + flushed(of_even + of_odd));
        std::memcpy(at, &sum, 4);
      }
  }

  static void execute(State& tiles, const Instruction& read) {
    enum { none, p66, f3, f2 };
    const bool multiplies = read.opcode == 0x5C;
    require(multiplies ? read.other < 8 : read.other == 0, "a third operand that the instruction has not");
    // An address without a base is 0 and an index: sums of integers, which a null pointer does not take.
    const auto row = [&](std::int64_t i) {
      return reinterpret_cast<std::uint8_t*>(read.address + static_cast<std::uint64_t>(i * read.stride));
    };
    if (read.opcode == 0x49 && read.prefix == none) {
      if (!read.in_registers) configure(tiles, row(1));
      else tiles.configured = false;  // tilerelease
    } else if (read.opcode == 0x49 && read.prefix == f2 && read.in_registers) {
      require_form(tiles, read.reg);
      tiles.tiles[read.reg] = {};
    } else if (read.opcode == 0x4B && !read.in_registers && (read.prefix == f2 || read.prefix == f3)) {
      require_form(tiles, read.reg);
      Tile& tile = tiles.tiles[read.reg];
      const auto bytes = static_cast<std::size_t>(tiles.row_bytes[read.reg]);
      if (read.prefix == f2) tile = {};
      for (int i = 0; i < tiles.rows[read.reg]; ++i) {
        if (read.prefix == f2) std::memcpy(tile.bytes[i], row(i), bytes);
        else std::memcpy(row(i), tile.bytes[i], bytes);
      }
    } else if (multiplies && read.prefix == f3 && read.in_registers) {
      multiply(tiles, read.reg, read.rm, read.other);
    } else {
      stop("an illegal instruction that is no tile's, or one that is not emulated");
    }
  }

  static void emulate(int, siginfo_t*, void* context) {
    mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    const Instruction read = decode(machine);
    execute(state(), read);
    machine.gregs[REG_RIP] += read.length;
  }
};

}  // namespace locus_test
#endif
