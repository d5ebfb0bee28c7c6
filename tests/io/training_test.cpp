// Runs on: host.
#include <locus/io/training.hpp>

#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/averaged_model.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <sys/wait.h>
#include <array>
#include <csignal>
#include <random>
#include <thread>

using namespace locus;
using namespace locus_test;

namespace {
auto digits() {
  Generator<Cpu> numbers{3};
  return data::TensorDataset(rand({22, 6}, numbers), rand({22, 2}, numbers));
}
/// A run whose every part matters: dropout, running statistics, a shuffled loader with a last batch that is smaller.
struct Run {
  bool is_seeded = (manual_seed(7), true);
  nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{6, 8}, nn::BatchNorm1d<float, Cpu>{8}, nn::Dropout{0.3},
                                   nn::Linear<float, Cpu>{8, 2}};
  optim::Adam<float, Cpu> optimizer{model.parameters(), {.lr = 0.05}};
  optim::Scheduler scheduler{optimizer, optim::ExponentialLR{0.99}};
  decltype(data::loader<Cpu>(digits())) loader =
      data::loader<Cpu>(digits(), {.batch_size = 5, .shuffle = true, .seed = 5});
  std::int64_t batches = 0;

  /// after(): at the end of each step
  template <class F>
  void train(std::uint64_t epochs, const F& after) {
    while (loader.position().epoch < epochs)
      for (auto [x, y] : loader) {
        optimizer.zero_grad();
        nn::mse_loss(model(trace(x)), y).backward();
        optimizer.step();
        scheduler.step();
        ++batches;
        if (!after()) return;
      }
  }
  void save(const std::string& path) const { io::save_training(path, model, optimizer, scheduler, loader, batches); }
  bool resume(const std::string& path) {
    return io::resume_training(path, model, optimizer, scheduler, loader, batches);
  }
  [[nodiscard]] std::string bytes() const {
    const TemporaryFolder folder;
    save(folder.path / "state");
    std::ifstream file(folder.path / "state", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};
}  // namespace

TEST_CASE("a run that goes on in the middle of an epoch becomes what it would have been, bit for bit") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  Run whole;
  whole.train(3, [] { return true; });
  const std::string end = whole.bytes();
  CHECK(whole.batches == 15);
  for (const std::int64_t stop : {1, 4, 5, 7, 15}) {
    CAPTURE(stop);
    {
      Run first;
      first.train(3, [&] { return first.batches < stop; });
      first.save(path);
    }
    Run second;
    (void)rand({100});
    CHECK(second.resume(path));
    CHECK(second.batches == stop);
    second.train(3, [] { return true; });
    CHECK(second.bytes() == end);
  }
}

TEST_CASE("processes that are killed at any moment leave a run that others finish, bit for bit") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  Run whole;
  whole.train(200, [] { return true; });
  const std::string end = whole.bytes();
  std::mt19937 random(1);
  int killed = 0;
  for (bool is_done = false; !is_done;) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Run run;
      (void)run.resume(path);
      run.train(200, [&] { return run.save(path), true; });
      _exit(0);
    }
    usleep(static_cast<useconds_t>(random() % 8000));
    if (killed < 100) (void)kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) ++killed;
    else is_done = WEXITSTATUS(status) == 0;
  }
  CHECK(killed == 100);
  Run last;
  CHECK(last.resume(path));
  CHECK(last.bytes() == end);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a run of other parts is refused, and nothing has changed") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  Run run;
  CHECK(!run.resume(path));
  run.train(1, [] { return true; });
  run.save(path);
  Run other;
  nn::Sequential<float, Cpu> wider{nn::Linear<float, Cpu>{6, 9}, nn::BatchNorm1d<float, Cpu>{9}, nn::Dropout{0.3},
                                   nn::Linear<float, Cpu>{9, 2}};
  const std::string before = other.bytes();
  const auto fewer = message_of<ArgumentError>([&] { (void)io::resume_training(path, other.model, other.optimizer); });
  CAPTURE(fewer);
  CHECK(contains(fewer,
                 "holds 'loader', 'model', 'number', 'optimizer', 'random', 'scheduler'; this run has 'model', "
                 "'optimizer', 'random'"));
  CHECK_THROWS_AS((void)io::resume_training(path, other.loader, wider, other.optimizer, other.scheduler, other.batches),
                  ShapeError);
  CHECK(other.loader.position() == data::LoaderPosition{});
  CHECK(other.bytes() == before);
  auto reseeded = data::loader<Cpu>(digits(), {.batch_size = 5, .shuffle = true, .seed = 6});
  const auto other_order = message_of<ArgumentError>(
      [&] { (void)io::resume_training(path, other.model, other.optimizer, other.scheduler, reseeded, other.batches); });
  CHECK(contains(other_order, "shuffled by the seed 5, and this one by 6"));
  CHECK(reseeded.position() == data::LoaderPosition{});
  CHECK(other.bytes() == before);
  (void)folder.write("run", "no run");
  CHECK_THROWS_AS((void)other.resume(path), DataError);
  CHECK(other.bytes() == before);
}

