#pragma once
// A training run as one HTML file: curves, costs, and where the time of a step went.

#include <locus/io/run_record.hpp>
#include <locus/report/history_file.hpp>
#include <locus/report/phases.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

struct ReportOptions {
  std::string title = "Training";
  PlotLabels labels = {};
  std::string trace = {};        ///< a file of LOCUS_TRACE=json, for the parts of a step; empty: none
  RunRecord run = run_record();  ///< a table at the end; RunRecord(): none
};

namespace detail {

/// Curves of samples per second and memory; empty if they are not known.
[[nodiscard]] inline std::string costs_svg(const History& history) {
  std::vector<double> epochs, rate, memory, peak;
  for (const auto& r : history.records()) {
    if (r.batches == 0) continue;
    epochs.push_back(r.epoch);
    rate.push_back(r.samples_per_second);
    memory.push_back(1e-6 * static_cast<double>(r.memory.allocated_bytes));
    peak.push_back(1e-6 * static_cast<double>(r.memory.peak_bytes));
  }
  if (epochs.empty()) return "";
  plot::Figure figure;
  figure.panel("Throughput", {.label = "epoch", .integer = true}, {.label = "samples per second"})
      .line("training", epochs, rate);
  figure.panel("Memory of the device", {.label = "epoch", .integer = true}, {.label = "tensors", .unit = "MB"})
      .line("at the end of the epoch", epochs, memory)
      .line("peak so far", epochs, peak);
  return figure.svg();
}

/// The parts of a step: a bar, a timeline, a table.
[[nodiscard]] inline std::string steps_html(const std::string& trace) {
  const std::vector<TracedPhase> phases = read_phases(trace);
  const std::vector<PhaseShare> shares = phase_shares(phases);
  if (shares.empty())
    fail<DataError>({"report: the trace '", locus::detail::printable(trace, 200),
                     "' has no step of training; expected one of a program that calls fit or train_step"});
  std::string html = join("<h2>Where the time of a step goes</h2>\n", shares_svg(shares), timeline_svg(phases),
                          "<table><tr><th>phase</th><th>ms per step</th><th>share</th></tr>\n");
  for (const PhaseShare& share : shares)
    html += join("<tr><td>", plot::detail::escaped(share.name), "</td><td>",
                 plot::detail::fixed(1e3 * share.seconds_per_step, 3), "</td><td>",
                 plot::detail::fixed(100 * share.share, 1), " %</td></tr>\n");
  return html + "</table>\n";
}

/// A table of the record; empty without entries.
[[nodiscard]] inline std::string run_html(const RunRecord& run) {
  if (run.empty()) return "";
  std::string html = "<h2>The run</h2>\n<table class=\"run\">";
  for (const auto& [name, value] : run.entries())
    html += join("<tr><td>", plot::detail::escaped(name), "</td><td>", plot::detail::escaped(value), "</td></tr>\n");
  return html + "</table>\n";
}

inline constexpr std::string_view report_style =
    "body{max-width:1140px;margin:24px auto;padding:0 16px;color:#1a1a1a;background:#fff;"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif}\n"
    "h1{font-size:26px;margin:0 0 12px}h2{font-size:19px;margin:28px 0 8px}\n"
    "svg{display:block;max-width:100%;height:auto}pre{font-size:13px;overflow-x:auto;background:#f6f6f6;padding:10px}\n"
    "table{border-collapse:collapse;margin:12px 0}th,td{padding:3px 18px 3px 0;text-align:right}\n"
    "th:first-child,td:first-child,.run td{text-align:left}tr{border-bottom:1px solid #e4e4e4}\n";

}  // namespace detail

/// Writes a self-contained file that every browser shows. throws DataError if the file cannot be written, or the trace
/// cannot be read or has no step
///
///     io::write_report("run.html", history, {.title = "Digits", .trace = "locus-trace.json"});
LOCUS_OUT_OF_LINE inline void write_report(const std::string& path, const History& history,
                                           const ReportOptions& options = {}) {
  const std::string title = plot::detail::escaped(options.title);
  std::string html = join("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", title,
                          "</title>\n<style>\n", detail::report_style, "</style></head><body>\n<h1>", title, "</h1>\n");
  const std::string subtitle = detail::subtitle_of(options.labels, history);
  if (!subtitle.empty()) html += join("<p>", plot::detail::escaped(subtitle), "</p>\n");
  if (!history.empty()) html += detail::figure_of(history, "", {}).svg() + detail::costs_svg(history);
  if (!options.trace.empty()) html += detail::steps_html(options.trace);
  html +=
      join("<h2>Epochs</h2>\n<pre>", plot::detail::escaped(history.table()), "</pre>\n<pre>",
           plot::detail::escaped(history.cost_table()), "</pre>\n", detail::run_html(options.run), "</body></html>\n");
  write_file_atomically(path, html);
}

}}}  // namespace locus::LOCUS_ABI::io
