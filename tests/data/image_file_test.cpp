// Runs on: host.
#include <locus/core/rng.hpp>
#include <locus/data/files/image_file.hpp>
#include <locus/data/files/resize_image.hpp>

#include <doctest/doctest.h>

#include <support/child.hpp>
#include <support/encoded_images.hpp>
#include <support/fuzz.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>

#if LOCUS_ZLIB
#include <zlib.h>
#endif

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

namespace {

std::string complaint(const std::string& text, const data::ImageOptions& options = {}) {
  return message_of<DataError>([&] { (void)decoded(text, options); });
}
std::vector<int> values(const Tensor<std::uint8_t>& x) { return {x.data(), x.data() + x.elements()}; }

/// Smooth, so that JPEG keeps it.
[[maybe_unused]] Pixels gradient(unsigned width, unsigned height, unsigned components) {
  Pixels pixels;
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x)
      for (unsigned c = 0; c < components; ++c)
        pixels.push_back(static_cast<std::uint8_t>(c == 0 ? 3 * x + y : c == 1 ? 200 - 2 * x : 40 + 3 * y));
  return pixels;
}

}  // namespace

#if LOCUS_PNG

TEST_CASE("a PNG gives its pixels, planes of red, green and blue") {
  const auto image = decoded(png({{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 255}}, 2));
  CHECK(image.shape() == Shape{3, 2, 2});
  CHECK(values(image) == std::vector{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 255});
  const auto grey = decoded(png({{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 255}}, 2), {.channels = 1});
  CHECK(values(grey) == std::vector{2, 5, 8, 39});  // 0.299 red, 0.587 green, 0.114 blue, rounded
}

TEST_CASE("PNGs of every kind") {
  CHECK(values(decoded(png({{10, 200}}, 2, {.type = PNG_COLOR_TYPE_GRAY}))) == std::vector{10, 200, 10, 200, 10, 200});
  CHECK(decoded(png({{10, 200}}, 2, {.type = PNG_COLOR_TYPE_GRAY}), {.channels = 0}).shape() == Shape{1, 1, 2});
  CHECK(decoded(png({{1, 2, 3}}, 1), {.channels = 0}).shape() == Shape{3, 1, 1});
  const data::ImageOptions grey{.channels = 1};
  CHECK(values(decoded(png({{0b10110000}}, 4, {.type = PNG_COLOR_TYPE_GRAY, .depth = 1}), grey)) ==
        std::vector{255, 0, 255, 255});
  CHECK(values(decoded(png({{0x1b}}, 4, {.type = PNG_COLOR_TYPE_GRAY, .depth = 2}), grey)) ==
        std::vector{0, 85, 170, 255});
  CHECK(values(decoded(png({{0x80, 0x00, 0xff, 0xff}}, 2, {.type = PNG_COLOR_TYPE_GRAY, .depth = 16}), grey)) ==
        std::vector{128, 255});
  CHECK(values(decoded(png({{1, 2, 3, 9}}, 1, {.type = PNG_COLOR_TYPE_RGB_ALPHA}))) == std::vector{1, 2, 3});
  CHECK(values(decoded(png({{7, 0}}, 1, {.type = PNG_COLOR_TYPE_GRAY_ALPHA}), grey)) == std::vector{7});
  const std::vector<png_color> palette{{1, 2, 3}, {4, 5, 6}, {250, 251, 252}};
  CHECK(values(decoded(png({{0x18}}, 3, {.type = PNG_COLOR_TYPE_PALETTE, .depth = 2, .palette = palette}))) ==
        std::vector{1, 4, 250, 2, 5, 251, 3, 6, 252});
  std::vector<Pixels> rows;
  for (int y = 0; y < 9; ++y) {
    const Pixels all = gradient(7, 9, 3);
    rows.emplace_back(all.begin() + 21 * y, all.begin() + 21 * (y + 1));
  }
  CHECK(values(decoded(png(rows, 7, {.interlaced = true}))) == values(decoded(png(rows, 7))));
}

