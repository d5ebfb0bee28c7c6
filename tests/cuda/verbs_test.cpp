// Every verb on Cuda against the same verb on Cpu, over random operands, strides and sizes.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <locus/core/rng.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/cuda/pinned.hpp>
#include <numeric>
#include <support/fused_relu.hpp>
#include <support/launches.hpp>
#include <support/plans.hpp>
#include <support/skip.hpp>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using locus::compute_t;

/// An array on the host and its copy on the GPU.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t size) : host_(static_cast<std::size_t>(size)) {
    device_ = static_cast<T*>(Backend<Cuda>::allocate({}, bytes()));
  }
  ~Array() { Backend<Cuda>::deallocate({}, device_, bytes()); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void upload() { Transfer<Cpu, Cuda>::copy({}, host(), {}, device_, bytes()); }
  [[nodiscard]] std::vector<T> download() const {
    Storage result(host_.size());
    Transfer<Cuda, Cpu>::copy({}, device_, {}, result.data(), bytes());
    return {result.begin(), result.end()};
  }
  [[nodiscard]] T* host() { return reinterpret_cast<T*>(host_.data()); }
  [[nodiscard]] T* device() { return device_; }
  [[nodiscard]] std::size_t bytes() const { return host_.size() * sizeof(T); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(host_.size()); }

 private:
  struct Element {
    T value{};
    operator T() const { return value; }
  };  // std::vector<bool> has no array
  static_assert(sizeof(Element) == sizeof(T));
  using Storage = std::vector<Element>;
  Storage host_;
  T* device_ = nullptr;
};

/// Small integers, exact in every type, so that results can be compared bit for bit whatever the order of a sum.
template <class T>
void fill(Array<T>& array, Philox& random, std::int64_t range = 8) {
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const std::int64_t value = random.bounded(range) - (std::is_same_v<T, std::uint8_t> ? 0 : range / 2);
    array.host()[i] = convert<T>(value);
  }
  array.upload();
}

/// Index of the first element that differs (bit for bit, but for NaN and zeros); -1 where none does.
template <class T>
std::int64_t first_difference(Array<T>& expected_on_host, double allowed = 0) {
  const std::vector<T> given = expected_on_host.download();
  for (std::int64_t i = 0; i < expected_on_host.size(); ++i) {
    const double x = convert<double>(static_cast<T>(given[static_cast<std::size_t>(i)]));
    const double y = convert<double>(expected_on_host.host()[i]);
    if (!(std::abs(x - y) <= allowed * std::fmax(1., std::abs(y))) && !(std::isnan(x) && std::isnan(y))) return i;
  }
  return -1;
}

/// How an operand lies in memory: its strides, where its first element is, and how many elements it spans.
struct Layout {
  Strides strides;
  std::int64_t first = 0, span = 0;
};

/// Dense in a random order of the dimensions, with gaps, reversals and (for inputs) repetitions now and then.
Layout random_layout(const Shape& shape, Philox& random, bool may_repeat) {
  Layout layout;
  layout.strides = row_major(shape);
  const auto kind = random.bounded(5);
  if (kind > 0) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    if (kind > 1) shuffle(order, random);
    std::int64_t stride = kind == 2 ? 2 : 1;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const int d = static_cast<int>(*it);
      const bool repeats = may_repeat && random.bounded(3) == 0;
      layout.strides[d] = repeats ? 0 : random.bounded(6) == 0 ? -stride : stride;
      if (!repeats) stride *= shape[d] + (random.bounded(4) == 0 ? random.bounded(5) : 0);
    }
  }
  layout.first = random.bounded(3) == 0 ? random.bounded(4) : 0;
  layout.span = layout.first + 1;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t reach = (shape[d] > 0 ? shape[d] - 1 : 0) * layout.strides[d];
    layout.span += reach < 0 ? -reach : reach;
    if (reach < 0) layout.first -= reach;
  }
  return layout;
}

Shape random_shape(Philox& random, std::int64_t most_elements) {
  Shape shape;
  const auto rank = random.bounded(5);
  std::int64_t size = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t extent = random.bounded(6) == 0 ? 1 + random.bounded(200) : 1 + random.bounded(9);
    if (size * extent > most_elements) break;
    size *= extent;
    shape.push_back(extent);
  }
  return shape;
}

struct AddMixed {
  template <class A, class B, class O>
  LOCUS_HD void operator()(A a, B b, O& out) const {
    out = static_cast<O>(static_cast<O>(a) + static_cast<O>(b) * O(2));
  }
};
struct IndexPlusTwo {
  template <class A>
  LOCUS_HD void operator()(A a, std::int64_t index, std::int64_t& out, float& difference) const {
    out = index + 2;
    difference = static_cast<float>(a) - static_cast<float>(index % 16);
  }
};
struct Fill {
  float value;
  template <class O>
  LOCUS_HD void operator()(O& out) const {
    out = static_cast<O>(value);
  }
};

