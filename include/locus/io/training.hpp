#pragma once
// Checkpoints of training runs: the complete state in a safetensors file.

#include <locus/core/generator.hpp>
#include <locus/data/loading/loader.hpp>
#include <locus/io/run_record.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/optim/scheduler.hpp>
#include <locus/training/history.hpp>
#include <locus/training/optimizer_state.hpp>

#include <algorithm>
#include <tuple>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {

template <class P>
concept HasPosition = requires(P& part) {
  part.check_position(part.position());
  part.set_position(part.position());
  part.seed();
  part.fingerprint();
  part.batch_size();
  part.dataset().size();
};

template <class P>
inline constexpr bool is_scaler = false;
template <class D>
inline constexpr bool is_scaler<optim::GradScaler<D>> = true;

/// Name in a file of a kind of part of a training run; null: no such part.
template <class P>
[[nodiscard]] consteval const char* part_name() {
  if constexpr (nn::detail::ListsMembers<P>) return "model";
  else if constexpr (optim::detail::HasState<P>) return "optimizer";
  else if constexpr (std::is_same_v<P, optim::Scheduler>) return "scheduler";
  else if constexpr (is_scaler<P>) return "scaler";
  else if constexpr (HasPosition<P>) return "loader";
  else if constexpr (std::is_same_v<P, std::int64_t>) return "number";
  else if constexpr (std::is_same_v<P, History>) return "history";
  else return nullptr;
}
template <class P>
concept TrainingPart = part_name<P>() != nullptr;

template <class T>
[[nodiscard]] Tensor<T, Cpu> vector_of(const std::vector<T>& numbers) {
  Tensor<T, Cpu> x({static_cast<std::int64_t>(numbers.size())});
  for (std::size_t i = 0; i < numbers.size(); ++i) x.data()[i] = numbers[i];
  return x;
}

/// Numbers per epoch in a state; files of older versions have the first 15, or the first seven.
inline constexpr std::int64_t numbers_of_epoch = 17, numbers_without_operations = 15, numbers_without_costs = 7;

/// A row of numbers for each epoch, and a vector for each metric, with NaN for an epoch without the metric.
[[nodiscard]] LOCUS_OUT_OF_LINE inline nn::StateDict<Cpu> state_of_history(const History& history) {
  nn::StateDict<Cpu> state;
  const auto& records = history.records();
  std::vector<double> numbers;
  for (const EpochRecord& r : records)
    for (const double number :
         {static_cast<double>(r.epoch), r.learning_rate, r.train_loss, r.valid_loss, r.valid_accuracy, r.seconds,
          r.samples_per_second, static_cast<double>(r.batches), r.data_seconds, static_cast<double>(r.memory.requests),
          static_cast<double>(r.memory.system_allocations), static_cast<double>(r.memory.allocated_bytes),
          static_cast<double>(r.memory.peak_bytes), static_cast<double>(r.memory.reserved_bytes), r.gpu_utilization,
          r.operations, r.peak})
      numbers.push_back(number);
  state.add("epochs", vector_of(numbers).reshape({static_cast<std::int64_t>(records.size()), numbers_of_epoch}));
  for (const EpochRecord& r : records)
    for (const MetricValue& metric : r.metrics) {
      const std::string name = "metric." + metric.name;
      if (state.contains(name)) continue;
      std::vector<double> values;
      for (const EpochRecord& each : records) {
        const MetricValue* const found = locus::detail::find_metric(each.metrics, metric.name);
        values.push_back(found ? found->value : __builtin_nan(""));
      }
      state.add(name, vector_of(values));
    }
  return state;
}
inline void add_costs(EpochRecord& record, const double* costs, std::int64_t count) {
  const auto integer = [&](int i) {
    const double number = costs[i];  // from a file, which may hold anything
    return number > 0 && number < 9e18 ? static_cast<std::int64_t>(number) : 0;
  };
  record.batches = integer(0);
  record.data_seconds = costs[1];
  record.memory = {integer(2), integer(3), integer(4), integer(5), integer(6)};
  record.gpu_utilization = costs[7];
  if (count == numbers_of_epoch) record.operations = costs[8], record.peak = costs[9];
}
/// throws ArgumentError, ShapeError
[[nodiscard]] LOCUS_OUT_OF_LINE inline History history_of(const nn::StateDict<Cpu>& state) {
  const Tensor<double, Cpu> epochs = state.get<double>("epochs");
  if (epochs.rank() != 2 || (epochs.size(1) != numbers_of_epoch && epochs.size(1) != numbers_without_operations &&
                             epochs.size(1) != numbers_without_costs))
    fail<ShapeError>({"resume_training: 'epochs' of the history has shape ", epochs.shape(), "; expected (n, ",
                      numbers_of_epoch, "), (n, ", numbers_without_operations, ") or (n, ", numbers_without_costs,
                      ")"});
  History history;
  for (std::int64_t i = 0; i < epochs.size(0); ++i) {
    const double* const r = epochs.data() + epochs.size(1) * i;
    if (!(r[0] >= 1 && r[0] < 1 << 30))
      fail<ArgumentError>({"resume_training: the history has an epoch ", r[0], "; expected 1 or more"});
    EpochRecord record{static_cast<int>(r[0]), r[1], r[2], r[3], r[4], r[5], r[6]};
    if (epochs.size(1) > numbers_without_costs) add_costs(record, r + numbers_without_costs, epochs.size(1));
    history.add(record);
    constexpr std::string_view prefix = "metric.";
    for (const auto& entry : state) {
      if (entry.name.compare(0, prefix.size(), prefix) != 0) continue;
      const Tensor<double, Cpu> values = state.get<double>(entry.name);
      if (!(values.shape() == Shape{epochs.size(0)}))
        fail<ShapeError>({"resume_training: '", locus::detail::printable(entry.name), "' of the history has shape ",
                          values.shape(), "; expected ", Shape{epochs.size(0)}});
      const double value = values.data()[i];
      if (value == value) history.add_metric(entry.name.substr(prefix.size()), value);
    }
  }
  return history;
}