TEST_CASE("the rest of an epoch needs the batches that it was saved with; the start of one does not") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  Run run;
  run.train(1, [&] { return run.batches < 2; });
  run.save(path);
  Run other;
  const std::string before = other.bytes();
  const auto resume = [&](auto loader) {
    return io::resume_training(path, other.model, other.optimizer, other.scheduler, loader, other.batches);
  };
  const auto shuffled = [](auto dataset, std::int64_t batch_size) {
    return data::loader<Cpu>(std::move(dataset), {.batch_size = batch_size, .shuffle = true, .seed = 5});
  };
  const auto wider = message_of<ArgumentError>([&] { (void)resume(shuffled(digits(), 7)); });
  CHECK(
      contains(wider,
               "stopped after 2 of 5 batches of 5 samples each, drawn from 22; this loader has 4 batches of 7 samples "
               "each, drawn from 22"));
  const auto more = message_of<ArgumentError>([&] {
    (void)resume(shuffled(data::TensorDataset(zeros({23, 6}), zeros({23, 2})), 5));
  });
  CHECK(contains(more, "drawn from 23"));
  CHECK(other.bytes() == before);
  CHECK(resume(shuffled(digits(), 5)));
  run.train(1, [] { return true; });
  run.save(path);
  CHECK(resume(shuffled(digits(), 7)));
}

