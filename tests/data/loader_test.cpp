// Runs on: host; alone, race.
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

using namespace locus;
using namespace locus_test;

namespace {

/// Pixels of image i are i (of 255); its label is i.
data::LabelledImages numbered(std::int64_t count) {
  Tensor<std::uint8_t> images({count, 1, 1, 2});
  Tensor<std::int64_t> labels({count});
  for (std::int64_t i = 0; i < count; ++i) {
    images.select(0, i).fill_(static_cast<std::uint8_t>(i));
    labels(i) = i;
  }
  return {images, labels, count};
}

struct Seen {
  std::vector<std::int64_t> sizes, labels;
};
/// One epoch; checks that images go with their labels.
template <class D>
Seen epoch_of(data::Loader<data::LabelledImages, D>& loader) {
  Seen seen;
  for (const auto& [images, labels] : loader) {
    seen.sizes.push_back(labels.size(0));
    CHECK(images.shape() == Shape{labels.size(0), 1, 1, 2});
    const auto numbers = host(labels);
    const auto pixels = host(images);
    for (std::int64_t i = 0; i < labels.size(0); ++i) {
      CHECK(pixels(i, 0, 0, 1) == doctest::Approx(static_cast<double>(numbers(i)) / 255));
      seen.labels.push_back(numbers(i));
    }
  }
  return seen;
}
using Numbers = std::vector<std::int64_t>;

/// Host memory that runs out after some allocations.
struct Scarce {
  friend constexpr bool operator==(Scarce, Scarce) = default;
};
std::string to_string(Scarce) { return "scarce"; }
std::atomic<int> allocations_left{0};

}  // namespace

namespace locus { inline namespace LOCUS_ABI {
template <>
inline constexpr bool can_access<Cpu, Scarce> = true;
template <>
struct Backend<Scarce> {
  static void* allocate(Scarce, std::size_t bytes) {
    if (--allocations_left < 0) fail<OutOfMemory>({"scarce memory: ", bytes, " bytes were asked for"});
    return Backend<Cpu>::allocate({}, bytes);
  }
  static void deallocate(Scarce, void* data, std::size_t bytes) noexcept { Backend<Cpu>::deallocate({}, data, bytes); }
  static MemoryStats memory_stats(Scarce) { return {}; }
};
TEST_CASE("without a GPU a loader for Cuda is refused when its epoch begins") {
  if (cuda::is_available()) SKIP_TEST("a GPU answers here");
  auto loader = data::loader<Cuda>(numbered(3));
  CHECK(loader.size() == 1);
  CHECK_THROWS_AS((void)loader.begin(), CudaUnavailable);
}

}}  // namespace locus::LOCUS_ABI

// Two iterators of one epoch would each get some of its batches.
static_assert(!std::is_copy_constructible_v<data::Loader<data::LabelledImages, Cpu>::Iterator>);
static_assert(std::is_nothrow_move_constructible_v<data::Loader<data::LabelledImages, Cpu>::Iterator>);

