// Runs on: host, cuda (verbs).
#include <locus/locus.hpp>

#include <array>
#include <cmath>
#include <iterator>
#include <list>
#include <span>
#include <sstream>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

template <class D>
void check_filled(const Shape& shape) {
  CAPTURE(to_string(shape));
  const auto count = static_cast<std::size_t>(elements(shape));
  CHECK_CLOSE((zeros<float, D>(shape)), Reference(shape, std::vector<double>(count, 0)));
  CHECK_CLOSE((ones<std::int32_t, D>(shape)), Reference(shape, std::vector<double>(count, 1)));
}

}  // namespace

LOCUS_DEVICE_TEST("zeros, ones and full of any shape and type", D) {
  check_filled<D>({2, 3});
  check_filled<D>({});
  check_filled<D>({0, 4});
  check_filled<D>({1, 2, 1, 2, 1, 2, 1, 2});
  CHECK_CLOSE((full<double, D>({2}, 0.1)), {0.1, 0.1});
  CHECK_CLOSE((full<half, D>({2}, 0.5)), {0.5, 0.5});
  CHECK_CLOSE((full<bfloat16, D>({2}, half(3.0f))), {3, 3});
  CHECK_CLOSE((full<bool, D>({2}, true)), {1, 1});
  CHECK_CLOSE((full<std::uint8_t, D>({1}, 200)), {200});
  CHECK(empty<std::int64_t, D>({3, 0}).shape() == Shape{3, 0});
  static_assert(std::is_same_v<decltype(zeros({1})), Tensor<float, Cpu>>);
  static_assert(std::is_same_v<decltype(zeros({1}, D{})), Tensor<float, D>>);
}

LOCUS_DEVICE_TEST("arange counts from start to before end", D) {
  CHECK_CLOSE((arange<float, D>(4)), {0, 1, 2, 3});
  CHECK_CLOSE((arange<std::int64_t, D>(2, 11, 3)), {2, 5, 8});
  CHECK_CLOSE((arange<std::int32_t, D>(5, -2, -3)), {5, 2, -1});
  CHECK_CLOSE((arange<double, D>(0, 1, 0.25)), {0, 0.25, 0.5, 0.75});
  CHECK_CLOSE((arange<float, D>(1, 0, -0.5)), {1, 0.5});
  CHECK_CLOSE((arange<half, D>(3)), {0, 1, 2});
  CHECK_CLOSE((arange<std::uint8_t, D>(250, 256)), {250, 251, 252, 253, 254, 255});
  CHECK_CLOSE((arange<std::int64_t, D>((std::int64_t{1} << 40) + 1, (std::int64_t{1} << 40) + 2)), {0x1p40 + 1});
  const std::int64_t quarter = std::int64_t{1} << 62;
  CHECK_CLOSE((arange<std::int64_t, D>(INT64_MIN, INT64_MAX, quarter)), {-0x1p63, -0x1p62, 0, 0x1p62});
  CHECK_CLOSE((arange<std::int64_t, D>(INT64_MAX, INT64_MIN, -quarter)), {0x1p63, 0x1p62, -1, -0x1p62});
  CHECK_CLOSE((arange<float, D>(0)), Reference({0}, {}));
  CHECK_CLOSE((arange<float, D>(3, 3)), Reference({0}, {}));
}

template <class T>
concept CountsByHalves = requires { arange<T>(0.5); };

TEST_CASE("arange refuses what has no end or does not fit") {
  CHECK_THROWS_AS((void)arange(0, 5, 0), ArgumentError);
  CHECK_THROWS_AS((void)arange(5, 0), ArgumentError);
  CHECK_THROWS_AS((void)arange<int>(0, 5, -1), ArgumentError);
  CHECK_THROWS_AS((void)arange(0, NAN), ArgumentError);
  CHECK_THROWS_AS((void)arange(0, INFINITY), ArgumentError);
  CHECK_THROWS_AS((void)arange(0.0, 1.0, NAN), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::uint8_t>(257), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::uint8_t>(-1, 3), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::int32_t>(std::int64_t{1} << 40), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::int64_t>(INT64_MIN, INT64_MAX), ArgumentError);
  CHECK_FALSE(CountsByHalves<std::int32_t>);
  CHECK(CountsByHalves<double>);
}

