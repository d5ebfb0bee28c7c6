// Runs on: host.
#include <locus/core/rng.hpp>
#include <locus/data/sets/cifar.hpp>

#include <doctest/doctest.h>

#include <support/fuzz.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;
using data::Part;

namespace {

/// Records whose labels are those given, and whose pixel k of image i is i + k, in bytes.
std::string records(std::initializer_list<std::string> labels, int first = 0) {
  std::string text;
  for (const auto& label : labels) {
    text += label;
    for (int k = 0; k < 3072; ++k) text += static_cast<char>(first + k);
    ++first;
  }
  return text;
}

std::string label(int a) { return {static_cast<char>(a)}; }
std::string label(int a, int b) { return {static_cast<char>(a), static_cast<char>(b)}; }

const data::CifarOptions partial{.partial = true};

/// The five files of CIFAR-10 to train with, of two images each.
void write_batches(const TemporaryFolder& folder) {
  for (int i = 0; i < 5; ++i)
    (void)folder.write(join("data_batch_", i + 1, ".bin"), records({label(i), label(9 - i)}, 2 * i));
}

std::string complaint(const TemporaryFolder& folder, Part part, const data::CifarOptions& options) {
  return message_of<DataError>([&] { (void)data::cifar10(folder.path, part, options); });
}

}  // namespace

TEST_CASE("CIFAR-10 is read from its five files, planes of red, green and blue") {
  const TemporaryFolder folder;
  write_batches(folder);
  const auto images = data::cifar10(folder.path, Part::train, partial);
  CHECK(images.size() == 10);
  CHECK(images.classes() == 10);
  CHECK(images.sample_shape() == Shape{3, 32, 32});
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto [image, label] = images[i];
    CHECK(label == (i % 2 ? 9 - i / 2 : i / 2));
    CHECK(image(0, 0, 5) == i + 5);
    CHECK(image(2, 31, 30) == (i + 3070) % 256);
  }
  (void)folder.write("test_batch.bin", records({label(3)}, 7));
  CHECK(data::cifar10(folder.path.string() + "/", Part::test, partial)[0].second == 3);
}

TEST_CASE("images of CIFAR keep their places, however many a file holds") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 150; ++i) text += records({label(i % 10)}, i);
  (void)folder.write("test_batch.bin", text);
  const auto images = data::cifar10(folder.path, Part::test, partial);
  REQUIRE(images.size() == 150);
  for (std::int64_t i = 0; i < 150; ++i) {
    const auto [image, label] = images[i];
    REQUIRE(label == i % 10);
    REQUIRE(image(0, 0, 0) == i);
    REQUIRE(image(2, 31, 31) == (i + 3071) % 256);
  }
}

TEST_CASE("the folder that CIFAR's archive unpacks to is found, too") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path / "cifar-10-batches-bin");
  fs::create_directories(folder.path / "cifar-100-binary");
  (void)folder.write("cifar-10-batches-bin/test_batch.bin", records({label(3)}));
  (void)folder.write("cifar-100-binary/test.bin", records({label(3, 4)}));
  CHECK(data::cifar10(folder.path, Part::test, partial).size() == 1);
  CHECK(data::cifar100(folder.path, Part::test, {.partial = true}).size() == 1);
}

TEST_CASE("CIFAR-100 has fine labels and coarse ones") {
  const TemporaryFolder folder;
  (void)folder.write("train.bin", records({label(19, 99), label(0, 7)}, 100));
  const auto fine = data::cifar100(folder.path, Part::train, {.partial = true});
  const auto coarse = data::cifar100(folder.path, Part::train, {.labels = data::CifarLabels::coarse, .partial = true});
  CHECK(fine.classes() == 100);
  CHECK(fine[0].second == 99);
  CHECK(fine[1].second == 7);
  CHECK(coarse.classes() == 20);
  CHECK(coarse[0].second == 19);
  CHECK(coarse[1].second == 0);
  CHECK(fine[1].first(0, 0, 1) == 102);
  CHECK(fine[1].first(2, 31, 31) == (101 + 3071) % 256);
}