/// The tensors of a part, by name.
template <class P>
[[nodiscard]] nn::StateDict<Cpu> state_of(const P& part) {
  nn::StateDict<Cpu> state;
  if constexpr (nn::detail::ListsMembers<P>) return nn::state_dict(part).template to<Cpu>();
  else if constexpr (optim::detail::HasState<P> || is_scaler<P>) return optim::state_dict(part).template to<Cpu>();
  else if constexpr (std::is_same_v<P, optim::Scheduler>) state.add("state", vector_of(part.state()));
  else if constexpr (std::is_same_v<P, History>) return state_of_history(part);
  else if constexpr (HasPosition<P>)
    state.add("position",
              vector_of<std::int64_t>({static_cast<std::int64_t>(part.position().epoch), part.position().batch,
                                       static_cast<std::int64_t>(part.seed()), part.batch_size(), part.dataset().size(),
                                       part.size(), static_cast<std::int64_t>(part.fingerprint())}));
  else state.add("value", vector_of<std::int64_t>({part}));
  return state;
}
/// The `count` numbers under a name. throws ShapeError for another count
template <class T>
[[nodiscard]] std::vector<T> numbers_of(const nn::StateDict<Cpu>& state, const char* name, std::int64_t count) {
  const Tensor<T, Cpu> x = state.get<T>(name);
  if (!(x.shape() == Shape{count}))
    fail<ShapeError>({"resume_training: '", name, "' has shape ", x.shape(), "; expected ", Shape{count}});
  return {x.data(), x.data() + count};
}
/// Numbers of a loader's position; files of older versions have the first six, all but the sampler's fingerprint, or
/// the first three: epoch, batch and seed.
inline constexpr std::int64_t numbers_of_position = 7, numbers_without_sampler = 6, numbers_without_sizes = 3;
/// throws ShapeError
[[nodiscard]] inline std::vector<std::int64_t> position_numbers(const nn::StateDict<Cpu>& state) {
  const Shape shape = state.get<std::int64_t>("position").shape();
  for (const std::int64_t older : {numbers_without_sizes, numbers_without_sampler})
    if (shape == Shape{older}) return numbers_of<std::int64_t>(state, "position", older);
  return numbers_of<std::int64_t>(state, "position", numbers_of_position);
}
/// The rest of an epoch is the same only where batch size, data set, number of batches and sampler are the same.
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_same_epoch(const std::vector<std::int64_t>& saved,
                                                 const std::array<std::int64_t, 4>& here) {
  const auto same = std::mismatch(here.begin(), here.end(), saved.begin() + numbers_without_sizes, saved.end());
  if (same.second == saved.end()) return;
  if (same.first == here.end() - 1)
    fail<ArgumentError>({"resume_training: the run stopped after ", saved[1], " of ", saved[5],
                         " batches, drawn by another sampler than this loader's, so that the rest of its epoch would ",
                         "be other samples; give it the sampler of the saved run: the same seed, ranks and other ",
                         "settings"});
  fail<ArgumentError>({"resume_training: the run stopped after ", saved[1], " of ", saved[5], " batches of ", saved[3],
                       " samples each, drawn from ", saved[4], "; this loader has ", here[2], " batches of ", here[0],
                       " samples each, drawn from ", here[1],
                       ", so that the rest of its epoch would be other samples; give it the data set, the batch size ",
                       "and as many ranks as when it was saved"});
}
/// Checks a state against a part, and returns a callable that applies it to the part. The callable neither allocates
/// nor throws. throws as loading the part
template <class P>
[[nodiscard]] auto change_of(P& part, const nn::StateDict<Cpu>& state) {
  if constexpr (nn::detail::ListsMembers<P>) {
    return [load = nn::detail::load_of(part, state.template to<device_of<P>>(), {})] { load.apply(); };
  } else if constexpr (optim::detail::HasState<P> || is_scaler<P>) {
    return [load = optim::detail::load_of(part, state.template to<typename P::device_type>())] { load.apply(); };
  } else if constexpr (std::is_same_v<P, optim::Scheduler>) {
    const auto numbers = numbers_of<double>(state, "state", static_cast<std::int64_t>(part.state().size()));
    part.check_state(numbers);
    return [&part, numbers] { part.load_state(numbers); };
  } else if constexpr (HasPosition<P>) {
    const auto at = position_numbers(state);
    if (const auto seed = static_cast<std::uint64_t>(at[2]); seed != part.seed())
      fail<ArgumentError>({"resume_training: the loader shuffled by the seed ", seed, ", and this one by ", part.seed(),
                           " (0: not at all); give it .seed = ", seed, ", or its batches are others"});
    const data::LoaderPosition position{static_cast<std::uint64_t>(at[0]), at[1]};
    if (position.batch > 0 && at.size() > numbers_without_sizes)
      require_same_epoch(
          at, {part.batch_size(), part.dataset().size(), part.size(), static_cast<std::int64_t>(part.fingerprint())});
    part.check_position(position);
    return [&part, position] { part.set_position(position); };
  } else if constexpr (std::is_same_v<P, History>) {
    return [&part, history = history_of(state)]() mutable { std::swap(part, history); };
  } else {
    return [&part, number = numbers_of<std::int64_t>(state, "value", 1)[0]] { part = number; };
  }
}

