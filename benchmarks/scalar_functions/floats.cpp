// Errors of functions of floats in several libraries, asked for by benchmarks/scalar_functions.py line by line:
//
//   FUNCTION INNER OUTER LIBRARY[,LIBRARY...]  ->  the errors of each library
//
// usage: floats SHARED_OBJECT...    of libraries/, which define accuracy_libraries
//
// INNER and OUTER are strides: of magnitudes from 2^-14 to 2^8, where most functions are neither linear nor constant,
// and of all others. A stride of 1 takes every float, a stride of N one random float of each N neighbours. Unless both
// are 1, all floats around the numbers of `centres` and 2^20 random ones are added. A second argument is random.

#include "errors.hpp"
#include "opened.hpp"
#include "random.hpp"
#include "reference.hpp"

#include "../support/json_lines.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <memory>
#include <span>
#include <vector>

using namespace accuracy;
using namespace locus;

namespace {

constexpr std::size_t block = 1 << 14;
constexpr std::uint64_t floats = std::uint64_t{1} << 32, longest = 1 << 20;  // of strides

// Inputs.

/// Around these, and their opposites, every float is an input: ends of ranges, and points where formulas often change.
constexpr double centres[] = {
    0,          0x1p-149,   0x1p-126,   0x1p-24,  0x1p-12,  0.25,     0.34657359, 0.5,           0.625,
    0.70710678, 0.75,       0.9,        1,        1.25,     1.41421,  1.46163,    1.5,           1.5707963,
    2,          2.40482555, 2.45702474, 2.5,      2.7476,   3,        3.1415927,  3.5,           4,
    4.7123890,  5,          6.2831853,  8,        9,        9.5,      10,         10.05,         12,
    14.4,       16,         17.3,       18,       20,       32,       37,         38.53184,      44.853,
    60,         64,         69,         87.33655, 88.37626, 88.72284, 89.41599,   103.27893,     103.97208,
    112,        113,        126,        127,      128,      149,      150,        1e4,           0x1p22,
    0x1p23,     0x1p24,     0x1p31,     0x1p52,   0x1p64,   0x1p75,   4e36,       0x1.fffffep127};
constexpr std::uint64_t around = 1 << 12, random_inputs = 1 << 20;

/// The inputs of a request, one block after another.
class Inputs {
 public:
  Inputs(std::uint64_t inner, std::uint64_t outer) {
    constexpr std::uint64_t low = std::bit_cast<std::uint32_t>(0x1p-14f), high = std::bit_cast<std::uint32_t>(0x1p8f);
    for (const std::uint64_t sign : {std::uint64_t{0}, floats / 2}) {
      add({sign, sign + low, outer});
      add({sign + low, sign + high, inner});
      add({sign + high, sign + floats / 2, outer});
    }
    if (inner == 1 && outer == 1) return;
    for (const double centre : centres) {
      const std::uint64_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(centre));
      for (const std::uint64_t sign : {std::uint64_t{0}, floats / 2})
        add({(sign + bits + floats - around) % floats, (sign + bits + floats - around) % floats + 2 * around, 1});
    }
    add({floats, floats + random_inputs, 1});
  }

  /// The next inputs; none at the end.
  std::size_t fill(std::span<float, block> x) {
    while (!ranges_.empty() && at_ >= count(ranges_.back())) {
      ranges_.pop_back();
      at_ = 0;
    }
    if (ranges_.empty()) return 0;
    const Range range = ranges_.back();
    const std::uint64_t n = std::min<std::uint64_t>(block, count(range) - at_);
    for (std::uint64_t k = 0; k < n; ++k) x[k] = number(range, at_ + k);
    at_ += n;
    return n;
  }

 private:
  /// Patterns of bits. From 2^32 on they stand for random numbers.
  struct Range {
    std::uint64_t begin, end, stride;
  };
  void add(const Range& range) { ranges_.push_back(range); }
  static std::uint64_t count(const Range& range) { return (range.end - range.begin) / range.stride; }
  static float number(const Range& range, std::uint64_t k) {
    if (range.begin >= floats) return float_of(mixed(k));
    const std::uint64_t neighbour = range.stride == 1 ? 0 : mixed(k) % range.stride;
    return float_of(range.begin + k * range.stride + neighbour);
  }

  std::vector<Range> ranges_;
  std::uint64_t at_ = 0;
};

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();
/// NaN, infinities, signed zeros, subnormal numbers and ends of ranges. A result is wrong if it is of the wrong kind,
/// or more than 4 ulp off where it is infinite, or where argument or exact result is subnormal.
constexpr double specials[] = {0,
                               0x1p-149,
                               0x1.8p-140,
                               0x1.fffffcp-127,
                               0x1p-126,
                               0x1p-24,
                               0.5,
                               1,
                               2,
                               0x1p23,
                               0x1p24,
                               33.5,
                               88.7,
                               88.8,
                               90,
                               104.5,
                               150,
                               1000,
                               0x1p31,
                               1e20,
                               0x1.fffffep127,
                               inf,
                               not_a_number};

// Measuring.

struct Request {
  static constexpr const char* form = "FUNCTION INNER OUTER LIBRARY[,LIBRARY...]";
  std::string function, libraries;
  std::uint64_t inner = 0, outer = 0;
  friend std::istream& operator>>(std::istream& in, Request& r) {
    return in >> r.function >> r.inner >> r.outer >> r.libraries;
  }
};

struct Subject {
  const Opened* library = nullptr;
  Loop run = nullptr;
  Errors errors{};
  std::size_t specials = 0;
  std::vector<std::string> wrong{};
};

