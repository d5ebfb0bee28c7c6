// Runs on: cuda (sorting).
// Sorting, selecting and counting on Cuda in one program, because nvcc takes long to read CUB: the tests of the
// operations, and lists that are cut into parts, which otherwise are too long for a test.

#include <locus/ops/unique.hpp>

// After CUB, which must come before any `using namespace locus`.
#include <locus/cuda/step_runner.hpp>
#include <locus/cuda/streams.hpp>
#include <locus/device/capture.hpp>
#include <ops/histogram_test.cpp>
#include <ops/multinomial_test.cpp>
#include <ops/sort_test.cpp>
#include <ops/unique_test.cpp>
#include <support/compare_capabilities.hpp>

namespace {

/// Numbers on the GPU, as raw memory.
template <class T>
Tensor<T, Cuda> on_gpu(const std::vector<double>& numbers) {
  return locus_test::tensor<T, Cuda>({static_cast<std::int64_t>(numbers.size())}, numbers);
}
template <class T>
std::uint32_t* as_unsigned(const Tensor<T, Cuda>& x) {
  return reinterpret_cast<std::uint32_t*>(x.data());
}

}  // namespace

TEST_CASE("sorting, selecting and counting are those of the reference device") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  CHECK(locus_test::compare_lists<Cuda>(7) == "");
}

TEST_CASE("rows that are sorted in several parts") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const auto keys = on_gpu<std::int32_t>({5, 2, 9, 1, 1, 0, 3, 8, 7, 4, 4, 2, 6, 5, 5});
  const auto positions = on_gpu<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  for (const std::int64_t most : {1, 7, 15}) {
    CAPTURE(most);
    const auto k = keys.clone(), p = positions.clone();
    locus::cuda::order(locus::cuda::Context::current(0), as_unsigned(k), as_unsigned(p), 5, 3, 4, most);
    CHECK_CLOSE(p, {1, 0, 2, 5, 3, 4, 6, 8, 7, 11, 9, 10, 13, 14, 12});
  }
}

TEST_CASE("positions that are counted modulo 2^32") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const auto keys = on_gpu<std::int32_t>({3, 1, 2, 1, 2, 0});
  const auto positions = on_gpu<std::int32_t>({-4, -3, -2, -1, 0, 1});
  locus::cuda::detail::order_rows(locus::cuda::Context::current(0), as_unsigned(keys), as_unsigned(positions),
                                  (std::int64_t{1} << 32) / 2 - 2, 3, 2, 2);
  CHECK_CLOSE(positions, {-3, -4, -1, -2, 1, 0});
}

TEST_CASE("flags that are read in several parts") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const auto flags = on_gpu<bool>({0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  for (const std::int64_t most : {1, 3, 11}) {
    CAPTURE(most);
    const Tensor<std::int64_t, Cuda> places({5});
    locus::cuda::select(locus::cuda::Context::current(0), flags.data(), 11, places.data(), most);
    CHECK_CLOSE(places, {1, 2, 7, 9, 10});
  }
}

TEST_CASE("the order of streams is checked of sorting and selecting") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const bool before = locus::cuda::streams_are_checked();
  locus::cuda::check_streams(true);
  using Matrix = Tensor<float, Cuda>;
  const Stream<Cuda> side;
  const auto here = Stream<Cuda>::current();
  const auto gradient_of_largest = [](const Matrix& x) {
    const auto v = variable(x);
    sum(topk(v, 3, 1).values).backward();
    return v.grad();
  };
  const Matrix x = sample<float, Cuda>({4, 8});
  CHECK_THROWS_AS((void)with_stream(side, [&] { return sort(x, 1).values; }), StreamError);
  side.wait(here.record());
  const Matrix sorted = with_stream(side, [&] { return sort(x, 1).values; });
  here.wait(side.record());
  for (const Matrix& y : {sorted.slice(0, 2, 4), gradient_of_largest(x).slice(0, 2, 4)}) {
    side.wait(here.record());
    CHECK_NOTHROW((void)with_stream(side, [&] { return sort(y, 1).values; }));  // two readers
    CHECK_NOTHROW((void)sort(y, 1));
    CHECK_NOTHROW((void)with_stream(side, [&] { return gradient_of_largest(y); }));
    CHECK_NOTHROW((void)gradient_of_largest(y));
    CHECK_NOTHROW((void)with_stream(side, [&] { return masked_select(y, y > 0.f); }));
    CHECK_NOTHROW((void)masked_select(y, y > 0.f));
    here.wait(side.record());
  }
  Matrix y;
  auto step = capture<Cuda>([&] { y = sort(x, 1).values; });
  for (int i = 0; i < 3; ++i) step();
  CHECK_THROWS_AS((void)with_stream(side, [&] { return sort(y, 1).values; }), StreamError);
  side.wait(here.record());
  CHECK_NOTHROW((void)with_stream(side, [&] { return sort(y, 1).values; }));
  CHECK_THROWS_AS(step(), StreamError);
  here.wait(side.record());
  locus::cuda::check_streams(before);
}

TEST_CASE("a list that is sorted or selected is used by its own launch, in both orders of streams") {
  if (!locus::cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const bool before = locus::cuda::streams_are_checked();
  locus::cuda::check_streams(true);
  const Stream<Cuda> side;
  const auto here = Stream<Cuda>::current();
  const auto keys = on_gpu<std::int32_t>({2, 1, 0}), positions = on_gpu<std::int32_t>({0, 1, 2});
  const auto order = [&] { Sorting<Cuda>::order(Cuda{}, as_unsigned(keys), as_unsigned(positions), 1, 3, 2, 3); };
  CHECK_THROWS_WITH_AS(with_stream(side, order), doctest::Contains("sort over (3,) in stream "), StreamError);
  side.wait(here.record());
  with_stream(side, order);
  CHECK_THROWS_WITH_AS((void)sum(positions), doctest::Contains("memory that sort in stream "), StreamError);
  here.wait(side.record());
  CHECK_CLOSE(positions, {2, 1, 0});
  const auto flags = on_gpu<bool>({0, 1, 1});
  const Tensor<std::int64_t, Cuda> places({2});
  const auto select = [&] { Sorting<Cuda>::select(Cuda{}, flags.data(), 3, places.data()); };
  CHECK_THROWS_WITH_AS(with_stream(side, select), doctest::Contains("select over (3,) in stream "), StreamError);
  side.wait(here.record());
  with_stream(side, select);
  CHECK_THROWS_WITH_AS((void)sum(places), doctest::Contains("memory that select over (3,) in stream "), StreamError);
  here.wait(side.record());
  CHECK_CLOSE(places, {1, 2});
  locus::cuda::check_streams(before);
}