/// Names of parts: the second model is "model2".
class PartNames {
 public:
  [[nodiscard]] std::string next(const char* name) {
    const int number = ++counts_[name];
    return number == 1 ? std::string(name) : join(name, number);
  }

 private:
  std::map<std::string_view, int> counts_;
};

/// Name of the state of a default generator: "cpu" for the host's, "device" for another device of the parts.
template <class D>
inline constexpr const char* generator_name = std::is_same_v<D, Cpu> ? "cpu" : "device";
template <class D>
void add_generator(nn::StateDict<Cpu>& state) {
  if (state.contains(generator_name<D>)) return;
  const Generator<D> now = locus::detail::draw_from_default<D>(0);
  state.add(generator_name<D>,
            vector_of<std::int64_t>({static_cast<std::int64_t>(now.seed), static_cast<std::int64_t>(now.offset)}));
}
inline constexpr const char* rank_name = "rank";
/// On a rank: its number, the seed from which the seeds of all ranks were derived, and whether manual_seed() gave its
/// own.
inline void add_rank(nn::StateDict<Cpu>& state) {
  const locus::detail::Seed seed = locus::detail::seed_now();
  if (seed.rank >= 0)
    state.add(rank_name,
              vector_of<std::int64_t>({seed.rank, static_cast<std::int64_t>(seed.of_all), seed.is_given ? 1 : 0}));
}
template <class D>
[[nodiscard]] Generator<D> generator_of(const nn::StateDict<Cpu>& state) {
  const auto at = numbers_of<std::int64_t>(state, generator_name<D>, 2);
  return {static_cast<std::uint64_t>(at[0]), static_cast<std::uint64_t>(at[1])};
}
/// The seed with which this process goes on where `state` was saved with `seed`, perhaps by another rank. A rank's own
/// is derived anew, from the saved seed if the run had no ranks. A seed that manual_seed() gave is one of all ranks,
/// unless it gave this rank another one in this run, too.
[[nodiscard]] inline locus::detail::Seed seed_going_on(std::uint64_t seed, const nn::StateDict<Cpu>& state) {
  locus::detail::Seed here = locus::detail::seed_now();
  const bool was_rank = state.contains(rank_name);
  if (here.rank < 0 || was_rank) here.seed = seed;
  if (here.rank < 0) return here;
  const auto there = was_rank ? numbers_of<std::int64_t>(state, rank_name, 3) : std::vector<std::int64_t>{-1, 0, 0};
  const bool is_mine = there[0] == here.rank;
  if (there[2] != 0) {
    if (here.is_given && !is_mine) return locus::detail::seed_now();
    here.is_given = true;
    return here;
  }
  here.is_given = false;
  here.of_all = static_cast<std::uint64_t>(there[1]);
  const bool is_derived = was_rank && seed == locus::detail::seed_of_rank(here.of_all, static_cast<int>(there[0]));
  if (!is_derived) here.of_all = seed;
  if (is_derived || !is_mine) here.seed = locus::detail::seed_of_rank(here.of_all, here.rank);
  return here;
}
/// The device of a part; Cpu for one that has no place.
template <class P>
struct DeviceOfPart : std::type_identity<Cpu> {};
template <locus::detail::HasPlace P>
struct DeviceOfPart<P> : std::type_identity<device_of<P>> {};
template <class P>
using device_of_part = typename DeviceOfPart<P>::type;

