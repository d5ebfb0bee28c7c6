#pragma once
// CIFAR-10 and CIFAR-100 from the files of their binary version: records of one or two bytes of labels and 3 x 32 x 32
// bytes of an image, red, green and blue.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/folder.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/data/sets/labelled_images.hpp>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Class names of CIFAR-10, by label.
inline constexpr std::array<std::string_view, 10> cifar10_classes = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

/// Class names of CIFAR-100, by fine label.
inline constexpr std::array<std::string_view, 100> cifar100_classes = {
    "apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
    "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
    "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
    "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
    "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
    "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
    "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
    "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
    "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
    "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
    "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
    "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
    "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
    "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
    "woman",      "worm"};

/// Superclass names of CIFAR-100, by coarse label; each superclass has five classes.
inline constexpr std::array<std::string_view, 20> cifar100_superclasses = {"aquatic_mammals",
                                                                           "fish",
                                                                           "flowers",
                                                                           "food_containers",
                                                                           "fruit_and_vegetables",
                                                                           "household_electrical_devices",
                                                                           "household_furniture",
                                                                           "insects",
                                                                           "large_carnivores",
                                                                           "large_man-made_outdoor_things",
                                                                           "large_natural_outdoor_scenes",
                                                                           "large_omnivores_and_herbivores",
                                                                           "medium_mammals",
                                                                           "non-insect_invertebrates",
                                                                           "people",
                                                                           "reptiles",
                                                                           "small_mammals",
                                                                           "trees",
                                                                           "vehicles_1",
                                                                           "vehicles_2"};

struct CifarOptions {
  bool partial = false;  ///< accept files with fewer images than CIFAR's
};
enum class CifarLabels { fine, coarse };
struct Cifar100Options {
  CifarLabels labels = CifarLabels::fine;  ///< 100 classes, or the 20 superclasses
  bool partial = false;
};

namespace detail {

/// The files of one part of a data set.
struct CifarFiles {
  const char* set;      ///< "CIFAR-10"
  const char* command;  ///< its name for scripts/data
  const char* archive;  ///< the file to download
  const char* inner;    ///< the folder that it unpacks to
  const char* python;   ///< the folder of the Python version, which is not read
  std::vector<std::string> names;
  std::int64_t images;  ///< of each file
};
/// A record begins with one or two labels, the finest last; one of them is delivered.
struct CifarRecord {
  static constexpr std::int64_t pixels = 3072;  // 3 x 32 x 32
  std::int64_t labels, label;                   ///< how many, and which
  std::array<std::int64_t, 2> classes;          ///< of each
  [[nodiscard]] std::int64_t bytes() const { return labels + pixels; }
};

/// The folder that holds the files: this one, or the one in it that the archive unpacks to. throws DataError
[[nodiscard]] inline std::string find_cifar(const std::string& folder, const CifarFiles& files) {
  io::detail::require_path("read", folder);
  if (!io::detail::is_folder(folder)) {
    fail<DataError>({"there is no folder '", folder, "'; expected one that holds ", files.names[0], ": unpack ",
                     files.archive, " there, as scripts/data ", files.command, " ", folder, " does"});
  }
  const std::string within = join(folder, folder.back() == '/' ? "" : "/");
  for (const std::string& path : {within, join(within, files.inner, "/")})
    for (const auto& name : files.names)
      if (io::detail::exists(path + name)) return path;  // opening names a missing file
  const bool is_python = io::detail::is_folder(within + files.python);
  fail<DataError>({"the folder '", folder, "' holds no ", files.names[0],
                   is_python ? join(", but ", files.python, ", a version for Python") : join(""),
                   "; expected the files of ", files.set, "'s binary version: unpack ", files.archive,
                   " there, as scripts/data ", files.command, " ", folder, " does"});
}

/// Number of images in a file, from its length. throws DataError
[[nodiscard]] inline std::int64_t count_cifar(const io::detail::InputFile& file, const CifarFiles& files,
                                              const CifarRecord& record, bool partial) {
  const auto bytes = file.bytes(), each = static_cast<std::uint64_t>(record.bytes());
  const auto expected = static_cast<std::uint64_t>(files.images);
  const bool fits = partial ? bytes > 0 && bytes % each == 0 && bytes / each <= expected : bytes == expected * each;
  if (!fits) {
    const auto remedy = bytes < expected * each ? "; it is truncated: copy or download it again"
                                                : "; it is another file, or damaged: copy or download it again";
    fail<DataError>({"'", file.path(), "' holds ", bytes, " bytes; expected ", partial ? "at most " : "", expected,
                     " images of ", each, " bytes, ", expected * each, partial ? ", and whole ones" : "", remedy,
                     !partial && bytes > 0 && bytes < expected * each && bytes % each == 0
                         ? ", or take its images by .partial = true"
                         : ""});
  }
  return static_cast<std::int64_t>(bytes / each);
}

/// Reads the images of a file to positions from `first` on. throws DataError
inline void read_cifar_file(io::detail::InputFile& file, std::int64_t count, const CifarFiles& files,
                            const CifarRecord& record, std::int64_t first, std::uint8_t* images, std::int64_t* labels) {
  constexpr std::int64_t at_once = 64;
  const std::int64_t each = record.bytes();
  auto block = locus::detail::vector_of<std::uint8_t>(at_once * each, files.set, "bytes");
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = locus::detail::smaller(at_once, count - done);
    const auto wanted = static_cast<std::size_t>(part * each);
    if (file.read(block.data(), wanted) != wanted)
      fail<DataError>({"'", file.path(), "' ends before its ", count, " images of ", each,
                       " bytes: somebody shortened it while it was read; copy or download it again"});
    for (std::int64_t i = 0; i < part; ++i) {
      const std::uint8_t* const at = block.data() + i * each;
      for (std::int64_t k = 0; k < record.labels; ++k) {
        const std::int64_t classes = record.classes[static_cast<std::size_t>(k)];
        if (at[k] >= classes)
          fail<DataError>({"'", file.path(), "': label ", k, " of image ", done + i, " is ", std::int64_t{at[k]},
                           "; expected 0 to ", classes - 1, ": is it a file of ", files.set,
                           "? Otherwise it is damaged: copy or download it again"});
      }
      labels[first + done + i] = at[record.label];
      std::memcpy(images + (first + done + i) * CifarRecord::pixels, at + record.labels, CifarRecord::pixels);
    }
    done += part;
  }
}

