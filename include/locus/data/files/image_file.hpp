#pragma once
// JPEG and PNG images as tensors of bytes. Programs that read images link -ljpeg and -lpng.

#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/data/files/png_decoder.hpp>
#include <locus/tensor/tensor.hpp>

#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct ImageOptions {
  std::int64_t channels = 3;                         ///< 3: red, green and blue; 1: grey; 0: as in the file
  std::int64_t most_pixels = std::int64_t{1} << 26;  ///< a larger image is refused unread
  bool apply_exif_orientation = false;               ///< turn JPEGs as the camera noted
};

namespace detail {

/// An image to decode: its name, for messages, and its bytes.
struct EncodedImage {
  std::string name;
  Span<const std::uint8_t> bytes;
};

/// Converts interleaved pixels to planes of `channels` channels.
inline void put_planes(const std::uint8_t* pixels, const DecodedExtents& in, bool inverted_inks, std::int64_t channels,
                       std::uint8_t* planes) {
  const std::int64_t count = in.height * in.width;
  for (std::int64_t i = 0; i < count; ++i, pixels += in.channels) {
    unsigned color[3] = {pixels[0], pixels[0], pixels[0]};
    if (in.channels == 3) color[1] = pixels[1], color[2] = pixels[2];
    if (in.channels == 4) {  // share of light that passes cyan, magenta or yellow, times the share that passes black
      const unsigned flip = inverted_inks ? 0 : 255;
      for (int c = 0; c < 3; ++c) color[c] = ((pixels[c] ^ flip) * (pixels[3] ^ flip) + 127) / 255;
    }
    if (channels == 3)
      for (int c = 0; c < 3; ++c) planes[c * count + i] = static_cast<std::uint8_t>(color[c]);
    else if (in.channels == 1) planes[i] = pixels[0];
    else  // ITU-R 601, in parts of 2^16
      planes[i] = static_cast<std::uint8_t>((color[0] * 19595 + color[1] * 38470 + color[2] * 7471 + 0x8000) >> 16);
  }
}

template <class Decoder>
[[noreturn]] void refuse_image(const EncodedImage& image, const char* format, const Decoder& decoder) {
  if (decoder.ran_out_of_memory()) locus::detail::fail_out_of_memory({image.name, ": no memory to decode it"});
  fail<DataError>({image.name, " is damaged, ", image.bytes.size(), " bytes of ", format, ": ",
                   locus::detail::printable(decoder.message(), 200), "; copy or download it again"});
}

template <class Decoder>
[[nodiscard]] Tensor<std::uint8_t, Cpu> decode_by(const EncodedImage& image, const char* format,
                                                  const ImageOptions& options) {
  Decoder decoder;
  if constexpr (requires { decoder.keep_notes(); })
    if (options.apply_exif_orientation) decoder.keep_notes();
  if (!decoder.open(image.bytes)) refuse_image(image, format, decoder);
  const DecodedExtents in = decoder.extents();
  const double pixels = static_cast<double>(in.height) * static_cast<double>(in.width);
  if (pixels > static_cast<double>(options.most_pixels))
    fail<DataError>({image.name, " has ", in.width, " x ", in.height, " pixels; expected at most ", options.most_pixels,
                     ", or a larger .most_pixels"});
  if (pixels > decoder.most_pixels(image.bytes.size()))
    fail<DataError>({image.name, " promises ", in.width, " x ", in.height, " pixels, more than its ",
                     image.bytes.size(), " bytes of ", format,
                     " can hold; it is truncated or damaged: copy or download ", "it again"});
  auto room = locus::detail::vector_of<std::uint8_t>(in.height * in.width * in.channels, "an image", "bytes");
  if (!decoder.decode(room.data())) refuse_image(image, format, decoder);
  const std::int64_t channels = options.channels > 0 ? options.channels : in.channels == 1 ? 1 : 3;
  Tensor<std::uint8_t, Cpu> result({channels, in.height, in.width});
  bool inverted_inks = false;
  if constexpr (requires { decoder.has_inverted_inks(); }) inverted_inks = decoder.has_inverted_inks();
  put_planes(room.data(), in, inverted_inks, channels, result.data());
  if constexpr (requires { decoder.orientation(); }) {
    const int orientation = decoder.orientation();
    if (orientation == 1) return result;
    const bool turns = turns_by_quarter(orientation);
    Tensor<std::uint8_t, Cpu> upright({channels, turns ? in.width : in.height, turns ? in.height : in.width});
    put_upright(result.data(), channels, in.height, in.width, orientation, upright.data());
    return upright;
  }
  return result;
}

[[noreturn]] inline void refuse_format(const EncodedImage& image, const char* format, const char* library,
                                       const char* package) {
  fail<DataError>({image.name, " is a ", format, ", and this program was built without ", library, "; install ",
                   package, " and build again"});
}

[[nodiscard]] inline Tensor<std::uint8_t, Cpu> decode_image(const EncodedImage& image, const ImageOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3)
    fail<ArgumentError>({"image: channels is ", options.channels, "; expected 3, 1, or 0 for those of the file"});
  const auto begins_with = [&](std::string_view start) {
    return image.bytes.size() >= start.size() && std::memcmp(image.bytes.data(), start.data(), start.size()) == 0;
  };
  if (begins_with("\xff\xd8\xff")) {
#if LOCUS_JPEG
    return decode_by<JpegDecoder>(image, "JPEG", options);
#else
    refuse_format(image, "JPEG", "libjpeg", "libjpeg-dev");
#endif
  }
  if (begins_with("\x89PNG\r\n\x1a\n")) {
#if LOCUS_PNG
    return decode_by<PngDecoder>(image, "PNG", options);
#else
    refuse_format(image, "PNG", "libpng", "libpng-dev");
#endif
  }
  fail<DataError>({image.name, image.bytes.empty() ? " is empty" : " is neither JPEG nor PNG: it begins with '",
                   locus::detail::printable({reinterpret_cast<const char*>(image.bytes.data()),
                                             image.bytes.size() < 8 ? image.bytes.size() : 8}),
                   image.bytes.empty() ? "" : "'", "; expected an image of one of these formats"});
}

}  // namespace detail

/// The image that a JPEG or PNG in memory holds, (channels, height, width), as torchvision.io.decode_image. 16 bits
/// become 8; transparency is dropped, and the camera's orientation is ignored unless an option applies it.
/// throws DataError for an image that is damaged, truncated or of another format; OutOfMemory
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> decode_image(Span<const std::uint8_t> bytes,
                                                            const ImageOptions& options = {}) {
  return locus::detail::or_out_of_memory({"decode_image: out of memory"}, [&] {
    return detail::decode_image({"the image", bytes}, options);
  });
}

/// The image that a JPEG or PNG file holds, (channels, height, width). Its first bytes tell the format.
/// throws DataError naming the file where it is missing, damaged, truncated or of another format; OutOfMemory
///
///     auto image = data::read_image("cat.jpg");                    // bytes: red, green and blue
///     auto numbers = image.as<float>() * (1.f / 255.f);
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> read_image(const std::string& path, const ImageOptions& options = {}) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    io::detail::InputFile file(path, "a JPEG or PNG image");
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    if (file.bytes() > most)
      fail<DataError>({"'", path, "' holds ", file.bytes(), " bytes; expected an image of at most ", most});
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file.bytes()));
    bytes.resize(file.read(bytes.data(), bytes.size()));
    return detail::decode_image({join("'", path, "'"), bytes}, options);
  });
}

}}}  // namespace locus::LOCUS_ABI::data
