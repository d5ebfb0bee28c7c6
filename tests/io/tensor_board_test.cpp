// Runs on: host.
#include <locus/report/tensor_board.hpp>

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/from.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <limits>
#include <vector>

#include <support/child.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <sys/resource.h>
#include <sys/wait.h>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

namespace {

/// CRC-32C bit by bit, of RFC 3720, not by the table under test.
std::uint32_t masked_checksum(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// The whole records of an event file; ignores a partial record at its end. Fails if a checksum does not match.
std::vector<std::string> records(std::string_view file) {
  std::vector<std::string> found;
  while (file.size() >= 12) {
    const std::uint64_t length = little_endian(file.substr(0, 8));
    REQUIRE(little_endian(file.substr(8, 4)) == masked_checksum(file.substr(0, 8)));
    if (file.size() < 16 + length) break;
    found.emplace_back(file.substr(12, length));
    REQUIRE(little_endian(file.substr(12 + length, 4)) == masked_checksum(found.back()));
    file.remove_prefix(16 + length);
  }
  return found;
}

/// The fields of a message in order: numbers and the bits of reals, or bytes.
struct Field {
  std::uint64_t number, value = 0;
  std::string bytes = {};
};
std::vector<Field> fields(std::string_view message) {
  std::vector<Field> found;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(!message.empty());
      const auto byte = static_cast<unsigned char>(message[0]);
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!message.empty()) {
    const std::uint64_t key = varint(), type = key & 7;
    Field field{key >> 3};
    if (type == 0) {
      field.value = varint();
    } else {
      const std::size_t count = type == 2 ? varint() : type == 1 ? 8 : 4;
      REQUIRE(count <= message.size());
      field.bytes = message.substr(0, count);
      if (type != 2) field.value = little_endian(field.bytes);
      message.remove_prefix(count);
    }
    found.push_back(field);
  }
  return found;
}
Field field(std::string_view message, std::uint64_t number) {
  for (const Field& each : fields(message))
    if (each.number == number) return each;
  return {0};
}
double real(const Field& field) { return __builtin_bit_cast(double, field.value); }
std::vector<double> reals(const std::string& packed) {
  std::vector<double> values(packed.size() / 8);
  std::memcpy(values.data(), packed.data(), packed.size());
  return values;
}

/// The value of an event's summary.
std::string value_of_event(const std::string& event) { return field(field(event, 5).bytes, 1).bytes; }

struct Point {
  std::string tag;
  std::uint64_t step;
  float value;
  friend bool operator==(const Point&, const Point&) = default;
};
/// The scalars of a file, in order.
std::vector<Point> scalars(const fs::path& path) {
  std::vector<Point> found;
  for (const std::string& event : records(content_of(path))) {
    const std::string value = value_of_event(event);
    const Field scalar = field(value, 2);
    if (scalar.number == 2)
      found.push_back({field(value, 1).bytes, field(event, 2).value,
                       __builtin_bit_cast(float, static_cast<std::uint32_t>(scalar.value))});
  }
  return found;
}

/// The descriptor by which this process has a file open.
int descriptor_of(const std::string& path) {
  struct stat wanted {
  }, info{};
  REQUIRE(stat(path.c_str(), &wanted) == 0);
  for (int number = 3; number < 1024; ++number)
    if (fstat(number, &info) == 0 && info.st_ino == wanted.st_ino && info.st_dev == wanted.st_dev) return number;
  return -1;
}

}  // namespace

