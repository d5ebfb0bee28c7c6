// Errors of functions of half or bfloat16 in several libraries, asked for by benchmarks/scalar_functions.py line by
// line:
//
//   FUNCTION STRIDE LIBRARY[,LIBRARY...]  ->  results that are not the nearest number, and the largest error
//
// usage: sixteen_bits TYPE SHARED_OBJECT...    half or bfloat16; of libraries/, which define accuracy_libraries
//
// All 65,536 numbers are arguments. A function of two arguments takes every STRIDE-th number as the first, and all
// numbers as the second.

#include "opened.hpp"
#include "reference.hpp"

#include "../support/json_lines.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <ctime>
#include <limits>
#include <memory>

using namespace accuracy;
using namespace locus;

namespace {

constexpr std::size_t numbers = 1 << 16, block = 1 << 13;

/// A binary format of 16 bits, whose values doubles hold.
struct Format {
  double smallest_normal, largest;
  double epsilon;  ///< the distance from 1 to the next number
  float (*value)(std::uint16_t);
};
constexpr Format half_format = {
    0x1p-14, 65504, 0x1p-10, [](std::uint16_t bits) -> float { return static_cast<float>(std::bit_cast<half>(bits)); }};
constexpr Format bfloat16_format = {0x1p-126, 0x1.fep127, 0x1p-7, [](std::uint16_t bits) -> float {
                                      return static_cast<float>(std::bit_cast<bfloat16>(bits));
                                    }};

double power_below(double x) {  // the power of two at or below |x|; 0 of 0 and subnormal doubles
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u);
}
double ulp_of(double x, const Format& format) {
  const double power = power_below(x);
  return (power < format.smallest_normal ? format.smallest_normal : power) * format.epsilon;
}
/// To nearest, halves to even; doubles that are not finite stay.
double rounded(double x, const Format& format) {
  constexpr double shift = 0x1.8p52, inf = std::numeric_limits<double>::infinity();
  const double ulp = ulp_of(x, format), steps = x / ulp, whole = (steps + shift) - shift;
  const double nearest = std::abs(steps) < 0x1p40 ? std::copysign(whole * ulp, x) : x;
  return std::abs(nearest) > format.largest ? std::copysign(inf, nearest) : nearest;
}
/// Whether an error of some ulp of double could change the rounding.
bool is_near_tie(double x, const Format& format) {
  const double steps = std::abs(x) / ulp_of(x, format);
  return std::abs(steps - std::floor(steps) - 0.5) < 0x1p-30;
}

struct Errors {
  std::uint64_t inputs = 0, not_nearest = 0, nan = 0, infinity = 0, zero = 0;
  double ulp = 0.5;
  double x = 0, y = 0, given = 0, exact = 0;
};

/// The arguments of a block, and their exact results.
struct Block {
  alignas(64) std::array<std::uint16_t, block> x, y, z;
  alignas(64) std::array<double, block> exact_x, exact_y, exact, nearest;
};

void add(Errors& e, const Block& b, const Format& format, std::span<const double> values) {
  e.inputs += block;
  for (std::size_t k = 0; k < block; ++k) {
    const double given = values[b.z[k]], nearest = b.nearest[k], exact = b.exact[k];
    if (std::bit_cast<std::uint64_t>(given) == std::bit_cast<std::uint64_t>(nearest)) continue;
    if (std::isnan(given) || std::isnan(nearest)) {
      e.nan += std::isnan(given) != std::isnan(nearest);
      e.not_nearest += std::isnan(given) != std::isnan(nearest);
      continue;
    }
    e.not_nearest += 1;
    e.zero += given == nearest;
    e.infinity += std::isinf(given) != std::isinf(nearest);
    if (std::isinf(given) || std::isinf(nearest)) continue;
    const double ulp = std::abs(given - exact) / ulp_of(exact, format);
    if (ulp > e.ulp) e.ulp = ulp, e.x = b.exact_x[k], e.y = b.exact_y[k], e.given = given, e.exact = exact;
  }
}

struct Subject {
  const Opened* library = nullptr;
  Loop run = nullptr;
  Errors errors{};
};