#if LOCUS_ZLIB
TEST_CASE("compressed texts of a PNG are passed over: they take no memory") {
  const std::string plain = png({{1, 2, 3}}, 1), text(7'900'000, 'x');
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                    text.size(), 9) == Z_OK);
  const std::string content = std::string("zTXtkey\0\0", 9) + packed.substr(0, size);
  const auto big_endian = [](std::uint64_t number) {
    std::string bytes;
    for (int i = 24; i >= 0; i -= 8) bytes += static_cast<char>(number >> i);
    return bytes;
  };
  const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  std::string texts;
  for (int i = 0; i < 50; ++i) texts += big_endian(content.size() - 4) + content + big_endian(checksum);
  const std::string bomb = plain.substr(0, 33) + texts + plain.substr(33);  // behind the header
  const auto most_memory = [] {                                             // in kilobytes
    rusage usage{};
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  (void)malloc_trim(0);
  const int status = status_of_child([&] {  // its peak begins at the memory in use here now
    const auto before = most_memory();
    std::vector<int> pixels;
    if (!message_of<Error>([&] { pixels = values(decoded(bomb)); }).empty() || pixels != std::vector{1, 2, 3}) return 1;
    return before > 0 && most_memory() - before < 100'000 ? 0 : 2;
  });
  CHECK(status == 0);
}
#endif

TEST_CASE("a PNG that promises more than it holds is refused without memory for it") {
  std::string text = png({{1, 2, 3}}, 1);
  // Width and height in the header, and its checksum, which libpng verifies.
  const auto with_size = [&](std::uint32_t width, std::uint32_t height) {
    std::string lying = text;
    for (int i = 0; i < 4; ++i) {
      lying[static_cast<std::size_t>(16 + i)] = static_cast<char>(width >> (24 - 8 * i));
      lying[static_cast<std::size_t>(20 + i)] = static_cast<char>(height >> (24 - 8 * i));
    }
    std::uint32_t crc = 0xffffffffu;
    for (std::size_t i = 12; i < 29; ++i) {
      crc ^= static_cast<std::uint8_t>(lying[i]);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int i = 0; i < 4; ++i) lying[static_cast<std::size_t>(29 + i)] = static_cast<char>(~crc >> (24 - 8 * i));
    return lying;
  };
  CHECK(complaint(with_size(1, 1)).empty());
  CHECK(contains(complaint(with_size(8000, 8000)), "the image promises 8000 x 8000 pixels, more than its "));
  CHECK(contains(complaint(with_size(100'000, 100'000)),
                 "the image has 100000 x 100000 pixels; expected at most 67108864, or a larger .most_pixels"));
  CHECK(contains(complaint(with_size(0x7fffffffu, 0x7fffffffu)), "the image is damaged, "));
  CHECK(contains(complaint(with_size(1, 2)), "the image is damaged, "));
  CHECK(contains(complaint(text, {.most_pixels = 0}), "has 1 x 1 pixels; expected at most 0"));
}

#endif
#if LOCUS_JPEG

namespace {
/// A JPEG with a block of EXIF data that says its orientation, after the first two bytes.
[[maybe_unused]] std::string with_orientation(const std::string& jpeg, int orientation, bool big, int tag = 0x0112) {
  std::string tiff = big ? "MM" : "II";
  const auto add = [&](unsigned number, int bytes) {
    for (int i = 0; i < bytes; ++i) tiff += static_cast<char>(number >> 8 * (big ? bytes - 1 - i : i) & 0xff);
  };
  add(42, 2), add(8, 4), add(2, 2);                          // two entries from byte 8 on
  add(0x010f, 2), add(2, 2), add(4, 4), add(0, 4);           // a maker
  add(static_cast<unsigned>(tag), 2), add(3, 2), add(1, 4);  // the orientation
  add(static_cast<unsigned>(orientation), 2), add(0, 2), add(0, 4);
  const std::string block = std::string("Exif\0\0", 6) + tiff;
  const std::size_t length = block.size() + 2;
  return jpeg.substr(0, 2) + "\xff\xe1" + static_cast<char>(length >> 8) + static_cast<char>(length & 0xff) + block +
         jpeg.substr(2);
}
}  // namespace

