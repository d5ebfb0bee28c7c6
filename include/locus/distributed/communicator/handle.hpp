#pragma once
// Handles of asynchronous collectives.

#include <locus/device/capabilities.hpp>
#include <locus/device/replay.hpp>
#include <locus/distributed/engine/engine.hpp>
#include <locus/distributed/engine/worker.hpp>
#include <locus/expr/operands.hpp>
#include <locus/tensor/copy_async.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace dist {

namespace detail {

struct NoEvent {};
template <class D>
struct EventOf : std::type_identity<NoEvent> {};
template <StreamingDevice D>
struct EventOf<D> : std::type_identity<Event<D>> {};

/// A call in flight; owns the memory that it reads and writes.
template <class D>
class CallJob : public Job {
 public:
  /// The host waits until the results are there. throws CollectiveError
  /// In a captured step, the same as order_results: no host waits in replays.
  void await_results() {
    await();
    rethrow();
    beside_.join();
    if constexpr (StreamingDevice<D>) finished_.wait();
  }
  /// Orders work that this thread queues on the device from now on after the call. throws CollectiveError
  void order_results([[maybe_unused]] D device) {
    await();
    rethrow();
    beside_.join();
    if constexpr (StreamingDevice<D>) Stream<D>::current(device).wait(finished_);
  }
  [[nodiscard]] bool has_results() const {
    if constexpr (StreamingDevice<D>) return done() && finished_.done();
    else return done();
  }
  /// Makes the rank fail, and the call with it, unless it is done.
  virtual void abandon() noexcept = 0;

 protected:
  typename EventOf<D>::type finished_{};
  locus::detail::BesideStep beside_{};  ///< of a captured call
};

struct NoResult {};

}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A collective in flight; owns its tensors. wait() or ordered(), called once, returns the result. The destructor
/// waits; if an exception destroys the handle before the call is done, the rank fails, so that no rank waits for calls
/// that never come. T is void if there is no result.
template <class T, class D>
class [[nodiscard]] Handle {
  static constexpr bool is_empty = std::is_void_v<T>;
  using Kept = typename std::conditional_t<is_empty, std::type_identity<detail::NoResult>,
                                           std::type_identity<Tensor<T, D>>>::type;

 public:
  using value_type = T;
  using Result = std::conditional_t<is_empty, void, Kept>;

  /// Holds no collective.
  Handle() = default;
  Handle(Shared<detail::CallJob<D>> job, Kept result, D device)
      : job_(std::move(job)), result_(std::move(result)), device_(device) {}
  Handle(Handle&&) noexcept = default;
  /// Returns nothing: nvcc would warn that the reference is discarded.
  void operator=(Handle&& other) noexcept {
    let_go();
    job_ = std::move(other.job_);
    result_ = std::move(other.result_);
    device_ = other.device_;
  }
  ~Handle() { let_go(); }

  /// Whether it holds a collective, in flight or done, whose result has not been taken.
  [[nodiscard]] bool started() const { return static_cast<bool>(job_); }
  /// Whether the result is there, or the collective failed. The host does not wait.
  [[nodiscard]] bool done() const { return !job_ || job_->has_results(); }

  /// The result; the host waits for it, or, in a captured step, the step's later work. throws CollectiveError
  Result wait() && {
    take("wait")->await_results();
    return std::move(*this).result();
  }
  /// The result, for use in stream order: work that this thread queues on the device from now on runs after the
  /// collective. The host waits for the other ranks to take part, not for the device; over NCCL, for neither. throws
  /// CollectiveError
  Result ordered() && {
    take("ordered")->order_results(device_);
    return std::move(*this).result();
  }

#include <locus/refuse/distributed/handle_class.inc>

 private:
  [[nodiscard]] Shared<detail::CallJob<D>> take(const char* what) {
    if (!job_)
      fail<ArgumentError>({what, "(): there is no collective in flight; each is ordered or waited for only once"});
    return std::exchange(job_, {});
  }
  Result result() && {
    if constexpr (!is_empty) {
      result_.changed();
      return std::move(result_);
    }
  }
  void let_go() noexcept {
    if (!job_) return;
    if (std::uncaught_exceptions() > exceptions_ && !job_->done()) job_->abandon();
    try {
      take("let_go")->await_results();
    } catch (...) {  // the next call of the communicator throws the error again
    }
  }

  Shared<detail::CallJob<D>> job_;
  Kept result_{};
  D device_{};
  int exceptions_ = std::uncaught_exceptions();
};
LOCUS_REFUSALS_END

}  // namespace dist

namespace detail {
template <class T, class D>
struct IsPendingCopy<dist::Handle<T, D>> : std::true_type {};
}  // namespace detail
}}  // namespace locus::LOCUS_ABI