TEST_CASE("CRC-32C is that of RFC 3720") {
  CHECK(io::detail::crc32c_of("123456789") == 0xe3069283u);
  CHECK(io::detail::crc32c_of(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(io::detail::crc32c_of("") == 0);
}

TEST_CASE("TensorBoard: a file begins with its version; scalars have a tag, a step and a value") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path / "runs" / "first");
  const fs::path path = board.path();
  CHECK(path.parent_path() == folder.path / "runs" / "first");
  CHECK(path.filename().string().starts_with("events.out.tfevents."));
  board.add_scalar("loss/train", 0.25, 1);
  const io::TensorBoard copy = board;
  copy.add_scalar("loss/train", 1e-3, 300);  // two bytes of a step
  copy.add_scalar("negative", -2, 1'000'000'000'000);
  const auto events = records(content_of(path));
  REQUIRE(events.size() == 4);
  CHECK(field(events[0], 3).bytes == "brain.Event:2");
  CHECK(real(field(events[1], 1)) > 1.6e9);
  CHECK(real(field(events[3], 1)) >= real(field(events[0], 1)));
  CHECK(scalars(path) ==
        std::vector<Point>{{"loss/train", 1, 0.25f}, {"loss/train", 300, 1e-3f}, {"negative", 1'000'000'000'000, -2}});
  CHECK(io::TensorBoard(folder.path / "runs" / "first").path() != path);
}

TEST_CASE("TensorBoard: histograms count finite values in equal parts of their range") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  board.add_histogram("w", from({-1, 0, 0.5, 1, 1, nan, infinity}), 7, 4);
  board.add_histogram("equal", from({3, 3}), 0);
  board.add_histogram("none", from({nan}), 0);
  const auto far = std::numeric_limits<double>::max();
  board.add_histogram("far apart", from<double>({-far, far}), 0);
  CHECK_THROWS_WITH_AS(board.add_histogram("w", from({1, 2}), 0, 0),
                       "TensorBoard: a histogram of 0 buckets; expected 1 or more", ArgumentError);
  const auto events = records(content_of(board.path()));
  REQUIRE(events.size() == 5);
  const auto histogram = [&](std::size_t i) { return field(value_of_event(events[i]), 5).bytes; };
  CHECK(field(events[1], 2).value == 7);
  CHECK(real(field(histogram(1), 1)) == -1);
  CHECK(real(field(histogram(1), 2)) == 1);
  CHECK(real(field(histogram(1), 3)) == 5);
  CHECK(real(field(histogram(1), 4)) == 1.5);
  CHECK(real(field(histogram(1), 5)) == 3.25);
  CHECK(reals(field(histogram(1), 6).bytes) == std::vector<double>{-0.5, 0, 0.5, 1});
  CHECK(reals(field(histogram(1), 7).bytes) == std::vector<double>{1, 0, 1, 3});
  CHECK(reals(field(histogram(2), 6).bytes) == std::vector<double>{3});
  CHECK(reals(field(histogram(2), 7).bytes) == std::vector<double>{2});
  CHECK(real(field(histogram(3), 3)) == 0);
  CHECK(reals(field(histogram(4), 7).bytes) == std::vector<double>{2});
}

TEST_CASE("TensorBoard: images are PNG, texts tensors of one string, hyperparameters a session") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  const Tensor<std::uint8_t, Cpu> image = from<std::uint8_t>({0, 128, 255, 7, 8, 9}).reshape({1, 2, 3});
  board.add_image("digit", image, 3);
  board.add_text("note", "**bold**", 0);
  board.add_hparams({{"lr", 0.5}, {"nesterov", true}, {"optimizer", "Adam"}, {"layers", 3}}, {{"accuracy", 0.75}});
  CHECK_THROWS_AS(board.add_image("digit", from<std::uint8_t>({1, 2}), 0), ShapeError);
  const auto events = records(content_of(board.path()));
  REQUIRE(events.size() == 7);
  const std::string picture = field(value_of_event(events[1]), 4).bytes;
  CHECK(field(picture, 1).value == 2);
  CHECK(field(picture, 2).value == 3);
  CHECK(field(picture, 3).value == 1);
  CHECK(field(picture, 4).bytes == io::encode_png(image));
  const std::string text = value_of_event(events[2]);
  CHECK(field(field(text, 8).bytes, 8).bytes == "**bold**");
  CHECK(field(field(field(text, 9).bytes, 1).bytes, 1).bytes == "text");
  const std::string start = field(field(field(value_of_event(events[4]), 9).bytes, 1).bytes, 2).bytes;
  std::vector<Field> values;
  for (const Field& each : fields(field(start, 3).bytes))
    if (each.number == 1) values.push_back(field(each.bytes, 2));
  REQUIRE(values.size() == 4);
  CHECK(real(field(values[0].bytes, 2)) == 0.5);
  CHECK(field(values[1].bytes, 4).value == 1);
  CHECK(field(values[2].bytes, 3).bytes == "Adam");
  CHECK(real(field(values[3].bytes, 2)) == 3);
  CHECK(scalars(board.path()) == std::vector<Point>{{"accuracy", 0, 0.75f}});
}