LOCUS_DEVICE_TEST("linspace has exact ends and equal distances", D) {
  CHECK_CLOSE((linspace<double, D>(0, 1, 5)), {0, 0.25, 0.5, 0.75, 1});
  CHECK_CLOSE((linspace<float, D>(3, -3, 4)), {3, 1, -1, -3});
  CHECK_CLOSE((linspace<float, D>(2, 9, 1)), {2});
  CHECK_CLOSE((linspace<float, D>(-3e38, 3e38, 5)), {-3e38, -1.5e38, 0, 1.5e38, 3e38});
  CHECK_CLOSE((linspace<double, D>(-1.5e308, 1.5e308, 4)), {-1.5e308, -0.5e308, 0.5e308, 1.5e308});
  CHECK_CLOSE((linspace<bfloat16, D>(1.0039062500001, 2, 2)), {1.0078125, 2}, 0);  // rounded once
  CHECK_CLOSE((linspace<float, D>(2, 9, 0)), Reference({0}, {}));
  const auto x = reference(linspace<double, D>(0.1, 0.7, 1000));
  CHECK(x.values.front() == 0.1);
  CHECK(x.values.back() == 0.7);
  CHECK(x.values[333] == doctest::Approx(0.1 + 0.6 * 333 / 999).epsilon(1e-15));
  CHECK_THROWS_AS((void)(linspace<float, D>(0, 1, -1)), ArgumentError);
}

LOCUS_DEVICE_TEST("eye has ones on the diagonal", D) {
  CHECK_CLOSE((eye<float, D>(2)), Reference({2, 2}, {1, 0, 0, 1}));
  CHECK_CLOSE((eye<std::int32_t, D>(2, 3)), Reference({2, 3}, {1, 0, 0, 0, 1, 0}));
  CHECK_CLOSE((eye<bool, D>(3, 1)), Reference({3, 1}, {1, 0, 0}));
  CHECK_CLOSE((eye<float, D>(0)), Reference({0, 0}, {}));
  CHECK_CLOSE((eye<float, D>(2, 0)), Reference({2, 0}, {}));
  CHECK_THROWS_AS((void)(eye<float, D>(-1)), ShapeError);
}

LOCUS_DEVICE_TEST("every factory is one launch", D) {
  LaunchLog log;
  auto launches = [&, before = std::int64_t{0}](auto&&...) mutable {
    return log.launches() - std::exchange(before, log.launches());
  };
  CHECK(launches(empty<float, D>({3})) == 0);
  CHECK(launches(zeros<float, D>({3})) == 1);
  CHECK(launches(full<float, D>({3}, 2)) == 1);
  CHECK(launches(arange<float, D>(3)) == 1);
  CHECK(launches(linspace<float, D>(0, 1, 3)) == 1);
  CHECK(launches(eye<float, D>(3)) == 1);
  CHECK(launches(zeros_like(empty<float, D>({3}))) == 1);
}

