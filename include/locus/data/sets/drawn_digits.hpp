#pragma once
// Digits that Locus draws itself: a data set of the size and kind of MNIST that needs neither a file nor a network.

#include <locus/core/rng.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {

/// A point of a stroke: x to the right, y down, 0 to 100 over the box of the glyph.
struct Pen {
  std::int8_t x, y;
};
[[nodiscard]] constexpr bool operator==(Pen a, Pen b) { return a.x == b.x && a.y == b.y; }

inline constexpr Pen up{-128, -128};  // lifts the pen between two strokes

// A stroke is a quadratic B-spline: it runs from its first point to its last, drawn towards those between; a point
// given twice is a corner.
inline constexpr Pen zero_oval[] = {{54, 2},  {26, 2},  {8, 28},  {8, 70}, {26, 99}, {50, 100},
                                    {76, 99}, {92, 70}, {92, 32}, {74, 3}, {48, 3}};
inline constexpr Pen zero_slim[] = {{66, 8},  {44, -2}, {28, 24}, {20, 56}, {22, 88}, {44, 102},
                                    {66, 92}, {80, 60}, {82, 30}, {70, 4},  {52, 6},  {44, 16}};
inline constexpr Pen one_bar[] = {{52, 2}, {50, 50}, {49, 98}};
inline constexpr Pen one_flag[] = {{26, 28}, {42, 18}, {56, 2}, {56, 2}, {54, 50}, {54, 98}};
inline constexpr Pen one_foot[] = {{30, 24}, {44, 16}, {54, 2},  {54, 2},  {52, 50},
                                   {52, 96}, up,       {24, 97}, {52, 96}, {80, 97}};
inline constexpr Pen two_flat[] = {{14, 24}, {22, 0},  {60, -4}, {92, 10}, {82, 46},
                                   {46, 74}, {12, 98}, {12, 98}, {50, 95}, {90, 97}};
inline constexpr Pen two_loop[] = {{18, 20},  {34, -4}, {76, -2}, {86, 32}, {62, 66},  {36, 92},
                                   {14, 102}, {10, 78}, {34, 76}, {58, 94}, {78, 104}, {92, 88}};
inline constexpr Pen two_corner[] = {{20, 14}, {48, -2}, {84, 6},  {84, 40}, {58, 70},
                                     {16, 95}, {16, 95}, {50, 93}, {86, 93}};
inline constexpr Pen three_round[] = {{16, 14}, {40, -6}, {86, 2},  {84, 40},  {42, 47},
                                      {42, 47}, {92, 48}, {94, 92}, {46, 108}, {12, 84}};
inline constexpr Pen three_flat[] = {{16, 6},  {50, 5},  {82, 4},  {82, 4},   {62, 24}, {42, 42},
                                     {42, 42}, {88, 40}, {96, 84}, {56, 106}, {12, 88}};
inline constexpr Pen three_small[] = {{24, 12}, {44, -4}, {74, 4},  {72, 34},  {44, 44},
                                      {44, 44}, {82, 46}, {86, 78}, {66, 104}, {22, 96}};
inline constexpr Pen four_open[] = {{26, 6},  {22, 30}, {14, 60}, {14, 60}, {50, 59},
                                    {92, 56}, up,       {72, 22}, {70, 60}, {66, 98}};
inline constexpr Pen four_closed[] = {{64, 98}, {66, 50}, {68, 2},  {68, 2}, {40, 34},
                                      {8, 66},  {8, 66},  {50, 66}, {94, 64}};
inline constexpr Pen four_round[] = {{22, 4}, {16, 34}, {16, 56}, {46, 58}, {78, 46}, up, {80, 4}, {78, 50}, {72, 98}};
inline constexpr Pen five_bar[] = {{26, 6},   {24, 26}, {20, 46}, {20, 46}, {50, 30}, {92, 46}, {90, 92},
                                   {48, 106}, {12, 88}, up,       {26, 6},  {56, 6},  {86, 4}};
