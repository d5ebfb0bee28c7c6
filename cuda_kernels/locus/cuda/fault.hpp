#pragma once
// Failures of queued work that CUDA does not report, as of a collective that was aborted.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>

#include <exception>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// While a GPU has a fault, elements in its memory may be wrong: calls in which the host waits for the GPU throw it. A
/// fault whose owner is gone before any call threw it is thrown by the next one, once.
class Faults {
 public:
  /// `owner` names the fault. Any thread may call it. No-op without memory for the fault.
  LOCUS_OUT_OF_LINE static void add(int ordinal, const void* owner, const std::exception_ptr& error) noexcept {
    const Lock lock(instance().mutex_);
    try {
      instance().faults_.push_back({ordinal, owner, error, false});
      count_.fetch_add(1);
    } catch (const std::bad_alloc&) {}
  }
  /// A call of the owner's has thrown its fault.
  LOCUS_OUT_OF_LINE static void note_thrown(const void* owner) noexcept {
    const Lock lock(instance().mutex_);
    for (Fault& fault : instance().faults_)
      if (fault.owner == owner) fault.is_thrown = true;
  }
  /// The owner is gone, and with it its fault, once that was thrown.
  LOCUS_OUT_OF_LINE static void disown(const void* owner) noexcept {
    const Lock lock(instance().mutex_);
    for (Fault& fault : instance().faults_)
      if (fault.owner == owner) fault.owner = nullptr;
    instance().forget_thrown();
  }
  /// throws a fault of the GPU, if it has any: the first that no call threw yet, or else the first
  static void require_none(int ordinal) {
    if (count_.load(Order::relaxed) > 0) [[unlikely]]
      raise(ordinal);
  }

 private:
  struct Fault {
    int ordinal;
    const void* owner;  ///< null: gone
    std::exception_ptr error;
    bool is_thrown;
  };
  void forget_thrown() noexcept {
    for (std::size_t i = faults_.size(); i-- > 0;) {
      if (faults_[i].owner || !faults_[i].is_thrown) continue;
      faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(i));
      count_.fetch_sub(1);
    }
  }
  LOCUS_OUT_OF_LINE static void raise(int ordinal) {
    std::exception_ptr error;
    {
      const Lock lock(instance().mutex_);
      Fault* next = nullptr;
      for (Fault& fault : instance().faults_)
        if (fault.ordinal == ordinal && (!next || (next->is_thrown && !fault.is_thrown))) next = &fault;
      if (next) error = next->error, next->is_thrown = true;
      instance().forget_thrown();
    }
    if (error) std::rethrow_exception(error);
  }
  [[nodiscard]] LOCUS_OUT_OF_LINE static Faults& instance() {
    static auto* faults = new Faults;  // outlives static objects
    return *faults;
  }

  inline static Atomic<int> count_{0};
  Mutex mutex_{};
  std::vector<Fault> faults_{};
};

}}}  // namespace locus::LOCUS_ABI::cuda