/// Ordinal of the GPU of a part; -1 where it has none.
template <class P>
[[nodiscard]] int gpu_of(const P& part) {
  if constexpr (requires { part.device().ordinal; }) {
    return part.device().ordinal;
  } else if constexpr (requires { part.parameters()[0].device().ordinal; }) {
    const auto& parameters = part.parameters();
    return parameters.empty() ? -1 : parameters[0].device().ordinal;
  } else {
    return -1;
  }
}
/// The record of this process, which names the GPU of the first part that is on one.
template <class... Parts>
[[nodiscard]] RunRecord record_with(const Parts&... parts) {
  for (const int gpu : {gpu_of(parts)...})
    if (gpu >= 0) return run_record({.gpu = gpu});
  return run_record();
}

using States = std::map<std::string, nn::StateDict<Cpu>, std::less<>>;

/// The states of all parts, and of the default generators.
template <class... Parts>
[[nodiscard]] States states_of(const Parts&... parts) {
  States states;
  PartNames names;
  (states.emplace(names.next(part_name<Parts>()), state_of(parts)), ...);
  nn::StateDict<Cpu>& random = states["random"];
  add_rank(random);
  add_generator<Cpu>(random);
  (add_generator<device_of_part<Parts>>(random), ...);
  return states;
}
/// throws ArgumentError unless a file has the states of these parts and no others
template <class... Parts>
void require_same_parts(const std::string& path, const States& there) {
  PartNames names;
  const std::set<std::string> wanted{"random", names.next(part_name<Parts>())...};
  locus::detail::NameList in_file, in_program;
  bool are_same = there.size() == wanted.size();
  for (const auto& [name, state] : there) {
    in_file.add(name);
    are_same = are_same && wanted.contains(name);
  }
  for (const std::string& name : wanted) in_program.add(name);
  if (!are_same)
    fail<ArgumentError>({"resume_training: '", path, "' holds ", in_file.text(), "; this run has ", in_program.text(),
                         "; give the parts that were saved, in their order"});
}
/// Applies the states to all parts. All steps that can fail come first, so that a failure leaves all parts unchanged.
template <class... Parts>
void change_all(const States& states, Parts&... parts) {
  PartNames names;
  std::tuple changes{change_of(parts, states.at(names.next(part_name<Parts>())))...};
  const nn::StateDict<Cpu>& random = states.at("random");
  std::tuple generators{generator_of<Cpu>(random), generator_of<device_of_part<Parts>>(random)...};
  const locus::detail::Seed seed = seed_going_on(std::get<0>(generators).seed, random);
  std::apply([&](auto&... each) { ((each.seed = seed_going_on(each.seed, random).seed), ...); }, generators);
  std::apply([](auto&... change) { (change(), ...); }, changes);
  if (seed.rank >= 0) locus::detail::restore_seed(seed);
  std::apply([](const auto&... each) { (locus::detail::set_default_generator(each), ...); }, generators);
}
/// Divides a state by the first word of each name.
[[nodiscard]] LOCUS_OUT_OF_LINE inline States divided(const nn::StateDict<Cpu>& all) {
  States states;
  const auto place = [&](const std::string& name) -> std::pair<nn::StateDict<Cpu>&, std::string> {
    const std::size_t dot = locus::detail::smaller(name.find('.'), name.size());
    return {states[name.substr(0, dot)], name.substr(locus::detail::smaller(dot + 1, name.size()))};
  };
  for (const auto& entry : all) {
    auto [state, name] = place(entry.name);
    state.add({std::move(name), entry.type, entry.shape, entry.bytes});
  }
  for (const auto& each : all.unread()) {
    auto [state, name] = place(each.name);
    state.add_unread(std::move(name), each.type);
  }
  for (auto& [part, state] : states) state.set_file(all.file());
  return states;
}

}  // namespace detail

