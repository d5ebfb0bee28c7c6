#pragma once
// Reader of phase traces: where the time of a step goes, as numbers and as a timeline.

#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/io/json_reader.hpp>
#include <locus/report/plot_canvas.hpp>
#include <locus/report/plot_scale.hpp>

#include <charconv>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A phase of a trace.
struct TracedPhase {
  std::string name;
  double start = 0, seconds = 0;  ///< `start` by a clock of the machine
  std::int64_t process = 0, thread = 0;
  [[nodiscard]] double end() const { return start + seconds; }
};

namespace detail {
/// Whether a line has as many closing braces as opening ones, outside of strings; a trace has no escapes in them.
[[nodiscard]] inline bool is_whole_event(std::string_view line) {
  bool in_string = false;
  std::int64_t open = 0;
  for (const char c : line) {
    in_string ^= c == '"';
    if (!in_string) open += (c == '{') - (c == '}');
  }
  return !in_string && open == 0;
}
/// Drops the event in which the file of a killed process ends, and closes the array.
inline void complete_events(std::string& text) {
  const std::size_t last = text.find_last_not_of(" \n\r\t,");
  if (last == std::string::npos || text[last] == ']' || text.find('}') == std::string::npos) return;
  const std::size_t line = text.rfind('\n', last);
  text.resize(last + 1);
  if (line != std::string::npos && !is_whole_event(std::string_view(text).substr(line)))
    text.resize(text.find_last_not_of(" \n\r\t,[", line) + 1);
  text += text.empty() ? "[]" : "]";
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::vector<TracedPhase> phases_of(const std::string& path) {
  InputFile file(path, "a trace of LOCUS_TRACE=json");
  std::string text(file.bytes(), '\0');
  text.resize(file.read(text.data(), text.size()));
  complete_events(text);
  const std::string name =
      join("the trace '", locus::detail::printable(path, 200), "'");  // the reader keeps a view of it
  JsonReader reader(text, name);
  const auto number_of = [&](const char* key, double most) {
    const std::string_view digits = reader.value();
    double number = 0;
    const std::errc error = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
    if (error == std::errc::result_out_of_range || !(-most <= number && number <= most))
      fail<DataError>(
          {name, ": an event has ", key, " ", locus::detail::printable(digits), "; expected ", -most, " to ", most});
    return number;
  };
  constexpr double most_microseconds = 1e18, most_id = 4294967296;  // 2^32
  std::vector<TracedPhase> phases;
  reader.expect('[');
  if (reader.take(']')) return phases;
  do {
    TracedPhase phase;
    bool is_complete = false, is_phase = true;  // of another program, every complete event
    reader.object([&](const std::string& key) {
      if (key == "name" && reader.next() == '"') phase.name = reader.string();
      else if (key == "ph" && reader.next() == '"') is_complete = reader.string() == "X";
      else if (key == "cat" && reader.next() == '"') is_phase = reader.string() == "phase";
      else if (key == "ts") phase.start = 1e-6 * number_of("ts", most_microseconds);
      else if (key == "dur") phase.seconds = 1e-6 * number_of("dur", most_microseconds);
      else if (key == "pid") phase.process = static_cast<std::int64_t>(number_of("pid", most_id));
      else if (key == "tid") phase.thread = static_cast<std::int64_t>(number_of("tid", most_id));
      else (void)reader.value();
    });
    if (is_complete && is_phase) phases.push_back(std::move(phase));
  } while (reader.take(','));
  reader.expect(']');
  reader.expect_end();
  return phases;
}
}  // namespace detail

/// Reads the phases that a program wrote with LOCUS_TRACE=json, of each thread in the order of their ends; launches
/// and other events are left out. The file of a killed process gives the phases that it had written. throws DataError
/// for a file that cannot be read, or is no such trace; OutOfMemory
[[nodiscard]] inline std::vector<TracedPhase> read_phases(const std::string& path) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"},
                                         [&] { return detail::phases_of(path); });
}

/// A phase's share of the training time, without the phases nested in it.
struct PhaseShare {
  std::string name;
  double seconds_per_step = 0;
  double share = 0;  ///< of the time without validation
};

