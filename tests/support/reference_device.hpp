#pragma once
// The specification of a device as code: a separate device whose verbs are plain loops over single elements;
// reference_capabilities.hpp has the optional capabilities. It shares no loop with Cpu and Cuda, which are compared
// with it (compare_verbs.hpp), and the tests of operations run on it.
//
// Its memory is the host's, but only verbs and copies may access it, so operations take the algorithms that need
// nothing else. New memory is filled with NaN (integers: -1), so that a result that was never written shows.

#include <locus/core/math.hpp>
#include <locus/device/capabilities.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/device/verbs.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <support/plans.hpp>

namespace locus_test {

struct ReferenceDevice {
  friend constexpr bool operator==(ReferenceDevice, ReferenceDevice) = default;
};
[[nodiscard]] inline std::string to_string(ReferenceDevice) { return "reference"; }

inline std::atomic<std::int64_t> reference_requests{0}, reference_bytes{0};

/// Loads an input of a verb into a register. `at`: offset of the element; `index`: its row-major number.
template <class T>
[[nodiscard]] locus::compute_t<T> read_operand(const T* data, std::int64_t at, std::int64_t) {
  return data ? locus::load_as_register(data[at]) : locus::compute_t<T>{};
}
[[nodiscard]] inline std::int64_t read_operand(locus::LinearIndex, std::int64_t, std::int64_t index) { return index; }

/// Elements [first, last) folded in halves, so that rounding errors grow with the logarithm of their number.
template <class Op, class Element>
[[nodiscard]] typename Op::Accumulator folded(const Op& op, std::int64_t first, std::int64_t last,
                                              const Element& element) {
  if (first == last) return op.identity();
  if (last - first == 1) return op.combine(op.identity(), element(first));
  const std::int64_t middle = first + (last - first) / 2;
  return op.combine(folded(op, first, middle, element), folded(op, middle, last, element));
}

/// Accumulator of sums: long double for floating-point numbers, integers modulo 2^n.
template <class T>
using exact_sum_t = std::conditional_t<std::is_floating_point_v<locus::compute_t<T>>, long double,
                                       locus::math::wrapping_t<locus::compute_t<T>>>;

/// A row in registers. (Not std::vector<R>, because std::vector<bool> has no bool elements.)
template <class R>
class ReferenceFragment {
 public:
  explicit ReferenceFragment(std::int64_t cols) : registers_(static_cast<std::size_t>(cols)) {}
  [[nodiscard]] R& operator[](std::int64_t c) { return registers_[static_cast<std::size_t>(c)].value; }
  [[nodiscard]] const R& operator[](std::int64_t c) const { return registers_[static_cast<std::size_t>(c)].value; }

 private:
  struct Register {
    R value;
  };
  std::vector<Register> registers_;
};

/// A RowTeam of one thread.
class ReferenceTeam {
 public:
  explicit ReferenceTeam(std::int64_t cols) : cols_(cols) {}
  [[nodiscard]] std::int64_t cols() const { return cols_; }

  template <class T>
  [[nodiscard]] ReferenceFragment<locus::compute_t<T>> load(const locus::RowInput<T>& row) const {
    ReferenceFragment<locus::compute_t<T>> x(cols_);
    for (std::int64_t c = 0; c < cols_; ++c) x[c] = read_operand(row.data, c * row.stride, c);
    return x;
  }
  template <class Op, class Map, class... R>
  [[nodiscard]] typename Op::Accumulator reduce(const Op& op, const Map& map, const ReferenceFragment<R>&... x) const {
    return folded(op, 0, cols_, [&](std::int64_t c) { return map(x[c]..., c); });
  }
  template <class F, class R, class... Others>
  void update(const F& f, ReferenceFragment<R>& x, const ReferenceFragment<Others>&... others) const {
    for (std::int64_t c = 0; c < cols_; ++c) x[c] = f(x[c], others[c]..., c);
  }
  template <class Op, class F, class R, class T>
  [[nodiscard]] typename Op::Accumulator update_and_reduce(const Op& op, const F& f, ReferenceFragment<R>& x,
                                                           const locus::RowOutput<T>&) const {
    update(f, x);
    return reduce(
        op, [](R value, std::int64_t) { return value; }, x);
  }
  template <class T, class F, class... R>
  void store(const locus::RowOutput<T>& row, const F& f, const ReferenceFragment<R>&... x) const {
    for (std::int64_t c = 0; c < cols_; ++c) {
      T& target = row.data[c * row.stride];
      auto value = static_cast<locus::compute_t<T>>(f(x[c]..., c));
      if (row.accumulate) value = static_cast<locus::compute_t<T>>(value + locus::load_as_register(target));
      target = locus::from_register<T>(value);
    }
  }
  template <class T>
  void write(T* target, locus::compute_t<T> value) const {
    *target = locus::from_register<T>(value);
  }

