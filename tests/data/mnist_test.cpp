// Runs on: host.
#include <locus/data/sets/fashion_mnist.hpp>
#include <locus/data/sets/mnist.hpp>

#include <doctest/doctest.h>
#include <support/skip.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace locus;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

std::string extent(std::int64_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

/// A folder of the four files of MNIST: image i is filled with i, its label is i % 10.
struct Folder {
  fs::path path = fs::temp_directory_path() / join("locus-mnist-", getpid());

  Folder(std::int64_t train, std::int64_t test) {
    fs::create_directories(path);
    write("train-images-idx3-ubyte", images(train));
    write("train-labels-idx1-ubyte", labels(train));
    write("t10k-images-idx3-ubyte", images(test));
    write("t10k-labels-idx1-ubyte", labels(test));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path / name, std::ios::binary) << content;
  }

  static std::string images(std::int64_t count, std::int64_t height = 28, std::int64_t width = 28) {
    std::string text = "\0\0\x08\3"s + extent(count) + extent(height) + extent(width);
    for (std::int64_t i = 0; i < count; ++i)
      text += std::string(static_cast<std::size_t>(height * width), static_cast<char>(i));
    return text;
  }
  static std::string labels(std::int64_t count) {
    std::string text = "\0\0\x08\1"s + extent(count);
    for (std::int64_t i = 0; i < count; ++i) text += static_cast<char>(i % 10);
    return text;
  }

  /// The error message of Mnist::open for this folder; "opened" if there is none.
  [[nodiscard]] std::string complaint() const {
    try {
      (void)data::Mnist::open(path.string());
    } catch (const DataError& error) {
      return error.what();
    }
    return "opened";
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a test set without images is an empty one") {
  const Folder folder(10, 0);
  const auto digits = data::Mnist::open(folder.path.string());
  CHECK(digits.test.size() == 0);
  CHECK(digits.train.size() + digits.valid.size() == 10);
}

TEST_CASE("MNIST is read from its four files and split at random") {
  const Folder folder(50, 10);
  const auto digits = data::Mnist::open(folder.path.string());
  CHECK(digits.train.size() == 40);
  CHECK(digits.valid.size() == 10);
  CHECK(digits.test.size() == 10);
  CHECK(digits.train.classes() == 10);
  CHECK(digits.train.sample_shape() == Shape{1, 28, 28});
  bool seen[50] = {};
  for (const auto* part : {&digits.train, &digits.valid}) {
    for (std::int64_t i = 0; i < part->size(); ++i) {
      const auto [image, label] = (*part)[i];
      CHECK(image(0, 0, 0) == image(0, 27, 27));
      CHECK(label == image(0, 0, 0) % 10);
      seen[image(0, 0, 0)] = true;
    }
  }
  CHECK(std::all_of(std::begin(seen), std::end(seen), [](bool s) { return s; }));
  CHECK(digits.test[3].first(0, 5, 5) == 3);
}

TEST_CASE("MNIST, Fashion-MNIST and KMNIST are read from files of the same names, part by part") {
  const Folder folder(50, 10);
  const std::string path = folder.path.string();
  for (const auto read : {data::mnist, data::fashion_mnist, data::kmnist}) {
    const auto train = read(path, data::Part::train), test = read(path, data::Part::test);
    CHECK(train.size() == 50);
    CHECK(test.size() == 10);
    CHECK(train.classes() == 10);
    CHECK(train[49].first(0, 27, 27) == 49);
    CHECK(train[49].second == 9);
  }
  fs::remove(folder.path / "t10k-labels-idx1-ubyte");
  CHECK_THROWS_WITH_AS((void)data::kmnist(path, data::Part::test), doctest::Contains("t10k-labels-idx1-ubyte"),
                       DataError);
  CHECK_THROWS_WITH_AS(
      (void)data::fashion_mnist(path, data::Part::test),
      doctest::Contains(
          ("; expected one of them: scripts/data fashion-mnist " + path + " downloads the files").c_str()),
      DataError);
  CHECK_THROWS_WITH_AS((void)data::mnist(path + "/none", data::Part::train),
                       ("there is no folder '" + path +
                        "/none'; expected one that holds train-images-idx3-ubyte (or train-images-idx3-ubyte.gz): "
                        "scripts/data mnist " +
                        path + "/none downloads the files")
                           .c_str(),
                       DataError);
  CHECK(data::fashion_mnist_classes[0] == "T-shirt/top");
  CHECK(data::fashion_mnist_classes[9] == "Ankle boot");
  CHECK(data::kmnist_classes[4] == "na");
}

TEST_CASE("the split depends on the seed, and its size on the fraction") {
  const Folder folder(50, 10);
  const auto first_of = [&](const data::MnistOptions& options) {
    return data::Mnist::open(folder.path.string(), options).valid[0].first(0, 0, 0);
  };
  const auto sizes = data::Mnist::open(folder.path.string(), {.valid_fraction = 0.5});
  CHECK(sizes.valid.size() == 25);
  CHECK(first_of({.seed = 1}) == first_of({.seed = 1}));
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) differs |= first_of({.seed = seed}) != first_of({.seed = 1});
  CHECK(differs);
  CHECK_THROWS_AS((void)data::Mnist::open(folder.path.string(), {.valid_fraction = -0.1}), ArgumentError);
}