template <class A, class B, class O>
void check_map(Philox& random, const Shape& shape, bool null_input = false) {
  const Layout la = random_layout(shape, random, true), lb = random_layout(shape, random, true),
               lo = random_layout(shape, random, false);
  Array<A> a(la.span);
  Array<B> b(lb.span);
  Array<O> o(lo.span);
  fill(a, random);
  fill(b, random);
  fill(o, random);
  const std::array<Strides, 3> strides{la.strides, lb.strides, lo.strides};
  const auto plan = make_plan<3>(shape, strides);
  using In = Pack<const A*, const B*>;
  const B* const no_b = nullptr;
  Backend<Cpu>::map({}, plan, AddMixed{}, In{a.host() + la.first, null_input ? no_b : b.host() + lb.first},
                    Pack<O*>{o.host() + lo.first});
  Backend<Cuda>::map({}, plan, AddMixed{}, In{a.device() + la.first, null_input ? no_b : b.device() + lb.first},
                     Pack<O*>{o.device() + lo.first});
  INFO("shape ", to_string(shape), " strides ", to_string(la.strides), " ", to_string(lb.strides), " ",
       to_string(lo.strides));
  CHECK(first_difference(o) == -1);
}

TEST_CASE("map equals Cpu's over random shapes and strides") {
  NEEDS_CUDA();
  Philox random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const Shape shape = random_shape(random, 5000);
    check_map<float, float, float>(random, shape, trial % 7 == 0);
    check_map<half, float, half>(random, shape);
    check_map<std::int64_t, std::uint8_t, double>(random, shape);
    check_map<std::uint8_t, std::uint8_t, std::uint8_t>(random, shape);
    check_map<bfloat16, bfloat16, float>(random, shape);
  }
}

TEST_CASE("map of dense runs: every length around the vectors and tiles, every misalignment") {
  NEEDS_CUDA();
  Philox random(2);
  for (const std::int64_t n :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 255, 1023, 1024, 1025, 2047, 2048, 2049, 4099, 40001}) {
    for (std::int64_t shift = 0; shift < 4; ++shift) {
      Array<float> a(n + shift), o(n + shift);
      Array<std::uint8_t> b(n);
      fill(a, random);
      fill(b, random);
      fill(o, random);
      const std::array<Strides, 3> strides{Strides{1}, Strides{1}, Strides{1}};
      const auto plan = make_plan<3>(Shape{n}, strides);
      using In = Pack<const float*, const std::uint8_t*>;
      Backend<Cpu>::map({}, plan, AddMixed{}, In{a.host() + shift, b.host()}, Pack<float*>{o.host() + shift});
      Backend<Cuda>::map({}, plan, AddMixed{}, In{a.device() + shift, b.device()}, Pack<float*>{o.device() + shift});
      INFO("n ", n, " shift ", shift);
      CHECK(first_difference(o) == -1);
    }
  }
}

TEST_CASE("map: indices, several outputs, null outputs, no inputs, in place") {
  NEEDS_CUDA();
  Philox random(3);
  for (const Shape& shape : {Shape{1000}, Shape{7, 12}, Shape{3, 5, 8}}) {
    const Layout dense = {row_major(shape), 0, elements(shape)}, any = random_layout(shape, random, false);
    for (const Layout& layout : {dense, any}) {
      Array<half> a(dense.span);
      Array<std::int64_t> index(layout.span);
      Array<float> difference(dense.span);
      fill(a, random);
      fill(index, random);
      fill(difference, random);
      const std::array<Strides, 4> strides{dense.strides, dense.strides, layout.strides, dense.strides};
      const auto plan = make_plan<4>(shape, strides);
      for (const bool discard : {false, true}) {
        using In = Pack<const half*, LinearIndex>;
        using Out = Pack<std::int64_t*, float*>;
        float* const nothing = nullptr;
        Backend<Cpu>::map({}, plan, IndexPlusTwo{}, In{a.host(), LinearIndex{}},
                          Out{index.host() + layout.first, discard ? nothing : difference.host()});
        Backend<Cuda>::map({}, plan, IndexPlusTwo{}, In{a.device(), LinearIndex{}},
                           Out{index.device() + layout.first, discard ? nothing : difference.device()});
        CHECK(first_difference(index) == -1);
        CHECK(first_difference(difference) == -1);
      }
      const std::array<Strides, 1> one{layout.strides};
      Backend<Cpu>::map({}, make_plan<1>(shape, one), Fill{3.f}, Pack<>{},
                        Pack<std::int64_t*>{index.host() + layout.first});
      Backend<Cuda>::map({}, make_plan<1>(shape, one), Fill{3.f}, Pack<>{},
                         Pack<std::int64_t*>{index.device() + layout.first});
      CHECK(first_difference(index) == -1);
      const std::array<Strides, 3> in_place{dense.strides, dense.strides, dense.strides};
      Backend<Cpu>::map({}, make_plan<3>(shape, in_place), AddMixed{},
                        Pack<const float*, const half*>{difference.host(), a.host()}, Pack<float*>{difference.host()});
      Backend<Cuda>::map({}, make_plan<3>(shape, in_place), AddMixed{},
                         Pack<const float*, const half*>{difference.device(), a.device()},
                         Pack<float*>{difference.device()});
      CHECK(first_difference(difference) == -1);
    }
  }
}