void compute_exact(const Reference& reference, const Format& format, Block& b) {
  reference.run(b.exact_x.data(), b.exact_y.data(), b.exact.data(), block);
  if (reference.closer)
    for (std::size_t k = 0; k < block; ++k)
      if (is_near_tie(b.exact[k], format)) reference.closer(&b.exact_x[k], &b.exact_y[k], &b.exact[k], 1);
  for (std::size_t k = 0; k < block; ++k) b.nearest[k] = rounded(b.exact[k], format);
}

void sweep(const Reference& reference, const Format& format, std::size_t stride, std::span<Subject> subjects) {
  const auto b = std::make_unique<Block>();
  std::vector<double> values(numbers);
  for (std::size_t k = 0; k < numbers; ++k)
    values[k] = static_cast<double>(format.value(static_cast<std::uint16_t>(k)));
  const bool of_two = reference.second != Second::none;
  for (std::size_t first = stride / 2; first < (of_two ? numbers : stride / 2 + 1); first += stride) {
    for (std::size_t begin = 0; begin < numbers; begin += block) {
      for (std::size_t k = 0; k < block; ++k) {
        b->x[k] = static_cast<std::uint16_t>(of_two ? first : begin + k);
        b->y[k] = static_cast<std::uint16_t>(begin + k);
        b->exact_x[k] = values[b->x[k]];
        b->exact_y[k] = values[b->y[k]];
      }
      compute_exact(reference, format, *b);
      for (Subject& subject : subjects) {
        subject.run(b->x.data(), b->y.data(), b->z.data(), block);
        add(subject.errors, *b, format, values);
      }
    }
  }
}

struct Request {
  static constexpr const char* form = "FUNCTION STRIDE LIBRARY[,LIBRARY...]";
  std::string function, libraries;
  std::size_t stride = 0;
  friend std::istream& operator>>(std::istream& in, Request& r) { return in >> r.function >> r.stride >> r.libraries; }
};

std::string text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

void write(io::JsonWriter& json, const Subject& subject, bool of_two) {
  const Errors& e = subject.errors;
  json.begin_object().member("library", subject.library->name).member("version", subject.library->version);
  json.member("inputs", e.inputs).member("not_nearest", e.not_nearest).member("ulp", e.ulp);
  if (e.ulp > 0.5) {
    json.member("x", text_of(e.x));
    if (of_two) json.member("y", text_of(e.y));
    json.member("given", text_of(e.given)).member("exact", e.exact);
  }
  json.member("nan", e.nan).member("infinity", e.infinity).member("zero", e.zero).end_object();
}

void answer(const Request& request, const std::string& type, std::span<const Opened> libraries) {
  const Reference* const reference = reference_of(request.function);
  if (!reference)
    fail<ArgumentError>({"\"", detail::printable(request.function), "\" is no function of reference.cpp"});
  if (request.stride < 1 || request.stride > numbers)
    fail<ArgumentError>({"a stride of ", request.stride, "; expected 1 to ", numbers});
  std::vector<Subject> subjects = subjects_of<Subject>(request.libraries, request.function, libraries);
  const std::clock_t begin = std::clock();
  sweep(*reference, type == "half" ? half_format : bfloat16_format, request.stride, subjects);
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("function", request.function).member("type", type).member("stride", request.stride);
  json.member("seconds", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC).key("libraries").begin_array();
  for (const Subject& subject : subjects) write(json, subject, reference->second != Second::none);
  bench::print(json.end_array().end_object());
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  const std::string type = argc > 1 ? argv[1] : "";
  std::vector<Opened> libraries;
  try {
    if (type != "half" && type != "bfloat16")
      fail<ArgumentError>({"\"", detail::printable(type), "\" is no type; expected half or bfloat16"});
    libraries = opened(arguments.subspan(2), type);
  } catch (const std::exception& error) {
    std::cerr << "sixteen_bits: " << error.what() << "\n";
    return 1;
  }
  return bench::answer_lines<Request>("sixteen_bits",
                                      [&](const Request& request) { answer(request, type, libraries); });
}