TEST_CASE("what is wrong with MNIST's files is said with the file's name") {
  const Folder folder(20, 10);
  CHECK(folder.complaint() == "opened");
  const std::string images = "train-images-idx3-ubyte", labels = "t10k-labels-idx1-ubyte";

  folder.write(images, Folder::images(20).substr(0, 20 * 784 - 100));
  CHECK(contains(folder.complaint(), images));
  CHECK(contains(folder.complaint(), "truncated"));
  folder.write(images, Folder::images(20) + "x");
  CHECK(contains(folder.complaint(), "goes on"));
  folder.write(images, "\1\2\3\4"s + Folder::images(20).substr(4));
  CHECK(contains(folder.complaint(), images));
  folder.write(images, Folder::labels(20));
  CHECK(contains(folder.complaint(), images));
  folder.write(images, "");
  CHECK(contains(folder.complaint(), images));
  folder.write(images, Folder::images(20, 28, 27));
  CHECK(contains(folder.complaint(), "28 x 27"));
  folder.write(images, Folder::images(19));
  CHECK(contains(folder.complaint(), "19 images"));
  CHECK(contains(folder.complaint(), "20 labels"));
  folder.write(images, Folder::images(20));

  auto bad_label = Folder::labels(10);
  bad_label[8 + 7] = 10;
  folder.write(labels, bad_label);
  CHECK(contains(folder.complaint(), labels));
  CHECK(contains(folder.complaint(), "label 7 is 10; expected 0 to 9"));
  fs::remove(folder.path / labels);
  CHECK(contains(folder.complaint(), labels));
  CHECK_THROWS_WITH_AS((void)data::Mnist::open(folder.path / "nowhere"), doctest::Contains("nowhere"), DataError);
}

TEST_CASE("drawn digits come in the sizes asked for, the same for the same seed") {
  const auto digits = data::Mnist::draw(100, {.seed = 3}), again = data::Mnist::draw(100, {.seed = 3}),
             other = data::Mnist::draw(100, {.seed = 4});
  CHECK(digits.train.size() == 80);
  CHECK(digits.valid.size() == 20);
  CHECK(digits.test.size() == 20);
  CHECK(digits.train.sample_shape() == Shape{1, 28, 28});
  const auto sum_of = [](const data::LabelledImages& part) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < part.size(); ++i)
      for (std::int64_t y = 0; y < 28; ++y)
        for (std::int64_t x = 0; x < 28; ++x) sum = (sum * 31 + part[i].first(0, y, x)) % 1'000'003;
    return sum;
  };
  CHECK(sum_of(digits.train) == sum_of(again.train));
  CHECK(sum_of(digits.train) != sum_of(other.train));
  CHECK(sum_of(digits.valid) != sum_of(digits.test));
  CHECK_THROWS_AS((void)data::Mnist::draw(-1), ArgumentError);
  CHECK_THROWS_AS((void)data::Mnist::draw(4), ArgumentError);
  const auto all = data::Mnist::draw(20, {.valid_fraction = 0});
  CHECK(all.train.size() == 20);
  CHECK(all.valid.size() == 0);
}

TEST_CASE("the real MNIST") {
  const char* const data = std::getenv("LOCUS_DATA");
  const fs::path folder = fs::path(data ? data : "") / "mnist";
  if (!data || !fs::exists(folder)) SKIP_TEST("$LOCUS_DATA/mnist is not here");
  const auto digits = data::Mnist::open(folder.string());
  CHECK(digits.train.size() == 48000);
  CHECK(digits.valid.size() == 12000);
  CHECK(digits.test.size() == 10000);
  int seen[10] = {};
  for (std::int64_t i = 0; i < digits.test.size(); ++i) ++seen[digits.test[i].second];
  CHECK(seen[0] == 980);
  CHECK(seen[1] == 1135);
  CHECK(seen[9] == 1009);
  const auto [image, label] = digits.test[0];
  CHECK(label == 7);
  CHECK(image(0, 7, 6) == 84);
}