[[nodiscard]] inline LabelledImages read_cifar_part(const std::string& folder, const CifarFiles& files,
                                                    const CifarRecord& record, bool partial) {
  const std::string within = find_cifar(folder, files);
  std::vector<io::detail::InputFile> open;
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (const auto& name : files.names) {  // checks all lengths before it allocates
    const auto& file = open.emplace_back(within + name, join("a file of ", files.set, "'s binary version").c_str());
    total += counts.emplace_back(count_cifar(file, files, record, partial));
  }
  const Tensor<std::uint8_t, Cpu> images({total, 3, 32, 32});
  const Tensor<std::int64_t, Cpu> labels({total});
  std::int64_t first = 0;
  for (std::size_t i = 0; i < open.size(); first += counts[i++])
    read_cifar_file(open[i], counts[i], files, record, first, images.data(), labels.data());
  return {images, labels, record.classes[static_cast<std::size_t>(record.label)]};
}

}  // namespace detail

/// The 50,000 images of CIFAR-10 to train with, or the 10,000 to test with: (3, 32, 32), with labels 0 to 9. Reads
/// data_batch_1.bin to data_batch_5.bin, or test_batch.bin, in `folder` or its cifar-10-batches-bin, as
/// `scripts/data cifar10 FOLDER` makes it.
/// throws DataError naming the file that is missing, truncated or damaged; OutOfMemory
///
///     auto [train, valid] = data::random_split(data::cifar10("cifar", data::Part::train), 0.9);
[[nodiscard]] inline LabelledImages cifar10(const std::string& folder, Part part, const CifarOptions& options = {}) {
  return locus::detail::or_out_of_memory({"cannot read CIFAR-10 in '", folder, "': out of memory"}, [&] {
    detail::CifarFiles files{
        "CIFAR-10", "cifar10", "cifar-10-binary.tar.gz", "cifar-10-batches-bin", "cifar-10-batches-py", {}, 10'000};
    if (part == Part::test) files.names = {"test_batch.bin"};
    else
      for (int i = 1; i <= 5; ++i) files.names.push_back(join("data_batch_", i, ".bin"));
    return detail::read_cifar_part(folder, files, {1, 0, {10, 0}}, options.partial);
  });
}

/// The 50,000 images of CIFAR-100 to train with, or the 10,000 to test with: (3, 32, 32), with labels 0 to 99, or 0 to
/// 19 of the superclasses. Reads train.bin or test.bin, in `folder` or its cifar-100-binary, as
/// `scripts/data cifar100 FOLDER` makes it.
/// throws DataError naming the file that is missing, truncated or damaged; OutOfMemory
///
///     auto coarse = data::cifar100("cifar", data::Part::train, {.labels = data::CifarLabels::coarse});
[[nodiscard]] inline LabelledImages cifar100(const std::string& folder, Part part,
                                             const Cifar100Options& options = {}) {
  return locus::detail::or_out_of_memory({"cannot read CIFAR-100 in '", folder, "': out of memory"}, [&] {
    const bool is_test = part == Part::test;
    const detail::CifarFiles files{"CIFAR-100",
                                   "cifar100",
                                   "cifar-100-binary.tar.gz",
                                   "cifar-100-binary",
                                   "cifar-100-python",
                                   {is_test ? "test.bin" : "train.bin"},
                                   is_test ? 10'000 : 50'000};
    return detail::read_cifar_part(folder, files, {2, options.labels == CifarLabels::coarse ? 0 : 1, {20, 100}},
                                   options.partial);
  });
}

}}}  // namespace locus::LOCUS_ABI::data