inline constexpr Pen five_stroke[] = {{84, 4},  {54, 6},  {32, 6},  {32, 6},  {26, 26},  {22, 42},
                                      {22, 42}, {58, 34}, {88, 56}, {84, 90}, {48, 104}, {14, 90}};
inline constexpr Pen five_curved[] = {{80, 6},  {52, 2},  {28, 8},   {18, 36},  {40, 44},
                                      {74, 48}, {90, 72}, {70, 102}, {40, 102}, {16, 88}};
inline constexpr Pen six_curved[] = {{70, 2},  {40, 16}, {12, 52}, {16, 98}, {52, 104},
                                     {90, 94}, {86, 54}, {50, 48}, {26, 58}, {20, 76}};
inline constexpr Pen six_straight[] = {{48, 2},  {30, 36}, {14, 72}, {28, 104}, {62, 102},
                                       {86, 82}, {70, 56}, {40, 56}, {22, 80}};
inline constexpr Pen seven_plain[] = {{12, 8}, {50, 7}, {88, 6}, {88, 6}, {64, 44}, {42, 98}};
inline constexpr Pen seven_crossed[] = {{14, 10}, {50, 6}, {86, 4},  {86, 4},  {66, 40},
                                        {46, 98}, up,      {34, 52}, {56, 50}, {80, 50}};
inline constexpr Pen seven_hooked[] = {{14, 24}, {14, 8}, {14, 8}, {50, 12}, {86, 8}, {86, 8}, {60, 36}, {52, 98}};
inline constexpr Pen eight_stroke[] = {{78, 14},  {62, 0},   {38, 0},  {18, 14}, {24, 36}, {52, 48}, {80, 62}, {84, 88},
                                       {60, 102}, {36, 102}, {14, 88}, {18, 64}, {48, 48}, {74, 36}, {80, 14}};
inline constexpr Pen eight_circles[] = {{52, 46},  {32, 44}, {20, 28}, {28, 8},  {50, 1},  {72, 8},  {80, 26},
                                        {68, 44},  {50, 46}, up,       {50, 46}, {26, 52}, {12, 74}, {28, 98},
                                        {52, 102}, {78, 96}, {90, 74}, {76, 52}, {50, 46}};
inline constexpr Pen nine_straight[] = {{82, 12}, {56, -4}, {16, 4},  {12, 44}, {48, 54},
                                        {82, 40}, {82, 12}, {82, 12}, {78, 50}, {74, 98}};
inline constexpr Pen nine_curved[] = {{80, 20}, {70, -2}, {24, -2}, {12, 46},  {52, 54},  {80, 36},
                                      {82, 12}, {82, 12}, {88, 60}, {76, 100}, {44, 102}, {24, 90}};
inline constexpr Pen nine_slanted[] = {{76, 8},  {44, -2}, {16, 16}, {20, 48}, {56, 50},
                                       {78, 24}, {78, 6},  {78, 6},  {66, 50}, {48, 98}};

struct Glyph {
  int label;
  Span<const Pen> pens;
};
inline constexpr Glyph glyphs[] = {
    {0, zero_oval},     {0, zero_slim},   {1, one_bar},       {1, one_flag},     {1, one_foot},     {2, two_flat},
    {2, two_loop},      {2, two_corner},  {3, three_round},   {3, three_flat},   {3, three_small},  {4, four_open},
    {4, four_closed},   {4, four_round},  {5, five_bar},      {5, five_stroke},  {5, five_curved},  {6, six_curved},
    {6, six_straight},  {7, seven_plain}, {7, seven_crossed}, {7, seven_hooked}, {8, eight_stroke}, {8, eight_circles},
    {9, nine_straight}, {9, nine_curved}, {9, nine_slanted}};

