#pragma once
// A run as lines of JSON, which any tracker of experiments can follow.

#include <locus/core/std/shared.hpp>
#include <locus/io/run_record.hpp>
#include <locus/report/history_file.hpp>
#include <locus/report/named_value.hpp>
#include <locus/report/record_file.hpp>
#include <locus/training/progress.hpp>

#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// Appends a line of JSON to a file for each event of a run; `tail -f run.jsonl | jq` follows it. Each line is one
/// write. Copies share the file. Several threads may add to it.
///
/// The first line is {"event":"run", "time":..., "run":{...}} with the RunRecord; each start of a resumed run adds
/// another. As on_epoch of fit it adds {"event":"epoch", ...} with the members of write_history, metrics in an object
/// `metrics`; as on_progress {"event":"step", ...}. Lines of log() have the event "log". Every line has `time`, seconds
/// since 1970. A number that is NaN or infinite becomes null, and a member NAME_text has "nan", "inf" or "-inf". With
/// several ranks, give it to one.
///
///     const io::JsonLines lines("run.jsonl");
///     fit(model, optimizer, train, valid, history, {.epochs = 5, .on_progress = lines, .on_epoch = lines});
///     lines.log({{"test/accuracy", 0.97}, {"weights", "model.safetensors"}});
///
/// Lines that cannot be written after the constructor, as to a full disk, are lost: training goes on, stderr reports it
/// once, and the file keeps its whole lines.
class JsonLines {
 public:
  /// Appends the record to the file, which is created if missing. throws DataError if it cannot be written
  explicit JsonLines(const std::string& path, const RunRecord& record = run_record())
      : file_((require_path("write to", path), new File(path))) {
    JsonWriter json = started("run");
    detail::write_record(json.key("run"), record);
    file_->lines.begin_line(json.end_object().text());
  }

  [[nodiscard]] const std::string& path() const { return file_->lines.path(); }

  /// Adds a line of the event "log" with these members. throws ArgumentError for a name that the line has already:
  /// event, time, a name given twice, NAME_text beside NAME
  ///
  ///     lines.log({{"epoch", 3}, {"perplexity", 18.2}});
  LOCUS_OUT_OF_LINE void log(std::initializer_list<NamedValue> members) const {
    require_once(members);
    JsonWriter json = started("log");
    for (const NamedValue& member : members)
      member.visit([&]<class V>(const V& value) {
        if constexpr (std::is_same_v<V, double>) add_number(json, member.name(), value);
        else json.member(member.name(), value);
      });
    finish(json);
  }

  LOCUS_OUT_OF_LINE void operator()(const Progress& p) const {
    JsonWriter json = started("step");
    json.member("epoch", p.epoch).member("batch", p.batch).member("batches", p.batches);
    json.member("step", p.step());
    add_number(json, "loss", p.loss);
    add_number(json, "learning_rate", p.learning_rate);
    add_number(json, "samples_per_second", p.samples_per_second);
    json.member("seconds", p.seconds).member("data_seconds", p.data_seconds);
    json.member("allocated_bytes", p.memory.allocated_bytes).member("peak_bytes", p.memory.peak_bytes);
    if (p.gpu_utilization == p.gpu_utilization) json.member("gpu_utilization", p.gpu_utilization);
    if (p.share_of_peak() == p.share_of_peak()) json.member("share_of_peak", p.share_of_peak());
    finish(json);
  }
  LOCUS_OUT_OF_LINE void operator()(const EpochRecord& r) const {
    JsonWriter json = started("epoch");
    json.member("epoch", r.epoch);
    add_number(json, "learning_rate", r.learning_rate);
    add_number(json, "train_loss", r.train_loss);
    add_number(json, "valid_loss", r.valid_loss);
    if (locus::detail::has_accuracy(r)) add_number(json, "valid_accuracy", r.valid_accuracy);
    json.member("seconds", r.seconds);
    add_number(json, "samples_per_second", r.samples_per_second);
    if (r.batches > 0) detail::write_costs(json, r);
    if (!r.metrics.empty()) {
      json.key("metrics").begin_object();
      for (const MetricValue& metric : r.metrics) add_number(json, metric.name, metric.value);
      json.end_object();
    }
    finish(json);
  }

 private:
  struct File : Counted {
    static constexpr const char* handle_name = "JsonLines";
    explicit File(const std::string& path) : lines(path, "lines") {}
    detail::RecordFile lines;
  };
  static void require_path(const char* use, const std::string& path) { detail::require_path(use, path); }
  static void require_once(std::initializer_list<NamedValue> members) {
    for (const NamedValue& one : members) {
      if (one.name() == "event" || one.name() == "time")
        fail<ArgumentError>(
            {"JsonLines: log has a member '", one.name(), "', as every line has; expected another name"});
      for (const NamedValue& other : members)
        if (&one < &other && one.name() == other.name())
          fail<ArgumentError>({"JsonLines: log has a member '", one.name(), "' twice; give each its own name"});
        else if (other.name() == one.name() + "_text")
          fail<ArgumentError>({"JsonLines: log has a member '", other.name(), "' beside '", one.name(),
                               "', where a line with NaN has one of this name; expected another name"});
    }
  }
  [[nodiscard]] static JsonWriter started(const char* event) {
    JsonWriter json(JsonWriter::Form::compact);
    json.begin_object().member("event", event).member("time", detail::wall_time());
    return json;
  }
  static void add_number(JsonWriter& json, const std::string& name, double number) {
    json.member(name, number);
    if (!locus::detail::is_finite(number))
      json.member(name + "_text", number != number ? "nan" : number > 0 ? "inf" : "-inf");
  }
  void finish(JsonWriter& json) const { file_->lines.add(json.end_object().text()); }

  Shared<File> file_;
};

}}}  // namespace locus::LOCUS_ABI::io