TEST_CASE("the rest of an epoch needs the sampler that it was saved with") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  const auto samples = digits();
  const auto by = [&](auto sampler) { return data::loader<Cpu>(samples, std::move(sampler), {.batch_size = 5}); };
  const auto save_after = [&](int batches, auto loader) {
    for (auto batch = loader.begin(); batches-- > 1;) ++batch;
    io::save_training(path, loader);
  };
  const auto resumes = [&](auto loader) {
    const bool is_resumed = io::resume_training(path, loader);
    return is_resumed && loader.position() == data::LoaderPosition{0, 2};
  };
  const auto refuses = [&](auto loader) {
    const auto why = message_of<ArgumentError>([&] { (void)io::resume_training(path, loader); });
    return contains(why, "stopped after 2 of 5 batches, drawn by another sampler") &&
           loader.position() == data::LoaderPosition{};
  };
  constexpr data::BlockSampler blocks{.count = 22, .block = 4, .together = 2, .seed = 3};
  save_after(2, by(blocks));
  CHECK(resumes(by(blocks)));
  CHECK(refuses(by(data::BlockSampler{.count = 22, .block = 4, .together = 2, .seed = 4})));
  CHECK(refuses(by(data::BlockSampler{.count = 22, .block = 5, .together = 2, .seed = 3})));
  CHECK(refuses(by(data::BlockSampler{.count = 22, .block = 4, .together = 3, .seed = 3})));
  CHECK(refuses(by(data::RandomSampler{22, 3})));
  CHECK(refuses(data::loader<Cpu>(samples, {.batch_size = 5})));
  save_after(2, by(data::SubsetRandomSampler{data::SequentialSampler{22}.order(0), 3}));
  CHECK(refuses(by(data::SubsetRandomSampler{data::SequentialSampler{22}.order(0), 4})));
  CHECK(refuses(by(data::SubsetRandomSampler{std::vector<std::int64_t>(22, 1), 3})));
  save_after(2, data::loader<Cpu>(samples, {.batch_size = 5}));
  CHECK(resumes(by(data::SequentialSampler{22})));
  struct WithoutFingerprint {
    [[nodiscard]] std::int64_t size() const { return 22; }
    [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t) const { return data::SequentialSampler{22}.order(0); }
  };
  save_after(2, by(WithoutFingerprint()));
  CHECK(resumes(by(WithoutFingerprint())));
  CHECK(refuses(by(blocks)));

  // Ranks read the file that rank 0 wrote.
  const auto of_rank = [&](int rank, const data::DistributedSamplerOptions& options = {}) {
    return data::loader<Cpu>(samples, data::DistributedSampler(22, rank, 2, options), {.batch_size = 3});
  };
  save_after(2, of_rank(0));
  CHECK(resumes(of_rank(1)));
  CHECK_THROWS_AS((void)resumes(of_rank(1, {.seed = 1})), ArgumentError);
  CHECK_THROWS_AS((void)resumes(of_rank(1, {.shuffle = false})), ArgumentError);

  // Another sampler may draw the next epoch. Files of older versions do not say how samples were drawn.
  auto at_end = by(blocks);
  at_end.set_position({0, 5});
  io::save_training(path, at_end);
  auto others = by(data::BlockSampler{.count = 22, .seed = 4});
  CHECK(io::resume_training(path, others));
  CHECK(others.position() == data::LoaderPosition{1, 0});
  save_after(2, by(blocks));
  auto old = io::load(path);
  const auto position = old.get<std::int64_t>("loader.position").slice(0, 0, 6).clone();
  old.erase("loader.position");
  old.add("loader.position", position);
  io::save(path, old);
  CHECK(resumes(by(data::BlockSampler{.count = 22, .seed = 4})));
}

TEST_CASE("ranks that go on from the file of rank 0 draw the numbers of their own, in every resumed run") {
  const TemporaryFolder folder;
  nn::Linear<float, Cpu> model{2, 1};
  struct Drawn {
    std::array<float, 2> first{}, next{};  // before and after saving, by rank
  };
  const auto draw = [] { return rand<float>({}).item(); };
  /// Two ranks, started with `seed`: resume from a file, draw, save to another, draw.
  const auto run = [&](std::uint64_t seed, const char* from, const char* to, const auto& begin) {
    Drawn drawn;
    for (const std::size_t rank : {1u, 0u})
      std::thread([&] {
        const locus::detail::ThreadRank numbers(static_cast<int>(rank), seed);
        begin(rank);
        if (from) CHECK(io::resume_training(folder.path / from, model));
        drawn.first[rank] = draw();
        if (rank == 0) io::save_training(folder.path / to, model);
        drawn.next[rank] = draw();
      }).join();
    return drawn;
  };
  const auto nothing = [](std::size_t) {};
  const auto differ = [](const std::array<float, 2>& x) { return x[0] != x[1]; };

  const Drawn one = run(5, nullptr, "1", nothing), two = run(6, "1", "2", nothing), three = run(7, "2", "3", nothing);
  CHECK(differ(one.first));
  CHECK(two.first == one.next);
  CHECK(three.first == two.next);

  manual_seed(4);  // a run without ranks
  io::save_training(folder.path / "alone", model);
  const Drawn divided = run(5, "alone", "divided", nothing), again = run(6, "divided", "again", nothing);
  CHECK(differ(divided.first));
  CHECK(again.first == divided.next);

  // One seed of all ranks, and seeds of their own.
  const Drawn same = run(5, nullptr, "same", [](std::size_t) { manual_seed(9); });
  const Drawn still_same = run(6, "same", "still", nothing), yet_same = run(7, "still", "yet", nothing);
  CHECK(!differ(same.first));
  CHECK(still_same.first == same.next);
  CHECK(yet_same.first == still_same.next);
  const auto by_rank = [](std::size_t rank) { manual_seed(100 + rank); };
  const Drawn own = run(5, nullptr, "own", by_rank), resumed = run(6, "own", "resumed", by_rank);
  CHECK(differ(own.first));
  CHECK(resumed.first == own.next);
}