TEST_CASE("batches arrive in order, the last one smaller") {
  auto loader = data::loader<Cpu>(numbered(10), {.batch_size = 4});
  CHECK(loader.size() == 3);
  CHECK(loader.batch_size() == 4);
  CHECK(loader.dataset().size() == 10);
  const Seen seen = epoch_of(loader);
  CHECK(seen.sizes == Numbers{4, 4, 2});
  CHECK(seen.labels == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(epoch_of(loader).labels == seen.labels);
}

TEST_CASE_TEMPLATE("pixels are rounded once, to whatever floating-point type", T, half, bfloat16, float, double) {
  std::int64_t next = 0;
  auto loader = data::loader<Cpu>(numbered(256).as<T>(), {.batch_size = 100});
  for (const auto& [images, labels] : loader) {
    for (std::int64_t i = 0; i < labels.size(0); ++i, ++next) {
      const auto factor = static_cast<compute_t<T>>(1.0 / 255.0);
      CHECK(convert<double>(images(i, 0, 0, 1)) ==
            convert<double>(convert<T>(static_cast<compute_t<T>>(next) * factor)));
    }
  }
  CHECK(next == 256);
}

TEST_CASE("drop_last leaves out the smaller batch, and only that") {
  auto loader = data::loader<Cpu>(numbered(10), {.batch_size = 4, .drop_last = true});
  CHECK(loader.size() == 2);
  CHECK(epoch_of(loader).sizes == Numbers{4, 4});
  auto exact = data::loader<Cpu>(numbered(8), {.batch_size = 4, .drop_last = true});
  CHECK(exact.size() == 2);
  CHECK(epoch_of(exact).sizes == Numbers{4, 4});
}

TEST_CASE("a batch larger than the data is all of the data") {
  for (const std::int64_t size : {std::int64_t{10}, std::int64_t{11}, INT64_MAX}) {
    auto loader = data::loader<Cpu>(numbered(10), {.batch_size = size});
    CHECK(loader.size() == 1);
    CHECK(epoch_of(loader).sizes == Numbers{10});
  }
  auto dropped = data::loader<Cpu>(numbered(10), {.batch_size = 11, .drop_last = true});
  CHECK(dropped.size() == 0);
  CHECK(epoch_of(dropped).sizes.empty());
}

TEST_CASE("a loader says which batch comes next, and goes on there") {
  using data::LoaderPosition;
  const auto shuffled = [] { return data::loader<Cpu>(numbered(10), {.batch_size = 4, .shuffle = true, .seed = 3}); };
  auto whole = shuffled();
  CHECK(whole.position() == LoaderPosition{0, 0});
  std::vector<Numbers> labels;
  std::vector<LoaderPosition> next;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : whole) {
      labels.emplace_back(batch.labels.data(), batch.labels.data() + batch.labels.elements());
      next.push_back(whole.position());
    }
  CHECK(whole.position() == LoaderPosition{2, 0});
  CHECK(next == std::vector<LoaderPosition>{{0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}});
  for (std::size_t i = 0; i < next.size(); ++i) {
    CAPTURE(i);
    auto rest = shuffled();
    rest.set_position(next[i]);
    CHECK(rest.position() == (i % 3 == 2 ? LoaderPosition{i / 3 + 1, 0} : next[i]));
    std::size_t at = i + 1;
    while (rest.position().epoch < 2)
      for (const auto& batch : rest) {
        CHECK(Numbers(batch.labels.data(), batch.labels.data() + batch.labels.elements()) == labels.at(at++));
        CHECK(rest.position() == next[at - 1]);
      }
    CHECK(at == labels.size());
  }
  auto none = data::loader<Cpu>(numbered(10), {.batch_size = 11, .drop_last = true});
  none.set_epoch(4);
  CHECK(none.epoch() == 4);
  CHECK_THROWS_WITH_AS(whole.set_position({0, 4}), "loader: a position at batch 4; an epoch has 3", ArgumentError);
  CHECK_THROWS_AS(whole.set_position({0, -1}), ArgumentError);
  CHECK(whole.position() == LoaderPosition{2, 0});
}

TEST_CASE("loaders without a seed shuffle differently, the same again after manual_seed") {
  const auto orders = [] {
    manual_seed(5);
    auto one = data::loader<Cpu>(numbered(50), {.shuffle = true}),
         other = data::loader<Cpu>(numbered(50), {.shuffle = true});
    return std::pair{epoch_of(one).labels, epoch_of(other).labels};
  };
  const auto [one, other] = orders();
  CHECK(one != other);
  CHECK(orders() == std::pair{one, other});
}

TEST_CASE("shuffling visits every sample once, in a new order every epoch, the same for the same seed") {
  const data::LoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 3};
  auto loader = data::loader<Cpu>(numbered(50), options), twin = data::loader<Cpu>(numbered(50), options);
  const auto first = epoch_of(loader).labels, second = epoch_of(loader).labels;
  CHECK(first != second);
  CHECK(epoch_of(twin).labels == first);
  CHECK(epoch_of(twin).labels == second);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 50; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("what is prepared ahead changes nothing but the time") {
  for (const std::int64_t ahead : {1, 2, 3, 100}) {
    auto loader = data::loader<Cpu>(numbered(30), {.batch_size = 4, .ahead = ahead});
    CHECK(epoch_of(loader).sizes == Numbers{4, 4, 4, 4, 4, 4, 4, 2});
  }
}

