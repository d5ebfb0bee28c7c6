// Time of training a perceptron on the CPU and on the GPU, over the sizes of model, batch and data set.
//
//   training_times --device both --hidden 16,1024 --depth 1 --batch 128 --data data/mnist
//   training_times --images 1000,60000 --hidden 256 --depth 1 --batch 128
//
// 784 inputs, `depth` hidden layers with ReLU, 10 classes, cross-entropy, Adam: trained by fit(), which replays
// captured steps on a GPU, from a loader that shuffles. Without --images, an epoch has as many batches as fill a third
// of --min-time. The first epoch of a model is not measured.
//
// The first line of JSON has the environment, each further one a measurement: seconds of its epochs, in total and until
// the loader had the next batch. Numbers of threads and devices take turns. training_times.py runs this.

#include "support/places.hpp"
#include "support/training_times_options.hpp"

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/mnist.hpp>
#include <locus/io/json.hpp>
#include <locus/models/mlp.hpp>
#include <locus/optim/adam.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/fit.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include <sched.h>

using namespace locus;

namespace {

constexpr std::int64_t inputs = 784, classes = 10, all_images = 60000;

struct Point {
  std::int64_t hidden, depth, batch;
  std::int64_t images;  ///< per epoch; 0: measures steps, not whole epochs

  [[nodiscard]] std::int64_t weights() const {
    return inputs * hidden + (depth - 1) * hidden * hidden + hidden * classes;
  }
  [[nodiscard]] double work() const {
    return static_cast<double>(weights()) * static_cast<double>(std::max(batch, images));
  }
};

/// Device and threads of a measurement.
struct Series {
  AnyDevice device;
  int threads;
};

/// Points in ascending order of work, so that the budget omits the most expensive ones.
std::vector<Point> points_of(const TrainingTimesOptions& options) {
  const std::vector<std::int64_t> steps_only{0};
  std::vector<Point> points;
  for (const std::int64_t images : options.images.empty() ? steps_only : options.images)
    for (const std::int64_t hidden : options.hidden)
      for (const std::int64_t depth : options.depth)
        for (const std::int64_t batch : options.batch) points.push_back({hidden, depth, batch, images});
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.work() < b.work(); });
  return points;
}

std::vector<Series> series_of(const TrainingTimesOptions& options, const Places& places) {
  const int all = cpu::max_threads();
  std::vector<Series> series;
  std::vector<int> threads = options.threads.empty() ? std::vector<int>{1, all} : options.threads;
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  if (places.cpu)
    for (const int count : threads) series.push_back({AnyDevice{}, count});
  if (places.cuda) series.push_back({{AnyDevice::Kind::cuda, places.cuda->ordinal}, all});
  return series;
}

data::LabelledImages images_from(const std::string& folder) {
  if (!folder.empty()) return data::mnist(folder, data::Part::train);
  return {randint<std::uint8_t>(0, 256, {all_images, 1, 28, 28}), randint(0, classes, {all_images}), classes};
}

/// `count` images at equal distances in the data set.
data::LabelledImages spread(const data::LabelledImages& images, std::int64_t count) {
  if (count > images.size())
    fail<ArgumentError>(
        {"an epoch of ", count, " images, but there are ", images.size(), "; expected at most as many"});
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) positions[static_cast<std::size_t>(i)] = i * images.size() / count;
  return images.subset(positions);
}

template <class D>
class Training {
 public:
  Training(const Point& point, const data::LabelledImages& images, D device)
      : point_(point),
        images_(images),
        device_(device),
        model_(models::mlp<float, D>(sizes_of(point), {}, device)),
        optimizer_(model_.parameters(), {.lr = 1e-3}) {}

  /// Runs epochs for about `seconds`, at least one.
  History run(double seconds) {
    if (point_.images) return epochs(point_.images, seconds, most);
    const std::int64_t most_steps = std::max<std::int64_t>(1, images_.size() / point_.batch);
    std::int64_t steps = 1;
    for (;;) {  // until an epoch is long enough to hide the cost of its start
      const History tried = epochs(steps * point_.batch, seconds / 3, 2);
      const double taken = tried.last().seconds;
      if (taken >= seconds) return tried;
      if (taken >= seconds / 6 || steps == most_steps) break;
      const double wanted = 1 + static_cast<double>(steps) * seconds / 3 / taken;
      steps = std::min(most_steps, static_cast<std::int64_t>(std::min(wanted, 20.0 * static_cast<double>(steps))));
    }
    return epochs(steps * point_.batch, seconds, most);
  }

 private:
  static constexpr int most = 30;  ///< measured epochs