TEST_CASE("JPEGs are turned as the camera noted, where that is wanted") {
  const std::string plain = jpeg(gradient(40, 24, 3), 40, 24);
  const auto image = decoded(plain);
  const data::ImageOptions upright{.apply_exif_orientation = true};
  const auto last = [](std::int64_t i, std::int64_t n) { return n - 1 - i; };
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big : {false, true}) {
      CAPTURE(orientation);
      const std::string text = with_orientation(plain, orientation, big);
      CHECK(values(decoded(text)) == values(image));
      const auto turned = decoded(text, upright);
      const std::int64_t h = 24, w = 40;
      REQUIRE(turned.shape() == (orientation < 5 ? Shape{3, h, w} : Shape{3, w, h}));
      bool same = true;
      for (std::int64_t y = 0; y < turned.size(1); ++y)
        for (std::int64_t x = 0; x < turned.size(2); ++x) {
          // Where the first row and the first column of the file are to be seen, by the standard: top and left, top and
          // right, bottom and right, bottom and left; left and top, right and top, right and bottom, left and bottom.
          const std::int64_t rows[] = {y, y, last(y, h), last(y, h), x, last(x, h), last(x, h), x};
          const std::int64_t columns[] = {x, last(x, w), last(x, w), x, y, y, last(y, w), last(y, w)};
          same &= turned(1, y, x) == image(1, rows[orientation - 1], columns[orientation - 1]);
        }
      CHECK(same);
    }
}

TEST_CASE("EXIF data that makes no sense turns nothing") {
  const std::string plain = jpeg(gradient(8, 4, 3), 8, 4);
  const data::ImageOptions upright{.apply_exif_orientation = true};
  CHECK(decoded(with_orientation(plain, 6, false), upright).shape() == Shape{3, 8, 4});
  CHECK(decoded(with_orientation(plain, 9, false), upright).shape() == Shape{3, 4, 8});
  CHECK(decoded(with_orientation(plain, 0, true), upright).shape() == Shape{3, 4, 8});
  CHECK(decoded(with_orientation(plain, 6, true, 0x0113), upright).shape() == Shape{3, 4, 8});
  const std::string whole = with_orientation(plain, 6, false).substr(6, 46);
  const auto orientation_of = [](const std::string& text) {
    return data::detail::exif_orientation({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  CHECK(orientation_of(whole) == 6);
  for (std::size_t length = 0; length < 40; ++length) CHECK(orientation_of(whole.substr(0, length)) == 1);
  Philox random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k)
      damaged[static_cast<std::size_t>(random.bounded(46))] = static_cast<char>(random.bounded(256));
    const int orientation = orientation_of(damaged);
    REQUIRE(orientation >= 1);
    REQUIRE(orientation <= 8);
  }
}

TEST_CASE("a JPEG gives its pixels, within what it loses") {
  const Pixels pixels = gradient(40, 24, 3);
  for (const bool progressive : {false, true}) {
    const auto image = decoded(jpeg(pixels, 40, 24, {.progressive = progressive}));
    REQUIRE(image.shape() == Shape{3, 24, 40});
    for (int i = 0; i < 24 * 40; ++i)
      for (int c = 0; c < 3; ++c)
        REQUIRE(std::abs(int{image.data()[c * 24 * 40 + i]} - int{pixels[static_cast<std::size_t>(3 * i + c)]}) <= 6);
  }
  const Pixels grey = gradient(9, 5, 1);
  const auto image = decoded(jpeg(grey, 9, 5, {.components = 1, .space = JCS_GRAYSCALE}), {.channels = 0});
  REQUIRE(image.shape() == Shape{1, 5, 9});
  for (std::size_t i = 0; i < 45; ++i) REQUIRE(std::abs(int{image.data()[i]} - int{grey[i]}) <= 3);
  CHECK(decoded(jpeg(grey, 9, 5, {.components = 1, .space = JCS_GRAYSCALE})).shape() == Shape{3, 5, 9});
}

TEST_CASE("a JPEG of inks gives what they let through") {
  Pixels inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {255, 128, 64, 128});  // as Adobe stores them, inverted
  std::string text = jpeg(inks, 8, 8, {.components = 4, .space = JCS_CMYK, .quality = 100});
  const auto image = decoded(text);
  REQUIRE(image.shape() == Shape{3, 8, 8});
  CHECK(std::abs(int{image(0, 3, 3)} - 128) <= 2);
  CHECK(std::abs(int{image(1, 3, 3)} - 64) <= 2);
  CHECK(std::abs(int{image(2, 3, 3)} - 32) <= 2);
  const auto marker = text.find("\xff\xee");  // Adobe's, of 14 bytes after its name; without it inks are as they are
  REQUIRE(marker != std::string::npos);
  const auto plain = decoded(text.erase(marker, 16));
  CHECK(int{plain(0, 3, 3)} <= 2);
  CHECK(std::abs(int{plain(1, 3, 3)} - 63) <= 2);
  CHECK(std::abs(int{plain(2, 3, 3)} - 95) <= 2);
}

