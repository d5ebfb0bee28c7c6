// Runs on: host.
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/image_folder.hpp>
#include <locus/data/sets/parts.hpp>
#include <locus/data/transforms/transformed.hpp>

#include <doctest/doctest.h>

#include <support/encoded_images.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

#include <filesystem>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;
using data::ImageFolder;

static_assert(data::Dataset<ImageFolder> && data::Dataset<ImageFolder::Bytes>);

#if LOCUS_JPEG && LOCUS_PNG

namespace {

/// An image of one colour.
std::string colored(std::uint8_t value, unsigned width = 4, unsigned height = 2) {
  return png(std::vector<Pixels>(height, Pixels(3 * width, value)), width);
}

/// Three cats of 10, 20, 30, two dogs of 100 and 110, the last one a JPEG.
struct Animals : TemporaryFolder {
  Animals() {
    fs::create_directories(path / "dog");
    fs::create_directories(path / "cat");
    fs::create_directories(path / ".hidden");
    (void)write("cat/b.PNG", colored(20));
    (void)write("cat/a.png", colored(10));
    (void)write("cat/c.jpeg", colored(30, 2, 4));  // a PNG, by its first bytes
    (void)write("cat/notes.txt", "not an image");
    (void)write("dog/1.png", colored(100, 20, 10));
    (void)write("dog/2.jpg", jpeg(Pixels(3 * 16 * 16, 110), 16, 16));
    (void)write("readme.md", "neither a folder");
  }
};

/// The first pixel of each image, in bytes, and its label.
template <class S>
std::vector<std::pair<int, std::int64_t>> contents(const S& dataset, const data::LoaderOptions& options = {}) {
  std::vector<std::pair<int, std::int64_t>> all;
  for (const auto& [images, labels] : data::loader<Cpu>(dataset, options))
    for (std::int64_t i = 0; i < labels.size(0); ++i)
      all.emplace_back(static_cast<int>(images(i, 0, 0, 0) * 255 + 0.5f), labels(i));
  return all;
}
const std::vector<std::pair<int, std::int64_t>> expected{{10, 0}, {20, 0}, {30, 0}, {100, 1}, {110, 1}};

}  // namespace

TEST_CASE("a folder of images has a class for each folder in it, by their names") {
  const Animals folder;
  const ImageFolder images(folder.path, {.size = 3});
  CHECK(images.size() == 5);
  CHECK(images.classes() == 2);
  CHECK(images.class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(images.path(1) == (folder.path / "cat" / "b.PNG").string());
  CHECK(images.fields() == data::Fields<float, std::int64_t>{{3, 3, 3}, {}});
  for (const int workers : {0, 2}) CHECK(contents(images, {.batch_size = 2, .workers = workers}) == expected);
  CHECK(contents(images.as<double>()) == expected);
  const ImageFolder grey(folder.path, {.size = {1, 2}, .channels = 1});
  CHECK(grey.fields().shapes[0] == Shape{1, 1, 2});
  CHECK(contents(grey) == expected);
  CHECK_THROWS_AS((void)images.path(5), IndexError);
}

TEST_CASE("parts of a folder of images, and its images as bytes") {
  const Animals folder;
  const ImageFolder images(folder.path, {.size = 2});
  const std::int64_t list[] = {4, 0, 3};
  const ImageFolder some = images.subset(Span(list));
  CHECK(contents(some) == std::vector<std::pair<int, std::int64_t>>{{110, 1}, {10, 0}, {100, 1}});
  CHECK(some.subset({}).size() == 0);
  const auto [train, valid] = data::random_split(images, 0.6);
  static_assert(std::is_same_v<decltype(train), const ImageFolder>);
  CHECK(train.size() == 3);
  CHECK(valid.size() == 2);
  const auto [bytes, label] = data::sample(some.compact(), 0);
  CHECK(bytes(2, 1, 1) == 110);
  const auto batch = some.compact().expand(bytes.unsqueeze(0), label.unsqueeze(0));
  CHECK(batch.images(0, 2, 1, 1) == doctest::Approx(110.0 / 255));
  const auto brighter = data::transformed(images, data::Normalize{0, 0.5});
  static_assert(std::is_same_v<decltype(data::sample(brighter, 0)), data::Batch<float, Cpu>>);
  CHECK(contents(brighter)[3] == std::pair<int, std::int64_t>{200, 1});
}

TEST_CASE("what is wrong with a folder of images is said with its name") {
  const Animals folder;
  const std::string root = folder.path;
  CHECK_THROWS_WITH_AS(
      (void)ImageFolder(root + "/none"),
      ("cannot read the folder '" + root +
       "/none': No such file or directory; expected one with a folder of .jpg, .jpeg or .png files for "
       "each class")
          .c_str(),
      DataError);
  CHECK_THROWS_WITH_AS((void)ImageFolder(root + "/cat"), doctest::Contains("/cat' holds no folders; expected one with"),
                       DataError);
  CHECK_THROWS_AS((void)ImageFolder(""), DataError);
  CHECK_THROWS_AS((void)ImageFolder(root, {.channels = 4}), ArgumentError);
  CHECK_THROWS_AS((void)ImageFolder(root, {.size = 0}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)ImageFolder(root, {.size = {2, 1 << 21}}),
                       "ImageFolder: a size of (2, 2097152); expected 1 to 1048576 each", ArgumentError);
  const ImageFolder images(root, {.size = 2});
  (void)folder.write("cat/b.PNG", colored(20).substr(0, 60));
  int batches = 0;
  const auto run = [&] {
    for (const auto& batch : data::loader<Cpu>(images, {.batch_size = 1})) batches += batch.labels(0) == 0;
  };
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("cat/b.PNG' is damaged, 60 bytes of PNG"), DataError);
  CHECK(batches == 1);
  fs::remove(folder.path / "cat/b.PNG");
  CHECK_THROWS_WITH_AS((void)data::sample(images, 1), doctest::Contains("cat/b.PNG': No such file"), DataError);
  fs::create_directories(folder.path / "emu");
  CHECK_THROWS_WITH_AS(
      (void)ImageFolder(root),
      ("the folder '" + root +
       "/emu' holds no images; expected .jpg, .jpeg or .png files of the class 'emu', or no such folder")
          .c_str(),
      DataError);
}

#else
TEST_CASE("folders of images") { SKIP_TEST("built without libjpeg or libpng"); }
#endif