  static std::vector<std::int64_t> sizes_of(const Point& point) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(point.depth), point.hidden);
    sizes.insert(sizes.begin(), inputs);
    sizes.push_back(classes);
    return sizes;
  }

  /// Does not measure the first epoch, which includes first-use allocations and the capture.
  History epochs(std::int64_t count, double seconds, int at_most) {
    auto train =
        data::loader(spread(images_, count), {.batch_size = point_.batch, .shuffle = true, .seed = 0}, device_);
    auto valid = data::loader(spread(images_, 1), {.batch_size = 1}, device_);
    History all, measured;
    double total = 0;
    fit(model_, optimizer_, train, valid, all, {.epochs = 1 + at_most, .on_epoch = [&](const EpochRecord& epoch) {
                                                  if (epoch.epoch == 1) return true;
                                                  measured.add(epoch);
                                                  return (total += epoch.seconds) < seconds;
                                                }});
    return measured;
  }

  Point point_;
  const data::LabelledImages& images_;
  D device_;
  nn::Sequential<float, D> model_;
  optim::Adam<float, D> optimizer_;
};

/// Pins each worker thread to its own core: under load, the system may schedule two of them on one.
void pin_threads() {
  cpu_set_t available;
  if (sched_getaffinity(0, sizeof available, &available) != 0)
    fail<ArgumentError>({"--pin: the system does not tell on which cores this program may run; leave it out"});
  cpu::parallel_for(4 * cpu::max_threads(), [](std::int64_t) {});  // the threads start
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.push_back(std::stoi(entry.path().filename()));
  std::sort(threads.begin(), threads.end());
  int core = -1;
  for (const pid_t thread : threads) {
    do core = (core + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(core, &available));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(thread, sizeof one, &one) != 0)
      fail<ArgumentError>({"--pin: thread ", thread, " could not be bound to core ", core, "; leave it out"});
  }
}

template <class F>
void write_list(io::JsonWriter& json, const char* name, const History& history, const F& f) {
  json.key(name).begin_array();
  for (const EpochRecord& epoch : history.records()) json.value(f(epoch));
  json.end_array();
}

void print(io::JsonWriter& json) {
  std::printf("%s", json.end_object().text().c_str());
  std::fflush(stdout);
}

io::JsonWriter begun(const Point& point, const Series& series) {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("device", to_string(series.device)).member("threads", series.threads);
  json.member("hidden", point.hidden).member("depth", point.depth).member("batch", point.batch);
  json.member("whole", point.images > 0);
  return json;
}

void measure(const Point& point, const Series& series, const data::LabelledImages& images, double seconds) {
  io::JsonWriter json = begun(point, series);
  cpu::set_max_threads(series.threads);
  manual_seed(0);
  try {
    const History history =
        with_device(series.device, [&]<Device D>(D device) { return Training<D>(point, images, device).run(seconds); });
    const EpochRecord& last = history.last();
    json.member("images", point.images ? point.images : last.batches * point.batch).member("steps", last.batches);
    json.member("loss", last.train_loss);
    write_list(json, "seconds", history, [](const EpochRecord& epoch) { return epoch.seconds; });
    write_list(json, "waiting", history, [](const EpochRecord& epoch) { return epoch.data_seconds; });
  } catch (const OutOfMemory&) {
    json.member("problem", "out of memory");
  }
  print(json);
}

void print_environment(const Environment& environment, const Places& places, const TrainingTimesOptions& options) {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().key("environment").begin_object();
  write_members(json, environment).member("no_gpu", places.no_gpu);
  json.member("data", options.data.empty() ? "random images" : "MNIST").member("pinned", options.pin).end_object();
  print(json);
}

}  // namespace

int main(int argc, char** argv) try {
  const TrainingTimesOptions options(argc, argv);
  if (options.finished) return options.exit_code;
  const Stopwatch watch;
  const Places places = places_from(options.device);
  const Environment environment = environment_of(places);
  const data::LabelledImages images = images_from(options.data);
  if (options.pin) pin_threads();
  print_environment(environment, places, options);
  const std::vector<Series> series = series_of(options, places);
  for (const Point& point : points_of(options)) {
    for (const Series& each : series) {
      if (options.budget == 0 || watch.seconds() < options.budget) {
        measure(point, each, images, options.min_seconds);
        continue;
      }
      io::JsonWriter json = begun(point, each);
      json.member("images", point.images).member("problem", "not measured: the budget was spent");
      print(json);
    }
  }
} catch (const std::exception& error) {
  std::cerr << "training_times: " << error.what() << "\n";
  return 1;
}