TEST_CASE("two models and their optimizers are told apart by their order") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  nn::Linear<float, Cpu> a{2, 3}, b{3, 2}, c{2, 3}, d{3, 2};
  io::save_training(path, a, b);
  CHECK(io::resume_training(path, c, d));
  CHECK(sum(abs(a.weight.value() - c.weight.value())).item() == 0);
  CHECK(sum(abs(b.weight.value() - d.weight.value())).item() == 0);
  CHECK_THROWS_WITH_AS((void)io::resume_training(path, d, c),
                       doctest::Contains(join("'weight' has shape (3, 2) in '", path, "', but (2, 3)").c_str()),
                       ShapeError);
}

TEST_CASE("fit goes on within an epoch, with its history and an average of the weights, bit for bit") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  struct Interrupted {};
  struct Fitted : Run {
    nn::AveragedModel<nn::Sequential<float, Cpu>> average{model, {.decay = 0.9}};
    History history;
    void train_until(std::int64_t stop, const std::string& file) {
      auto valid = data::loader<Cpu>(digits(), {.batch_size = 22});
      const int done = static_cast<int>(loader.position().epoch);
      fit(model, optimizer, nn::MSELoss{}, loader, valid, history,
          {.epochs = 3 - done,
           .first_epoch = done + 1,
           .report_every = 1,
           .after_step = [&] { average.update(); },
           .scheduler = scheduler,
           .schedule_every = Every::step,
           .on_progress =
               [&](const Progress& progress) {
                 CHECK(progress.batch == loader.position().batch);
                 if (++batches == stop && progress.batch < progress.batches) interrupt(file);
               },
           .on_epoch =
               [&] {
                 history.add_metric("average", sum(average.module().parameters()[0].value()).item());
                 if (batches == stop) interrupt(file);
               }},
          Metric{"error", nn::L1Loss{}});
    }
    void interrupt(const std::string& file) {
      io::save_training(file, model, average, optimizer, scheduler, loader, history, batches);
      throw Interrupted{};
    }
    bool resume_all(const std::string& file) {
      return io::resume_training(file, model, average, optimizer, scheduler, loader, history, batches);
    }
  };
  Fitted whole;
  whole.train_until(100, path);
  for (const std::int64_t stop : {2, 5, 8, 14}) {
    CAPTURE(stop);
    Fitted first, second;
    CHECK_THROWS_AS(first.train_until(stop, path), Interrupted);
    CHECK(second.resume_all(path));
    second.train_until(100, path);
    CHECK(second.bytes() == whole.bytes());
    CHECK(second.average.updates() == 15);
    const auto a = whole.average.module().parameters(), b = second.average.module().parameters();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(sum(abs(a[i].value() - b[i].value())).item() == 0);
    REQUIRE(second.history.records().size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const EpochRecord &one = whole.history.records()[i], &other = second.history.records()[i];
      CHECK(one.epoch == other.epoch);
      CHECK(one.learning_rate == other.learning_rate);
      CHECK(one.valid_loss == other.valid_loss);
      CHECK(one.metric("error") == other.metric("error"));
      CHECK(one.metric("average") == other.metric("average"));
    }
  }
}

