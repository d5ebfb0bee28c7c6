#pragma once
// Decoding JPEG images with libjpeg.

#include <locus/core/check.hpp>
#include <locus/core/std/span.hpp>
#include <locus/data/files/exif.hpp>

#include <cstdint>

/// LOCUS_JPEG: 1 to decode JPEG, with -ljpeg on the link line; by default where <jpeglib.h> is found.
#ifndef LOCUS_JPEG
#if __has_include(<jpeglib.h>)
#define LOCUS_JPEG 1
#else
#define LOCUS_JPEG 0
#endif
#endif

#if LOCUS_JPEG
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Extents of an image in memory: rows of pixels with interleaved channels.
struct DecodedExtents {
  std::int64_t height = 0, width = 0, channels = 0;
};

#if LOCUS_JPEG

/// Decodes one image. libjpeg's error handler must not return: it jumps (longjmp) back into the member function that
/// called libjpeg, which therefore holds no objects with destructors.
class JpegDecoder {
 public:
  JpegDecoder() = default;
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }  // also frees a partly created object

  /// Call before open() to make orientation() available.
  void keep_notes() { keeps_notes_ = true; }
  /// Orientation of the first EXIF block with one other than 1; else 1.
  [[nodiscard]] int orientation() const { return orientation_; }
  /// Reads the header; false where it is damaged.
  [[nodiscard]] bool open(Span<const std::uint8_t> bytes) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &jump_back;
    errors_.emit_message = &note;
    info_.client_data = this;
    if (setjmp(back_)) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    if (keeps_notes_) jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    if (jpeg_read_header(&info_, TRUE) != JPEG_HEADER_OK) return false;
    for (const jpeg_marker_struct* each = info_.marker_list; each && orientation_ == 1; each = each->next)
      orientation_ = exif_orientation({each->data, each->data_length});  // libjpeg frees them when all is decoded
    // libjpeg does not convert inks to red, green and blue.
    is_inks_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = is_inks_ ? JCS_CMYK : info_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }
  [[nodiscard]] DecodedExtents extents() const {
    return {info_.image_height, info_.image_width, is_inks_ ? 4 : info_.num_components == 1 ? 1 : 3};
  }
  /// Most pixels that so many bytes can hold: a block of 64 takes at least a bit (except with arithmetic coding, which
  /// may need less for an image of one colour).
  [[nodiscard]] static double most_pixels(std::size_t bytes) { return 1024.0 * static_cast<double>(bytes); }

  /// Decodes to room for extents(), inks to four channels; false where the image is damaged.
  [[nodiscard]] bool decode(std::uint8_t* to) {
    progress_.progress_monitor = &count_scans;
    info_.progress = &progress_;
    const DecodedExtents out = extents();
    if (setjmp(back_)) return false;
    if (!jpeg_start_decompress(&info_)) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to + info_.output_scanline * static_cast<std::size_t>(out.width * out.channels);
      if (jpeg_read_scanlines(&info_, &row, 1) != 1) return false;
    }
    (void)jpeg_finish_decompress(&info_);
    return !is_damaged_;
  }
  /// Whether inks are stored inverted, as Adobe does.
  [[nodiscard]] bool has_inverted_inks() const { return info_.saw_Adobe_marker; }
  [[nodiscard]] const char* message() const { return message_; }
  [[nodiscard]] bool ran_out_of_memory() const { return ran_out_of_memory_; }

 private:
  [[nodiscard]] static JpegDecoder& of(j_common_ptr info) { return *static_cast<JpegDecoder*>(info->client_data); }
  static void jump_back(j_common_ptr info) {
    auto& self = of(info);
    if (!self.is_damaged_) self.errors_.format_message(info, self.message_);
    self.ran_out_of_memory_ = self.errors_.msg_code == JERR_OUT_OF_MEMORY;
    longjmp(self.back_, 1);
  }
  /// libjpeg warns of missing or invalid data, which it replaces by invented data: the image counts as damaged.
  static void note(j_common_ptr info, int level) {
    auto& self = of(info);
    const int code = self.errors_.msg_code;
    const bool is_harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
    if (level >= 0 || is_harmless || self.is_damaged_) return;
    self.is_damaged_ = true;
    self.errors_.format_message(info, self.message_);
  }
  /// Limits scans: a small file could ask for any number of passes over a large image.
  static void count_scans(j_common_ptr info) {
    constexpr int most = 500;
    if (!info->is_decompressor || reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most) return;
    auto& self = of(info);
    self.is_damaged_ = true;
    std::snprintf(self.message_, sizeof self.message_, "it has more than %d scans", most);
    longjmp(self.back_, 1);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf back_{};
  int orientation_ = 1;
  char message_[JMSG_LENGTH_MAX] = "its header is incomplete";
  bool is_damaged_ = false, is_inks_ = false, ran_out_of_memory_ = false, keeps_notes_ = false;
};

#endif

}}}  // namespace locus::LOCUS_ABI::data::detail
