#pragma once
// LOCUS_TRACE=1: a line on stderr for every launch, with the expression that it computes. LOCUS_TRACE=json: an event.

#include <locus/device/trace/expression_text.hpp>
#include <locus/device/trace/trace_file.hpp>
#include <locus/device/verbs.hpp>

#include <cstdio>

namespace locus { inline namespace LOCUS_ABI {

/// Whether every launch waits for its end and then prints on stderr its time, the minimum bytes moved and their rate,
/// its extents, and its expression; on Cuda, also the share of the peak bandwidth and the grid. Initially set by
/// LOCUS_TRACE in the environment: true for 1; false for 0, json, json:FILE, or unset. throws ArgumentError for another
/// text, when it is first read
///
///     locus: cpu  map  0.0210 ms  12 MB  571 GB/s  (1000, 1000)  relu(x0 * x1 + c)
inline void trace_launches(bool traced) { detail::set_tracing(detail::trace_lines, traced); }
[[nodiscard]] inline bool launches_are_traced() {
  return (detail::tracing().load(Order::relaxed) & detail::trace_lines) != 0;
}

namespace detail {

/// Description of a launch in a trace.
struct LaunchDescription {
  const char* verb = nullptr;
  const char* function = nullptr;    ///< type_text() of the functor
  Shape extents{};                   ///< extents that it iterates over
  std::int64_t bytes = 0;            ///< least that it has to read and write; 0: not known
  double flops = 0;                  ///< of a matrix product
  unsigned blocks = 0, threads = 0;  ///< of a GPU's grid
};

/// Callbacks around every launch, for profilers. `name` is the verb and the expression.
struct LaunchRanges {
  void (*push)(const char* name);
  void (*pop)();
};
inline Atomic<const LaunchRanges*> launch_ranges{nullptr};

/// Whether launches are traced, as lines or events, or have callbacks.
[[nodiscard]] inline bool launches_are_observed() {
  return tracing().load(Order::relaxed) != 0 || launch_ranges.load(Order::relaxed) != nullptr;
}
/// Whether launches are events of the trace file. Opens the file that LOCUS_TRACE names.
[[nodiscard]] inline bool launches_are_events() {
  return (tracing().load(Order::relaxed) & trace_events) != 0 && TraceFile::instance().is_open();
}

LOCUS_COLD inline void push_range(const LaunchRanges& ranges, const LaunchDescription& launch) {
  TraceText name;
  name.add(launch.verb).add(' ');
  if (launch.function) name.add(expression_text(launch.function).view());
  ranges.push(name.c_str());
}

/// Divides a value until it is below 1000, as printed with three digits; returns the prefix of its unit.
[[nodiscard]] LOCUS_COLD inline const char* scale(double& value) {
  static constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  while (value >= 999.5 && prefix < 5) value /= 1000, ++prefix;
  return prefixes[prefix];
}
LOCUS_COLD inline void print_scaled(double value, const char* unit) {
  const char* const prefix = scale(value);
  std::fprintf(stderr, "  %.3g %s%s", value, prefix, unit);
}

/// Prints a line for a launch. seconds < 0: not known. `peak`: bytes per second, 0 if not known.
LOCUS_COLD inline void print_launch(const char* device, const LaunchDescription& launch, double seconds,
                                    double peak = 0) {
  const bool product = launch.flops > 0;
  const double done = product ? launch.flops : static_cast<double>(launch.bytes);
  flockfile(stderr);  // keeps the line together
  std::fprintf(stderr, "locus: %s  %s", device, launch.verb);
  if (seconds >= 0) std::fprintf(stderr, "  %.4f ms", seconds * 1e3);
  if (done > 0) print_scaled(done, product ? "flop" : "B");
  if (done > 0 && seconds > 0) print_scaled(done / seconds, product ? "flop/s" : "B/s");
  if (done > 0 && seconds > 0 && peak > 0 && !product)
    std::fprintf(stderr, "  %.0f %% of peak", 100 * done / seconds / peak);
  if (launch.blocks > 0) std::fprintf(stderr, "  grid %u x %u", launch.blocks, launch.threads);
  if (!launch.extents.empty()) std::fprintf(stderr, "  %s", to_string(launch.extents).c_str());
  if (launch.function) std::fprintf(stderr, "  %s", expression_text(launch.function).c_str());
  std::fputc('\n', stderr);
  funlockfile(stderr);
}

/// Bytes of an operand that a walk over these extents touches; repeated elements count once.
[[nodiscard]] LOCUS_COLD inline std::int64_t touched_bytes(int rank, const std::int64_t* extent,
                                                           const std::int64_t* stride, std::int64_t size) {
  std::int64_t bytes = size;
  for (int d = 0; d < rank; ++d)
    if (stride[d] != 0) bytes *= extent[d];
  return bytes;
}

// Descriptions of a Backend's launches. `function` is type_text<F>(), so that they are compiled once for all functors.

template <class F>
[[nodiscard]] constexpr std::int64_t row_element_bytes() {
  if constexpr (CountsBytes<F>) return F::bytes_per_element;
  else return 0;
}
[[nodiscard]] LOCUS_COLD inline LaunchDescription describe_rows(const char* function, std::int64_t rows,
                                                                std::int64_t cols, std::int64_t element_bytes) {
  return {"for_each_row", function, Shape{rows, cols}, rows * cols * element_bytes};
}

/// `count` products (m, k) x (k, n)
[[nodiscard]] LOCUS_COLD inline LaunchDescription describe_gemm(const char* function, std::int64_t count,
                                                                std::int64_t m, std::int64_t n, std::int64_t k,
                                                                std::int64_t element_bytes) {
  const double products = static_cast<double>(count) * static_cast<double>(m) * static_cast<double>(n);
  return {"gemm", function, Shape{count, m, n, k}, count * element_bytes * (m * k + k * n + m * n),
          2. * products * static_cast<double>(k)};
}

/// The event of a launch, or of its work on a GPU, without its time.
[[nodiscard]] LOCUS_COLD inline TraceText event_of(const LaunchDescription& launch, std::string_view device,
                                                   const char* category = "launch") {
  TraceText event;
  event.add("{\"name\":\"").add_plain(launch.verb);
  if (launch.function) event.add(' ').add_plain(expression_text(launch.function).view());
  event.add("\",\"cat\":\"").add(category).add("\",\"args\":{\"verb\":\"").add_plain(launch.verb);
  event.add("\",\"device\":\"").add(device).add('"');
  if (!launch.extents.empty()) event.add(",\"extents\":\"").add(to_string(launch.extents)).add('"');
  if (launch.bytes > 0) event.add(",\"bytes\":").add(launch.bytes);
  if (launch.flops > 0) event.add(",\"flops\":").add(static_cast<std::int64_t>(launch.flops));
  if (launch.blocks > 0)
    event.add(",\"grid\":\"").add(std::int64_t{launch.blocks}).add(" x ").add(std::int64_t{launch.threads}).add('"');
  event.add('}');
  return event;
}

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