[[nodiscard]] inline const Glyph& pick_glyph(int label, Philox& random) {
  std::size_t first = 0;  // glyphs of a label are adjacent
  while (glyphs[first].label != label) ++first;
  std::size_t end = first;
  while (end < std::size(glyphs) && glyphs[end].label == label) ++end;
  return glyphs[first + static_cast<std::size_t>(random.bounded(static_cast<std::int64_t>(end - first)))];
}

struct Point {
  float x, y;
};
[[nodiscard]] constexpr Point between(Point a, Point b, float t) {
  return {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
}

/// Bell-shaped with standard deviation 1, within [-3, 3]; a sum of uniforms, so no libm decides how a digit looks.
[[nodiscard]] inline float spread(Philox& random) {
  const float a = random.uniform(), b = random.uniform(), c = random.uniform();
  return 2.f * (a + b + c - 1.5f);
}

/// How one digit is written: pen positions to pixels.
struct Handwriting {
  float xx, xy, yx, yy;  // position relative to the centre of the box, 50 to a half box, to pixels
  float dx, dy;
  float wobble;  // of every point, in units of the box

  explicit Handwriting(Philox& random) {
    const float height = random.uniform(0.150f, 0.212f);
    const float width = height * random.uniform(0.58f, 0.98f);
    const float slant = 0.12f + 0.18f * spread(random);
    const float t = 0.065f * spread(random);  // tan of half the angle
    const float cosine = (1 - t * t) / (1 + t * t), sine = 2 * t / (1 + t * t);
    xx = cosine * width;
    xy = -cosine * slant * height - sine * height;
    yx = sine * width;
    yy = -sine * slant * height + cosine * height;
    dx = 14.f + 1.3f * spread(random);
    dy = 14.f + 1.3f * spread(random);
    wobble = random.uniform(1.5f, 6.5f);
  }

  [[nodiscard]] Point place(Pen pen, Philox& random) const {
    const float x = static_cast<float>(pen.x) - 50.f + wobble * spread(random);
    const float y = static_cast<float>(pen.y) - 50.f + wobble * spread(random);
    return {xx * x + xy * y + dx, yx * x + yy * y + dy};
  }
};

/// How far the pixels of a 28 x 28 image are from the nearest stroke, up to `reach` pixels.
class DistanceField {
 public:
  static constexpr int side = 28;

  explicit DistanceField(float reach) : reach_(reach) {
    for (float& squared : squared_) squared = 1e9f;
  }

  /// Distance from the pixel's centre, at most `reach`.
  [[nodiscard]] float distance(std::size_t pixel) const {
    return squared_[pixel] < reach_ * reach_ ? __builtin_sqrtf(squared_[pixel]) : reach_;
  }

  /// A quadratic curve, as three straight pieces.
  void add_curve(Point start, Point control, Point end) {
    Point last = start;
    for (int piece = 1; piece <= 3; ++piece) {
      const float t = static_cast<float>(piece) / 3.f;
      const Point next = between(between(start, control, t), between(control, end, t), t);
      add_line(last, next);
      last = next;
    }
  }

 private:
  void add_line(Point a, Point b) {
    const float x = b.x - a.x, y = b.y - a.y;
    const float per_length = 1.f / locus::detail::larger(x * x + y * y, 1e-6f);
    const int top = first_within(locus::detail::smaller(a.y, b.y)),
              bottom = last_within(locus::detail::larger(a.y, b.y));
    const int left = first_within(locus::detail::smaller(a.x, b.x)),
              right = last_within(locus::detail::larger(a.x, b.x));
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) {
        const float px = static_cast<float>(column) + 0.5f - a.x, py = static_cast<float>(row) + 0.5f - a.y;
        const float t = locus::detail::within((px * x + py * y) * per_length, 0.f, 1.f);
        const float ex = px - t * x, ey = py - t * y;
        float& nearest = squared_[row * side + column];
        nearest = locus::detail::smaller(nearest, ex * ex + ey * ey);
      }
    }
  }
  [[nodiscard]] int first_within(float position) const {
    return locus::detail::within(static_cast<int>(position - reach_), 0, side);
  }
  [[nodiscard]] int last_within(float position) const {
    return locus::detail::within(static_cast<int>(position + reach_), -1, side - 1);
  }

  float reach_;
  float squared_[side * side];
};

