#pragma once
// Compares the verbs of a device with the reference device's, over random operands, strides and sizes. Each function
// reports the first difference and its operands; nothing if there is none.

#include <locus/device/linear_fusion.hpp>

#include <support/reference_device.hpp>
#include <support/verb_functors.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace locus_test {

using locus::Backend;
using locus::Pack;
using locus::Shape;
using locus::Strides;

/// An array on the reference device and its copy on D.
template <class T, class D>
class Twin {
 public:
  explicit Twin(std::int64_t size) : size_(size), reference_(allocate(ReferenceDevice{})), device_(allocate(D{})) {}
  /// Small integers, exact in every type, so that results are bitwise equal whatever the order of a sum.
  Twin(RandomLayouts& random, std::int64_t size, std::int64_t range = 8) : Twin(size) { fill(random, range); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;
  ~Twin() {
    Backend<D>::deallocate(D{}, device_, bytes());
    Backend<ReferenceDevice>::deallocate({}, reference_, bytes());
  }

  void fill(RandomLayouts& random, std::int64_t range = 8) {
    fill([&](std::int64_t) { return random.below(range) - (std::is_unsigned_v<T> ? 0 : range / 2); });
  }
  template <class Element>
  void fill(const Element& element)
    requires requires { element(std::int64_t{}); }
  {
    for (std::int64_t i = 0; i < size_; ++i) reference_[i] = locus::convert<T>(element(i));
    locus::Transfer<locus::Cpu, D>::copy({}, reference_, D{}, device_, bytes());
  }
  [[nodiscard]] T* at(ReferenceDevice) const { return reference_; }
  [[nodiscard]] T* at(D) const { return device_; }

  /// Describes the first element that differs from the reference (NaN equals NaN), ignoring elements for which
  /// left_out(i).
  template <class LeftOut>
  [[nodiscard]] std::string difference(double allowed, const LeftOut& left_out) const {
    const std::vector<unsigned char> copy = download();
    for (std::int64_t i = 0; i < size_; ++i) {
      T element{};
      std::memcpy(&element, copy.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      const auto found = locus::convert<double>(element), expected = locus::convert<double>(reference_[i]);
      const bool is_close = std::abs(found - expected) <= allowed * std::fmax(1., std::abs(expected));
      if (!is_close && !(std::isnan(found) && std::isnan(expected)) && !left_out(i))
        return locus::join("element ", i, " of ", size_, " is ", found, "; the reference has ", expected);
    }
    return {};
  }
  [[nodiscard]] std::string difference(double allowed = 0) const {
    return difference(allowed, [](std::int64_t) { return false; });
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  template <class Place>
  [[nodiscard]] T* allocate(Place place) const {
    return static_cast<T*>(Backend<Place>::allocate(place, bytes()));
  }
  [[nodiscard]] std::vector<unsigned char> download() const {
    std::vector<unsigned char> copy(bytes());
    locus::Transfer<D, locus::Cpu>::copy(D{}, device_, {}, copy.data(), bytes());
    return copy;
  }

  std::int64_t size_;
  T *reference_, *device_;
};

/// The first difference noted, and where; empty if none.
class Difference {
 public:
  template <class... Where>
  void note(const std::string& problem, const Where&... where) {
    if (text_.empty() && !problem.empty()) text_ = locus::join(problem, " (", where..., ")");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// An operand of a verb: an array, and the layout of a shape in it.
template <class T, class D>
struct VerbOperand {
  Layout layout;
  std::int64_t first;
  Twin<T, D> array;

  VerbOperand(RandomLayouts& random, const Shape& shape, bool is_output = false)
      : VerbOperand(random, random.layout(shape, !is_output, true), random.below(3) == 0 ? random.below(4) : 0) {}
  VerbOperand(RandomLayouts& random, const Layout& given, std::int64_t misalignment)
      : layout(given), first(given.first + misalignment), array(random, given.span + misalignment) {}
  template <class Place> [[nodiscard]] T* at(Place place) const { return array.at(place) + first; }
};

template <class D, class A, class B, class O>
void compare_map(Difference& difference, RandomLayouts& random, const Shape& shape, bool null_input = false) {
  const VerbOperand<A, D> a(random, shape);
  const VerbOperand<B, D> b(random, shape);
  const VerbOperand<O, D> o(random, shape, true);
  const auto plan =
      locus::make_plan<3>(shape, std::array<Strides, 3>{a.layout.strides, b.layout.strides, o.layout.strides});
  const auto launch = [&](auto place) {
    const B* const second = null_input ? nullptr : b.at(place);
    Backend<decltype(place)>::map(place, plan, AddMixed{}, Pack<const A*, const B*>{a.at(place), second},
                                  Pack<O*>{o.at(place)});
  };
  launch(ReferenceDevice{});
  launch(D{});
  difference.note(o.array.difference(), "map of ", shape, ", strides ", to_string(a.layout.strides), " ",
                  to_string(b.layout.strides), " -> ", to_string(o.layout.strides), null_input ? ", one null" : "");
}

/// Dense runs of n elements that start `shift` elements after an aligned one.
template <class D>
void compare_run(Difference& difference, RandomLayouts& random, std::int64_t n, std::int64_t shift) {
  const Twin<float, D> a(random, n + shift), o(random, n + shift);
  const Twin<std::uint8_t, D> b(random, n);
  const auto plan = locus::make_plan<3>(Shape{n}, std::array<Strides, 3>{Strides{1}, Strides{1}, Strides{1}});
  const auto launch = [&](auto place) {
    Backend<decltype(place)>::map(place, plan, AddMixed{},
                                  Pack<const float*, const std::uint8_t*>{a.at(place) + shift, b.at(place)},
                                  Pack<float*>{o.at(place) + shift});
  };
  launch(ReferenceDevice{});
  launch(D{});
  difference.note(o.difference(), "map of a run of ", n, ", from ", shift);
}

/// Maps with indices, with two outputs, one of them null, without inputs, and in place.
template <class D>
void compare_index_map(Difference& difference, RandomLayouts& random, const Shape& shape) {
  const Layout dense{locus::row_major(shape), locus::elements(shape)};
  for (const Layout& layout : {dense, random.layout(shape, false, true)}) {
    const VerbOperand<locus::half, D> a(random, dense, 0);
    const VerbOperand<std::int64_t, D> index(random, layout, 0);
    const VerbOperand<float, D> other(random, dense, 0);
    const auto compare = [&](const char* what, const auto& launch) {
      launch(ReferenceDevice{});
      launch(D{});
      difference.note(index.array.difference(), what, ", index of ", shape, ", strides ", to_string(layout.strides));
      difference.note(other.array.difference(), what, " of ", shape, ", strides ", to_string(layout.strides));
    };
    const auto of_index =
        locus::make_plan<4>(shape, std::array<Strides, 4>{dense.strides, dense.strides, layout.strides, dense.strides});
    for (const bool discards : {false, true})
      compare("map with an index", [&](auto place) {
        float* const second = discards ? nullptr : other.at(place);
        Backend<decltype(place)>::map(place, of_index, IndexPlusTwo{},
                                      Pack<const locus::half*, locus::LinearIndex>{a.at(place), locus::LinearIndex{}},
                                      Pack<std::int64_t*, float*>{index.at(place), second});
      });
    compare("map of no inputs", [&](auto place) {
      Backend<decltype(place)>::map(place, locus::make_plan<1>(shape, std::array<Strides, 1>{layout.strides}),
                                    Fill{3.f}, Pack<>{}, Pack<std::int64_t*>{index.at(place)});
    });
    compare("map in place", [&](auto place) {
      const std::array<Strides, 3> strides{dense.strides, dense.strides, dense.strides};
      Backend<decltype(place)>::map(place, locus::make_plan<3>(shape, strides), AddMixed{},
                                    Pack<const float*, const locus::half*>{other.at(place), a.at(place)},
                                    Pack<float*>{other.at(place)});
    });
  }
}

/// A shape, and its folded dimensions.
struct Folding {
  Shape shape;
  bool reduced[locus::max_rank] = {};

  /// Strides of a dense result, for the shape before the reduction; 0 at folded dimensions.
  [[nodiscard]] Strides result_strides() const {
    Strides strides = locus::Dims::filled(shape.rank(), 0);
    std::int64_t size = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (reduced[d]) continue;
      strides[d] = size;
      size *= shape[d];
    }
    return strides;
  }
  [[nodiscard]] std::int64_t results() const {
    std::int64_t size = 1;
    for (int d = 0; d < shape.rank(); ++d) size *= reduced[d] ? 1 : shape[d];
    return size;
  }
  template <int N>
  [[nodiscard]] locus::ReducePlan<N> plan(const std::array<Strides, static_cast<std::size_t>(N)>& inputs) const {
    return reduce_plan<N>(shape, inputs, result_strides(), reduced);
  }
};

/// `layout`: of the second operand; null: random.
template <class D, class T>
void compare_reduce(Difference& difference, RandomLayouts& random, const Folding& folding,
                    const Layout* layout = nullptr) {
  const VerbOperand<float, D> a =
      layout ? VerbOperand<float, D>(random, *layout, 0) : VerbOperand<float, D>(random, folding.shape);
  const VerbOperand<T, D> b = layout ? VerbOperand<T, D>(random, *layout, 0) : VerbOperand<T, D>(random, folding.shape);
  const std::int64_t size = folding.results();
  const Twin<double, D> sums(random, size);
  const Twin<std::int64_t, D> best(random, size);
  Twin<bool, D> flags(random, size, 2);
  const Twin<float, D> spreads(random, size);
  const auto both = folding.template plan<2>({a.layout.strides, b.layout.strides});
  const auto indexed = folding.template plan<2>({a.layout.strides, locus::row_major(folding.shape)});
  const auto one = folding.template plan<1>({a.layout.strides});
  const auto compare = [&](const char* what, const auto& result, double allowed, const auto& launch) {
    launch(ReferenceDevice{});
    launch(D{});
    std::string axes;
    for (int d = 0; d < folding.shape.rank(); ++d) axes += folding.reduced[d] ? "r" : "k";
    difference.note(result.difference(allowed), what, " of ", folding.shape, " over ", axes, ", strides ",
                    to_string(a.layout.strides), " ", to_string(b.layout.strides));
  };
  for (const bool adds : {false, true})
    compare("sum", sums, 0, [&](auto place) {
      const double* const previous = adds ? sums.at(place) : nullptr;
      Backend<decltype(place)>::reduce(place, both, Times{}, HalfOfSum{},
                                       Pack<const float*, const T*>{a.at(place), b.at(place)}, previous,
                                       sums.at(place));
    });
  compare("argmax", best, 0, [&](auto place) {
    const std::int64_t* const none = nullptr;
    Backend<decltype(place)>::reduce(place, indexed, Locate{}, ArgMax{},
                                     Pack<const float*, locus::LinearIndex>{a.at(place), locus::LinearIndex{}}, none,
                                     best.at(place));
  });
  const auto compare_flags = [&](const char* what, const auto& op, bool adds) {
    compare(what, flags, 0, [&](auto place) {
      const bool* const previous = adds ? flags.at(place) : nullptr;
      Backend<decltype(place)>::reduce(place, one, IsSmall{}, op, Pack<const float*>{a.at(place)}, previous,
                                       flags.at(place));
    });
    flags.fill(random, 2);  // previous values of the next reduction
  };
  for (const bool adds : {false, true}) {
    compare_flags("all", And{}, adds);
    compare_flags("any", Or{}, adds);
  }
  compare("spread", spreads, 1e-4, [&](auto place) {
    const float* const none = nullptr;
    Backend<decltype(place)>::reduce(place, one, OneMoment{}, Spread{}, Pack<const float*>{a.at(place)}, none,
                                     spreads.at(place));
  });
}

/// Layout of a test's rows: `gap` elements between rows, or transposed; results `step` elements apart.
struct RowLayout {
  std::int64_t gap = 0;
  bool transposed = false, has_weight = true;
  std::int64_t step = 1;
};

template <class D, class T, int gpu = 0>
void compare_rows(Difference& difference, RandomLayouts& random, std::int64_t rows, std::int64_t cols,
                  const RowLayout& layout) {
  const std::int64_t row_stride = layout.transposed ? 1 : cols + layout.gap, col_stride = layout.transposed ? rows : 1;
  const Twin<T, D> x(random, rows * (cols + layout.gap) + 1, 6), out(random, rows * cols * layout.step + 1, 6);
  const Twin<float, D> weight(random, cols + 1, 4);
  const Twin<double, D> sums(random, 2 * rows);
  const Twin<std::int64_t, D> best(random, rows);
  const auto launch = [&](auto place) {
    const float* const weights = layout.has_weight ? weight.at(place) : nullptr;
    Backend<decltype(place)>::for_each_row(
        place, rows, cols,
        Rows<T, gpu>{x.at(place), weights, out.at(place), sums.at(place), best.at(place), row_stride, col_stride,
                     cols * layout.step, layout.step});
  };
  launch(ReferenceDevice{});
  launch(D{});
  const auto note = [&](const char* what, const auto& result) {
    difference.note(result.difference(), what, " of ", rows, " rows of ", cols, ", gap ", layout.gap, ", step ",
                    layout.step, layout.transposed ? ", transposed" : "", layout.has_weight ? ", weights" : "");
  };
  note("elements", out);
  note("sums", sums);
  note("argmax", best);
}

template <class D, class T>
void compare_column_sums(Difference& difference, RandomLayouts& random, std::int64_t rows, std::int64_t cols) {
  const Twin<T, D> x(random, rows * cols, 4), y(random, rows * cols, 4), out(rows * cols);
  const Twin<T, D> first(random, cols), second(random, cols);
  for (const bool adds : {false, true})
    for (const bool wants_both : {true, false}) {
      const auto launch = [&](auto place) {
        const locus::ColumnSum<T> sums[] = {{first.at(place), adds}, {wants_both ? second.at(place) : nullptr, !adds}};
        return bool(Backend<decltype(place)>::for_each_row(
            place, rows, cols, SummedRows<T>{x.at(place), y.at(place), out.at(place), cols}, sums));
      };
      launch(ReferenceDevice{});
      const bool is_computed = launch(D{});
      const auto note = [&](const char* what, const auto& result) {
        difference.note(is_computed ? result.difference() : "none are computed", what, " of ", rows, " rows of ", cols,
                        adds ? ", added" : "");
      };
      note("first column sums", first);
      note("second column sums", second);
      note("rows", out);
    }
}

/// Operands of a batch of products in one of six layouts: rows, columns, padded rows, padded columns, neither dense,
/// one row repeated.
template <class T, class D>
struct Matrices {
  locus::MatrixRef<T> shape;
  std::int64_t batch_stride;
  Twin<T, D> array;

  Matrices(RandomLayouts& random, const locus::MatrixRef<T>& of, std::int64_t count, bool is_shared, std::int64_t range)
      : shape(of),
        batch_stride(is_shared ? 0 : span() + 2),
        array(random, span() + (count - 1) * batch_stride, range) {}
  Matrices(RandomLayouts& random, std::int64_t rows, std::int64_t cols, std::int64_t kind, std::int64_t count,
           bool is_shared, std::int64_t range)
      : Matrices(random, laid_out(rows, cols, kind), count, is_shared, range) {}
  template <class Place>
  [[nodiscard]] locus::MatrixRef<T> at(Place place) const {
    return {array.at(place), shape.rows, shape.cols, shape.row_stride, shape.col_stride};
  }
  template <class Place>
  [[nodiscard]] locus::MatrixRef<const T> read_at(Place place) const {
    return {array.at(place), shape.rows, shape.cols, shape.row_stride, shape.col_stride};
  }

 private:
  [[nodiscard]] static locus::MatrixRef<T> laid_out(std::int64_t rows, std::int64_t cols, std::int64_t kind) {
    const std::int64_t strides[6][2] = {{cols, 1}, {1, rows}, {cols + 3, 1}, {1, rows + 5}, {2 * cols + 1, 2}, {0, 1}};
    return {nullptr, rows, cols, strides[kind][0], strides[kind][1]};
  }
  [[nodiscard]] std::int64_t span() const {
    return std::max<std::int64_t>(shape.rows - 1, 0) * shape.row_stride +
           std::max<std::int64_t>(shape.cols - 1, 0) * shape.col_stride + 1;
  }
};

template <class T>
inline constexpr double allowed_of_product = std::is_same_v<T, locus::bfloat16> ? 1e-2
                                             : std::is_same_v<T, locus::half>   ? 1e-3
                                                                                : 0;

/// `count` products (m, k) x (k, n) with the epilogue make(bias, value): bias is a row of n, value a matrix (m, n).
template <class D, class T, class Make>
void compare_product(Difference& difference, RandomLayouts& random, const std::int64_t (&extents)[3],
                     std::int64_t count, const Make& make) {
  const std::int64_t m = extents[0], k = extents[1], n = extents[2];
  const std::int64_t range = std::is_same_v<T, locus::bfloat16> ? 4 : 8;
  const Matrices<T, D> a(random, m, k, random.below(6), count, random.below(3) == 0, range),
      b(random, k, n, random.below(6), count, random.below(3) == 0, range),
      c(random, m, n, random.below(5), count, false, range);
  const Twin<T, D> bias(random, n + 1, range), value(random, m * n, 4);
  const locus::GemmBatch batch{count, a.batch_stride, b.batch_stride, c.batch_stride};
  const std::int64_t shift = random.below(2);
  const auto launch = [&](auto place) {
    const T *const of_bias = bias.at(place) + shift, *const of_value = value.at(place);
    Backend<decltype(place)>::gemm(place, batch, a.read_at(place), b.read_at(place), c.at(place),
                                   make(of_bias, of_value));
  };
  launch(ReferenceDevice{});
  launch(D{});
  const auto strides = [](const auto& matrix) {
    return locus::join(matrix.shape.row_stride, " ", matrix.shape.col_stride);
  };
  difference.note(c.array.difference(allowed_of_product<T>), "product (", m, ", ", k, ") x (", k, ", ", n, "), ", count,
                  " times, strides ", strides(a), ", ", strides(b), " -> ", strides(c));
}

/// Products with every kind of epilogue.
template <class D, class T>
void compare_products(Difference& difference, RandomLayouts& random, int trials) {
  using locus::Epilogue;
  for (int trial = 0; trial < trials; ++trial) {
    const std::int64_t m = 1 + random.below(40), n = 1 + random.below(40),
                       k = random.below(12) ? 1 + random.below(50) : 0;
    const std::int64_t count = random.below(3) ? 1 : 1 + random.below(4);
    const auto compare = [&](const auto& make) { compare_product<D, T>(difference, random, {m, k, n}, count, make); };
    for (const bool adds : {false, true}) {
      compare([&](const T*, const T*) { return Epilogue<T, Keep>{nullptr, adds, {}}; });
      compare([&](const T* bias, const T*) { return Epilogue<T, Keep>{bias, adds, {}}; });
      compare([&](const T* bias, const T*) { return Epilogue<T, Rectify>{bias, adds, {}}; });
      compare([&](const T*, const T*) { return Epilogue<T, Rectify>{nullptr, adds, {}}; });
      compare([&](const T* bias, const T*) { return Epilogue<T, TwicePlusOne>{bias, adds, {}}; });
      compare([&](const T* bias, const T*) { return Epilogue<T, Chosen>{bias, adds, {adds}}; });
      compare([&](const T*, const T*) { return Checkered<T>{adds}; });
    }
    if constexpr (locus::FloatingDType<T>)
      compare([&](const T*, const T* value) { return locus::DerivativeEpilogue<T, LikeExponential>{{}, value, n}; });
  }
}

/// Blocks of several sizes at once: each keeps the bytes copied to it, also after others were freed.
template <class D>
void compare_memory(Difference& difference, RandomLayouts& random) {
  struct Block {
    std::size_t bytes;
    unsigned char* data;
    unsigned char content;
  };
  std::vector<Block> blocks;
  const auto check = [&](const Block& block) {
    std::vector<unsigned char> copy(block.bytes + 1, 7);
    locus::Transfer<D, locus::Cpu>::copy(D{}, block.data, {}, copy.data(), block.bytes);
    const auto right = std::count(copy.begin(), copy.end() - 1, block.content);
    if (right != static_cast<std::int64_t>(block.bytes) || copy.back() != 7)
      difference.note("memory does not hold what was copied there", block.bytes, " bytes");
  };
  const auto before = Backend<D>::memory_stats(D{});
  for (int round = 0; round < 200; ++round) {
    if (blocks.size() == 20 || (!blocks.empty() && random.below(3) == 0)) {
      const auto at = blocks.begin() + random.below(static_cast<std::int64_t>(blocks.size()));
      check(*at);
      Backend<D>::deallocate(D{}, at->data, at->bytes);
      blocks.erase(at);
      continue;
    }
    const auto bytes = static_cast<std::size_t>(random.below(4) ? random.below(300) : random.below(100000));
    const auto content = static_cast<unsigned char>(round);
    auto* const data = static_cast<unsigned char*>(Backend<D>::allocate(D{}, bytes));
    const std::vector<unsigned char> source(bytes, content);
    if (reinterpret_cast<std::uintptr_t>(data) % 64 != 0) difference.note("memory is not aligned", bytes, " bytes");
    locus::Transfer<locus::Cpu, D>::copy({}, source.data(), D{}, data, bytes);
    blocks.push_back({bytes, data, content});
  }
  for (const Block& block : blocks) check(block);
  if (blocks.size() > 1 && blocks.front().bytes <= blocks.back().bytes) {
    locus::Transfer<D, D>::copy(D{}, blocks.front().data, D{}, blocks.back().data, blocks.front().bytes);
    Block copied = blocks.back();
    copied.bytes = blocks.front().bytes, copied.content = blocks.front().content;
    check(copied);
  }
  for (const Block& block : blocks) Backend<D>::deallocate(D{}, block.data, block.bytes);
  if (Backend<D>::memory_stats(D{}).allocated_bytes != before.allocated_bytes)
    difference.note("memory that was given back is counted as in use", "memory_stats");
}

// Sets of comparisons of each verb, in about a second.

template <class D>
[[nodiscard]] std::string compare_maps(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (int trial = 0; trial < 40; ++trial) {
    const Shape shape = random.shape(3000);
    compare_map<D, float, float, float>(difference, random, shape, trial % 7 == 0);
    compare_map<D, std::int64_t, std::uint8_t, double>(difference, random, shape);
    compare_map<D, locus::bfloat16, float, locus::half>(difference, random, shape);
  }
  for (const std::int64_t n : {1, 15, 16, 17, 255, 1025, 40001}) compare_run<D>(difference, random, n, n % 4);
  for (const Shape& shape : {Shape{1000}, Shape{7, 12}, Shape{3, 5, 8}})
    compare_index_map<D>(difference, random, shape);
  return difference.text();
}

template <class D>
[[nodiscard]] std::string compare_reductions(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (int trial = 0; trial < 40; ++trial) {
    Folding folding{random.shape(3000)};
    for (bool& reduced : folding.reduced) reduced = random.below(2) == 0;
    compare_reduce<D, float>(difference, random, folding);
  }
  return difference.text();
}

template <class D>
[[nodiscard]] std::string compare_all_rows(std::uint64_t seed) {
  Difference difference;
  RandomLayouts random(seed);
  for (const std::int64_t cols : {0, 1, 8, 15, 16, 17, 33, 100, 1023, 1040, 2049, 5003}) {
    compare_rows<D, float>(difference, random, cols > 2000 ? 2 : 9, cols, {});
    compare_rows<D, float>(difference, random, 3, cols,
                           {.gap = 3, .has_weight = cols % 2 == 1, .step = 1 + random.below(3)});
    compare_rows<D, locus::half>(difference, random, 2, cols, {.transposed = true, .has_weight = cols % 2 == 0});
  }
  compare_rows<D, float>(difference, random, 700, 24, {});
  return difference.text();
}

}  // namespace locus_test
