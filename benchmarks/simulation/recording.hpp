#pragma once
// The program of one rank: launches, collectives and waits, in the order in which the host queued them.
// benchmarks/scaling/simulation.py runs it on every rank of a cluster.

#include <locus/distributed/engine/engine.hpp>
#include <locus/io/json.hpp>

#include <string>
#include <vector>

namespace scaling {

/// An entry of a program. Streams and events are numbered; stream 0 is the rank's own.
struct Entry {
  enum class What { launch, collective, record, wait, host_waits, device_waits };
  What what;
  int stream = 0;
  int event = 0;                    ///< of record, wait and host_waits
  double bytes = 0;                 ///< that a launch reads and writes at least; of a collective: of one rank
  double flops = 0;                 ///< of a launch
  locus::dist::Fingerprint call{};  ///< of a collective
  int ranks = 0;                    ///< that take part in it
  int stride = 1;                   ///< between neighbours of them
};

/// Entries are kept between begin() and end(). One thread uses it.
class Recording {
 public:
  void begin() {
    entries_.clear();
    is_on_ = true;
  }
  [[nodiscard]] std::vector<Entry> end() {
    is_on_ = false;
    return std::exchange(entries_, {});
  }
  void add(const Entry& entry) {
    if (is_on_) entries_.push_back(entry);
  }
  void launch(double bytes, double flops) {
    if (bytes > 0 || flops > 0) add({.what = Entry::What::launch, .stream = stream, .bytes = bytes, .flops = flops});
  }
  [[nodiscard]] int new_stream() { return ++streams_; }
  /// Records an event in a stream. Returns its number, from 1 on.
  [[nodiscard]] int record(int in) {
    add({.what = Entry::What::record, .stream = in, .event = ++events_});
    return events_;
  }

  int stream = 0;  ///< the current one

 private:
  bool is_on_ = false;
  int streams_ = 0, events_ = 0;
  std::vector<Entry> entries_;
};
inline Recording recording;

/// Writes each entry as an array: its name, then its numbers.
inline void write(locus::io::JsonWriter& json, const std::vector<Entry>& entries) {
  json.begin_array();
  for (const Entry& entry : entries) {
    json.begin_array();
    switch (entry.what) {
      case Entry::What::launch: json.value("launch").value(entry.stream).value(entry.bytes).value(entry.flops); break;
      case Entry::What::collective:
        json.value(name_of(entry.call.kind))
            .value(entry.stream)
            .value(entry.bytes)
            .value(entry.ranks)
            .value(entry.stride);
        json.value(entry.call.sums == locus::dist::Sums::in_rank_order ? "in rank order" : "fastest");
        break;
      case Entry::What::record: json.value("record").value(entry.stream).value(entry.event); break;
      case Entry::What::wait: json.value("wait").value(entry.stream).value(entry.event); break;
      case Entry::What::host_waits: json.value("host waits").value(entry.event); break;
      case Entry::What::device_waits: json.value("device waits"); break;
    }
    json.end_array();
  }
  json.end_array();
}

}  // namespace scaling