TEST_CASE("the classes of CIFAR have names, in the order of the labels") {
  CHECK(data::cifar10_classes[3] == "cat");
  CHECK(data::cifar10_classes[9] == "truck");
  CHECK(data::cifar100_classes[0] == "apple");
  CHECK(data::cifar100_classes[99] == "worm");
  CHECK(std::is_sorted(data::cifar100_classes.begin(), data::cifar100_classes.end()));
  CHECK(data::cifar100_superclasses[19] == "vehicles_2");
  CHECK(std::is_sorted(data::cifar100_superclasses.begin(), data::cifar100_superclasses.end()));
}

TEST_CASE("whole files of CIFAR are read without an option, and fewer images only with it") {
  const TemporaryFolder folder;
  const auto write_zeros = [&](const char* name, std::int64_t bytes) {
    fs::resize_file(folder.write(name, ""), static_cast<std::uintmax_t>(bytes));
  };
  write_zeros("test_batch.bin", 30'730'000);
  write_zeros("test.bin", 30'740'000);
  CHECK(data::cifar10(folder.path, Part::test).size() == 10'000);
  CHECK(data::cifar100(folder.path, Part::test).size() == 10'000);
  write_zeros("test_batch.bin", 30'730'000 - 3073);
  CHECK(
      complaint(folder, Part::test, {}) ==
      "'" + folder.path.string() +
          "/test_batch.bin' holds 30726927 bytes; expected 10000 images of 3073 bytes, 30730000; it is truncated: copy "
          "or download it again, or take its images by .partial = true");
  CHECK(complaint(folder, Part::test, partial) == "");
  write_zeros("test_batch.bin", std::int64_t{3073} << 30);  // a terabyte that takes no room
  CHECK(contains(complaint(folder, Part::test, {}), "expected 10000 images of 3073 bytes, 30730000; it is another"));
  CHECK(contains(complaint(folder, Part::test, partial), "expected at most 10000 images"));
}

TEST_CASE("what is wrong with CIFAR's files is said with the file's name, the sizes and a remedy") {
  const TemporaryFolder folder;
  const std::string root = folder.path;
  CHECK(complaint(folder, Part::train, {}) ==
        "the folder '" + root +
            "' holds no data_batch_1.bin; expected the files of CIFAR-10's binary version: unpack "
            "cifar-10-binary.tar.gz there, as scripts/data cifar10 " +
            root + " does");
  fs::create_directories(folder.path / "cifar-10-batches-py");
  CHECK(contains(complaint(folder, Part::train, {}), "but cifar-10-batches-py, a version for Python; expected"));
  const std::string none = root + "/none";
  CHECK_THROWS_WITH_AS((void)data::cifar100(none, Part::train),
                       ("there is no folder '" + none +
                        "'; expected one that holds train.bin: unpack cifar-100-binary.tar.gz there, as scripts/data "
                        "cifar100 " +
                        none + " does")
                           .c_str(),
                       DataError);
  CHECK_THROWS_AS((void)data::cifar10("", Part::test), DataError);
  CHECK_THROWS_AS((void)data::cifar10(root + std::string(1, '\0'), Part::test), DataError);

  write_batches(folder);
  CHECK(complaint(folder, Part::train, partial) == "");
  fs::remove(folder.path / "data_batch_4.bin");
  CHECK(complaint(folder, Part::train, partial) ==
        "cannot read '" + root +
            "/data_batch_4.bin': No such file or directory; expected a file of CIFAR-10's binary version");
  fs::create_directories(folder.path / "data_batch_4.bin");
  CHECK(
      contains(complaint(folder, Part::train, partial), "data_batch_4.bin' is a folder; expected a file of CIFAR-10"));
  fs::remove(folder.path / "data_batch_4.bin");
  write_batches(folder);
  const std::string whole = records({label(1), label(2)});
  (void)folder.write("data_batch_3.bin", whole.substr(0, whole.size() - 100));
  CHECK(
      complaint(folder, Part::train, partial) ==
      "'" + root +
          "/data_batch_3.bin' holds 6046 bytes; expected at most 10000 images of 3073 bytes, 30730000, and whole ones; "
          "it is truncated: copy or download it again");
  (void)folder.write("data_batch_3.bin", "");
  CHECK(contains(complaint(folder, Part::train, partial), "data_batch_3.bin' holds 0 bytes"));
  (void)folder.write("data_batch_3.bin", records({label(1), label(10)}));
  CHECK(complaint(folder, Part::train, partial) ==
        "'" + root +
            "/data_batch_3.bin': label 0 of image 1 is 10; expected 0 to 9: is it a file of CIFAR-10? Otherwise it is "
            "damaged: copy or download it again");
  (void)folder.write("train.bin", records({label(20, 0)}));
  CHECK_THROWS_WITH_AS((void)data::cifar100(root, Part::train, {.partial = true}),
                       doctest::Contains("label 0 of image 0 is 20; expected 0 to 19"), DataError);
  (void)folder.write("train.bin", records({label(0, 100)}));  // also where the other label is wanted
  CHECK_THROWS_WITH_AS((void)data::cifar100(root, Part::train, {.labels = data::CifarLabels::coarse, .partial = true}),
                       doctest::Contains("label 1 of image 0 is 100; expected 0 to 99"), DataError);
}

TEST_CASE("files of CIFAR that are damaged anywhere are read with labels in range, or refused") {
  const TemporaryFolder folder;
  const std::string whole = records({label(1, 2), label(3, 4), label(19, 99)});
  Philox random(fuzz_seed(1));
  std::int64_t read = 0, refused = 0;
  for (std::int64_t i = 0, count = fuzz_count(300); i < count; ++i) {
    auto damaged = whole;
    for (std::int64_t flips = random.bounded(4); flips > 0; --flips) {
      // Every second one within the labels, where it matters.
      const auto at = static_cast<std::size_t>(random.bounded(2) ? 3074 * random.bounded(3) + random.bounded(2)
                                                                 : random.bounded(3 * 3074));
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.bounded(8)));
    }
    if (random.bounded(2)) damaged.resize(static_cast<std::size_t>(random.bounded(5) * 3074));
    else if (random.bounded(3) == 0) damaged.resize(static_cast<std::size_t>(random.bounded(3 * 3074)));
    (void)folder.write("train.bin", damaged);
    (void)folder.write("test_batch.bin", damaged);
    for (const bool is_fine : {false, true}) {
      try {
        const auto labels = is_fine ? data::CifarLabels::fine : data::CifarLabels::coarse;
        const auto images = data::cifar100(folder.path, Part::train, {.labels = labels, .partial = true});
        REQUIRE(images.size() * 3074 == static_cast<std::int64_t>(damaged.size()));
        ++read;
      } catch (const DataError& error) {
        REQUIRE(std::string(error.what()).find("train.bin") != std::string::npos);
        ++refused;
      }
    }
    const auto other = complaint(folder, Part::test, partial);
    REQUIRE((other.empty() || other.find("test_batch.bin") != std::string::npos));
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("the real CIFAR-10") {
  const char* const data = std::getenv("LOCUS_DATA");
  const fs::path folder = fs::path(data ? data : "") / "cifar10";
  if (!data || !(fs::exists(folder / "test_batch.bin") || fs::exists(folder / "cifar-10-batches-bin")))
    SKIP_TEST("$LOCUS_DATA/cifar10 holds no test_batch.bin");
  for (const auto part : {Part::train, Part::test}) {
    const auto images = data::cifar10(folder, part);
    const std::int64_t each = part == Part::train ? 5000 : 1000;
    CHECK(images.size() == 10 * each);
    std::int64_t seen[10] = {}, sums[3] = {};
    for (std::int64_t i = 0; i < images.size(); ++i) {
      const auto [image, label] = images[i];
      ++seen[label];
      for (std::int64_t k = 0; k < 3072; ++k) sums[k / 1024] += image.data()[k];
    }
    CHECK(std::all_of(std::begin(seen), std::end(seen), [&](auto count) { return count == each; }));
    const double means[] = {0.491, 0.482, 0.447};  // of red, green and blue
    for (int c = 0; c < 3; ++c)
      CHECK(static_cast<double>(sums[c]) / (255.0 * 1024 * 10) / static_cast<double>(each) ==
            doctest::Approx(means[c]).epsilon(0.02));
  }
}