TEST_CASE("TensorBoard as a callback of fit: what History has, by epoch, and the loss by step") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  const Tensor x = from({1, 2, 3, 4}).reshape({4, 1});
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01}};
  auto train = data::loader<Cpu>(data::TensorDataset{x, x}, {.batch_size = 2});
  History history;
  fit(model, optimizer, nn::MSELoss{}, train, data::loader<Cpu>(data::TensorDataset{x, x}), history,
      {.epochs = 2, .report_every = 1, .peak = 1e9, .on_progress = board, .on_epoch = board},
      Metric{"mean error", nn::L1Loss{}});
  const auto points = scalars(board.path());
  const auto of = [&](const std::string& tag) {
    std::vector<std::pair<std::uint64_t, float>> found;
    for (const Point& point : points)
      if (point.tag == tag) found.emplace_back(point.step, point.value);
    return found;
  };
  const auto as_float = [](double value) { return static_cast<float>(value); };
  REQUIRE(history.records().size() == 2);
  const auto &first = history.records()[0], &second = history.records()[1];
  using Curve = std::vector<std::pair<std::uint64_t, float>>;
  CHECK(of("loss/train") == Curve{{1, as_float(first.train_loss)}, {2, as_float(second.train_loss)}});
  CHECK(of("loss/valid") == Curve{{1, as_float(first.valid_loss)}, {2, as_float(second.valid_loss)}});
  CHECK(of("valid/mean error") ==
        Curve{{1, as_float(first.metric("mean error"))}, {2, as_float(second.metric("mean error"))}});
  CHECK(of("accuracy/valid").empty());
  CHECK(of("learning_rate") == Curve{{1, 0.01f}, {2, 0.01f}});
  REQUIRE(of("step/loss").size() == 4);
  CHECK(of("step/loss")[1] == std::pair<std::uint64_t, float>{2, as_float(first.train_loss)});
  CHECK(of("step/loss")[3] == std::pair<std::uint64_t, float>{4, as_float(second.train_loss)});
  CHECK(of("step/learning_rate").size() == 4);
  CHECK(of("cost/operations_per_second")[0].second == as_float(first.operations / first.seconds));
  CHECK(of("cost/share_of_peak")[1].second == as_float(second.share_of_peak()));
}

TEST_CASE("TensorBoard: a run that goes on says from which step on its events take the place of earlier ones") {
  const TemporaryFolder folder;
  CHECK(records(content_of(io::TensorBoard(folder.path).path())).size() == 1);
  for (const std::int64_t step : {0, 1, 300}) {
    const auto events = records(content_of(io::TensorBoard(folder.path, {.purge_step = step}).path()));
    REQUIRE(events.size() == 2);
    CHECK(field(events[1], 2).value == static_cast<std::uint64_t>(step));
    CHECK(field(field(events[1], 7).bytes, 1).value == 1);
    CHECK(field(events[1], 5).number == 0);
  }
  CHECK_THROWS_WITH_AS(io::TensorBoard(folder.path, {.purge_step = -2}),
                       "TensorBoard: purge_step is -2; expected a step, or -1 for none", ArgumentError);
}

