#pragma once
// A draw: random numbers as a value, (seed, offset), shared by several launches. So a backward pass recomputes the
// numbers of its forward pass instead of storing them.

#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The numbers of a Draw<D> as functors hold them. Number i is the same on every device, in any launch and order
/// (normals to rounding).
template <class D>
class DrawnNumbers {
 public:
  /// 32 random bits, equal to the bits that bernoulli and rand<float> draw from an equal generator.
  [[nodiscard]] LOCUS_FN std::uint32_t bits(std::int64_t i) const {
    return random_bits(seed(), position(i), detail::stream_of_32_bits);
  }
  /// Uniform in [0, 1).
  [[nodiscard]] LOCUS_FN float uniform(std::int64_t i) const { return unit_float(bits(i)); }
  /// Standard normal.
  [[nodiscard]] LOCUS_FN float normal(std::int64_t i) const {
    return standard_normal(seed(), position(i), detail::stream_of_normals);
  }

 private:
  template <class>
  friend class Draw;

  // Cpu loops run again in every step and need no slot; without the branch they vectorize.
  static constexpr bool replays = LOCUS_CUDA && !std::is_same_v<D, Cpu>;

  [[nodiscard]] LOCUS_FN std::uint64_t seed() const {
    if constexpr (replays) return slot_ ? static_cast<std::uint64_t>(slot_[0]) : seed_;
    else return seed_;
  }
  [[nodiscard]] LOCUS_FN std::uint64_t position(std::int64_t i) const {
    if constexpr (replays)
      return (slot_ ? static_cast<std::uint64_t>(slot_[1]) : offset_) + static_cast<std::uint64_t>(i);
    else return offset_ + static_cast<std::uint64_t>(i);
  }

  std::uint64_t seed_ = 0, offset_ = 0;
  const std::int64_t* slot_ = nullptr;  ///< (seed, offset) in memory of D, written by each replay; null: not captured
};

namespace detail {
/// (seed, offset) as two elements.
struct SlotElement {
  std::uint64_t seed = 0, offset = 0;
  LOCUS_FN void operator()(std::int64_t index, std::int64_t& out) const {
    out = static_cast<std::int64_t>(index == 0 ? seed : offset);
  }
};
}  // namespace detail

/// Random numbers reserved from a generator, which functors on D compute where they need them: in an expression, in a
/// row, again in the backward pass. Launches that read its numbers() must be queued while the draw lives. In a captured
/// step every replay draws new numbers. cost: none; in a captured step one launch
///
///     const Draw<D> draw(x.elements(), x.device());
///     // a functor with a member `DrawnNumbers<D> numbers = draw.numbers()` computes numbers.uniform(i)
template <class D>
class Draw {
 public:
  Draw() = default;
  /// `count` numbers of the device's default generator. throws ArgumentError for a negative count
  explicit Draw(std::int64_t count, D device = {}) { take(count, device, detail::draw_from_default<D>); }
  /// As above, from a given generator, which must outlive a captured step.
  Draw(std::int64_t count, Generator<D>& generator, D device = {}) {
    take(count, device, detail::draw_from(generator));
  }

  [[nodiscard]] const DrawnNumbers<D>& numbers() const { return numbers_; }

 private:
  template <class Source>
  void take(std::int64_t count, [[maybe_unused]] D device, const Source& source) {
    if (count < 0) fail<ArgumentError>({"Draw: ", count, " numbers; expected 0 or more"});
    if constexpr (DrawnNumbers<D>::replays) {
      if (detail::is_capturing()) {
        const auto counted = [source, count](std::int64_t) { return source(count); };
        slot_ = detail::randomly<std::int64_t>({2}, device, counted, detail::SlotElement{});
        numbers_.slot_ = slot_.data();
        return;
      }
    }
    const Generator<D> first = source(count);
    numbers_.seed_ = first.seed;
    numbers_.offset_ = first.offset;
  }

  DrawnNumbers<D> numbers_;
  Tensor<std::int64_t, D> slot_;
};

}}  // namespace locus::LOCUS_ABI