template <class A>
struct Sum {
  using Accumulator = A;
  LOCUS_FN A identity() const { return A(0); }
  LOCUS_FN A combine(A a, A b) const { return a + b; }
  LOCUS_FN A finish(A a) const { return a; }
};
struct HalfOfSum : Sum<double> {
  LOCUS_FN double finish(double a) const { return a / 2; }
};
struct Located {
  float value;
  std::int64_t index;
};
struct ArgMax {
  using Accumulator = Located;
  LOCUS_FN Located identity() const { return {-1e30f, -1}; }
  LOCUS_FN Located combine(const Located& a, const Located& b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
  }
  LOCUS_FN std::int64_t finish(const Located& a) const { return a.index; }
};
struct Moments {
  float count, mean, squares;
};
struct Spread {
  using Accumulator = Moments;
  LOCUS_FN Moments identity() const { return {0, 0, 0}; }
  LOCUS_FN Moments combine(const Moments& a, const Moments& b) const {
    const float n = a.count + b.count;
    if (n == 0) return a;
    const float shift = b.mean - a.mean, part = b.count / n;
    return {n, a.mean + shift * part, a.squares + b.squares + shift * shift * a.count * part};
  }
  LOCUS_FN float finish(const Moments& a) const { return a.squares; }
};
struct And {
  using Accumulator = bool;
  LOCUS_FN bool identity() const { return true; }
  LOCUS_FN bool combine(bool a, bool b) const { return a && b; }
  LOCUS_FN bool finish(bool a) const { return a; }
};

struct Times {
  template <class A, class B>
  LOCUS_FN double operator()(A a, B b) const {
    return static_cast<double>(a) * static_cast<double>(b);
  }
};
struct Locate {
  LOCUS_FN Located operator()(float value, std::int64_t index) const { return {value, index}; }
};
struct OneMoment {
  LOCUS_FN Moments operator()(float value) const { return {1, value, 0}; }
};
struct AsDouble {
  LOCUS_FN double operator()(float value) const { return static_cast<double>(value); }
};
struct IndexAsByte {
  LOCUS_FN void operator()(std::int64_t index, std::uint8_t& out) const {
    out = static_cast<std::uint8_t>(index % 251);
  }
};
struct IsSmall {
  LOCUS_FN bool operator()(float value) const { return value < 3.5f; }
};

struct Folding {
  Shape shape;
  bool reduced[max_rank] = {};
};
/// Strides of a dense result, for the shape before the reduction.
Strides result_strides(const Folding& folding, std::int64_t& size) {
  Strides strides = Dims::filled(folding.shape.rank(), 0);
  size = 1;
  for (int d = folding.shape.rank() - 1; d >= 0; --d) {
    if (folding.reduced[d]) continue;
    strides[d] = size;
    size *= folding.shape[d];
  }
  return strides;
}

template <class T>
void check_reduce(Philox& random, const Folding& folding) {
  const Layout la = random_layout(folding.shape, random, true), lb = random_layout(folding.shape, random, true);
  std::int64_t size = 0;
  const Strides out = result_strides(folding, size);
  Array<float> a(la.span);
  Array<T> b(lb.span);
  Array<double> sum(size);
  Array<float> previous(size);
  Array<std::int64_t> best(size);
  Array<bool> all(size);
  fill(a, random);
  fill(b, random);
  fill(sum, random);
  fill(best, random);
  fill(all, random);
  const std::array<Strides, 2> both{la.strides, lb.strides};
  const std::array<Strides, 1> one{la.strides};
  const auto plan = locus_test::reduce_plan<2>(folding.shape, both, out, folding.reduced);
  const auto plan_of_one = locus_test::reduce_plan<1>(folding.shape, one, out, folding.reduced);
  const std::array<Strides, 2> indexed{la.strides, row_major(folding.shape)};
  const auto plan_with_index = locus_test::reduce_plan<2>(folding.shape, indexed, out, folding.reduced);
  INFO("shape ", to_string(folding.shape), " strides ", to_string(la.strides), " ", to_string(lb.strides), " out ",
       to_string(out));
  const double* const none = nullptr;
  for (const bool adds : {false, true}) {
    Backend<Cpu>::reduce({}, plan, Times{}, HalfOfSum{},
                         Pack<const float*, const T*>{a.host() + la.first, b.host() + lb.first},
                         adds ? sum.host() : none, sum.host());
    Backend<Cuda>::reduce({}, plan, Times{}, HalfOfSum{},
                          Pack<const float*, const T*>{a.device() + la.first, b.device() + lb.first},
                          adds ? sum.device() : none, sum.device());
    CHECK(first_difference(sum) == -1);
  }
  using Indexed = Pack<const float*, LinearIndex>;
  const std::int64_t* const no_index = nullptr;
  Backend<Cpu>::reduce({}, plan_with_index, Locate{}, ArgMax{}, Indexed{a.host() + la.first, LinearIndex{}}, no_index,
                       best.host());
  Backend<Cuda>::reduce({}, plan_with_index, Locate{}, ArgMax{}, Indexed{a.device() + la.first, LinearIndex{}},
                        no_index, best.device());
  CHECK(first_difference(best) == -1);
  const bool* const no_bool = nullptr;
  Backend<Cpu>::reduce({}, plan_of_one, IsSmall{}, And{}, Pack<const float*>{a.host() + la.first}, no_bool, all.host());
  Backend<Cuda>::reduce({}, plan_of_one, IsSmall{}, And{}, Pack<const float*>{a.device() + la.first}, no_bool,
                        all.device());
  CHECK(first_difference(all) == -1);
  const float* const no_float = nullptr;
  Backend<Cpu>::reduce({}, plan_of_one, OneMoment{}, Spread{}, Pack<const float*>{a.host() + la.first}, no_float,
                       previous.host());
  Backend<Cuda>::reduce({}, plan_of_one, OneMoment{}, Spread{}, Pack<const float*>{a.device() + la.first}, no_float,
                        previous.device());
  CHECK(first_difference(previous, 1e-4) == -1);
}