/// Draws one stroke: between two inner points the curve passes half way, at a point given twice it turns.
inline void add_stroke(DistanceField& field, Span<const Pen> pens, const Handwriting& hand, Philox& random) {
  Point start = hand.place(pens[0], random), control = hand.place(pens[1], random);
  for (std::size_t i = 2; i < pens.size(); ++i) {
    const Point next = pens[i] == pens[i - 1] ? control : hand.place(pens[i], random);
    const Point end = i + 1 == pens.size() ? next : between(control, next, 0.5f);
    field.add_curve(start, control, end);
    start = end;
    control = next;
  }
}

inline void add_glyph(DistanceField& field, Span<const Pen> pens, const Handwriting& hand, Philox& random) {
  while (!pens.empty()) {
    std::size_t length = 0;
    while (length < pens.size() && !(pens[length] == up)) ++length;
    add_stroke(field, pens.first(length), hand, random);
    pens = pens.from(locus::detail::smaller(length + 1, pens.size()));
  }
}

}  // namespace detail

/// Draws the digit `label` in ink of up to 255 on 0, row by row: the same image for the same (label, seed, index).
/// cost: about 15 us          throws IndexError unless label is 0 to 9, ArgumentError unless image has
/// 784 pixels
inline void draw_digit(Span<std::uint8_t> image, int label, std::uint64_t seed, std::uint64_t index) {
  if (image.size() != 784) fail<ArgumentError>({"draw_digit: room for ", image.size(), " pixels; expected 28 x 28"});
  if (label < 0 || label > 9) fail<IndexError>({"draw_digit: there is no digit ", label, "; expected 0 to 9"});
  Philox random(seed, 4, index);  // numbers 0 to 3 of the stream are for the choice of the label
  const detail::Glyph& glyph = detail::pick_glyph(label, random);
  const detail::Handwriting hand(random);
  const float radius = random.uniform(0.75f, 1.75f);
  const float ink = random.uniform(190.f, 255.f);
  const float grain = random.uniform(0.f, 40.f);

  detail::DistanceField field(radius + 1.f);
  add_glyph(field, glyph.pens, hand, random);
  for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
    const float covered = locus::detail::within(radius + 0.5f - field.distance(pixel), 0.f, 1.f);
    const float noise = grain * (random.uniform() - 0.5f);
    image[pixel] = static_cast<std::uint8_t>(locus::detail::within(ink * covered + noise, 0.f, 255.f));
  }
}

struct DrawnDigits {
  std::vector<std::uint8_t> images;  ///< count x 28 x 28
  std::vector<std::int64_t> labels;  ///< count, each 0 to 9
};

/// `count` digits of random labels; number i depends on (seed, i) alone.
/// cost: about 15 us each
/// throws ArgumentError for a negative count, OutOfMemory
[[nodiscard]] inline DrawnDigits draw_digits(std::int64_t count, std::uint64_t seed) {
  if (count < 0) fail<ArgumentError>({"draw_digits: cannot draw ", count, " digits; expected 0 or more"});
  const auto size = static_cast<std::size_t>(count);
  DrawnDigits digits{{}, locus::detail::vector_of<std::int64_t>(count, "draw_digits", "digits")};
  digits.images = locus::detail::vector_of<std::uint8_t>(count * 784, "draw_digits", "pixels");  // fits: labels did
  for (std::size_t i = 0; i < size; ++i) {
    digits.labels[i] = Philox(seed, 0, i).bounded(10);
    draw_digit({digits.images.data() + i * 784, 784}, static_cast<int>(digits.labels[i]), seed, i);
  }
  return digits;
}

}}}  // namespace locus::LOCUS_ABI::data
