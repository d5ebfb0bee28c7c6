#pragma once
// Failures of queued work that CUDA does not report, as of a collective that was aborted.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>

#include <exception>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// While a GPU has a fault, elements in its memory may be wrong: calls in which the host waits for the GPU throw it.
class Faults {
 public:
  /// `owner` names the fault for remove(). Any thread may call it. No-op without memory for the fault.
  LOCUS_OUT_OF_LINE static void add(int ordinal, const void* owner, const std::exception_ptr& error) noexcept {
    const Lock lock(instance().mutex_);
    try {
      instance().faults_.push_back({ordinal, owner, error});
      count_.fetch_add(1);
    } catch (const std::bad_alloc&) {}
  }
  LOCUS_OUT_OF_LINE static void remove(const void* owner) noexcept {
    const Lock lock(instance().mutex_);
    auto& faults = instance().faults_;
    for (std::size_t i = faults.size(); i-- > 0;) {
      if (faults[i].owner != owner) continue;
      faults.erase(faults.begin() + static_cast<std::ptrdiff_t>(i));
      count_.fetch_sub(1);
    }
  }
  /// throws the first fault of the GPU, if it has any
  static void require_none(int ordinal) {
    if (count_.load(Order::relaxed) > 0) [[unlikely]]
      raise(ordinal);
  }

 private:
  struct Fault {
    int ordinal;
    const void* owner;
    std::exception_ptr error;
  };
  LOCUS_OUT_OF_LINE static void raise(int ordinal) {
    std::exception_ptr error;
    {
      const Lock lock(instance().mutex_);
      for (const Fault& fault : instance().faults_)
        if (fault.ordinal == ordinal && !error) error = fault.error;
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