TEST_CASE("reduce equals Cpu's over random shapes, strides and axes") {
  NEEDS_CUDA();
  Philox random(4);
  for (int trial = 0; trial < 60; ++trial) {
    Folding folding{random_shape(random, 4000)};
    for (bool& reduced : folding.reduced) reduced = random.bounded(2) == 0;
    check_reduce<float>(random, folding);
    check_reduce<half>(random, folding);
  }
}

TEST_CASE("reduce: long runs, long columns, in several chunks; empty ones") {
  NEEDS_CUDA();
  Philox random(5);
  for (const auto& [shape, first, second] : {std::tuple{Shape{70001}, true, false},
                                             {Shape{3, 20011}, false, true},
                                             {Shape{20011, 3}, true, false},
                                             {Shape{5003, 40}, true, false},
                                             {Shape{300, 257}, true, true},
                                             {Shape{2, 4999, 5}, true, true},
                                             {Shape{0}, true, false},
                                             {Shape{4, 0}, false, true},
                                             {Shape{9000, 3}, false, true}}) {
    Folding folding{shape};
    folding.reduced[0] = first;
    folding.reduced[1] = second;
    check_reduce<float>(random, folding);
  }
}

struct Same {
  template <class X>
  LOCUS_FN X operator()(X value, std::int64_t) const {
    return value;
  }
};

/// Uses all a team can do: two fragments, reductions of several kinds, an update, stores with and without accumulation.
/// What a GPU can host of such rows is asked once, so GPUs that differ have types of their own.
template <class T, int gpu = 0>
struct Rows {
  [[maybe_unused]] static constexpr int fragments = 2;
  const T* x;
  const float* weight;  // shared by the rows; may be null
  T* out;
  double* sums;
  std::int64_t* best;
  std::int64_t cols, row_stride, col_stride;

  template <class Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    auto values = team.load(RowInput<T>{x + row * row_stride, col_stride});
    const auto weights = team.load(RowInput<float>{weight, 1});
    const auto found = team.reduce(
        ArgMax{},
        [](compute_t<T> v, std::int64_t c) {
          return Located{static_cast<float>(v), c};
        },
        values);
    team.update([found](compute_t<T> v, float w,
                        std::int64_t c) { return v * w + static_cast<compute_t<T>>((c + found.index) % 3); },
                values, weights);
    const double sum = team.reduce(
        Sum<double>{}, [](compute_t<T> v, float w, std::int64_t) { return static_cast<double>(v + w); }, values,
        weights);
    team.store(RowOutput<T>{out + row * cols, 1, false}, Same{}, values);
    team.store(
        RowOutput<T>{out + row * cols, 1, true}, [](float w, std::int64_t) { return static_cast<compute_t<T>>(w); },
        weights);
    team.write(sums + row, sum);
    team.write(best + row, static_cast<std::int64_t>(found.index + team.cols()));
  }
};

/// How the rows of a test lie in memory: `gap` elements apart, or their elements side by side.
struct RowLayout {
  std::int64_t gap = 0;
  bool transposed = false, has_weight = true;
};

template <class T, int gpu = 0>
void check_rows(Philox& random, std::int64_t rows, std::int64_t cols, const RowLayout& layout) {
  const std::int64_t row_stride = layout.transposed ? 1 : cols + layout.gap, col_stride = layout.transposed ? rows : 1;
  Array<T> x(rows * (cols + layout.gap) + 1), out(rows * cols + 1);
  Array<float> weight(cols + 1);
  Array<double> sums(rows);
  Array<std::int64_t> best(rows);
  fill(x, random, 6);
  fill(out, random, 6);
  fill(weight, random, 4);
  fill(sums, random);
  fill(best, random);
  const float* const none = nullptr;
  Backend<Cpu>::for_each_row({}, rows, cols,
                             Rows<T, gpu>{x.host(), layout.has_weight ? weight.host() : none, out.host(), sums.host(),
                                          best.host(), cols, row_stride, col_stride});
  Backend<Cuda>::for_each_row({}, rows, cols,
                              Rows<T, gpu>{x.device(), layout.has_weight ? weight.device() : none, out.device(),
                                           sums.device(), best.device(), cols, row_stride, col_stride});
  INFO("rows ", rows, " cols ", cols, " gap ", layout.gap);
  CHECK(first_difference(out) == -1);
  CHECK(first_difference(sums) == -1);
  CHECK(first_difference(best) == -1);
}

