#pragma once
// A workload and its random operands, equal in every program.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// Floats aligned to a cache line.
class Numbers {
 public:
  explicit Numbers(std::int64_t count)
      : count_(count),
        data_(static_cast<float*>(std::aligned_alloc(64, (static_cast<std::size_t>(count) * 4 + 63) / 64 * 64))) {
    if (!data_) throw std::bad_alloc();
  }
  [[nodiscard]] float* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t size() const { return count_; }
  float& operator[](std::int64_t i) const { return data_.get()[i]; }
  [[nodiscard]] std::vector<float> copy() const { return {data(), data() + count_}; }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::int64_t count_;
  std::unique_ptr<float, Free> data_;
};
/// Operands shared by the functions of a workload.
using Memory = std::shared_ptr<Numbers>;
[[nodiscard]] inline Memory memory(std::int64_t count) { return std::make_shared<Numbers>(count); }

/// A parsed line, as "gemm_nt 100 32 784".
struct Work {
  std::string operation;
  std::vector<std::int64_t> sizes;

  explicit Work(const std::string& line) {
    std::istringstream words(line);
    words >> operation;
    for (std::int64_t size = 0; words >> size;) {
      if (size < 1 || size > std::int64_t{1} << 40) throw std::invalid_argument("no size: " + line);
      sizes.push_back(size);
    }
    if (!words.eof() || sizes.empty()) throw std::invalid_argument("expected OPERATION SIZE..., got: " + line);
  }

  /// Extent i; trailing extents of 1 may be omitted.
  [[nodiscard]] std::int64_t size(std::size_t i) const { return i < sizes.size() ? sizes[i] : 1; }
  [[nodiscard]] std::int64_t rows() const { return size(0); }
  [[nodiscard]] std::int64_t cols() const { return size(1); }
  [[nodiscard]] std::int64_t elements() const { return rows() * cols(); }

  [[nodiscard]] bool of_bfloat16() const { return operation.find("bfloat16") != std::string::npos; }

  /// Operand i: about normal, mean 0, variance 1; representable in bfloat16 for its operations. BENCHMARK_SEED sets the
  /// seed.
  [[nodiscard]] Memory operand(std::uint64_t i, std::int64_t count) const {
    const char* const seed = std::getenv("BENCHMARK_SEED");
    std::uint64_t state = (seed ? std::strtoull(seed, nullptr, 10) : 0) * 1024 + i;
    const Memory numbers = memory(count);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::uint64_t bits = next(state);  // four numbers below 2^16, whose sum is about normal
      const auto sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
      // bfloat16: eight significant bits.
      (*numbers)[j] = of_bfloat16() ? (static_cast<float>(sum >> 9) - 256.f) * 0x1p-6f
                                    : (static_cast<float>(sum) - 131070.f) * (1 / 37837.f);
    }
    return numbers;
  }

 private:
  /// splitmix64 (Steele, Lea and Flood, 2014)
  static std::uint64_t next(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

}  // namespace bench