TEST_CASE("an epoch may be left early, and another begun") {
  auto loader = data::loader<Cpu>(numbered(200), {.batch_size = 1});
  for (int round = 0; round < 20; ++round) {
    int batches = 0;
    for (const auto& batch : loader) {
      CHECK(batch.labels(0) == batches);
      if (++batches == round) break;
    }
  }
  CHECK(epoch_of(loader).labels.size() == 200);
}

TEST_CASE("two epochs of one loader may run at once") {
  auto loader = data::loader<Cpu>(numbered(6), {.batch_size = 2});
  auto a = loader.begin();
  auto b = loader.begin();
  ++a;
  CHECK((*a).labels(0) == 2);
  CHECK((*b).labels(0) == 0);
}

TEST_CASE("batches may be kept after their epoch") {
  std::vector<data::Batch<float, Cpu>> kept;
  auto loader = data::loader<Cpu>(numbered(40), {.batch_size = 4, .ahead = 2});
  for (const auto& batch : loader) kept.push_back(batch);
  CHECK(kept.size() == 10);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].labels(0) == static_cast<std::int64_t>(4 * i));
}

/// Image i, a quarter of a loader's step in size, has i in every pixel.
data::LabelledImages large_images(std::int64_t count) {
  const Tensor<std::uint8_t> images({count, 1, 64, 64});
  const Tensor<std::int64_t> labels({count});
  for (std::int64_t i = 0; i < count; ++i) {
    images.select(0, i).fill_(static_cast<std::uint8_t>(i));
    labels(i) = i;
  }
  return {images, labels, count};
}

TEST_CASE("batches that are prepared part by part are whole") {
  auto loader = data::loader<Cpu>(large_images(30), {.batch_size = 13});
  Numbers sizes;
  std::int64_t position = 0;
  for (const auto& [images, labels] : loader) {
    sizes.push_back(labels.size(0));
    for (std::int64_t i = 0; i < labels.size(0); ++i, ++position) {
      CHECK(labels(i) == position);
      CHECK(images(i, 0, 0, 0) == doctest::Approx(static_cast<double>(position) / 255));
      CHECK(images(i, 0, 63, 63) == images(i, 0, 0, 0));
    }
  }
  CHECK(sizes == Numbers{13, 13, 4});
}

TEST_CASE("a failure in any part of a batch ends the epoch before that batch") {
  struct Astray {
    std::vector<std::int64_t> order(std::uint64_t) const {
      Numbers positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0};
      positions[at] = 99;
      return positions;
    }
    std::int64_t size() const { return 16; }
    std::size_t at;
  };
  for (const std::size_t at : {8U, 12U, 15U}) {
    auto loader = data::loader<Cpu>(large_images(15), Astray{at}, {.batch_size = 8});
    int batches = 0;
    const auto run = [&] {
      for (const auto& batch : loader) batches += batch.labels.size(0) == 8;
    };
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("sample 99 of 15"), IndexError);
    CHECK(batches == 1);
  }
}

TEST_CASE("images without pixels are loaded") {
  const Tensor<std::int64_t> labels({3});
  labels.fill_(0);
  const data::LabelledImages nothing(Tensor<std::uint8_t>({3, 1, 0, 5}), labels, 1);
  auto loader = data::loader<Cpu>(nothing, {.batch_size = 2});
  Numbers sizes;
  for (const auto& batch : loader) sizes.push_back(batch.images.size(0));
  CHECK(sizes == Numbers{2, 1});
}

TEST_CASE("a failure while preparing is thrown where the batch is asked for") {
  allocations_left = 1'000'000;
  auto loader = data::loader<Cpu>(numbered(4));  // another loader runs as ever
  data::Loader<data::LabelledImages, Scarce> scarce(numbered(40), {.batch_size = 4, .ahead = 2}, Scarce{});
  int batches = 0;
  const auto run = [&] {
    for (const auto& batch : scarce) {
      CHECK(batch.labels.data()[0] == 4 * batches);
      ++batches;
      if (batches == 3) allocations_left = 0;
    }
  };
  CHECK_THROWS_AS(run(), OutOfMemory);
  CHECK(batches >= 3);
  CHECK(batches < 10);
  CHECK(epoch_of(loader).sizes == Numbers{4});
}