TEST_CASE("for_each_row equals Cpu's: rows of warps and blocks, in registers, in shared memory, in a workspace") {
  NEEDS_CUDA();
#ifdef LOCUS_SIMULATED_CUDA
  simulated::architecture = 80;  // a block per row, however long
#endif
  Philox random(6);
  for (const std::int64_t cols :
       {0,   1,   8,    10,   31,   32,   33,   64,   100,  128,  129,  255,   256,   257,  500,
        512, 513, 1000, 1024, 2049, 3050, 4095, 4096, 4097, 6100, 8200, 13000, 30000, 60004}) {
    check_rows<float, 1>(random, cols > 5000 ? 2 : 9, cols, {});
    check_rows<double, 1>(random, 2, cols, {.transposed = true, .has_weight = cols % 2 == 0});
    if (cols >= 9000) continue;
    check_rows<float, 1>(random, 3, cols, {.gap = 3, .has_weight = cols % 2 == 1});
    check_rows<double, 1>(random, 2, cols, {.gap = 2});
    check_rows<half, 1>(random, 5, cols, {.gap = 8 - cols % 8});
    check_rows<bfloat16, 1>(random, 2, cols, {.gap = 1});
  }
  check_rows<float, 1>(random, 700, 24, {});
  check_rows<half, 1>(random, 130, 264, {});
#ifdef LOCUS_SIMULATED_CUDA
  CHECK(simulated::last_cluster == 1);
  simulated::architecture = 90;
#endif
}

TEST_CASE("for_each_row equals Cpu's: a cluster of blocks per row") {
  NEEDS_CUDA();
  Philox random(7);
  for (const auto [rows, cols, cluster] : {std::array<std::int64_t, 3>{2, 4096, 2},
                                           {3, 4096, 1},
                                           {1, 8191, 2},
                                           {1, 8192, 4},
                                           {7, 8192, 2},
                                           {2, 8193, 4},
                                           {2, 16384, 4},
                                           {2, 20001, 8},
                                           {1, 32768, 8},
                                           {2, 32769, 8},
                                           {1, 65540, 8},
                                           {2, 131073, 8},
                                           {1, 300001, 8}}) {
    check_rows<float>(random, rows, cols, {});
#ifdef LOCUS_SIMULATED_CUDA
    CHECK(simulated::last_cluster == cluster);
#else
    (void)cluster;
#endif
    if (cols > 20001) continue;
    check_rows<float>(random, rows, cols, {.transposed = true, .has_weight = false});
    check_rows<double>(random, rows, cols, {.gap = 2});
    check_rows<half>(random, rows, cols, {});
  }
}

#ifdef LOCUS_SIMULATED_CUDA
TEST_CASE("for_each_row takes clusters as large as the GPU can host, which it is asked once") {
  Philox random(8);
  const auto cluster_of = [&](auto gpu, int largest, std::int64_t cols) {
    simulated::largest_cluster = largest;
    check_rows<float, gpu()>(random, 1, cols, {});
    simulated::largest_cluster = 8;
    return simulated::last_cluster;
  };
  const std::integral_constant<int, 2> a_half{};
  const std::integral_constant<int, 3> a_quarter{};
  const std::integral_constant<int, 4> a_seventh{};
  const int before = simulated::asked_kernels;
  CHECK(cluster_of(a_half, 4, 65540) == 4);
  const int asked = simulated::asked_kernels - before;
  CHECK(asked == 3);  // for its attributes, for clusters of 8, of 4
  CHECK(cluster_of(a_half, 8, 65540) == 4);
  CHECK(cluster_of(a_half, 4, 4096) == 2);
  CHECK(simulated::asked_kernels - before == asked);
  CHECK(cluster_of(a_quarter, 2, 65540) == 2);
  CHECK(cluster_of(a_seventh, 1, 65540) == 1);
  CHECK(cluster_of(a_seventh, 1, 13000) == 1);
}
#endif

struct Keep {
  [[maybe_unused]] static constexpr bool is_identity = true;
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return x;
  }
};
struct Rectify {
  [[maybe_unused]] static constexpr bool is_relu = true;
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return x > X(0) ? x : X(0);
  }
};
struct TwicePlusOne {
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return static_cast<X>(x + x + X(1));
  }
};
/// One of two activations, chosen at run time.
struct Chosen {
  bool rectifies;
  template <class X>
  LOCUS_FN X operator()(X x) const {
    return rectifies ? Rectify{}(x) : x;
  }
  template <class Use>
  void visit(const Use& use) const {
    rectifies ? use(Rectify{}) : use(Keep{});
  }
};
/// An epilogue of a type that the library does not know.
template <class T>
struct Checkered {
  bool adds;
  [[nodiscard]] bool accumulates() const { return adds; }
  LOCUS_FN compute_t<T> operator()(compute_t<T> product, compute_t<T> previous, std::int64_t row,
                                   std::int64_t col) const {
    return static_cast<compute_t<T>>(product + previous + static_cast<compute_t<T>>((row * 3 + col) % 4));
  }
};

