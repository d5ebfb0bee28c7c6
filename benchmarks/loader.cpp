// Images per second of a loader that reads JPEGs, asked for by benchmarks/measure_pages.py line by line:
//
//   THREADS WORKERS BATCH  ->  a line of JSON
//
// Each image is read, decoded, scaled to cover 256 x 256, cropped at random to 224 x 224, mirrored at random and
// normalized. The arguments are a folder and a number: without images, so many photographs of 500 x 375 are drawn into
// it. The answer has the seconds of an epoch after one for warm-up, and the processor time of all threads; nothing else
// uses the batches. Compiled by nvcc, the program copies batches to GPU 0, which crops and normalizes. The first line
// of JSON is the environment.

#include "support/fastest.hpp"
#include "support/json_lines.hpp"

#include <locus/core/system/file.hpp>
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/image_folder.hpp>
#include <locus/data/transforms/compose.hpp>
#include <locus/data/transforms/transformed.hpp>
#include <locus/tensor/random.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

using namespace locus;

namespace {

using bench::D;

struct Request {
  static constexpr const char* form = "THREADS WORKERS BATCH";
  int threads = 0;
  int workers = 0;
  std::int64_t batch = 0;
};
std::istream& operator>>(std::istream& in, Request& r) { return in >> r.threads >> r.workers >> r.batch; }

/// Waves of three colors, and noise: as a JPEG of quality 85 about as large as a photograph.
[[nodiscard]] std::vector<std::uint8_t> photograph(int width, int height, Generator<Cpu>& generator) {
  const Tensor noise = randn<float>({height, width, 3}, generator) * 9.f;
  const Tensor waves = randn<float>({3, 3}, generator) * 0.05f;
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        const float* const wave = waves.data() + 3 * c;
        const float angle = wave[0] * static_cast<float>(x) + wave[1] * static_cast<float>(y);
        const float value = 128 + 80 * std::sin(angle + 100 * wave[2]) + noise.data()[(y * width + x) * 3 + c];
        pixels.push_back(static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value));
      }
  return pixels;
}

[[nodiscard]] std::string encoded(const std::vector<std::uint8_t>& pixels, int width, int height) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 85, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto row = const_cast<JSAMPROW>(pixels.data() + std::size_t{info.next_scanline} * info.image_width * 3);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return text;
}

/// Two classes of `count` images in total, unless the folder has images.
void draw_into(const std::string& folder, int count) {
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) return;
  Generator<Cpu> generator{1};
  constexpr int width = 500, height = 375;
  for (const char* const name : {"/even", "/odd"}) std::filesystem::create_directories(folder + name);
  for (int i = 0; i < count; ++i)
    io::write_file_atomically(folder + (i % 2 ? "/odd/" : "/even/") + std::to_string(i) + ".jpeg",
                              encoded(photograph(width, height, generator), width, height));
}

[[nodiscard]] double bytes_of_image(const data::ImageFolder& images) {
  double bytes = 0;
  for (std::int64_t i = 0; i < images.size(); ++i)
    bytes += static_cast<double>(std::filesystem::file_size(images.path(i)));
  return bytes / static_cast<double>(images.size());
}

void answer(const Request& request, const data::ImageFolder& images) {
  cpu::set_max_threads(request.threads);
  const auto augment = data::compose(data::RandomCrop{{.size = 224}}, data::RandomHorizontalFlip{},
                                     data::Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}});
  auto batches = data::loader<D>(data::transformed(images, augment, 1),
                                 {.batch_size = request.batch, .shuffle = true, .workers = request.workers});
  const auto epoch = [&] {
    for (const auto& [features, labels] : batches)
      if (features.size(0) != labels.size(0)) fail<ShapeError>({"a batch has more labels than images"});
    Stream<D>::current(D{}).synchronize();
  };
  epoch();
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("device", to_string(D{})).member("threads", request.threads);
  json.member("workers", request.workers).member("batch", request.batch).member("images", images.size());
  json.member("bytes_of_image", bytes_of_image(images));
  const double begin = bench::seconds(CLOCK_PROCESS_CPUTIME_ID);
  json.member("seconds", bench::seconds_of(epoch));
  json.member("processor_seconds", bench::seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
  bench::print(json.end_object());
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3) fail<ArgumentError>({count - 1, " arguments; expected a folder of JPEGs, and how many to draw"});
  draw_into(arguments[1], std::stoi(arguments[2]));
  const data::ImageFolder images(arguments[1], {.size = 256});
  return bench::answer_lines<Request>("loader", [&](const Request& request) { answer(request, images); });
} catch (const std::exception& error) {
  std::cerr << "loader: " << error.what() << "\n";
  return 1;
}