TEST_CASE("fit with a scaler goes on between epochs, bit for bit, and refuses a scaler that was not saved") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run", end = folder.path / "end";
  struct Scaled {
    bool is_seeded = (manual_seed(7), true);
    nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{6, 2}};
    optim::Adam<float, Cpu> optimizer{model.parameters(), {.lr = 0.05}};
    optim::GradScaler<Cpu> scaler{{.init_scale = 8e37, .growth_interval = 3}};  // which overflows at first
    data::TensorDataset<float, float> samples{get<0>(digits().tensors()), get<1>(digits().tensors()) * 50.f};
    decltype(data::loader<Cpu>(digits())) loader =
        data::loader<Cpu>(samples, {.batch_size = 5, .shuffle = true, .seed = 5});
    void train(int epochs) {
      History history;
      fit(model, scaler.with(optimizer), nn::MSELoss{}, loader, data::loader<Cpu>(samples), history,
          {.epochs = epochs});
    }
    void save(const std::string& file) const { io::save_training(file, model, optimizer, scaler, loader); }
    bool resume(const std::string& file) { return io::resume_training(file, model, optimizer, scaler, loader); }
    [[nodiscard]] std::string bytes(const std::string& file) const {
      save(file);
      std::ifstream saved(file, std::ios::binary);
      return {std::istreambuf_iterator<char>(saved), {}};
    }
  };
  Scaled whole;
  whole.train(4);
  CHECK(whole.scaler.skipped_steps() > 2);
  Scaled first;
  first.train(1);
  first.save(path);
  Scaled second;
  second.scaler = optim::GradScaler{{.init_scale = 2, .growth_interval = 1000}};
  CHECK(second.resume(path));
  CHECK(second.scaler.scale_factor() == first.scaler.scale_factor());
  second.train(3);
  CHECK(second.bytes(end) == whole.bytes(end));

  const auto says = [](const char* text) { return doctest::Contains(text); };
  const std::string before = second.bytes(end);
  CHECK_THROWS_WITH_AS((void)io::resume_training(path, second.model, second.optimizer, second.loader),
                       says("'random', 'scaler'; this run has"), ArgumentError);
  io::save_training(path, first.model, first.optimizer, first.loader);
  CHECK_THROWS_WITH_AS((void)second.resume(path), says("'optimizer', 'random', 'scaler'; give the parts"),
                       ArgumentError);
  first.save(path);
  auto state = io::load(path);
  state.get<double>("scaler.scale").fill_(0);
  io::save(path, state);
  CHECK_THROWS_WITH_AS((void)second.resume(path), says("init_scale is 0"), ArgumentError);
  CHECK(state.erase("scaler.scale"));
  io::save(path, state);
  CHECK_THROWS_WITH_AS((void)second.resume(path), says("'scale'"), ArgumentError);
  state.add("scaler.scale", full<float, Cpu>({}, 4.f));  // as PyTorch's tensor of it would be
  io::save(path, state);
  CHECK_THROWS_WITH_AS((void)second.resume(path), says("'scale'"), ArgumentError);
  CHECK(second.bytes(end) == before);
}