template <class T>
struct Matrix {
  MatrixRef<T> shape;
  std::int64_t batch_stride = 0, span = 0;

  /// rows, columns, padded rows, padded columns, neither dense, one row repeated
  Matrix(std::int64_t rows, std::int64_t cols, std::int64_t kind, std::int64_t count, bool shared) {
    shape = {nullptr, rows, cols, cols, 1};
    if (kind == 1) shape.row_stride = 1, shape.col_stride = rows;
    if (kind == 2) shape.row_stride = cols + 3;
    if (kind == 3) shape.row_stride = 1, shape.col_stride = rows + 5;
    if (kind == 4) shape.row_stride = 2 * cols + 1, shape.col_stride = 2;
    if (kind == 5) shape.row_stride = 0;
    const std::int64_t one =
        (rows > 0 ? rows - 1 : 0) * shape.row_stride + (cols > 0 ? cols - 1 : 0) * shape.col_stride + 1;
    batch_stride = shared ? 0 : one + 2;
    span = one + (count - 1) * batch_stride;
  }
  template <class U>
  [[nodiscard]] MatrixRef<U> at(U* data) const {
    return {data, shape.rows, shape.cols, shape.row_stride, shape.col_stride};
  }
};

template <class T, class MakeEpilogue>
void check_gemm(Philox& random, std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t count,
                const MakeEpilogue& make) {
  const Matrix<T> a(m, k, random.bounded(6), count, random.bounded(3) == 0),
      b(k, n, random.bounded(6), count, random.bounded(3) == 0), c(m, n, random.bounded(5), count, false);
  Array<T> a_data(a.span), b_data(b.span), c_data(c.span), bias(n + 1);
  const std::int64_t range = std::is_same_v<T, bfloat16> ? 4 : 8;
  fill(a_data, random, range);
  fill(b_data, random, range);
  fill(c_data, random, range);
  fill(bias, random, range);
  const GemmBatch batch{count, a.batch_stride, b.batch_stride, c.batch_stride};
  const std::int64_t shift = random.bounded(2);
  Backend<Cpu>::gemm({}, batch, a.at(static_cast<const T*>(a_data.host())), b.at(static_cast<const T*>(b_data.host())),
                     c.at(c_data.host()), make(static_cast<const T*>(bias.host() + shift)));
  Backend<Cuda>::gemm({}, batch, a.at(static_cast<const T*>(a_data.device())),
                      b.at(static_cast<const T*>(b_data.device())), c.at(c_data.device()),
                      make(static_cast<const T*>(bias.device() + shift)));
  INFO("(", m, ", ", k, ") x (", k, ", ", n, "), ", count, " times; strides ", a.shape.row_stride, " ",
       a.shape.col_stride, ", ", b.shape.row_stride, " ", b.shape.col_stride, ", ", c.shape.row_stride, " ",
       c.shape.col_stride);
  CHECK(first_difference(c_data, std::is_same_v<T, bfloat16> ? 1e-2 : std::is_same_v<T, half> ? 1e-3 : 0) == -1);
}

