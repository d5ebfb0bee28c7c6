#pragma once
// Random numbers within an expression: an operand that reads as the element's number, without memory, and the random
// bits that a draw assigns to that number.

#include <locus/expr/expr.hpp>
#include <locus/tensor/draw.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace functor {

/// The 32 random bits of number i of a draw.
template <class D>
struct RandomBits {
  static constexpr bool differentiable = false;
  DrawnNumbers<D> numbers;
  LOCUS_FN std::uint32_t operator()(std::int64_t i) const { return numbers.bits(i); }
};

}  // namespace functor

namespace detail {

/// A leaf that reads as the row-major number of an element of this shape. It keeps the draw alive.
template <class D>
class ElementNumbers {
 public:
  using value_type = std::int64_t;
  using device_type = D;
  static constexpr Role role = Role::plain;

  ElementNumbers() = default;
  ElementNumbers(const Shape& shape, D device, const Draw<D>& draw)
      : shape_(shape), strides_(row_major(shape)), device_(device), draw_(draw) {}

  [[nodiscard]] const ElementNumbers& value() const { return *this; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] D device() const { return device_; }
  [[nodiscard]] std::uint32_t version() const { return 0; }
  [[nodiscard]] bool buffer() const { return false; }  ///< it has no memory
  [[nodiscard]] LinearIndex data() const { return {}; }

  friend PlanOperand operand_of(const ElementNumbers& numbers) { return {&numbers.shape_, &numbers.strides_}; }

 private:
  Shape shape_;
  Strides strides_;
  D device_{};
  Draw<D> draw_;
};

/// 32 random bits for each element of an expression of this shape.
template <class D>
[[nodiscard]] auto bits_for_elements(const Shape& shape, D device, const Draw<D>& draw) {
  using Tree = Apply<functor::RandomBits<D>, Symbol<0>>;
  return Part<Tree, ElementNumbers<D>>{
      {{draw.numbers()}, {}},
      Tuple<Leaf<ElementNumbers<D>>>(FromEach(), ElementNumbers<D>(shape, device, draw)),
      shape};
}

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