TEST_CASE("a JPEG that promises more than it holds, or takes too long, is refused") {
  std::string text = jpeg(gradient(8, 8, 3), 8, 8);
  const auto at = text.find("\xff\xc0");  // the frame: its length, 8 bits, height, width
  REQUIRE(at != std::string::npos);
  const auto with_size = [&](int width, int height) {
    std::string lying = text;
    lying[at + 5] = static_cast<char>(height >> 8), lying[at + 6] = static_cast<char>(height);
    lying[at + 7] = static_cast<char>(width >> 8), lying[at + 8] = static_cast<char>(width);
    return lying;
  };
  CHECK(contains(complaint(with_size(8, 64)), "the image is damaged, "));
  CHECK(contains(complaint(with_size(8000, 8000)), "the image promises 8000 x 8000 pixels, more than its "));
  CHECK(contains(complaint(with_size(65500, 65500)), "has 65500 x 65500 pixels; expected at most 67108864"));
  // The last scan of a progressive one, a thousand times.
  const std::string progressive =
      jpeg(gradient(8, 8, 1), 8, 8, {.components = 1, .space = JCS_GRAYSCALE, .progressive = true});
  const auto scan = progressive.rfind("\xff\xda");
  std::string many = progressive.substr(0, scan);
  for (int i = 0; i < 1000; ++i) many += progressive.substr(scan, progressive.size() - scan - 2);
  CHECK(contains(complaint(many + "\xff\xd9"), "it has more than 500 scans"));
}

#endif
#if LOCUS_JPEG && LOCUS_PNG

TEST_CASE("images that are cut short anywhere are refused") {
  const std::string images[] = {jpeg(gradient(16, 9, 3), 16, 9), jpeg(gradient(16, 9, 3), 16, 9, {.progressive = true}),
                                png({Pixels(30, 9), Pixels(30, 7)}, 10),
                                png({Pixels(30, 9), Pixels(30, 7)}, 10, {.interlaced = true})};
  for (const auto& image : images)
    for (std::size_t length = 0; length < image.size(); ++length) {
      CAPTURE(length);
      const bool is_whole = image[0] == '\xff' && length + 2 >= image.size();  // all of a JPEG but its end marker
      REQUIRE((is_whole || !complaint(image.substr(0, length)).empty()));
    }
}