namespace detail {

/// Whether two events are of the same thread.
[[nodiscard]] inline bool beside(const TracedPhase& a, const TracedPhase& b) {
  return a.process == b.process && a.thread == b.thread;
}
/// A thread with steps.
struct SteppingThread {
  const TracedPhase* first;  ///< step
  int steps;
};
[[nodiscard]] inline std::vector<SteppingThread> stepping_threads(const std::vector<TracedPhase>& phases) {
  std::vector<SteppingThread> threads;
  for (const TracedPhase& phase : phases) {
    if (phase.name != "step") continue;
    std::size_t i = 0;
    while (i < threads.size() && !beside(*threads[i].first, phase)) ++i;
    if (i == threads.size()) threads.push_back({&phase, 0});
    ++threads[i].steps;
  }
  return threads;
}
/// The first step of the training thread, which is the thread with the most steps; null: no thread has a step.
[[nodiscard]] inline const TracedPhase* training_thread(const std::vector<TracedPhase>& phases) {
  const TracedPhase* found = nullptr;
  int most = 0;
  for (const SteppingThread& thread : stepping_threads(phases)) {
    if (thread.steps > most) found = thread.first;
    most = locus::detail::larger(most, thread.steps);
  }
  return found;
}
/// The events of one thread, in the order of their ends.
[[nodiscard]] inline std::vector<TracedPhase> of_thread(const std::vector<TracedPhase>& phases, const TracedPhase& of) {
  std::vector<TracedPhase> found;
  for (const TracedPhase& phase : phases)
    if (beside(phase, of)) found.push_back(phase);
  return found;
}

}  // namespace detail

/// Shares of the training time, for the thread with the most steps: data, forward, backward, step and communication,
/// then the program's own phases, then "other". Empty for a trace without a step.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::vector<PhaseShare> phase_shares(const std::vector<TracedPhase>& phases) {
  const TracedPhase* const trains = detail::training_thread(phases);
  if (!trains) return {};
  std::vector<PhaseShare> shares;
  for (const char* name : {"data", "forward", "backward", "step", "communication"}) shares.push_back({name});
  std::vector<TracedPhase> ended;  // not nested in another ended phase
  double first = trains->start, last = trains->start, steps = 0, traced = 0, validation = 0;
  for (const TracedPhase& phase : detail::of_thread(phases, *trains)) {
    double own = phase.seconds;
    while (!ended.empty() && ended.back().start >= phase.start) {
      own -= ended.back().seconds;
      ended.pop_back();
    }
    ended.push_back(phase);
    first = locus::detail::smaller(first, phase.start);
    last = locus::detail::larger(last, phase.end());
    steps += phase.name == "step";
    if (phase.name == "validation") {
      validation += own;
      continue;
    }
    std::size_t i = 0;
    while (i < shares.size() && shares[i].name != phase.name) ++i;
    if (i == shares.size()) shares.push_back({phase.name});
    shares[i].seconds_per_step += own;
    traced += own;
  }
  const double total = last - first - validation;
  shares.push_back({"other", locus::detail::larger(total - traced, 0.)});
  for (PhaseShare& share : shares) {
    share.share = total > 0 ? share.seconds_per_step / total : 0;
    share.seconds_per_step /= steps;
  }
  return shares;
}

