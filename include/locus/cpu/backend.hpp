#pragma once
// The host as a device; device/verbs.hpp specifies its verbs.

#include <locus/cpu/host_memory.hpp>
#include <locus/cpu/host_trace.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/memory.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/device/verbs.hpp>

#if LOCUS_DEVICE_PASS
namespace locus { inline namespace LOCUS_ABI { namespace cpu {
// nvcc's device pass throws host code away: empty functions spare it the loops.
template <class... X>
void map(const X&...) {}
template <class... X>
void for_each_row(const X&...) {}
template <class... X>
void reduce(const X&...) {}
template <class... X>
void gemm(const X&...) {}
}}}  // namespace locus::LOCUS_ABI::cpu
#else
#include <locus/cpu/gemm/gemm.hpp>
#include <locus/cpu/loops/map.hpp>
#include <locus/cpu/reduce/column_sums.hpp>
#include <locus/cpu/reduce/reduce.hpp>
#include <locus/cpu/reduce/rows.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Backend<Cpu> {
  [[nodiscard]] static void* allocate(Cpu, std::size_t bytes) { return cpu::MemoryPool::instance().allocate(bytes); }
  static void deallocate(Cpu, void* data, std::size_t bytes) noexcept {
    cpu::MemoryPool::instance().deallocate(data, bytes);
  }
  [[nodiscard]] static MemoryStats memory_stats(Cpu) { return cpu::MemoryPool::instance().stats(); }
  static void restart_peak(Cpu, std::int64_t least) { cpu::MemoryPool::instance().restart_peak(least); }
  [[nodiscard]] static MemoryInfo memory_info(Cpu) { return cpu::detail::host_memory(); }
  static std::int64_t release_unused(Cpu) { return cpu::MemoryPool::instance().release_unused(); }
  static void limit_memory(Cpu, std::int64_t bytes) { cpu::MemoryPool::instance().set_limit(bytes); }
  [[nodiscard]] static std::int64_t memory_limit(Cpu) { return cpu::MemoryPool::instance().limit(); }

  /// Everything on Cpu is done when its call returns.
  static void synchronize(Cpu) {}

  template <class F, class... I, class... O>
  static void map(Cpu, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    if (plan.elements == 0) return;
    ++detail::launches.map;
    cpu::map(plan, f, inputs, outputs);
  }

  template <RowFunctor F>
  static void for_each_row(Cpu, std::int64_t rows, std::int64_t cols, const F& f) {
    if (rows == 0) return;
    ++detail::launches.rows;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(detail::describe_rows(detail::type_text<F>(), rows, cols, detail::row_element_bytes<F>()));
    cpu::for_each_row(rows, cols, f);
  }

  /// See SumsColumns.
  template <RowFunctor F, class T>
  static std::true_type for_each_row(Cpu, std::int64_t rows, std::int64_t cols, const F& f, const ColumnSum<T>* sums) {
    ++detail::launches.rows;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(detail::describe_rows(detail::type_text<F>(), rows, cols, detail::row_element_bytes<F>()));
    cpu::for_each_row(rows, cols, f, sums);
    return {};
  }

  template <class F, class Op, class... I, class T>
  static void reduce(Cpu, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    if (plan.kept.elements == 0) return;
    ++detail::launches.reduce;
    cpu::reduce(plan, f, op, inputs, previous, out);
  }

  template <class T, class E>
  static void gemm(Cpu, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    if (batch.count == 0 || c.rows == 0 || c.cols == 0) return;
    ++detail::launches.gemm;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(detail::describe_gemm(detail::type_text<E>(), batch.count, c.rows, c.cols, a.cols, sizeof(T)));
    cpu::gemm(batch, a, b, c, epilogue);
  }
};

template <>
struct Transfer<Cpu, Cpu> {
  static void copy(Cpu, const void* source, Cpu, void* target, std::size_t bytes) {
    if (bytes) std::memcpy(target, source, bytes);
  }
};

static_assert(Device<Cpu>);

}}  // namespace locus::LOCUS_ABI
