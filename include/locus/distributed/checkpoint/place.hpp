#pragma once
// The place of a part in a whole tensor: a range of elements or a block along a dimension, and copies between places.

#include <locus/core/shape.hpp>

#include <cstring>
#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The elements from `first` on, in row-major order of the whole tensor, as many as the part has.
struct ElementRange {
  std::int64_t first = 0;
};
/// The part has the extents of the whole tensor in all dimensions but `dim`, where it begins at `offset`. A tensor of
/// another number of dimensions holds these elements in row-major order: rows of each third of a packed (3 n, d) are
/// Block{1, row} of (3, n, d).
struct Block {
  int dim = 0;
  std::int64_t offset = 0;
};

/// The place of a part in a whole tensor: all of it, an ElementRange, or a Block.
class Place {
 public:
  enum class Kind : std::uint8_t { all, range, block };
  Place() = default;
  Place(ElementRange range) : kind_(Kind::range), offset_(range.first) {}
  Place(Block block) : kind_(Kind::block), dim_(block.dim), offset_(block.offset) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int dim() const { return dim_; }                 ///< of a block
  [[nodiscard]] std::int64_t offset() const { return offset_; }  ///< the first element of a range; of a block along dim

 private:
  Kind kind_ = Kind::all;
  int dim_ = 0;
  std::int64_t offset_ = 0;
};
[[nodiscard]] inline std::string to_string(const Place& place) {
  if (place.kind() == Place::Kind::all) return "the whole tensor";
  if (place.kind() == Place::Kind::range) return join("the range from element ", place.offset());
  return join("the block along dimension ", place.dim(), " from ", place.offset());
}

namespace detail {

/// The elements of a place as runs: run k has elements [first + k * stride, first + k * stride + length) of the whole
/// tensor. A place without elements has no run; a contiguous one has a single run, and the whole tensor as its stride.
struct Runs {
  std::int64_t first = 0, length = 0, stride = 0, count = 0;

  [[nodiscard]] std::int64_t elements() const { return length * count; }
  [[nodiscard]] std::int64_t begin(std::int64_t run) const { return first + run * stride; }
  friend bool operator==(const Runs&, const Runs&) = default;
};

/// Whether a block of shape `part` fits into `whole`.
[[nodiscard]] inline bool block_fits(const Shape& whole, const Place& place, const Shape& part) {
  if (part.rank() != whole.rank() || place.dim() < 0 || place.dim() >= whole.rank()) return false;
  for (int i = 0; i < whole.rank(); ++i)
    if (i != place.dim() && part[i] != whole[i]) return false;
  const std::int64_t extent = whole[place.dim()];
  return part[place.dim()] <= extent && place.offset() >= 0 && place.offset() <= extent - part[place.dim()];
}

/// The shape of the elements of a place that a tensor of shape `part` holds: its own, unless it is a block of another
/// number of dimensions.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape shape_in_place(const Shape& whole, const Place& place, const Shape& part) {
  const bool is_block = place.kind() == Place::Kind::block && place.dim() >= 0 && place.dim() < whole.rank();
  if (!is_block || part.rank() == whole.rank() || elements(whole) == 0) return part;
  Shape block = whole;
  block[place.dim()] = 1;
  if (elements(part) % elements(block) != 0) return part;
  block[place.dim()] = elements(part) / elements(block);
  return block;
}

/// The runs of a part of shape `part`; `name` of the tensor, for the message. throws ShapeError unless the part fits
[[nodiscard]] LOCUS_OUT_OF_LINE inline Runs runs_of(std::string_view name, const Shape& whole, const Place& place,
                                                    const Shape& part) {
  const std::int64_t total = elements(whole), count = elements(part);
  const bool fits = place.kind() == Place::Kind::all ? part == whole
                    : place.kind() == Place::Kind::range
                        ? place.offset() >= 0 && count <= total && place.offset() <= total - count
                        : block_fits(whole, place, part);
  if (!fits)
    fail<ShapeError>({"a part of shape ", part, " as ", place, " of '", name, "', whose shape is ", whole,
                      ", does not fit; expected a place within the tensor, and the other extents of a block as there"});
  if (count == 0) return {};
  if (place.kind() != Place::Kind::block) return {place.offset(), count, total, 1};
  std::int64_t inner = 1, outer = 1;
  for (int i = 0; i < whole.rank(); ++i)
    if (i != place.dim()) (i < place.dim() ? outer : inner) *= whole[i];
  const std::int64_t length = part[place.dim()] * inner, stride = whole[place.dim()] * inner;
  if (outer == 1 || length == stride) return {place.offset() * inner, length * outer, total, 1};
  return {place.offset() * inner, length, stride, outer};
}

/// Copies the elements of `bytes` bytes that two places share. Both memories are dense. Returns their number.
LOCUS_OUT_OF_LINE inline std::int64_t copy_shared(const Runs& from, const std::uint8_t* source, const Runs& to,
                                                  std::uint8_t* target, std::int64_t bytes) {
  std::int64_t copied = 0;
  for (std::int64_t k = 0; k < to.count; ++k) {
    const std::int64_t begin = to.begin(k), end = begin + to.length, before = begin - from.first - from.length;
    for (std::int64_t j = before < 0 ? 0 : before / from.stride + 1; j < from.count && from.begin(j) < end; ++j) {
      const std::int64_t first = from.begin(j) > begin ? from.begin(j) : begin;
      const std::int64_t last = from.begin(j) + from.length < end ? from.begin(j) + from.length : end;
      std::memcpy(target + (k * to.length + first - begin) * bytes,
                  source + (j * from.length + first - from.begin(j)) * bytes,
                  static_cast<std::size_t>((last - first) * bytes));
      copied += last - first;
    }
  }
  return copied;
}
/// Whether the spans from the first to the last element of two places overlap.
[[nodiscard]] inline bool may_share(const Runs& a, const Runs& b) {
  if (a.count == 0 || b.count == 0) return false;
  return a.first < b.begin(b.count - 1) + b.length && b.first < a.begin(a.count - 1) + a.length;
}

/// Places that are to cover a tensor of `total` elements once: ranges, or blocks along one dimension.
class Cover {
 public:
  explicit Cover(std::int64_t total) : total_(total) {}

  /// Returns false for a place that was added before.
  bool add(const Runs& runs) {
    if (runs.count == 0) return true;
    const auto [at, end] = parts_.equal_range(runs.first);
    for (auto each = at; each != end; ++each)
      if (each->second == runs) return false;
    parts_.emplace(runs.first, runs);
    return true;
  }
  /// The defect of the cover; empty: none.
  [[nodiscard]] LOCUS_OUT_OF_LINE std::string defect() const {
    if (total_ == 0) return "";
    const Runs like = parts_.empty() ? Runs{0, 0, total_, 1} : parts_.begin()->second;
    std::int64_t at = 0;
    for (const auto& [first, runs] : parts_) {
      if (runs.stride != like.stride || runs.count != like.count)
        return "its parts are divided in two ways; expected ranges of elements, or blocks along one dimension";
      if (first < at) return join("its parts overlap from element ", first, " on; expected each element in one part");
      if (first > at) break;
      at = first + runs.length;
    }
    if (at == like.stride) return "";
    return join("its parts have a gap from element ", at, " on; expected each of its ", total_, " elements in a part");
  }

 private:
  std::int64_t total_;
  std::multimap<std::int64_t, Runs> parts_;
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
