#pragma once
// Calls of ranks in the trace.

#include <locus/device/trace/phase_trace.hpp>
#include <locus/distributed/engine/engine.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A call in the trace, for the life of this object: a phase of its thread, and an event with its bytes and engine on
/// the thread's communication track.
class TracedCall {
 public:
  TracedCall(const char* engine, const Fingerprint& what) : phase_("communication"), engine_(engine), what_(what) {
    if (phases_are_traced()) [[unlikely]]
      start_ = locus::detail::TraceFile::now();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
  ~TracedCall() {
    if (start_) [[unlikely]]
      end();
  }

 private:
  LOCUS_COLD void end() const {
    auto& file = locus::detail::TraceFile::instance();
    const std::int64_t end = locus::detail::TraceFile::now();
    auto event = locus::detail::event_named(name_of(what_.kind), "communication");
    event.add(",\"args\":{\"engine\":\"").add_plain(engine_).add("\",\"type\":\"").add(dtype_name(what_.type));
    event.add("\",\"bytes\":").add(what_.count * static_cast<std::int64_t>(size_of(what_.type)));
    if (*what_.op) event.add(",\"op\":\"").add_plain(what_.op).add("\"");
    if (what_.root >= 0) event.add(",\"rank\":").add(std::int64_t{what_.root});
    file.add(locus::detail::end_event(event.add("}"), file.communication(), start_, end));
  }

  Phase phase_;
  const char* engine_;
  const Fingerprint& what_;
  std::int64_t start_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
