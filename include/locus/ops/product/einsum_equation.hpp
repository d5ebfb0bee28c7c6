#pragma once
// A parsed einsum equation: the letter of each dimension of each operand and of the result.

#include <locus/core/shape.hpp>

#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A dimension's name as a number: the 52 letters in the order of ASCII, and behind them the dimensions of an ellipsis,
/// counted from its last. A set of them is a mask.
using EinsumLabel = std::int64_t;
using EinsumLabels = std::uint64_t;
inline constexpr int einsum_letters = 52;

[[nodiscard]] constexpr EinsumLabel label_of(char letter) {
  return letter <= 'Z' ? letter - 'A' : letter - 'a' + einsum_letters / 2;
}
[[nodiscard]] constexpr char letter_of(EinsumLabel label) {
  constexpr int half = einsum_letters / 2;
  return static_cast<char>(label < half ? 'A' + label : 'a' + label - half);
}
[[nodiscard]] constexpr EinsumLabels mask_of(EinsumLabel label) { return EinsumLabels(1) << label; }
[[nodiscard]] constexpr EinsumLabels mask_of(const Dims& labels) {
  EinsumLabels mask = 0;
  for (const auto label : labels) mask |= mask_of(label);
  return mask;
}

/// The letters of one operand, or of the result, and the index of the letter before which its ellipsis stands; -1: it
/// has none.
struct EinsumTerm {
  Dims letters;
  int ellipsis = -1;
};

}  // namespace detail

/// "ij,jk->ik": a letter for each dimension of each operand, and for each dimension of the result. Spaces mean nothing;
/// `...` stands for the dimensions that have no letter, aligned at their last. Without an arrow, the result has the
/// ellipsis and, in the order of ASCII, the letters that occur once. Parsed when it is made: a constant by the
/// compiler.
/// throws ArgumentError naming the place of a syntax error
///
///     constexpr EinsumEquation scores = "bhld,bhsd->bhls";
class EinsumEquation {
 public:
  static constexpr int most_operands = 10;

  constexpr EinsumEquation(const char* text) : EinsumEquation(std::string_view(text)) {}
  EinsumEquation(const std::string& text) : EinsumEquation(std::string_view(text)) {}
  constexpr EinsumEquation(std::string_view text);

  /// The number of operands.
  [[nodiscard]] constexpr int operands() const { return operands_; }
  [[nodiscard]] constexpr const detail::EinsumTerm& operand(int i) const { return terms_[i]; }
  [[nodiscard]] constexpr const detail::EinsumTerm& result() const { return result_; }
  /// The equation as text, with its arrow.
  [[nodiscard]] LOCUS_OUT_OF_LINE friend std::string to_string(const EinsumEquation& equation) {
    std::string text;
    for (int i = 0; i < equation.operands_; ++i) text += (i == 0 ? "" : ",") + spelled(equation.terms_[i]);
    return text + "->" + spelled(equation.result_);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(std::string_view text, std::size_t at,
                                                            std::string_view why) {
    fail<ArgumentError>({"einsum(\"", text, "\"): at character ", at + 1, ", ",
                         at < text.size() ? "'" + std::string(text.substr(at, 1)) + "'" : std::string("the end"), ": ",
                         why});
  }
  [[nodiscard]] static std::string spelled(const detail::EinsumTerm& term) {
    std::string text;
    for (int i = 0; i <= term.letters.rank(); ++i) {
      if (i == term.ellipsis) text += "...";
      if (i < term.letters.rank()) text += detail::letter_of(term.letters[i]);
    }
    return text;
  }
  constexpr void infer_result(std::string_view text);
  constexpr void check_result(std::string_view text, std::size_t at) const;

  detail::EinsumTerm terms_[most_operands], result_;
  int operands_ = 1;
};

constexpr EinsumEquation::EinsumEquation(std::string_view text) {
  detail::EinsumTerm* term = terms_;
  std::size_t arrow = text.size();
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool has_arrow = arrow < text.size();
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (term->letters.rank() == max_rank)
        refuse(text, at, "expected at most 8 letters: tensors have no more dimensions");
      term->letters.push_back(detail::label_of(c));
    } else if (text.substr(at, 3) == "...") {
      if (term->ellipsis >= 0) refuse(text, at, "expected one ellipsis for an operand");
      term->ellipsis = term->letters.rank();
      at += 2;
    } else if (text.substr(at, 2) == "->") {
      if (has_arrow) refuse(text, at, "expected one arrow");
      arrow = at++;
      term = &result_;
    } else if (c == ',') {
      if (has_arrow) refuse(text, at, "expected one result behind the arrow");
      if (operands_ == most_operands) refuse(text, at, "expected at most 10 operands");
      term = &terms_[operands_++];
    } else {
      refuse(text, at,
             "expected a letter for each dimension, \"...\", \",\" between operands or \"->\" before the result");
    }
  }
  if (arrow < text.size()) check_result(text, arrow + 2);
  else infer_result(text);
}