 private:
  std::int64_t cols_;
};

/// A team that also sums over the rows; see SumsColumns.
template <class R>
class SummingReferenceTeam : public ReferenceTeam {
 public:
  SummingReferenceTeam(std::int64_t cols, std::vector<double> (&sums)[2]) : ReferenceTeam(cols), sums_(sums) {}

  template <class Map, class... X>
  [[nodiscard]] locus::RowTotals<R> add(const Map& map, const ReferenceFragment<X>&... x) const {
    double totals[2] = {};
    for (std::int64_t c = 0; c < cols(); ++c) {
      const locus::Addends<R> addends = map(x[c]..., c);
      for (int i = 0; i < 2; ++i) {
        sums_[i][static_cast<std::size_t>(c)] += addends.column[i];
        totals[i] += addends.row[i];
      }
    }
    return {static_cast<R>(totals[0]), static_cast<R>(totals[1])};
  }

 private:
  std::vector<double> (&sums_)[2];
};

template <class F, class Team>
void visit_rows([[maybe_unused]] std::int64_t rows, [[maybe_unused]] const F& f, [[maybe_unused]] Team team) {
#if !LOCUS_DEVICE_PASS  // nvcc's device pass would require the team's members as device code
  for (std::int64_t row = 0; row < rows; ++row) f(row, team);
#endif
}

}  // namespace locus_test

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Backend<locus_test::ReferenceDevice> {
  using Self = locus_test::ReferenceDevice;

  [[nodiscard]] static void* allocate(Self, std::size_t bytes) {
    constexpr std::size_t alignment = 64;
    const std::size_t rounded = bytes / alignment * alignment + alignment;
    void* const data = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
    if (!data) fail<OutOfMemory>({"reference: no memory for ", bytes, " bytes"});
    std::memset(data, 0xff, rounded);
    ++locus_test::reference_requests;
    locus_test::reference_bytes += static_cast<std::int64_t>(bytes);
    return data;
  }
  static void deallocate(Self, void* data, std::size_t bytes) noexcept {
    locus_test::reference_bytes -= static_cast<std::int64_t>(bytes);
    std::free(data);
  }
  [[nodiscard]] static MemoryStats memory_stats(Self) {
    MemoryStats stats;
    stats.requests = stats.system_allocations = locus_test::reference_requests;
    stats.allocated_bytes = stats.reserved_bytes = locus_test::reference_bytes;
    return stats;
  }
  static void synchronize(Self) {}

  template <class F, class... I, class... O>
  static void map(Self, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    if (plan.elements == 0) return;
    ++detail::launches.map;
    [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
      for (std::int64_t k = 0; k < plan.elements; ++k) {
        Pack<compute_t<O>...> results;
        f(locus_test::read_operand(get<i>(inputs), locus_test::offset_in(plan, i, k), plan.first_index + k)...,
          get<o>(results)...);
        [[maybe_unused]] const auto write = [&](auto* target, int operand, const auto& result) {
          if (target)
            *(target + locus_test::offset_in(plan, operand, k)) = from_register<operand_t<decltype(target)>>(result);
        };
        (write(get<o>(outputs), static_cast<int>(sizeof...(I)) + o, get<o>(results)), ...);
      }
    }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
  }

  template <RowFunctor F>
  static void for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f) {
    if (rows == 0) return;
    ++detail::launches.rows;
    locus_test::visit_rows(rows, f, locus_test::ReferenceTeam(cols));
  }

  template <RowFunctor F, class T>
  static std::true_type for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f, const ColumnSum<T>* sums) {
    ++detail::launches.rows;
    const std::vector<double> zeros(static_cast<std::size_t>(cols));
    std::vector<double> totals[2] = {zeros, zeros};
    locus_test::visit_rows(rows, f, locus_test::SummingReferenceTeam<compute_t<T>>(cols, totals));
    for (int i = 0; i < 2; ++i) {
      if (!sums[i].out) continue;
      for (std::int64_t c = 0; c < cols; ++c) {
        T& target = sums[i].out[c];
        const double before = sums[i].accumulate ? static_cast<double>(load_as_register(target)) : 0;
        target = from_register<T>(static_cast<compute_t<T>>(totals[i][static_cast<std::size_t>(c)] + before));
      }
    }
    return {};
  }

  template <class F, class Op, class... I, class T>
  static void reduce(Self, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    if (plan.kept.elements == 0) return;
    ++detail::launches.reduce;
    [&]<int... i>(std::integer_sequence<int, i...>) {
      for (std::int64_t k = 0; k < plan.kept.elements; ++k) {
        const auto total = locus_test::folded(op, 0, plan.reduced.elements, [&](std::int64_t r) {
          return f(locus_test::read_operand(
              get<i>(inputs), locus_test::offset_in(plan.kept, i, k) + locus_test::offset_in(plan.reduced, i, r),
              r)...);
        });
        const std::int64_t at = locus_test::offset_in(plan.kept, static_cast<int>(sizeof...(I)), k);
        auto result = static_cast<compute_t<T>>(op.finish(total));
        if (previous) result = static_cast<compute_t<T>>(result + load_as_register(previous[at]));
        out[at] = from_register<T>(result);
      }
    }(std::make_integer_sequence<int, sizeof...(I)>{});
  }

  template <class T, class E>
  static void gemm(Self, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    if (batch.count == 0 || c.rows == 0 || c.cols == 0) return;
    if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
      fail<ShapeError>({"gemm: (", a.rows, ", ", a.cols, ") x (", b.rows, ", ", b.cols, ") -> (", c.rows, ", ", c.cols,
                        "); expected (m, k) x (k, n) -> (m, n)"});
    ++detail::launches.gemm;
    using Sum = locus_test::exact_sum_t<T>;
    const auto at = [](const auto& matrix, std::int64_t i, std::int64_t j) {
      return i * matrix.row_stride + j * matrix.col_stride;
    };
    for (std::int64_t n = 0; n < batch.count; ++n)
      for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.cols; ++j) {
          Sum sum = 0;
          for (std::int64_t k = 0; k < a.cols; ++k)
            sum = static_cast<Sum>(sum +
                                   static_cast<Sum>(load_as_register(a.data[n * batch.a_stride + at(a, i, k)])) *
                                       static_cast<Sum>(load_as_register(b.data[n * batch.b_stride + at(b, k, j)])));
          T& target = c.data[n * batch.c_stride + at(c, i, j)];
          const compute_t<T> previous = epilogue.accumulates() ? load_as_register(target) : compute_t<T>(0);
          target = from_register<T>(epilogue(static_cast<compute_t<T>>(sum), previous, i, j));
        }
  }
};

namespace detail {
struct ReferenceCopy {
  static void run(const void* source, void* target, std::size_t bytes) {
    if (bytes) std::memcpy(target, source, bytes);
  }
};
}  // namespace detail
template <>
struct Transfer<Cpu, locus_test::ReferenceDevice> {
  static void copy(Cpu, const void* source, locus_test::ReferenceDevice, void* target, std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<locus_test::ReferenceDevice, Cpu> {
  static void copy(locus_test::ReferenceDevice, const void* source, Cpu, void* target, std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<locus_test::ReferenceDevice, locus_test::ReferenceDevice> {
  static void copy(locus_test::ReferenceDevice, const void* source, locus_test::ReferenceDevice, void* target,
                   std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes);
  }
};

static_assert(Device<locus_test::ReferenceDevice> && RowTeam<locus_test::ReferenceTeam>);

}}  // namespace locus::LOCUS_ABI