LOCUS_DEVICE_TEST("nested lists become tensors of as many dimensions", D) {
  CHECK_CLOSE((from<float, D>({1, 2.5, 3})), Reference({3}, {1, 2.5, 3}));
  CHECK_CLOSE((from<std::int64_t, D>({{1, 2}, {3, 4}, {5, 6}})), Reference({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE((from<float, D>({{{1}, {2}}, {{3}, {4}}})), Reference({2, 2, 1}, {1, 2, 3, 4}));
  CHECK_CLOSE((from<half, D>({{{{0.5, 1}, {2, 3}}}})), Reference({1, 1, 2, 2}, {0.5, 1, 2, 3}));
  CHECK_CLOSE((from<bool, D>({{true, false}})), Reference({1, 2}, {1, 0}));
  CHECK_CLOSE((from<bool, D>({2, 0, -1})), Reference({3}, {1, 0, 1}));
  CHECK_CLOSE((from<float, D>({{1}, {2}})), Reference({2, 1}, {1, 2}));
  CHECK_CLOSE((from<float, D>({{7}})), Reference({1, 1}, {7}));
  CHECK_CLOSE((from<float, D>({})), Reference({0}, {}));
  CHECK_CLOSE((from<float, D>({{}, {}})), Reference({2, 0}, {}));
  if constexpr (std::is_same_v<D, Counting>) {
    RequestLog log;
    CHECK_CLOSE(from({{1, 2}}, D{3}), {{1, 2}, {1, 2}});
    CHECK(log.copies() == 2);  // here and back
    CHECK(log.launches() == 0);
  }
}

template <class T, class N>
concept HoldsNumber = requires(N n) { from<T>({n}); };

TEST_CASE("ragged lists are refused, and so are fractions for integers") {
  CHECK_THROWS_AS((void)from({{1, 2}, {3}}), ShapeError);
  CHECK_THROWS_AS((void)from({{1}, {2, 3}}), ShapeError);
  CHECK_THROWS_AS((void)from({{{1}, {2}}, {{3}, {4, 5}}}), ShapeError);
  CHECK_THROWS_AS((void)from({{1, 2}, 3}), ShapeError);
  CHECK_THROWS_AS((void)from({3, {1, 2}}), ShapeError);
  CHECK_THROWS_AS((void)from({{}, {1}}), ShapeError);
  CHECK_THROWS_AS((void)from({{{{{{{{{1}}}}}}}}}), ShapeError);
  CHECK(HoldsNumber<std::int32_t, std::int64_t>);
  CHECK_FALSE(HoldsNumber<std::int32_t, double>);
  CHECK(HoldsNumber<bool, int>);
  CHECK_FALSE(HoldsNumber<bool, double>);
}

LOCUS_DEVICE_TEST("vectors, arrays, spans and iterators become tensors", D) {
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  CHECK_CLOSE((from<void, D>(numbers, {2, 3})), Reference({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE((from<float, D>(numbers, {3, 2})), Reference({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE(from(std::span(numbers).subspan(2, 2), {2, 1}, D{}), Reference({2, 1}, {3, 4}));
  CHECK_CLOSE((from<void, D>(std::array<std::int64_t, 2>{7, 8})), Reference({2}, {7, 8}));
  const std::uint8_t bytes[] = {1, 255};
  CHECK_CLOSE((from<float, D>(bytes)), Reference({2}, {1, 255}));
  static_assert(std::is_same_v<decltype(from(numbers)), Tensor<double, Cpu>>);
  static_assert(std::is_same_v<decltype(from<half>(numbers)), Tensor<half, Cpu>>);
  const std::list<int> list{4, 5, 6};
  CHECK_CLOSE((from<void, D>(list.begin(), list.end(), {3, 1})), Reference({3, 1}, {4, 5, 6}));
  std::istringstream text("1.5 2.5");
  CHECK_CLOSE((from<float, D>(std::istream_iterator<double>(text), std::istream_iterator<double>(), {2})), {1.5, 2.5});
  const std::vector<bool> bits{true, false};
  CHECK_CLOSE((from<void, D>(bits.begin(), bits.end(), {2})), {1, 0});
  CHECK_THROWS_AS((void)(from<void, D>(numbers, {2, 2})), ShapeError);
  CHECK_THROWS_AS((void)(from<void, D>(list.begin(), list.end(), {2})), ShapeError);
  CHECK_THROWS_AS((void)(from<void, D>(list.begin(), list.end(), {4})), ShapeError);
  CHECK_CLOSE((from<void, D>(std::vector<float>{}, {0, 3})), Reference({0, 3}, {}));
}

LOCUS_DEVICE_TEST("tensors like another have its shape, device and type", D) {
  const auto x = sample<double, D>({2, 3});
  CHECK_CLOSE(zeros_like(x), Reference({2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK_CLOSE(ones_like<std::int32_t>(x), Reference({2, 3}, {1, 1, 1, 1, 1, 1}));
  CHECK_CLOSE(full_like(x, 0.5), Reference({2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}));
  static_assert(std::is_same_v<decltype(rand_like(x)), Tensor<double, D>>);
  static_assert(std::is_same_v<decltype(randn_like<float>(x)), Tensor<float, D>>);
  CHECK(empty_like(x.select(0, 0)).shape() == Shape{3});
  if constexpr (std::is_same_v<D, Counting>) CHECK(zeros_like(x.to(D{2})).device() == D{2});
}

TEST_CASE("negative extents are refused, and memory that is not there") {
  CHECK_THROWS_AS((void)zeros({2, -1}), ShapeError);
  CHECK_THROWS_AS((void)rand({-3}), ShapeError);
  CHECK_THROWS_AS((void)empty({std::int64_t{1} << 50}), OutOfMemory);
  CHECK_THROWS_AS((void)empty<double>({std::int64_t{1} << 61}), OutOfMemory);
  CHECK_THROWS_AS((void)empty({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
}

namespace {

/// Memory of another library: numbers 0, 1, ... on D.
template <class D>
struct Foreign {
  static constexpr std::int64_t count = 6;
  static constexpr std::size_t bytes = count * sizeof(float);
  float* data = static_cast<float*>(Backend<D>::allocate(D{}, bytes));
  int freed = 0;
  Foreign() {
    const Tensor<float, Cpu> numbers = arange<float>(count);
    Transfer<Cpu, D>::copy(Cpu{}, numbers.data(), D{}, data, bytes);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  ~Foreign() {
    if (freed == 0) Backend<D>::deallocate(D{}, data, bytes);
  }
  [[nodiscard]] auto deleter() {
    return [this](float* memory) {
      CHECK(memory == data);
      ++freed;
      Backend<D>::deallocate(D{}, memory, bytes);
    };
  }
};

}  // namespace

LOCUS_DEVICE_TEST("a tensor over memory of the program's own, which it neither copies nor frees", D) {
  Foreign<D> memory;
  const auto x = from_blob(memory.data, {2, 3}, D{});
  static_assert(std::is_same_v<decltype(x), const Tensor<float, D>>);
  CHECK(x.data() == memory.data);
  CHECK(x.buffer().bytes() == memory.bytes);
  CHECK_CLOSE((x * 2 + 1).flatten(), {1, 3, 5, 7, 9, 11});
  CHECK_CLOSE(matmul(x, x.transpose()).flatten(), {5, 14, 14, 50});
  x.select(0, 1).fill_(0);
  CHECK_CLOSE(from_blob(memory.data, {6}, D{}), {0, 1, 2, 0, 0, 0});
  CHECK_CLOSE(from_blob(memory.data, {2, 2}, Strides{1, 2}, D{}).flatten(), {0, 2, 1, 0});
  CHECK(from_blob(memory.data, {2, 3}, D{}).is_contiguous());
  CHECK(from_blob(static_cast<float*>(nullptr), {0, 3}, D{}).shape() == Shape{0, 3});
  CHECK(from_blob(memory.data, {}, D{}).elements() == 1);
}

LOCUS_DEVICE_TEST("memory that a tensor takes over is freed once, with the last view of it", D) {
  Foreign<D> memory;
  Tensor<float, D> view;
  {
    const auto x = from_blob(memory.data, {2, 3}, memory.deleter(), D{});
    view = x.select(1, 2);
  }
  CHECK(memory.freed == 0);
  CHECK_CLOSE(view, {2, 5});
  view = {};
  CHECK(memory.freed == 1);

  Foreign<D> columns;
  (void)from_blob(columns.data, {2, 3}, Strides{1, 2}, columns.deleter(), D{});
  CHECK(columns.freed == 1);
  Foreign<D> refused;  // a call that throws does not take ownership
  CHECK_THROWS_AS((void)from_blob(refused.data, {-2, 3}, refused.deleter(), D{}), ShapeError);
  CHECK(refused.freed == 0);
}

LOCUS_DEVICE_TEST("a graph keeps the memory that it saved, and notices when it changed", D) {
  Foreign<D> memory;
  Traced<float, D> loss, w = variable(full<float, D>({6}, 2));
  {
    const auto x = from_blob(memory.data, {6}, memory.deleter(), D{});
    loss = sum(w * trace(x));
  }
  CHECK(memory.freed == 0);
  loss.backward();
  CHECK_CLOSE(w.grad(), {0, 1, 2, 3, 4, 5});
  loss = {};
  CHECK(memory.freed == 1);

  Foreign<D> other;
  const auto x = from_blob(other.data, {6}, D{});
  const auto again = sum(w * trace(x));
  x.changed();  // as after a direct write to the memory
  CHECK_THROWS_AS(again.backward(), StaleError);
  const auto pending = x * 2;
  x.fill_(1);
  CHECK_THROWS_AS((void)pending.eval(), StaleError);
  const auto v = variable(x);
  sum(v * v).backward();
  CHECK_CLOSE(v.grad(), {2, 2, 2, 2, 2, 2});
  CHECK_CLOSE(x, {1, 1, 1, 1, 1, 1});
}

TEST_CASE("a tensor over a vector, an array or a span, and memory that C allocated") {
  std::vector<double> values{1, 2, 3, 4};
  const auto x = from_blob(values, {2, 2});
  static_assert(std::is_same_v<decltype(x), const Tensor<double, Cpu>>);
  values[1] = 7;
  CHECK_CLOSE(x.flatten(), {1, 7, 3, 4});
  x(1, 1) = 9;
  CHECK(values[3] == 9);
  std::array<std::int64_t, 2> pair{5, 6};
  CHECK_CLOSE(from_blob(pair, {2}), {5, 6});
  CHECK_CLOSE(from_blob(std::span(values).subspan(2), {2}), {3, 9});
  float plain[3] = {1, 2, 3};
  CHECK_CLOSE(from_blob(plain, {3}), {1, 2, 3});
  auto* const allocated = static_cast<std::uint8_t*>(std::calloc(4, 1));
  CHECK_CLOSE(from_blob(allocated, {4}, std::free), {0, 0, 0, 0});
  CHECK_THROWS_AS((void)from_blob(values, {3}), ShapeError);
  // Temporaries, and constant elements, are refused.
  const auto takes = []<class V>(V&& v) { return requires { from_blob(std::forward<V>(v), {2}); }; };
  const std::vector<double> constant{1, 2};
  CHECK_FALSE(takes(std::vector<double>{1, 2}));
  CHECK_FALSE(takes(std::array<double, 2>{1, 2}));
  CHECK_FALSE(takes(constant));
  CHECK_FALSE(takes(constant.data()));
}

TEST_CASE("memory that cannot be a tensor's is refused") {
  alignas(8) unsigned char bytes[64] = {};
  auto* const data = reinterpret_cast<float*>(bytes);
  auto* const odd = reinterpret_cast<float*>(bytes + 2);
  const auto refused = [&]<class E>(std::type_identity<E>, const auto& make) { return message_of<E>(make); };
  const std::type_identity<ArgumentError> argument;
  const std::type_identity<ShapeError> shape;
  CHECK(refused(argument, [] {
          (void)from_blob(static_cast<float*>(nullptr), {2, 3});
        }) == "from_blob: a null pointer for 6 elements of shape (2, 3)");
  CHECK(contains(refused(argument, [&] { (void)from_blob(odd, {2}); }), "no multiple of the 4 bytes"));
  CHECK(contains(refused(shape, [&] { (void)from_blob(data, {2, -1}); }), "negative extent"));
  CHECK(contains(refused(shape, [&] { (void)from_blob(data, {INT64_MAX}); }), "more than 2^63 bytes"));
  CHECK(contains(refused(shape, [&] { (void)from_blob(data, {2, 2}, Strides{1}); }), "one for each dimension"));
  CHECK(contains(refused(shape, [&] { (void)from_blob(data, {2, 3}, Strides{INT64_MAX, INT64_MAX}); }), "2^63"));
  CHECK(contains(refused(argument, [&] { (void)from_blob(data, {2, 2}, Strides{1, -1}); }), "none below 0"));
  CHECK(contains(refused(argument, [&] { (void)from_blob(data, {2, 2}, Strides{1, 1}); }), "may share memory"));
  CHECK(contains(refused(argument, [&] { (void)from_blob(data, {2, 2}, Strides{0, 1}); }), "may share memory"));
  int calls = 0;
  CHECK_THROWS((void)from_blob(odd, {2}, [&](float*) { ++calls; }));
  CHECK(calls == 0);
#if LOCUS_CUDA
  if (cuda::is_available())
    CHECK(contains(refused(argument, [&] { (void)from_blob(data, {2}, Cuda{}); }), "the memory is the host's"));
#else
  CHECK_THROWS_AS((void)from_blob(data, {2}, Cuda{}), CudaUnavailable);
#endif
}
