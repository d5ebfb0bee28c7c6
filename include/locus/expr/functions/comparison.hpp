#pragma once
// Comparison and logic, which give bool and have no derivative.

#include <locus/expr/functions/declare.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

struct Predicate {
  static constexpr bool differentiable = false;
  static constexpr bool gives_bool = true;
};
struct Equal : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x == y; }
};
struct NotEqual : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x != y; }
};
struct Less : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x < y; }
};
struct LessEqual : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x <= y; }
};
struct Greater : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x > y; }
};
struct GreaterEqual : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x >= y; }
};
struct LogicalAnd : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x != T(0) && y != T(0); }
};
struct LogicalOr : Predicate {
  template <class T> LOCUS_FN bool operator()(T x, T y) const { return x != T(0) || y != T(0); }
};
struct LogicalNot : Predicate {
  template <class T> LOCUS_FN bool operator()(T x) const { return x == T(0); }
};
struct IsFinite : Predicate {
  template <class T> LOCUS_FN bool operator()(T x) const { return x - x == T(0); }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

LOCUS_BINARY_FUNCTION(operator==, functor::Equal, Combinable)
LOCUS_BINARY_FUNCTION(operator!=, functor::NotEqual, Combinable)
LOCUS_BINARY_FUNCTION(operator<, functor::Less, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(operator<=, functor::LessEqual, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(operator>, functor::Greater, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(operator>=, functor::GreaterEqual, detail::CombinableReal)
LOCUS_BINARY_FUNCTION(operator&&, functor::LogicalAnd, Combinable)
LOCUS_BINARY_FUNCTION(operator||, functor::LogicalOr, Combinable)
LOCUS_UNARY_FUNCTION(operator!, functor::LogicalNot, detail::Operand)
LOCUS_UNARY_FUNCTION(isfinite, functor::IsFinite, detail::DifferentiableOperand)

}}  // namespace locus::LOCUS_ABI