TEST_CASE("batches are prepared ahead while nobody asks for them") {
  constexpr int before = 1'000'000;
  allocations_left = before;
  data::Loader<data::LabelledImages, Scarce> scarce(numbered(42), {.batch_size = 4, .ahead = 3}, Scarce{});
  const auto first = scarce.begin();
  CHECK((*first).labels.data()[0] == 0);
  // Images and labels of: the batches in use at once, reserved and freed; the first batch; three batches ahead.
  constexpr int expected = 2 * (3 + 2 + 1) + 2 * (1 + 3);
  for (int i = 0; i < 20'000 && before - allocations_left < expected; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(before - allocations_left == expected);
}

TEST_CASE("loaders refuse what makes no sense") {
  CHECK_THROWS_WITH_AS((void)data::loader<Cpu>(data::LabelledImages()), doctest::Contains("empty"), ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(0)), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::loader<Cpu>(numbered(4), {.batch_size = 0}), doctest::Contains("batch_size is 0"),
                       ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(4), {.batch_size = -3}), ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(4), {.ahead = 0}), ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(4), {.ahead = INT64_MAX}), ArgumentError);
}

TEST_CASE("after its first batch a loader takes no memory from the system, however fast or slow it is used") {
  const Tensor<std::uint8_t> images({512, 1, 37, 41});  // of a size that no other test asks for
  const Tensor<std::int64_t> labels({512});
  labels.fill_(0);
  auto loader = data::loader<Cpu>(data::LabelledImages(images, labels, 1), {.batch_size = 8, .shuffle = true});
  std::int64_t allocations = -1;
  for (int epoch = 0; epoch < 3; ++epoch) {
    int batches = 0;
    for (const auto& batch : loader) {
      CHECK(batch.labels.size(0) == 8);
      if (++batches % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const auto now = Backend<Cpu>::memory_stats({}).system_allocations;
      if (allocations < 0) allocations = now;
      CHECK(now == allocations);
    }
  }
}

TEST_CASE("a loader visits what its sampler names, in the sampler's order") {
  const data::SubsetRandomSampler chosen{{1, 3, 5, 7, 9}, 4};
  auto loader = data::loader<Cpu>(numbered(10), chosen, {.batch_size = 2});
  CHECK(loader.size() == 3);
  const Seen first = epoch_of(loader), second = epoch_of(loader);
  CHECK(first.sizes == Numbers{2, 2, 1});
  CHECK(first.labels == chosen.order(0));
  CHECK(second.labels == chosen.order(1));

  struct Backwards {
    std::int64_t count;
    std::int64_t size() const { return count; }
    Numbers order(std::uint64_t) const {
      Numbers positions;
      for (std::int64_t i = count; i > 0; --i) positions.push_back(i - 1);
      return positions;
    }
  };
  auto backwards = data::loader<Cpu>(numbered(4), Backwards{4}, {.batch_size = 3, .drop_last = true});
  CHECK(epoch_of(backwards).labels == Numbers{3, 2, 1});
}

namespace {
/// Its size() is four, whatever its order names.
struct Inconstant {
  std::vector<std::int64_t> named;
  [[nodiscard]] std::int64_t size() const { return 4; }
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t) const { return named; }
};
}  // namespace

TEST_CASE("a loader refuses the order of a sampler that is not as long as the sampler says") {
  for (const std::vector<std::int64_t>& named : {Numbers{}, Numbers{1, 2}, Numbers{0, 1, 2, 3, 0}}) {
    auto loader = data::loader<Cpu>(numbered(4), Inconstant{named});
    CHECK_THROWS_AS((void)loader.begin(), ArgumentError);
  }
  auto loader = data::loader<Cpu>(numbered(4), Inconstant{{3, 3, 0, 1}});
  CHECK(epoch_of(loader).labels == Numbers{3, 3, 0, 1});
}

TEST_CASE("a loader refuses samplers that name nothing, or samples that do not exist") {
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(4), data::SubsetRandomSampler{}), ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(numbered(4), data::RandomSampler{4}, {.shuffle = true}), ArgumentError);
  auto beyond = data::loader<Cpu>(numbered(4), data::SequentialSampler{5});
  CHECK_THROWS_AS((void)epoch_of(beyond), IndexError);
  CHECK_THROWS_AS((void)data::SequentialSampler{-1}.order(0), ArgumentError);
}