/// Writes the state of a training run into one safetensors file: models, optimizers, schedulers, scalers, the position
/// of loaders, numbers such as a best loss's epoch (std::int64_t), the History, in any order, and the default
/// generators of the host and of the parts' device. Averages of weights are models. A temporary file replaces the old
/// file at the end: a killed process leaves the old file or the new one. The metadata of the file have run_record(),
/// with the GPU of the parts. throws as save()
///
///     for (auto [images, labels] : loader) {
///       ...
///       if (optimizer.steps()[0] % 1000 == 0) io::save_training("run.safetensors", model, optimizer, scheduler,
///       loader);
///     }
template <detail::TrainingPart... Parts>
void save_training(const std::string& path, const Parts&... parts) {
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"}, [&] {
    nn::StateDict<Cpu> all;
    for (const auto& [part, state] : detail::states_of(parts...))
      for (const auto& entry : state) all.add({join(part, ".", entry.name), entry.type, entry.shape, entry.bytes});
    JsonWriter run(JsonWriter::Form::compact);
    detail::write_record(run, detail::record_with(parts...));
    detail::write_safetensors<Cpu>("save_training", path, all, run.text());
  });
}

/// Restores the state that save_training wrote into the same parts; parts of one kind must have the same order. On Cpu,
/// the run continues bit for bit as without interruption. Returns false, and changes nothing, if there is no such file:
/// the run begins. Ranks may all read the file that one of them wrote: each goes on with random numbers of its own, how
/// far the writer was.
/// throws DataError for a file that cannot be read; ArgumentError if it holds other parts, if the loader shuffled by
/// another seed, and in mid-epoch if the loader has another batch size, data set, number of batches or sampler; as
/// loading a part; OutOfMemory. After an exception no part has changed: the whole file is read and checked first, and
/// applying it does not allocate
/// cost: while it loads, a second copy of the state in host memory, and another on the device of parts on another
/// device
///
///     manual_seed(1);
///     ...
///     io::resume_training("run.safetensors", model, optimizer, scheduler, loader);
///     while (loader.position().epoch < 90)
///       for (auto [images, labels] : loader) ...
template <detail::TrainingPart... Parts>
bool resume_training(const std::string& path, Parts&... parts) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return false;
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    const detail::States there = detail::divided(detail::read_safetensors<Cpu>(path));
    detail::require_same_parts<Parts...>(path, there);
    detail::change_all(there, parts...);
    return true;
  });
}

/// The record of the process that wrote a file of save_training(); empty for a file without one, of whatever metadata.
/// Reads only the header.
/// throws DataError as load(), OutOfMemory
///
///     std::cout << io::difference(io::read_run_record("run.safetensors"), io::run_record());
[[nodiscard]] inline RunRecord read_run_record(const std::string& path) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    const std::string run = detail::read_run<Cpu>(path);
    if (run.empty()) return RunRecord();
    return detail::record_of(run, join("cannot read the run record of '", path, "'"));
  });
}

}}}  // namespace locus::LOCUS_ABI::io