TEST_CASE("a history in a run keeps which epochs have which metrics, and refuses what is none") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run";
  History history, other;
  io::save_training(path, history);
  history.add({1, 0.5, 1.25, 1.5, __builtin_nan(""), 2.0, 24000, {{"a", 1}}});
  CHECK(io::resume_training(path, history));
  CHECK(history.empty());
  history.add({7, 0.5, 1.25, 1.5, 0.75, 2.0, 24000, {{"a.b", 1}}});
  history.add({8, 0.25, 1, 2, 0.5, 3, 4, {{"c", 2}, {"a.b", 3}}, 10, 0.5, {50, 6, 700, 800, 900}, 0.75, 5e9, 8e9});
  io::save_training(path, history);
  CHECK(io::resume_training(path, other));
  CHECK(other.table() == history.table());
  REQUIRE(other.records().size() == 2);
  CHECK(other.records()[0].metrics.size() == 1);
  CHECK(other.records()[1].metric("a.b") == 3);
  CHECK(other.records()[1].epoch == 8);
  CHECK(other.cost_table() == history.cost_table());
  CHECK(other.last().memory.reserved_bytes == 900);
  CHECK(other.last().operations == 5e9);
  CHECK(other.last().peak == 8e9);
  auto state = io::load(path);
  const Tensor epochs = state.get<double>("history.epochs").clone();
  for (const std::int64_t count : {15, 7}) {  // as older versions wrote it
    CHECK(state.erase("history.epochs"));
    state.add("history.epochs", epochs.slice(1, 0, count).contiguous());
    io::save(path, state);
    CHECK(io::resume_training(path, other));
    CHECK(other.last().memory.reserved_bytes == (count == 15 ? 900 : 0));
    CHECK(other.last().operations == 0);
  }
  CHECK(state.erase("history.epochs"));
  state.add("history.epochs", epochs.slice(1, 0, 7).contiguous());
  io::save(path, state);
  CHECK(io::resume_training(path, other));
  CHECK(other.table() == history.table());
  CHECK(other.last().batches == 0);
  state.get<double>("history.epochs").fill_(-1);
  io::save(path, state);
  CHECK_THROWS_WITH_AS((void)io::resume_training(path, other), doctest::Contains("has an epoch -1"), ArgumentError);
  CHECK(state.erase("history.epochs"));
  state.add("history.epochs", ones<double, Cpu>({2, 6}));
  io::save(path, state);
  CHECK_THROWS_WITH_AS((void)io::resume_training(path, other), doctest::Contains("expected (n, 17), (n, 15) or (n, 7)"),
                       ShapeError);
  CHECK(other.records()[1].epoch == 8);
}

TEST_CASE("a checkpoint has the record of its run; a file of weights has none") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.safetensors", weights = folder.path / "weights.safetensors";
  manual_seed(23);
  const nn::Linear<float, Cpu> model{2, 3};
  io::save_training(path, model);
  const io::RunRecord record = io::read_run_record(path);
  CHECK(record.get("seed") == "23");
  CHECK(record.get("locus") == LOCUS_VERSION);
  CHECK(io::difference(record, io::run_record()) == "");
  CHECK(io::load(path).size() == 3);  // the metadata are no tensor
  io::save(weights, nn::state_dict(model));
  CHECK(io::read_run_record(weights).empty());
}
TEST_CASE("the record in metadata of another program, or damaged") {
  const TemporaryFolder folder;
  const auto file = [&](std::string_view metadata) {
    const std::string header = join("{\"__metadata__\":{", metadata, "}}");
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i & 0xff);
    return folder.write("other.safetensors", bytes + header);
  };
  CHECK(io::read_run_record(file("\"run\":\"wandb-123\"")).empty());
  CHECK(io::read_run_record(file("\"locus.run\":\"{\\\"host\\\":\\\"a\\\"}\"")).get("host") == "a");
  CHECK_THROWS_WITH_AS((void)io::read_run_record(file("\"locus.run\":\"wandb-123\"")),
                       doctest::Contains("cannot read the run record of '"), DataError);
  std::string entries;
  for (int i = 0; i < 1001; ++i) entries += join(i == 0 ? "" : ",", "\\\"", i, "\\\":\\\"\\\"");
  CHECK_THROWS_WITH_AS((void)io::read_run_record(file(join("\"locus.run\":\"{", entries, "}\""))),
                       doctest::Contains("more than 1000 entries"), DataError);
}
TEST_CASE("a record names the GPU of the parts") {
  struct OnGpu {
    int ordinal = 3;
    [[nodiscard]] Cuda device() const { return Cuda{ordinal}; }
  };
  struct OfParameters {
    std::vector<OnGpu> all = {};
    [[nodiscard]] const std::vector<OnGpu>& parameters() const { return all; }
  };
  const nn::Linear<float, Cpu> on_host{2, 3};
  CHECK(io::detail::record_with(on_host).get("gpu").starts_with("cuda:0: "));
  CHECK(io::detail::record_with(on_host, OfParameters{}, OfParameters{{OnGpu{2}}}, OnGpu{})
            .get("gpu")
            .starts_with("cuda:2: "));
  CHECK(io::detail::record_with(on_host, std::int64_t{7}, OnGpu{}).get("gpu").starts_with("cuda:3: "));
}
