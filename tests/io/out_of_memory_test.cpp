// Runs on: host; alone.
// Reading and writing files where any one allocation fails, or all from any one on.

#include <locus/data/files/idx.hpp>
#include <locus/data/sets/cifar.hpp>
#include <locus/data/sets/image_folder.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/io/mapped.hpp>
#include <locus/io/training.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/model_graph.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adam.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <support/encoded_images.hpp>
#include <support/failing_memory.hpp>
#include <support/temporary_folder.hpp>

#include <functional>

#if LOCUS_ZLIB
#include <zlib.h>
#endif

using namespace locus;
using namespace locus_test;

namespace {

enum class End { done, out_of_memory, other_error };

/// Blocks that calls of f left allocated.
std::int64_t kept_blocks = 0;

/// Calls f with the allocation of this number failing, or all from that one on.
template <class F>
End with_failure(std::int64_t number, bool once, const F& f) {
  End end = End::done;
  const std::int64_t before = failing_memory.alive.load();
  {
    const MemoryFailure failure(number, once);
    try {
      f();
    } catch (const OutOfMemory&) {
      end = End::out_of_memory;
    } catch (...) {
      end = End::other_error;
    }
  }
  kept_blocks += failing_memory.alive.load() - before;
  return end;
}
template <class F>
End without_failure(const F& f) {
  return with_failure(INT64_MAX, true, f);
}

/// Calls f once for each of its allocations, with that allocation failing, alone or with all later ones: f throws
/// OutOfMemory or succeeds without the memory. unharmed: called after each failure.
template <class F>
void check_every_failure(const F& f, const std::function<bool()>& unharmed) {
  for (int i = 0; i < 3; ++i) REQUIRE(without_failure(f) == End::done);  // fills caches that later calls use
  const std::int64_t count = allocations_of(f);
  const std::int64_t kept = kept_blocks;
  CHECK(count >= 3);
  std::int64_t failures = 0;
  for (const bool once : {true, false}) {
    for (std::int64_t number = 0; number < count; ++number) {
      const End end = with_failure(number, once, f);
      CAPTURE(number);
      CAPTURE(once);
      CHECK(end != End::other_error);
      failures += end == End::out_of_memory;
      CHECK(unharmed());
      // The pool frees its cached blocks to the system before it fails, and caches blocks again after the next call.
      CHECK(without_failure(f) == End::done);
      CHECK(kept_blocks == kept);
    }
  }
  CHECK(failures > count);
}

nn::StateDict<Cpu> some_state() {
  nn::StateDict<Cpu> state;
  state.add("a weight with a name that does not fit into a string itself", ones({3, 4}));
  state.add("bias", ones<double>({5}));
  state.add("mask", from({true, false}));
  state.add("transposed, so that it is copied", zeros<std::int64_t>({4, 2}).transpose());
  return state;
}

}  // namespace

TEST_CASE("a save that runs out of memory anywhere throws OutOfMemory and leaves the old file, and nothing beside it") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model with a long name.safetensors";
  const auto state = some_state();
  io::save(path, state);
  const std::string before = content_of(path);
  check_every_failure([&] { io::save(path, state); },
                      [&] { return content_of(path) == before && folder.entries() == 1; });
}

TEST_CASE("a load that runs out of memory anywhere throws OutOfMemory, and loses no memory") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model with a long name.safetensors";
  io::save(path, some_state());
  std::size_t size = 0;
  check_every_failure([&] { size = io::load(path).size(); }, [] { return true; });
  CHECK(size == 4);
  check_every_failure([&] { size = io::load_mapped(path).size(); }, [] { return true; });
  CHECK(size == 4);
}

TEST_CASE("a file that is refused while memory runs out throws one of the two errors") {
  const TemporaryFolder folder;
  const std::string header = R"({"a weight with a long name of its own":{"dtype":[[[[[[[[]]]]]]]],"shape":[1]}})";
  std::string text(1, static_cast<char>(header.size()));
  const std::string path = folder.write("file", text + std::string(7, '\0') + header);
  const auto load = [&] {
    try {
      (void)io::load(path);
    } catch (const DataError&) {}
  };
  check_every_failure(load, [] { return true; });
}

namespace {
/// Every kind of part that a run can have, each with a state determined by `seed`.
struct Run {
  nn::BatchNorm1d<float, Cpu> model{3};
  nn::BatchNorm1d<bfloat16, Cpu> of_16_bits{2};
  optim::Adam<float, Cpu> optimizer{model.parameters(), {.lr = 0.05}};
  optim::Adam<bfloat16, Cpu> with_masters{of_16_bits.parameters(), {.lr = 0.05}};
  optim::Scheduler scheduler{optimizer, optim::OneCycleLR{.max_lr = 0.1, .total_steps = 40}};
  optim::GradScaler<Cpu> scaler{};
  using Samples = data::TensorDataset<float>;
  decltype(data::loader<Cpu>(Samples(ones({8, 3})))) loader =
      data::loader<Cpu>(Samples(ones({8, 3})), {.batch_size = 2});
  std::int64_t number = 0;
  History history{};