TEST_CASE("TensorBoard: a folder that cannot be written is refused at once") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  const auto refusal = [](const std::string& path) {
    return message_of<DataError>([&] { io::TensorBoard board(path); });
  };
  CHECK(contains(refusal(file + "/runs"), "cannot create the folder '" + file + "/runs': Not a directory"));
  CHECK(contains(refusal("/proc/locus"), "cannot create the folder '/proc/locus': "));
  // The error of mkdir, no permission or a read-only file system, not that the folder is missing.
  if (fs::exists("/sys/kernel")) CHECK(refusal("/sys/locus").find("No such file") == std::string::npos);
  CHECK(contains(refusal(""), "expected a path"));
  CHECK(contains(message_of<DataError>([] { io::detail::EventFile full("/dev/full"); }),
                 "cannot write '/dev/full': No space left on device"));
}

TEST_CASE("TensorBoard: where the disk is full, events are lost, stderr says so once, and the file stays whole") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  board.add_scalar("before", 1, 1);
  const std::string before = content_of(board.path());
  const int file = descriptor_of(board.path()), kept = dup(file), full = open("/dev/full", O_WRONLY);
  const std::string told = folder.path / "stderr";
  const int errors = dup(STDERR_FILENO), log = open(told.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE((file >= 0 && kept >= 0 && full >= 0 && errors >= 0 && log >= 0));
  dup2(full, file);
  dup2(log, STDERR_FILENO);
  board.add_scalar("lost", 2, 2);
  board.add_scalar("lost", 3, 3);
  dup2(errors, STDERR_FILENO);
  dup2(kept, file);
  for (const int each : {kept, full, errors, log}) close(each);
  CHECK(content_of(told) == join("locus: cannot write events to '", board.path(),
                                 "': No space left on device; training goes on, events are lost\n"));
  CHECK(content_of(board.path()) == before);
  board.add_scalar("after", 4, 4);  // the disk has room again
  CHECK(scalars(board.path()) == std::vector<Point>{{"before", 1, 1}, {"after", 4, 4}});
}

TEST_CASE("TensorBoard: a record of which a part alone fits is cut off, so that what follows can be read") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  const int status = status_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit less{fs::file_size(board.path()) + 40, RLIM_INFINITY}, all{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &less);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    board.add_text("long", std::string(1000, 'x'), 1);
    setrlimit(RLIMIT_FSIZE, &all);
    board.add_scalar("short", 1, 1);
    return 0;
  });
  CHECK(status == 0);
  CHECK(scalars(board.path()) == std::vector<Point>{{"short", 1, 1}});
}

TEST_CASE("TensorBoard: a record that does not fit leaves the records that another process added") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  const auto add = [&] {
    board.add_scalar("of the child", 1, 1);
    return 0;
  };
  CHECK(status_of_child(add) == 0);
  const auto lose = [&] {
    const rlimit less{fs::file_size(board.path()) + 40, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &less);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    board.add_text("long", std::string(1000, 'x'), 1);
    return 0;
  };
  CHECK(status_of_child(lose) == 0);
  CHECK(scalars(board.path()) == std::vector<Point>{{"of the child", 1, 1}});
}

TEST_CASE("TensorBoard: a process that is killed leaves what it added; a file cut anywhere still has whole records") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (std::int64_t step = 0;; ++step) board.add_scalar("loss", 0.5, step);
  }
  while (fs::file_size(board.path()) < 10'000) usleep(100);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto points = scalars(board.path());
  REQUIRE(points.size() > 100);
  for (std::size_t i = 0; i < points.size(); ++i) REQUIRE(points[i] == Point{"loss", i, 0.5f});
  const std::string whole = content_of(board.path()).substr(0, 500);
  std::size_t least = 0;
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const std::size_t count = records(std::string_view(whole).substr(0, bytes)).size();
    CHECK((count == least || count == least + 1));
    least = count;
  }
  CHECK(least > 5);
}