/// Memory of a block.
struct Block {
  alignas(64) std::array<float, block> x, y, z, nearest;
  alignas(64) std::array<double, block> exact_x, exact_y, exact;
};

/// Computes the exact results of the first n inputs of the block.
void compute_exact(const Reference& reference, Block& b, std::size_t n) {
  const std::size_t whole = (n + lanes - 1) / lanes * lanes;
  for (std::size_t k = n; k < whole; ++k) b.x[k] = b.y[k] = 1;
  for (std::size_t k = 0; k < whole; ++k) b.exact_x[k] = static_cast<double>(b.x[k]);
  for (std::size_t k = 0; k < whole; ++k) b.exact_y[k] = static_cast<double>(b.y[k]);
  reference.run(b.exact_x.data(), b.exact_y.data(), b.exact.data(), whole);
  for (std::size_t k = 0; k < whole; ++k) b.nearest[k] = static_cast<float>(b.exact[k]);
}

void sweep(const Reference& reference, Inputs inputs, std::span<Subject> subjects, Block& b) {
  b.y.fill(1);
  while (const std::size_t n = inputs.fill(b.x)) {
    if (reference.second != Second::none)
      for (std::size_t k = 0; k < n; ++k) b.y[k] = second_for(b.x[k], reference.second);
    compute_exact(reference, b, n);
    for (Subject& subject : subjects) {
      subject.run(b.x.data(), b.y.data(), b.z.data(), n);
      add(subject.errors, b.x.data(), b.y.data(), b.z.data(), b.exact.data(), b.nearest.data(), n);
    }
  }
}

std::string text_of(float x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(x));
  return text;
}

/// The special numbers and their opposites; of two arguments, all pairs. Ones fill the block, since many libraries
/// compute what is left after whole vectors by other, scalar code.
void check_specials(const Reference& reference, std::span<Subject> subjects, Block& b) {
  constexpr float one = 1;
  std::vector<float> numbers;
  for (const double special : specials)
    for (const float sign : {1.f, -1.f}) numbers.push_back(std::copysign(static_cast<float>(special), sign));
  std::size_t n = 0;
  for (const float x : numbers) {
    for (const float y : reference.second == Second::none ? std::span<const float>(&one, 1) : numbers) {
      b.x[n] = x;
      b.y[n++] = y;
    }
  }
  std::fill(b.x.begin() + n, b.x.end(), one);
  std::fill(b.y.begin() + n, b.y.end(), one);
  compute_exact(reference, b, n);
  for (Subject& subject : subjects) {
    subject.run(b.x.data(), b.y.data(), b.z.data(), block);
    subject.specials = n;
    for (std::size_t k = 0; k < n; ++k) {
      const Measured m = measured(b.x[k], b.y[k], b.z[k], b.exact[k]);
      const bool is_far = m.ulp > 4 && (m.is_subnormal || std::isinf(b.z[k]));
      if (!m.wrong_nan && !m.wrong_infinity && !m.wrong_zero && !is_far) continue;
      const std::string second = reference.second == Second::none ? "" : ", " + text_of(b.y[k]);
      subject.wrong.push_back(text_of(b.x[k]) + second + ": " + text_of(b.z[k]) + ", not " +
                              text_of(static_cast<float>(b.exact[k])));
    }
  }
}

// Answers.

void write(io::JsonWriter& json, std::string_view name, const Worst& worst, bool of_two) {
  json.key(name).begin_object().member("ulp", worst.ulp);
  if (worst.ulp == 0.5) {
    json.end_object();
    return;
  }
  json.member("x", text_of(worst.x));
  if (of_two) json.member("y", text_of(worst.y));
  json.member("given", text_of(worst.given)).member("exact", worst.exact).end_object();
}

void write(io::JsonWriter& json, const Subject& subject, bool of_two) {
  const Errors& e = subject.errors;
  json.begin_object().member("library", subject.library->name).member("version", subject.library->version);
  json.member("inputs", e.inputs).member("rounded", e.rounded);
  write(json, "normal", e.normal, of_two);
  write(json, "subnormal", e.subnormal, of_two);
  json.member("nan", e.nan).member("infinity", e.infinity).member("zero", e.zero);
  json.member("specials", subject.specials).member("wrong", subject.wrong.size()).key("first_wrong").begin_array();
  for (std::size_t k = 0; k < subject.wrong.size() && k < 8; ++k) json.value(subject.wrong[k]);
  json.end_array().end_object();
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void answer(const Request& request, std::span<const Opened> libraries) {
  const Reference* const reference = reference_of(request.function);
  if (!reference)
    fail<ArgumentError>({"\"", detail::printable(request.function), "\" is no function of reference.cpp"});
  for (const std::uint64_t stride : {request.inner, request.outer})
    if (stride < 1 || stride > longest) fail<ArgumentError>({"a stride of ", stride, "; expected 1 to ", longest});
  std::vector<Subject> subjects = subjects_of<Subject>(request.libraries, request.function, libraries);
  const double begin = processor_seconds();
  const auto memory = std::make_unique<Block>();
  check_specials(*reference, subjects, *memory);
  sweep(*reference, {request.inner, request.outer}, subjects, *memory);
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object()
      .member("function", request.function)
      .member("inner", request.inner)
      .member("outer", request.outer);
  json.member("seconds", processor_seconds() - begin).key("libraries").begin_array();
  for (const Subject& subject : subjects) write(json, subject, reference->second != Second::none);
  bench::print(json.end_array().end_object());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Opened> libraries;
  try {
    libraries = opened(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), "float");
  } catch (const std::exception& error) {
    std::cerr << "floats: " << error.what() << "\n";
    return 1;
  }
  return bench::answer_lines<Request>("floats", [&](const Request& request) { answer(request, libraries); });
}