  explicit Run(int seed) {
    for (int i = 0; i < seed; ++i) scheduler.step();
    for (const auto& parameter : model.parameters()) (void)parameter.value().fill_(static_cast<float>(seed));
    for (const auto& parameter : of_16_bits.parameters())
      (void)parameter.value().fill_(bfloat16(static_cast<float>(seed)));
    optimizer.set_steps({seed, seed});
    (void)optimizer.state(0, 0).fill_(static_cast<float>(seed));
    loader.set_position({1, seed});
    number = seed;
    history.add({seed, 0.5, 1, 2, 3, 4, 5, {{"a metric with a long name", 6}}});
  }
  template <class F>
  auto with_parts(const F& f) {
    return f(model, of_16_bits, optimizer, with_masters, scheduler, scaler, loader, number, history);
  }
  void save(const std::string& path) {
    with_parts([&](auto&... parts) { io::save_training(path, parts...); });
  }
  bool resume(const std::string& path) {
    return with_parts([&](auto&... parts) { return io::resume_training(path, parts...); });
  }
  /// The complete state of the run.
  [[nodiscard]] std::string bytes() {
    std::string all = std::to_string(optimizer.momentum());
    for (const auto& [part, state] : with_parts([](auto&... parts) { return io::detail::states_of(parts...); }))
      for (const auto& entry : state)
        all.append(reinterpret_cast<const char*>(entry.bytes.data()), static_cast<std::size_t>(entry.bytes.elements()));
    return all;
  }
};
}  // namespace

TEST_CASE("a resume that runs out of memory anywhere leaves the run as it was, bit for bit") {
  const TemporaryFolder folder;
  const std::string paths[] = {folder.path / "a run with a long name", folder.path / "another run with a long name"};
  std::string states[2];
  manual_seed(1);
  for (const int i : {0, 1}) {
    Run saved(i + 1);
    saved.save(paths[i]);
    states[i] = saved.bytes();
    manual_seed(2);
  }
  REQUIRE(states[0] != states[1]);
  Run run(2);
  int now = 1;
  bool finds_file = true;
  check_every_failure(
      [&] {
        finds_file = run.resume(paths[1 - now]);
        now = 1 - now;
      },
      [&] {
        REQUIRE(finds_file);
        return run.bytes() == states[now];
      });
  REQUIRE(finds_file);
  CHECK(run.bytes() == states[now]);
}

#if LOCUS_ZLIB && LOCUS_TEST_FAILING_MALLOC
TEST_CASE("reading a compressed data set that runs out of memory anywhere throws OutOfMemory") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "images with a long name of their own.gz";
  std::string idx("\0\0\x08\x01\0\x01\0\0", 8);
  idx += std::string(65536, 'x');
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, idx.data(), static_cast<unsigned>(idx.size())) == static_cast<int>(idx.size()));
  REQUIRE(gzclose(file) == Z_OK);
  std::size_t size = 0;
  check_every_failure([&] { size = data::read_idx(path, 1).bytes.size(); }, [] { return true; });
  CHECK(size == 65536);
}
#endif

TEST_CASE("the graph of a model that runs out of memory anywhere, also within a call of a layer, throws OutOfMemory") {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 3}, nn::Linear<float, Cpu>{3, 2}};
  const Tensor x = ones<float>({1, 4});
  std::size_t nodes = 0;
  const auto draw = [&] {
    nodes = locus::detail::or_out_of_memory({"the graph"}, [&] { return nn::detail::model_graph(model, x).size(); });
  };
  check_every_failure(draw, [] { return nn::detail::layer_observer == nullptr; });
  CHECK(nodes == 4);
}
TEST_CASE("reading CIFAR that runs out of memory anywhere throws OutOfMemory") {
  const TemporaryFolder folder;
  (void)folder.write("test_batch.bin", std::string(5 * 3073, '\1'));
  const std::string path = folder.path;
  std::int64_t size = 0;
  check_every_failure([&] { size = data::cifar10(path, data::Part::test, {.partial = true}).size(); },
                      [] { return true; });
  CHECK(size == 5);
}

#if LOCUS_JPEG && LOCUS_PNG && LOCUS_TEST_FAILING_MALLOC
TEST_CASE("reading images that runs out of memory anywhere throws OutOfMemory") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path / "a class with a long name of its own");
  const std::string path = folder.path;
  const Pixels pixels(3 * 40 * 30, 7);
  for (const auto& image : {jpeg(pixels, 40, 30), jpeg(pixels, 40, 30, {.progressive = true}),
                            png(std::vector<Pixels>(30, Pixels(120, 7)), 40),
                            png(std::vector<Pixels>(30, Pixels(120, 7)), 40, {.interlaced = true})}) {
    (void)folder.write("a class with a long name of its own/1.png", image);
    int pixel = 0;
    check_every_failure(
        [&] {
          const data::ImageFolder images(path, {.size = 8});
          pixel = data::resize_to_cover(data::read_image(images.path(0)), 8)(2, 7, 7);
        },
        [] { return true; });
    CHECK(std::abs(pixel - 7) <= 1);
  }
}
#endif