template <class T>
void check_gemms(Philox& random, int trials) {
  for (int trial = 0; trial < trials; ++trial) {
    const std::int64_t m = 1 + random.bounded(40), n = 1 + random.bounded(40),
                       k = random.bounded(12) ? 1 + random.bounded(50) : 0;
    const std::int64_t count = random.bounded(3) ? 1 : 1 + random.bounded(4);
    for (const bool adds : {false, true}) {
      check_gemm<T>(random, m, k, n, count, [&](const T*) { return Epilogue<T, Keep>{nullptr, adds, {}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T* bias) { return Epilogue<T, Keep>{bias, adds, {}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T* bias) { return Epilogue<T, Rectify>{bias, adds, {}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T*) { return Epilogue<T, Rectify>{nullptr, adds, {}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T* bias) { return Epilogue<T, TwicePlusOne>{bias, adds, {}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T* bias) { return Epilogue<T, Chosen>{bias, adds, {adds}}; });
      check_gemm<T>(random, m, k, n, count, [&](const T*) { return Checkered<T>{adds}; });
    }
  }
}

TEST_CASE("gemm equals Cpu's: every layout, batches, epilogues") {
  NEEDS_CUDA();
  Philox random(7);
  check_gemms<float>(random, 20);
  {
    const locus_test::FusedRelu fused;
    check_gemms<float>(random, 6);
  }
  check_gemms<double>(random, 8);
  check_gemms<half>(random, 8);
  check_gemms<bfloat16>(random, 8);
}

TEST_CASE("gemm of integers equals Cpu's") {
  NEEDS_CUDA();
  Philox random(8);
  check_gemms<std::int32_t>(random, 6);
  check_gemms<std::int64_t>(random, 6);
  check_gemms<std::uint8_t>(random, 6);
}

TEST_CASE("launches are counted as they happen") {
  NEEDS_CUDA();
  Array<float> x(100 * 100), bias(100), y(100 * 100);
  const MatrixRef<const float> a{x.device(), 100, 100, 100, 1};
  const MatrixRef<float> c{y.device(), 100, 100, 100, 1};
  const auto count = [&](const auto& epilogue) {
    const LaunchLog log;
    Backend<Cuda>::gemm({}, GemmBatch{}, a, a, c, epilogue);
    return log.counts();
  };
  const auto check = [&](const char* what, const auto& epilogue, int expected) {
    const LaunchCounts counts = count(epilogue);
    locus_test::check_launches<Cuda>(what, counts.total(), expected, 2);
    CHECK(counts.gemm == 1);
    CHECK(counts.map <= 1);
  };
  check("a bias", Epilogue<float, Keep>{bias.device(), false, {}}, 1);
  check("a bias and relu", Epilogue<float, Rectify>{bias.device(), false, {}}, 2);
  check("another activation", Epilogue<float, TwicePlusOne>{bias.device(), false, {}}, 2);
  check("relu, chosen", Epilogue<float, Chosen>{bias.device(), false, {true}}, 2);
  check("a bias, added", Epilogue<float, Chosen>{bias.device(), true, {false}}, 1);
  check("relu, added", Epilogue<float, Chosen>{bias.device(), true, {true}}, 2);
  {
    const locus_test::FusedRelu fused;
    check("a bias and relu in one", Epilogue<float, Rectify>{bias.device(), false, {}}, 1);
    check("relu in one, chosen", Epilogue<float, Chosen>{bias.device(), false, {true}}, 1);
    check("relu, added all the same", Epilogue<float, Chosen>{bias.device(), true, {true}}, 2);
  }
  const LaunchLog log;
  const std::array<Strides, 1> dense{Strides{1}};
  Backend<Cuda>::map({}, make_plan<1>(Shape{0}, dense), Fill{1.f}, Pack<>{}, Pack<float*>{x.device()});
  CHECK(log.launches() == 0);
}

TEST_CASE("memory comes from the pool, and one stream's blocks go back to it") {
  NEEDS_CUDA();
  if (!locus_test::memory_is_pooled()) SKIP_TEST("LOCUS_CUDA_POOL=0: no block is used again");
  for (const int size : {0, 1, 512, 513, 4096, 4097, 100000, 1 << 20, (1 << 20) + 1}) {
    const auto bytes = static_cast<std::size_t>(size);
    void* first = Backend<Cuda>::allocate({}, bytes);
    Backend<Cuda>::deallocate({}, first, bytes);
    const MemoryStats before = Backend<Cuda>::memory_stats({});
    void* second = Backend<Cuda>::allocate({}, bytes);
    CHECK(second == first);
    std::thread([&] { Backend<Cuda>::deallocate({}, second, bytes); }).join();
    void* third = Backend<Cuda>::allocate({}, bytes);
    CHECK(third == first);
    std::thread([&] {
      Backend<Cuda>::synchronize({});
      Backend<Cuda>::deallocate({}, third, bytes);
    }).join();
    const MemoryStats after = Backend<Cuda>::memory_stats({});
    CHECK(after.requests == before.requests + 2);
    CHECK(after.system_allocations == before.system_allocations);
    CHECK(after.allocated_bytes == before.allocated_bytes);
    CHECK(after.reserved_bytes == before.reserved_bytes);
  }
}

TEST_CASE("more memory than there is: the error says how much was asked for, is held and is free") {
  NEEDS_CUDA();
  for (const int bits : {52, 62}) {
    for (const char* part : {"bytes were asked for", "tensors hold", "the pool keeps", "bytes are free"}) {
      CHECK_THROWS_WITH_AS((void)Backend<Cuda>::allocate({}, std::size_t{1} << bits), doctest::Contains(part),
                           OutOfMemory);
    }
    CHECK_THROWS_AS((void)Backend<Pinned>::allocate({}, std::size_t{1} << bits), OutOfMemory);
  }
  CHECK_THROWS_AS((void)Backend<Cuda>::allocate(Cuda{99}, 1), CudaUnavailable);
}

TEST_CASE("a second GPU has its own memory and stream; copies between the two keep their order") {
  NEEDS_CUDA();
  if (cuda::device_count() < 2) SKIP_TEST("one GPU here");
  const Cuda first{0}, second{1};
  const std::int64_t n = 3001;
  const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
  const std::array<Strides, 1> dense{Strides{1}};
  auto* here = static_cast<float*>(Backend<Cuda>::allocate(first, bytes));
  auto* there = static_cast<float*>(Backend<Cuda>::allocate(second, bytes));
  CHECK(Backend<Cuda>::memory_stats(second).allocated_bytes >= static_cast<std::int64_t>(bytes));
  Backend<Cuda>::map(second, make_plan<1>(Shape{n}, dense), Fill{5.f}, Pack<>{}, Pack<float*>{there});
  Transfer<Cuda, Cuda>::copy(second, there, first, here, bytes);
  Backend<Cuda>::map(second, make_plan<1>(Shape{n}, dense), Fill{6.f}, Pack<>{}, Pack<float*>{there});
  std::vector<float> result(static_cast<std::size_t>(n));
  Transfer<Cuda, Cpu>::copy(first, here, {}, result.data(), bytes);
  CHECK(std::count(result.begin(), result.end(), 5.f) == n);
  Transfer<Cuda, Cpu>::copy(second, there, {}, result.data(), bytes);
  CHECK(std::count(result.begin(), result.end(), 6.f) == n);
  Backend<Cuda>::deallocate(first, here, bytes);
  Backend<Cuda>::deallocate(second, there, bytes);
}

TEST_CASE("threads work side by side, each in its own stream") {
  NEEDS_CUDA();
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&sums, t] {
      for (int round = 0; round < 5; ++round) {
        const std::int64_t n = 20000;
        Array<float> x(n);
        Array<double> sum(1);
        const std::array<Strides, 1> dense{Strides{1}};
        const bool reduced[max_rank] = {true};
        Backend<Cuda>::map({}, make_plan<1>(Shape{n}, dense), Fill{static_cast<float>(t + 1)}, Pack<>{},
                           Pack<float*>{x.device()});
        const double* const none = nullptr;
        Backend<Cuda>::reduce({}, locus_test::reduce_plan<1>(Shape{n}, dense, Strides{0}, reduced), AsDouble{},
                              Sum<double>{}, Pack<const float*>{x.device()}, none, sum.device());
        sums[t] += sum.download()[0] / static_cast<double>(n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < sums.size(); ++t) CHECK(sums[t] == 5. * static_cast<double>(t + 1));
}

TEST_CASE("copies between host, pinned memory and GPU") {
  NEEDS_CUDA();
  Philox random(9);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20,
                                  (std::size_t{1} << 20) + 1, (std::size_t{5} << 20) + 3}) {
    std::vector<unsigned char> source(bytes);
    for (auto& byte : source) byte = static_cast<unsigned char>(random());
    const std::vector<unsigned char> original = source;
    std::vector<unsigned char> result(bytes), result_of_pinned(bytes);
    void* device = Backend<Cuda>::allocate({}, bytes);
    void* other = Backend<Cuda>::allocate({}, bytes);
    void* pinned = Backend<Pinned>::allocate({}, bytes);
    Transfer<Cpu, Cuda>::copy({}, source.data(), {}, device, bytes);
    std::fill(source.begin(), source.end(), 0);  // it may change at once
    Transfer<Cuda, Cuda>::copy({}, device, {}, other, bytes);
    Transfer<Cuda, Cpu>::copy({}, other, {}, result.data(), bytes);
    CHECK(result == original);
    Transfer<Cuda, Pinned>::copy({}, device, {}, pinned, bytes);
    Transfer<Pinned, Cuda>::copy({}, pinned, {}, other, bytes);
    Transfer<Pinned, Cpu>::copy({}, pinned, {}, result_of_pinned.data(), bytes);
    CHECK(result_of_pinned == original);
    Transfer<Cpu, Pinned>::copy({}, source.data(), {}, pinned, bytes);
    cuda::copy_async(cuda::Context::current(0), pinned, pinned, other, bytes, cudaMemcpyHostToDevice)->wait();
    Transfer<Cuda, Cpu>::copy({}, other, {}, result.data(), bytes);
    CHECK(result == source);
    Backend<Pinned>::deallocate({}, pinned, bytes);
    Backend<Cuda>::deallocate({}, other, bytes);
    Backend<Cuda>::deallocate({}, device, bytes);
  }
}

#ifndef LOCUS_SIMULATED_CUDA
TEST_CASE("more elements than 32 bits count: map, reduce") {
  NEEDS_CUDA();
  const std::int64_t n = (std::int64_t{1} << 32) + 5;
  Array<float> one(1);
  one.host()[0] = 1.f;
  one.upload();
  Array<double> sum(1);
  const std::array<Strides, 1> repeated{Strides{0}};
  bool reduced[max_rank] = {true};
  const auto plan = locus_test::reduce_plan<1>(Shape{n}, repeated, Strides{0}, reduced);
  Backend<Cuda>::reduce({}, plan, AsDouble{}, Sum<double>{}, Pack<const float*>{one.device()},
                        static_cast<const double*>(nullptr), sum.device());
  CHECK(sum.download()[0] == static_cast<double>(n));

  const std::int64_t rows = 3, cols = (std::int64_t{1} << 30) + 7;
  void* memory = Backend<Cuda>::allocate({}, static_cast<std::size_t>(rows * cols));
  auto* bytes = static_cast<std::uint8_t*>(memory);
  const std::array<Strides, 2> strides{Strides{cols, 1}, Strides{cols, 1}};
  Backend<Cuda>::map({}, make_plan<2>(Shape{rows, cols}, strides), IndexAsByte{}, Pack<LinearIndex>{LinearIndex{}},
                     Pack<std::uint8_t*>{bytes});
  for (const std::int64_t at : {std::int64_t{0}, cols - 1, cols, 2 * cols + 12345, rows * cols - 1}) {
    std::uint8_t value = 0;
    Transfer<Cuda, Cpu>::copy({}, bytes + at, {}, &value, 1);
    CHECK(value == static_cast<std::uint8_t>(at % 251));
  }
  Backend<Cuda>::deallocate({}, memory, static_cast<std::size_t>(rows * cols));
}
#endif

}  // namespace
