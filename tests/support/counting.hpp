#pragma once
// A device of the tests: it computes as Cpu does and counts its launches, allocations and copies; the host may not
// access its memory. All code written in terms of the verbs must run on it unchanged.

#include <locus/cpu/backend.hpp>

#include <atomic>

namespace locus_test {

struct Counting {
  int ordinal = 0;
  friend constexpr bool operator==(Counting, Counting) = default;
};

[[nodiscard]] inline std::string to_string(Counting device) { return locus::join("counting:", device.ordinal); }

/// Requests to Counting since the program began.
struct Requests {
  std::int64_t map = 0, rows = 0, reduce = 0, gemm = 0;  ///< launches, except over no elements
  std::int64_t allocations = 0;                          ///< tensors that asked for memory
  std::int64_t copies = 0;                               ///< transfers to, from and within the device
  [[nodiscard]] std::int64_t launches() const { return map + rows + reduce + gemm; }
};
inline Requests all_requests;

/// Requests to Counting since this object was created.
class RequestLog {
 public:
  [[nodiscard]] std::int64_t launches() const { return all_requests.launches() - start_.launches(); }
  [[nodiscard]] std::int64_t maps() const { return all_requests.map - start_.map; }
  [[nodiscard]] std::int64_t allocations() const { return all_requests.allocations - start_.allocations; }
  [[nodiscard]] std::int64_t copies() const { return all_requests.copies - start_.copies; }

 private:
  Requests start_ = all_requests;
};

/// Bytes that tensors on Counting hold now.
inline std::atomic<std::int64_t> counting_bytes{0};
/// Peak of counting_bytes since restart_peak(), which returns the current value.
inline std::atomic<std::int64_t> counting_peak{0};
inline std::int64_t restart_peak() { return counting_peak = counting_bytes.load(); }

}  // namespace locus_test

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Backend<locus_test::Counting> {
  using Self = locus_test::Counting;
  using Host = Backend<Cpu>;

  [[nodiscard]] static void* allocate(Self, std::size_t bytes) {
    ++locus_test::all_requests.allocations;
    void* data = Host::allocate({}, bytes);
    const std::int64_t held = locus_test::counting_bytes += static_cast<std::int64_t>(bytes);
    if (held > locus_test::counting_peak) locus_test::counting_peak = held;
    return data;
  }
  static void deallocate(Self, void* data, std::size_t bytes) noexcept {
    locus_test::counting_bytes -= static_cast<std::int64_t>(bytes);
    Host::deallocate({}, data, bytes);
  }
  [[nodiscard]] static MemoryStats memory_stats(Self) {
    MemoryStats stats;
    stats.requests = locus_test::all_requests.allocations;
    stats.allocated_bytes = locus_test::counting_bytes;
    return stats;
  }
  static void synchronize(Self) {}

  template <class F, class... I, class... O>
  static void map(Self, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    locus_test::all_requests.map += plan.elements != 0;
    Host::map({}, plan, f, inputs, outputs);
  }
  template <class F>
  static void for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f) {
    locus_test::all_requests.rows += rows != 0;
    Host::for_each_row({}, rows, cols, f);
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Self, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    locus_test::all_requests.reduce += plan.kept.elements != 0;
    Host::reduce({}, plan, f, op, inputs, previous, out);
  }
  template <class T, class E>
  static void gemm(Self, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    locus_test::all_requests.gemm += batch.count != 0 && c.rows != 0 && c.cols != 0;
    Host::gemm({}, batch, a, b, c, epilogue);
  }
};

namespace detail {
struct CountedCopy {
  static void run(const void* source, void* target, std::size_t bytes) {
    ++locus_test::all_requests.copies;
    Transfer<Cpu, Cpu>::copy({}, source, {}, target, bytes);
  }
};
}  // namespace detail

template <>
struct Transfer<Cpu, locus_test::Counting> {
  static void copy(Cpu, const void* source, locus_test::Counting, void* target, std::size_t bytes) {
    detail::CountedCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<locus_test::Counting, Cpu> {
  static void copy(locus_test::Counting, const void* source, Cpu, void* target, std::size_t bytes) {
    detail::CountedCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<locus_test::Counting, locus_test::Counting> {
  static void copy(locus_test::Counting, const void* source, locus_test::Counting, void* target, std::size_t bytes) {
    detail::CountedCopy::run(source, target, bytes);
  }
};

static_assert(Device<locus_test::Counting>);

}}  // namespace locus::LOCUS_ABI