namespace detail {

[[nodiscard]] inline const char* color_of_phase(std::string_view name) {
  constexpr std::string_view names[] = {"forward", "backward", "step", "communication", "data", "", "other"};
  for (std::size_t i = 0; i < 7; ++i)
    if (names[i] == name) return plot::detail::color(i);
  return plot::detail::color(5);
}

struct TimeWindow {
  double begin, end;
};
/// A window of consecutive steps of median length: neither the fastest nor the slowest, such as steps around
/// validation.
[[nodiscard]] inline TimeWindow typical_steps(const std::vector<TracedPhase>& thread, std::size_t wanted) {
  std::vector<double> ends;
  for (const TracedPhase& phase : thread)
    if (phase.name == "step") ends.push_back(phase.end());
  if (ends.size() < 2) return {thread.front().start, thread.back().end()};
  const std::size_t count = locus::detail::smaller(wanted, ends.size() - 1), windows = ends.size() - count;
  const std::size_t looked_at = locus::detail::smaller(windows, std::size_t{501});
  const auto window = [&](std::size_t i) {
    const std::size_t at = i * windows / looked_at;
    return TimeWindow{ends[at], ends[at + count]};
  };
  const auto length = [&](std::size_t i) { return window(i).end - window(i).begin; };
  for (std::size_t i = 0; i < looked_at; ++i) {  // the median window
    std::size_t below = 0, equal = 0;
    for (std::size_t k = 0; k < looked_at; ++k) {
      below += length(k) < length(i);
      equal += length(k) == length(i);
    }
    if (below <= looked_at / 2 && looked_at / 2 < below + equal) return window(i);
  }
  return window(0);
}

/// A lane of a timeline.
struct Lane {
  std::string label;
  std::vector<TracedPhase> phases;
};
[[nodiscard]] inline std::vector<Lane> lanes_of(const std::vector<TracedPhase>& phases, const TracedPhase& trains,
                                                TimeWindow window) {
  std::vector<Lane> lanes{{"data", {}}, {"forward", {}}, {"backward", {}}, {"step", {}}, {"communication", {}}};
  Lane others{"in the background", {}};
  const std::vector<SteppingThread> stepping = stepping_threads(phases);
  for (const TracedPhase& phase : phases) {
    if (phase.end() <= window.begin || phase.start >= window.end || phase.process != trains.process) continue;
    if (!beside(phase, trains)) {
      bool trains_itself = false;  // another rank
      for (const SteppingThread& thread : stepping) trains_itself |= beside(*thread.first, phase);
      if (!trains_itself) others.phases.push_back(phase);
      continue;
    }
    std::size_t i = 0;
    while (i < lanes.size() && lanes[i].label != phase.name) ++i;
    if (i == lanes.size()) lanes.push_back({phase.name, {}});
    lanes[i].phases.push_back(phase);
  }
  if (!others.phases.empty()) lanes.push_back(std::move(others));
  if (lanes[4].phases.empty()) lanes.erase(lanes.begin() + 4);  // one rank
  return lanes;
}

/// Some steps as a drawing, 1140 pixels wide: a lane for each phase.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string timeline_svg(const std::vector<TracedPhase>& phases) {
  constexpr double width = 1140, left = 150, right = 24, lane_height = 34, bar = 22, top = 40;
  const TracedPhase* const trains = training_thread(phases);
  const TimeWindow window = typical_steps(of_thread(phases, *trains), 6);
  const std::vector<Lane> lanes = lanes_of(phases, *trains, window);
  const double bottom = top + lane_height * static_cast<double>(lanes.size());
  const double length = locus::detail::larger(1e3 * (window.end - window.begin), 1e-6);
  plot::detail::Canvas canvas(width, bottom + 52, "Timeline of steps");
  canvas.label(0, 18, "panel", "Timeline of typical steps");
  const plot::detail::AxisScale scale({0, length}, {.wanted = 8});
  const auto x_at = [&](double time) {
    const double at = 1e3 * (time - window.begin) / length;
    return left + (width - left - right) * locus::detail::smaller(locus::detail::larger(at, 0.), 1.);
  };
  for (const auto& tick : scale.ticks()) {
    if (tick.value < 0 || tick.value > length || tick.label.empty()) continue;
    const double x = x_at(window.begin + 1e-3 * tick.value);
    canvas.line(x, top, x, bottom, "grid");
    canvas.label(x, bottom + 18, "middle", tick.label);
  }
  canvas.label(left + (width - left - right) / 2, bottom + 40, "middle", "time (ms)");
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = top + lane_height * static_cast<double>(i);
    canvas.line(left, y + lane_height, width - right, y + lane_height, "grid");
    canvas.label(left - 12, y + 22, "name end", lanes[i].label);
    for (const TracedPhase& phase : lanes[i].phases) {
      const double x = x_at(phase.start), wide = locus::detail::larger(x_at(phase.end()) - x, 1.);
      canvas.box({x, y + (lane_height - bar) / 2, wide, bar}, color_of_phase(phase.name),
                 join(phase.name, ": ", plot::detail::general(1e3 * phase.seconds, 4), " ms"));
    }
  }
  return canvas.finished();
}

/// One bar of the parts of a step.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string shares_svg(const std::vector<PhaseShare>& shares) {
  constexpr double width = 1140, bar = 34, top = 36;
  plot::detail::Canvas canvas(width, top + bar + 44, "Parts of a step");
  double total = 0;
  for (const PhaseShare& share : shares) total += share.seconds_per_step;
  canvas.label(0, 18, "panel", join("A step: ", plot::detail::general(1e3 * total, 4), " ms"));
  double x = 0, key = 0;
  for (const PhaseShare& share : shares) {
    if (share.seconds_per_step <= 0) continue;
    const std::string text = join(share.name, " ", plot::detail::fixed(100 * share.share, 1), " %");
    const double wide = width * share.share;
    canvas.box({x, top, wide, bar}, color_of_phase(share.name), text);
    canvas.box({key, top + bar + 14, 12, 12}, color_of_phase(share.name));
    canvas.label(key + 18, top + bar + 24, "name", text);
    key += 42 + plot::detail::text_width(text, 12.5);
    x += wide;
  }
  return canvas.finished();
}

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::io