namespace {
/// The nodes of a file's graph: "name op <- inputs".
std::vector<std::string> nodes(const fs::path& path) {
  std::vector<std::string> found;
  for (const std::string& event : records(content_of(path)))
    for (const Field& node : fields(field(event, 4).bytes)) {
      if (node.number != 1) continue;
      std::string text = field(node.bytes, 1).bytes + " " + field(node.bytes, 2).bytes + " <-";
      for (const Field& each : fields(node.bytes))
        if (each.number == 3) text += " " + each.bytes;
      found.push_back(text);
    }
  return found;
}
struct Residual : nn::Layer<Residual, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4}, gate{4, 4};
  auto forward(const auto& x) const { return (x + inner(gate(inner(x)))).eval(); }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("gate", gate);
  }
};
struct Plain {  // without a base: it has the address of its first member
  nn::Linear<float, Cpu> first{4, 3}, second{3, 2};
  auto forward(const auto& x) const { return second(first(x)); }
  void members(const auto& visit) const {
    visit("first", first);
    visit("second", second);
  }
};
struct Pair : nn::Layer<Pair, float, Cpu> {
  nn::Linear<float, Cpu> left{4, 2}, right{4, 2};
  auto forward(const auto& x, const auto& y) const {
    const auto of_left = left(x);
    return (of_left + right(y)).eval();
  }
  void members(const auto& visit) const {
    visit("left", left);
    visit("right", right);
  }
};
}  // namespace

TEST_CASE("the graph of a model: nodes nested by names, edges by the tensors that layers take") {
  const TemporaryFolder folder;
  const nn::Sequential<float, Cpu> model{nn::Flatten{}, Residual{}, nn::ReLU{}, nn::Linear<float, Cpu>{4, 2}};
  const io::TensorBoard board(folder.path);
  board.add_graph(model, zeros<float>({3, 2, 2}));
  CHECK(nodes(board.path()) ==
        std::vector<std::string>{
            "input Placeholder <-", "Sequential/0 Flatten <- input", "Sequential/1/inner Linear <- Sequential/0",
            "Sequential/1/gate Linear <- Sequential/1/inner", "Sequential/1/inner_2 Linear <- Sequential/1/gate",
            "Sequential/2 ReLU <- Sequential/1/inner_2", "Sequential/3 Linear <- Sequential/2",
            "output Identity <- Sequential/3"});
  const std::string event = records(content_of(board.path())).back();
  const auto graph = fields(field(event, 4).bytes);
  std::string attributes;
  for (const Field& each : fields(graph[2].bytes))
    if (each.number == 5) attributes += each.bytes;
  CHECK(contains(attributes, "_output_shapes"));
  CHECK(contains(attributes, std::string("\x12\x02\x08\x03\x12\x02\x08\x04")));  // dims 3 and 4
  CHECK(field(graph[2].bytes, 4).bytes == "cpu");
}
TEST_CASE("the graph of a layer that has the address of its first member") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  board.add_graph(nn::Sequential<float, Cpu>{Plain{}}, zeros<float>({3, 4}));
  CHECK(nodes(board.path()) == std::vector<std::string>{"input Placeholder <-", "Sequential/0/first Linear <- input",
                                                        "Sequential/0/second Linear <- Sequential/0/first",
                                                        "output Identity <- Sequential/0/second"});
}
TEST_CASE("the graph of a model of two inputs") {
  const TemporaryFolder folder;
  const io::TensorBoard board(folder.path);
  board.add_graph(Pair{}, zeros<float>({3, 4}), ones<float>({3, 4}));
  CHECK(nodes(board.path()) == std::vector<std::string>{"input Placeholder <-", "input_1 Placeholder <-",
                                                        "Pair/left Linear <- input", "Pair/right Linear <- input_1",
                                                        "output Identity <- Pair/right"});
}