constexpr void EinsumEquation::infer_result(std::string_view text) {
  int once = 0, times[detail::einsum_letters] = {};
  for (int i = 0; i < operands_; ++i) {
    for (const auto label : terms_[i].letters) ++times[label];
    if (terms_[i].ellipsis >= 0) result_.ellipsis = 0;
  }
  for (const int n : times) once += n == 1;
  if (once > max_rank)
    refuse(text, text.size(), "the result would have " + std::to_string(once) + " letters; expected at most 8");
  for (int label = 0; label < detail::einsum_letters; ++label)
    if (times[label] == 1) result_.letters.push_back(label);
}

constexpr void EinsumEquation::check_result(std::string_view text, std::size_t at) const {
  detail::EinsumLabels named = 0, seen = 0;
  bool has_ellipsis = false;
  for (int i = 0; i < operands_; ++i) {
    named |= detail::mask_of(terms_[i].letters);
    has_ellipsis |= terms_[i].ellipsis >= 0;
  }
  for (; at < text.size(); ++at) {
    if (text[at] == ' ') continue;
    if (text[at] == '.') {
      if (!has_ellipsis) refuse(text, at, "no operand has an ellipsis");
      at += 2;
      continue;
    }
    const auto label = detail::mask_of(detail::label_of(text[at]));
    if ((named & label) == 0) refuse(text, at, "no operand has this letter");
    if ((seen & label) != 0) refuse(text, at, "the result has this letter twice");
    seen |= label;
  }
}

namespace detail {

/// An equation on given shapes: the label of each dimension, and the extent of each label.
struct BoundEinsum {
  Dims operands[EinsumEquation::most_operands];  ///< labels, a letter perhaps twice
  Dims result;
  std::int64_t extents[einsum_letters + max_rank] = {};

  /// throws ShapeError where a shape does not fit its letters, or two operands do not fit each other
  LOCUS_OUT_OF_LINE BoundEinsum(const EinsumEquation& equation, Span<const Shape> shapes) {
    for (auto& extent : extents) extent = 1;
    int longest = 0;
    for (int i = 0; i < equation.operands(); ++i) {
      const EinsumTerm& term = equation.operand(i);
      const Shape& shape = shapes[static_cast<std::size_t>(i)];
      const int unnamed = shape.rank() - term.letters.rank();
      if (unnamed < 0 || (unnamed > 0 && term.ellipsis < 0))
        fail<ShapeError>({"einsum(\"", to_string(equation), "\"): operand ", i, " has shape ", shape, "; expected ",
                          term.letters.rank(), term.ellipsis < 0 ? "" : " or more", " dimensions"});
      operands[i] = labels_of(term, unnamed);
      longest = unnamed > longest ? unnamed : longest;
      for (int d = 0; d < shape.rank(); ++d) bind(equation, shapes, i, d);
    }
    const EinsumTerm& named = equation.result();
    const int rank = named.letters.rank() + (named.ellipsis < 0 ? 0 : longest);
    if (rank > max_rank)
      fail<ShapeError>({"einsum(\"", to_string(equation), "\"): the result would have ", rank,
                        " dimensions; expected at most ", max_rank});
    result = labels_of(named, longest);
  }

  /// The contraction of tensordot: dimensions of a in pairs with dimensions of b.
  LOCUS_OUT_OF_LINE BoundEinsum(std::string_view name, const Shape& a, const Shape& b, const Axes& of_a,
                                const Axes& of_b) {
    for (auto& extent : extents) extent = 1;
    if (of_a.rank() != of_b.rank())
      fail<ArgumentError>({name, ": sums over axes ", of_a, " of the first operand and ", of_b,
                           " of the second; expected as many of both"});
    for (int d = 0; d < a.rank(); ++d) operands[0].push_back(d);
    for (int d = 0; d < b.rank(); ++d) operands[1].push_back(max_rank + d);
    for (int i = 0; i < of_a.rank(); ++i) {
      const int p = normalize_axis(of_a[i], a.rank(), name), q = normalize_axis(of_b[i], b.rank(), name);
      if (a[p] != b[q])
        fail<ShapeError>(
            {name, ": dimension ", p, " of ", a, " meets dimension ", q, " of ", b, "; expected equal extents"});
      for (int j = 0; j < i; ++j)
        if (normalize_axis(of_a[j], a.rank(), name) == p || operands[1][q] < max_rank)
          fail<ArgumentError>({name, ": sums over axes ", of_a, " and ", of_b, "; expected none of them twice"});
      operands[1][q] = p;
    }
    if (a.rank() + b.rank() - 2 * of_a.rank() > max_rank)
      fail<ShapeError>({name, ": shapes ", a, " and ", b, ", summed over ", of_a.rank(),
                        " dimensions of both; expected at most ", max_rank, " that are left"});
    for (int d = 0; d < a.rank(); ++d) extents[d] = a[d];
    for (int d = 0; d < b.rank(); ++d) extents[operands[1][d]] = b[d];
    const EinsumLabels both = mask_of(operands[0]) & mask_of(operands[1]);
    for (const Dims& labels : {operands[0], operands[1]})
      for (const auto label : labels)
        if ((both & mask_of(label)) == 0) result.push_back(label);
  }

