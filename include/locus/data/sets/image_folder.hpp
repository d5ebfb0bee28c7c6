#pragma once
// Images in folders, one for each class. Programs that use it link -ljpeg and -lpng.

#include <locus/core/system/folder.hpp>
#include <locus/data/files/image_file.hpp>
#include <locus/data/files/resize_image.hpp>
#include <locus/data/sets/labelled_images.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct ImageFolderOptions {
  Size2d size = 224;                    ///< images are scaled to cover it, and cut to it around the middle
  std::int64_t channels = 3;            ///< 3: red, green and blue; 1: grey
  bool apply_exif_orientation = false;  ///< turn JPEGs as the camera noted
};

namespace detail {

struct LabelledFile {
  std::string path;
  std::int64_t label;
};
/// The files of an ImageFolder, shared by its copies.
struct FilesOfClasses {
  std::vector<std::string> names;
  std::vector<LabelledFile> files;
};

[[nodiscard]] inline bool names_an_image(const std::string& name) {
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

[[nodiscard]] inline FilesOfClasses files_of_classes(const std::string& root) {
  constexpr const char* expected = "one with a folder of .jpg, .jpeg or .png files for each class";
  FilesOfClasses all;
  for (auto& name : io::detail::names_in(root, expected)) {
    const std::string folder = join(root, "/", name);
    if (!io::detail::is_folder(folder)) continue;
    const auto label = static_cast<std::int64_t>(all.names.size());
    const std::size_t before = all.files.size();
    for (const auto& file : io::detail::names_in(folder, "the images of a class"))
      if (names_an_image(file)) all.files.push_back({join(folder, "/", file), label});
    if (all.files.size() == before)
      fail<DataError>({"the folder '", folder, "' holds no images; expected .jpg, .jpeg or .png files of the class '",
                       locus::detail::printable(name), "', or no such folder"});
    all.names.push_back(std::move(name));
  }
  if (all.names.empty()) fail<DataError>({"the folder '", root, "' holds no folders; expected ", expected});
  return all;
}

}  // namespace detail

/// The JPEG and PNG images of a folder, which has a folder for each class, as torchvision.datasets.ImageFolder: classes
/// have the order of their names. Other files, and folders within class folders, are ignored. Images are read when they
/// are loaded, scaled to cover a size, and delivered as numbers in [0, 1], of T, with their classes, as by
/// LabelledImages. Reading takes long: give the loader workers.
///
///     data::ImageFolder images("flowers", {.size = 64});
///     auto batches = data::loader<D>(images, {.batch_size = 32, .shuffle = true, .workers = 4});
template <class T>
class ImageFolderAs {
  static_assert(FloatingDType<T>, "images are delivered as numbers in [0, 1]: T is a floating-point type");

 public:
  template <class D>
  using Batch = data::Batch<T, D>;

  /// throws DataError where the folder is missing, has no folders, or one of them no images; ArgumentError for options
  /// out of range. A damaged image throws DataError where it is loaded
  explicit ImageFolderAs(const std::string& folder, const ImageFolderOptions& options = {}) : options_(options) {
    if (options.channels != 1 && options.channels != 3)
      fail<ArgumentError>({"ImageFolder: channels is ", options.channels, "; expected 3 or 1"});
    detail::require_resizable("ImageFolder", options.size);
    files_ = locus::detail::or_out_of_memory({"ImageFolder: out of memory for the names in '", folder, "'"},
                                             [&] { return detail::hold(detail::files_of_classes(folder)); });
    chosen_ = detail::Selection(static_cast<std::int64_t>(files_->dataset.files.size()));
  }

  [[nodiscard]] std::int64_t size() const { return chosen_.size(); }
  [[nodiscard]] std::int64_t classes() const { return static_cast<std::int64_t>(class_names().size()); }
  /// Names of the folders, by label.
  [[nodiscard]] const std::vector<std::string>& class_names() const { return files_->dataset.names; }
  /// throws IndexError
  [[nodiscard]] const std::string& path(std::int64_t position) const { return file(position).path; }

  /// The same images, delivered as numbers of U.
  template <class U>
  [[nodiscard]] ImageFolderAs<U> as() const {
    ImageFolderAs<U> same;
    same.options_ = options_;
    same.files_ = files_;
    same.chosen_ = chosen_;
    return same;
  }
  /// The images at these positions. throws IndexError
  [[nodiscard]] ImageFolderAs subset(Span<const std::int64_t> positions) const {
    ImageFolderAs part = *this;
    part.chosen_ = chosen_.subset(positions);
    return part;
  }

  /// As every data set.
  [[nodiscard]] Fields<T, std::int64_t> fields() const { return {shape(), {}}; }
  void write(std::int64_t i, Span<T> image, Span<std::int64_t> label) const {
    const Tensor<std::uint8_t, Cpu> bytes = read(i);
    constexpr auto unit = static_cast<compute_t<T>>(Bytes::unit);
    for (std::size_t k = 0; k < image.size(); ++k)
      image[k] = from_register<T>(static_cast<compute_t<T>>(bytes.data()[k]) * unit);
    label[0] = file(i).label;
  }

  /// The same images as bytes, for copies to a device, as LabelledImagesAs::Bytes.
  struct Bytes : detail::BytesOfUnit<T> {
    ImageFolderAs images;
    [[nodiscard]] std::int64_t size() const { return images.size(); }
    [[nodiscard]] Fields<std::uint8_t, std::int64_t> fields() const { return {images.shape(), {}}; }
    void write(std::int64_t i, Span<std::uint8_t> bytes, Span<std::int64_t> label) const {
      const Tensor<std::uint8_t, Cpu> image = images.read(i);
      std::memcpy(bytes.data(), image.data(), bytes.size());
      label[0] = images.file(i).label;
    }
  };
  [[nodiscard]] Bytes compact() const { return {{}, *this}; }

 private:
  template <class U>
  friend class ImageFolderAs;
  ImageFolderAs() = default;

  [[nodiscard]] const detail::LabelledFile& file(std::int64_t position) const {
    return files_->dataset.files[static_cast<std::size_t>(chosen_[position])];
  }
  [[nodiscard]] Shape shape() const { return {options_.channels, options_.size.height, options_.size.width}; }
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(std::int64_t position) const {
    return resize_to_cover(read_image(path(position), {.channels = options_.channels,
                                                       .apply_exif_orientation = options_.apply_exif_orientation}),
                           options_.size);
  }

  ImageFolderOptions options_;
  Shared<const detail::Held<detail::FilesOfClasses>> files_;
  detail::Selection chosen_;
};

using ImageFolder = ImageFolderAs<float>;

}}}  // namespace locus::LOCUS_ABI::data