TEST_CASE("images with any bytes changed are read in their size, or refused") {
  const std::string images[] = {
      jpeg(gradient(40, 24, 3), 40, 24), jpeg(gradient(40, 24, 3), 40, 24, {.progressive = true}),
      jpeg(gradient(9, 9, 4), 9, 9, {.components = 4, .space = JCS_CMYK}),
      png({Pixels(60, 9), Pixels(60, 7), Pixels(60, 1)}, 20),
      png({Pixels(20, 1), Pixels(20, 2)}, 20, {.type = PNG_COLOR_TYPE_PALETTE, .palette = std::vector<png_color>(3)})};
  Philox random(fuzz_seed(1));
  std::int64_t read = 0, refused = 0;
  for (std::int64_t i = 0, count = fuzz_count(3000); i < count; ++i) {
    std::string image = images[random.bounded(5)];
    for (std::int64_t flips = 1 + random.bounded(5); flips > 0; --flips)
      image[static_cast<std::size_t>(random.bounded(static_cast<std::int64_t>(image.size())))] =
          static_cast<char>(random());
    if (random.bounded(4) == 0)
      image.resize(static_cast<std::size_t>(random.bounded(static_cast<std::int64_t>(image.size()))));
    try {
      const auto tensor = decoded(image, {.channels = random.bounded(2) ? 3 : 1, .most_pixels = 1 << 20});
      REQUIRE(tensor.elements() > 0);
      ++read;
    } catch (const DataError&) {
      ++refused;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("image files are told apart by their first bytes, and named in messages") {
  const TemporaryFolder folder;
  CHECK(data::read_image(folder.write("a.txt", png({{1, 2, 3}}, 1))).shape() == Shape{3, 1, 1});
  CHECK(data::read_image(folder.write("a.png", jpeg(gradient(8, 8, 3), 8, 8))).shape() == Shape{3, 8, 8});
  const auto says = [&](const std::string& content) {
    return message_of<DataError>([&] { (void)data::read_image(folder.write("b.png", content)); });
  };
  const std::string name = "'" + (folder.path / "b.png").string() + "'";
  CHECK(says("") == name + " is empty; expected an image of one of these formats");
  CHECK(says("GIF89a..") ==
        name + " is neither JPEG nor PNG: it begins with 'GIF89a..'; expected an image of one of these formats");
  CHECK(says(png({{1, 2, 3}}, 1).substr(0, 45)) ==
        name + " is damaged, 45 bytes of PNG: it ends early; copy or download it again");
  const auto truncated = says(jpeg(gradient(64, 64, 3), 64, 64).substr(0, 900));
  CHECK(truncated == name + " is damaged, 900 bytes of JPEG: Premature end of JPEG file; copy or download it again");
  CHECK_THROWS_WITH_AS((void)data::read_image(folder.path / "c.png"), doctest::Contains("expected a JPEG or PNG image"),
                       DataError);
  CHECK_THROWS_WITH_AS((void)decoded(png({{1, 2, 3}}, 1), {.channels = 2}),
                       "image: channels is 2; expected 3, 1, or 0 for those of the file", ArgumentError);
}

TEST_CASE("the real JPEGs of CIFAR-10") {
  const char* const data = std::getenv("LOCUS_DATA");
  const fs::path folder = fs::path(data ? data : "") / "cifar10";
  if (!data || !fs::exists(folder / "test.jpegs")) SKIP_TEST("$LOCUS_DATA/cifar10/test.jpegs is not here");
  const std::string jpegs = content_of(folder / "test.jpegs");
  std::size_t at = 0;
  double sum = 0;
  int images = 0;
  for (; images < 1000; ++images) {  // each ends where the next begins
    const auto next = jpegs.find("\xff\xd8\xff", at + 3);
    const auto image = decoded(jpegs.substr(at, next - at));
    REQUIRE(image.shape() == Shape{3, 32, 32});
    for (int k = 0; k < 3072; ++k) sum += image.data()[k];
    at = next;
  }
  CHECK(sum / (255.0 * 3072 * images) == doctest::Approx(0.4734).epsilon(0.02));
}

#endif

#if !LOCUS_JPEG || !LOCUS_PNG
TEST_CASE("a program without libjpeg or libpng says so") {
  if (!LOCUS_JPEG) CHECK(contains(complaint("\xff\xd8\xff\xe0"), "was built without libjpeg; install libjpeg-dev"));
  if (!LOCUS_PNG) CHECK(contains(complaint("\x89PNG\r\n\x1a\n"), "was built without libpng; install libpng-dev"));
}
#endif

TEST_CASE("images are scaled to cover a size, by a triangle of the width of a pixel, against float64") {
  Philox random(3);
  const auto reference = [](const Tensor<std::uint8_t>& image, std::int64_t height, std::int64_t width, std::int64_t c,
                            std::int64_t y, std::int64_t x) {
    const double h = static_cast<double>(image.size(1)), w = static_cast<double>(image.size(2));
    const double scale = std::max(static_cast<double>(height) / h, static_cast<double>(width) / w);
    const double reach = std::max(1.0, 1 / scale);
    const double row = (static_cast<double>(y) + (h * scale - static_cast<double>(height)) / 2 + 0.5) / scale - 0.5;
    const double column = (static_cast<double>(x) + (w * scale - static_cast<double>(width)) / 2 + 0.5) / scale - 0.5;
    double sum = 0, weights = 0;
    for (std::int64_t i = 0; i < image.size(1); ++i)
      for (std::int64_t j = 0; j < image.size(2); ++j) {
        const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(i) - row) / reach) *
                              std::max(0.0, 1 - std::abs(static_cast<double>(j) - column) / reach);
        sum += weight * image(c, i, j);
        weights += weight;
      }
    return sum / weights;
  };
  for (const auto& [from, to] : {std::pair<Size2d, Size2d>{{9, 13}, {4, 5}},
                                 {{5, 4}, {11, 11}},
                                 {{16, 3}, {8, 8}},
                                 {{1, 1}, {3, 2}},
                                 {{40, 30}, {1, 1}}}) {
    const Tensor<std::uint8_t> image({2, from.height, from.width});
    for (std::int64_t i = 0; i < image.elements(); ++i) image.data()[i] = static_cast<std::uint8_t>(random());
    const auto scaled = data::resize_to_cover(image, to);
    REQUIRE(scaled.shape() == Shape{2, to.height, to.width});
    for (std::int64_t i = 0; i < scaled.elements(); ++i) {
      const std::int64_t c = i / (to.height * to.width), y = i / to.width % to.height, x = i % to.width;
      REQUIRE(std::abs(scaled(c, y, x) - reference(image, to.height, to.width, c, y, x)) <= 0.501);
    }
  }
  const Tensor<std::uint8_t> tall({1, 1 << 20, 1});
  for (std::int64_t i = 0; i < tall.elements(); ++i) tall.data()[i] = static_cast<std::uint8_t>(i >> 12);
  const auto peak = [] { return Backend<Cpu>::memory_stats({}).peak_bytes; };
  const std::int64_t before = peak();
  const auto middle = data::resize_to_cover(tall, 64);
  CHECK(peak() < before + (1 << 20));  // rows that are cropped away take no memory
  CHECK(middle(0, 0, 0) == 127);
  CHECK(middle(0, 63, 63) == 128);
  const Tensor<std::uint8_t> same({1, 2, 2});
  same.fill_(7);
  CHECK(values(data::resize_to_cover(same, {2, 2})) == std::vector{7, 7, 7, 7});
  CHECK(values(data::resize_to_cover(same, {1, 3})) == std::vector{7, 7, 7});
  CHECK_THROWS_AS((void)data::resize_to_cover(same, 0), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::resize_to_cover(Tensor<std::uint8_t>({3, 0, 2}), 1),
                       doctest::Contains("shape (3, 0, 2)"), ShapeError);
}