 private:
  [[nodiscard]] static Dims labels_of(const EinsumTerm& term, int unnamed) {
    Dims labels;
    for (int i = 0; i <= term.letters.rank(); ++i) {
      if (i == term.ellipsis)
        for (int j = unnamed - 1; j >= 0; --j) labels.push_back(einsum_letters + j);
      if (i < term.letters.rank()) labels.push_back(term.letters[i]);
    }
    return labels;
  }

  /// Checks that dimension d of operand i is as long as its label elsewhere, or 1, which broadcasts.
  void bind(const EinsumEquation& equation, Span<const Shape> shapes, int i, int d) {
    const EinsumLabel label = operands[i][d];
    const std::int64_t extent = shapes[static_cast<std::size_t>(i)][d];
    for (int e = 0; e < d; ++e)
      if (operands[i][e] == label && shapes[static_cast<std::size_t>(i)][e] != extent)
        fail<ShapeError>({"einsum(\"", to_string(equation), "\"): operand ", i, " has shape ",
                          shapes[static_cast<std::size_t>(i)], "; expected equal extents where a letter is repeated"});
    if (extent == 1 || extent == extents[label]) return;
    if (extents[label] != 1)
      fail<ShapeError>({"einsum(\"", to_string(equation), "\"): operand ", i, " has shape ",
                        shapes[static_cast<std::size_t>(i)], ": dimension ", d, " has extent ", extent, ", but ",
                        label < einsum_letters ? join("'", std::string(1, letter_of(label)), "'") : "it", " is ",
                        extents[label], " in an operand before; expected equal extents, or 1"});
    extents[label] = extent;
  }
};

/// One product of a contraction: the operand `right` is multiplied into `left`, and dropped.
struct EinsumStep {
  int left, right;
};

/// The order of products with the fewest multiplications, among all orders whose products are tensors. A product costs
/// the extents of all letters of both its operands, multiplied. Letters that neither the result nor another operand has
/// are summed as soon as possible.
class CheapestPath {
 public:
  CheapestPath(const BoundEinsum& bound, int operands) : bound_(bound), operands_(operands) {
    std::vector<Cut> cuts(std::size_t(1) << operands);
    for (unsigned set = 1; set < cuts.size(); ++set) cuts[set].kept = kept(set);
    for (unsigned set = 1; set < cuts.size(); ++set) {
      Cut& best = cuts[set];
      const unsigned first = set & (~set + 1);
      if (set == first) continue;
      best.cost = std::numeric_limits<double>::infinity();
      for (unsigned left = (set - 1) & set; left != 0; left = (left - 1) & set) {
        if ((left & first) == 0) continue;
        const Cut &a = cuts[left], &b = cuts[set & ~left];
        const double cost = a.cost + b.cost + multiplications(a.kept | b.kept);
        if (cost < best.cost || best.left == 0) best.cost = cost, best.left = left;
      }
      if (std::popcount(best.kept) > max_rank) best.cost = std::numeric_limits<double>::infinity();
    }
    add_steps(cuts, static_cast<unsigned>(cuts.size() - 1));
  }
  [[nodiscard]] Span<const EinsumStep> steps() const { return {steps_, static_cast<std::size_t>(size_)}; }

 private:
  /// The last product of a set of operands, a bit for each: of the products of two subsets.
  struct Cut {
    double cost = 0;
    EinsumLabels kept = 0;
    unsigned left = 0;
  };

  /// The letters of these operands that are not summed within them.
  [[nodiscard]] EinsumLabels kept(unsigned set) const {
    EinsumLabels within = 0, others = mask_of(bound_.result);
    for (int i = 0; i < operands_; ++i) ((set >> i & 1u) != 0 ? within : others) |= mask_of(bound_.operands[i]);
    return within & others;
  }
  [[nodiscard]] double multiplications(EinsumLabels labels) const {
    double product = 1;
    for (int label = 0; labels >> label != 0; ++label)
      if ((labels >> label & 1u) != 0) product *= static_cast<double>(bound_.extents[label]);
    return product;
  }
  /// Appends the steps of a set of operands; its product takes the place of its first operand.
  void add_steps(const std::vector<Cut>& cuts, unsigned set) {
    const unsigned left = cuts[set].left, right = set & ~left;
    if (left == 0) return;
    add_steps(cuts, left);
    add_steps(cuts, right);
    steps_[size_++] = {std::countr_zero(left), std::countr_zero(right)};
  }

  const BoundEinsum& bound_;
  int operands_, size_ = 0;
  EinsumStep steps_[EinsumEquation::most_operands];
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
