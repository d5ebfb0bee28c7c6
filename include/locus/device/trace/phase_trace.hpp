#pragma once
// LOCUS_TRACE=json: a timeline of training, as a file for Perfetto (https://ui.perfetto.dev) and io::write_report.

#include <locus/device/replay.hpp>
#include <locus/device/trace/trace_file.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Writes a timeline of the program from now on to a file, a JSON array of events for Perfetto: the phases of training
/// (data, forward, backward, step, communication and validation of fit), each Phase of the program, every launch with
/// its expression, copies between host and GPU, collectives, and the bytes that tensors hold. Launches, copies and
/// replays of captured steps on a GPU have a second event, when they ran, on a track of their stream. An empty path
/// ends the trace. LOCUS_TRACE in the environment starts it: json writes locus-trace.json; json:FILE writes FILE, with
/// %p replaced by the process id, and %r by the rank that torchrun, mpirun or srun gave the process; by the id without
/// such a rank.
///
/// On a GPU, each phase of a training step waits for its queued work, and fit replays no step, so that the parts of a
/// step are separated; the step takes longer. A Phase of the program does not wait. Work on a GPU is timed by markers
/// in its stream: how long it took to a few microseconds, and when it ran by the host's clock to 0.5 ms or better.
///
/// cost: without a trace none, beyond the load that each launch makes; with it, about 2 us for each launch on Cpu
/// throws DataError if the file cannot be written; ArgumentError for another text in LOCUS_TRACE
inline void trace_to(const std::string& path) {
  auto& file = detail::TraceFile::instance();
  if (path.empty()) return file.close();
  const int error = file.open(path.c_str());
  if (error)
    fail<DataError>({"cannot write the trace '", detail::printable(path, 200), "': ", std::strerror(error),
                     "; expected a file that you may write to"});
}
/// Whether the trace of trace_to, or of LOCUS_TRACE=json, is being written.
[[nodiscard]] inline bool phases_are_traced() { return detail::TraceFile::instance().is_open(); }

namespace detail {
/// Adds a phase of the calling thread, which began at `start` and ends now.
LOCUS_COLD inline void add_phase(const char* name, std::int64_t start) {
  auto& file = TraceFile::instance();
  const std::int64_t end = TraceFile::now();
  TraceText event = event_named(std::string_view(name).substr(0, 512), "phase");
  file.add(end_event(event, file.here(), start, end));
  file.collect(false);
}
}  // namespace detail

/// A named phase of the calling thread in the trace, for the life of this object. Phases nest. Without a trace it does
/// nothing. The name has to live as long as the object.
///
///     const Phase phase("augmentation");
class Phase {
 public:
  explicit Phase(const char* name) : name_(phases_are_traced() ? name : nullptr) {
    if (name_) start_ = detail::TraceFile::now();
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  ~Phase() {
    if (name_) detail::add_phase(name_, start_);
  }

 private:
  const char* name_;
  std::int64_t start_ = 0;
};

namespace detail {
/// Consecutive phases of work on a device; each ends with a synchronization.
template <class D>
class DevicePhases {
 public:
  explicit DevicePhases(D device) : device_(device) {}
  DevicePhases(const DevicePhases&) = delete;
  DevicePhases& operator=(const DevicePhases&) = delete;
  ~DevicePhases() { end(); }

  /// Ends the current phase and begins the next.
  void next(const char* name) {
    end();
    if (!phases_are_traced()) return;
    name_ = name;
    start_ = TraceFile::now();
  }

 private:
  void end() noexcept {
    if (!name_) [[likely]]
      return;
    try {
      if (!is_capturing()) Backend<D>::synchronize(device_);
    } catch (const Error&) {  // the next use of the result throws it
    }
    add_phase(name_, start_);
    name_ = nullptr;
  }

  D device_;
  const char* name_ = nullptr;
  std::int64_t start_ = 0;
};
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
