// Runs on: cuda (verbs).
// Asynchronous copies and streams. The simulated GPU executes work as late as streams and events allow, so that a
// missing dependency shows.

#include <locus/tensor/copy_async.hpp>

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <support/reference.hpp>
#include <support/skip.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// Numbers from `first`, in page-locked memory.
Tensor<float, Pinned> counted(std::int64_t count, float first = 0) {
  Tensor<float, Pinned> x({count});
  for (std::int64_t i = 0; i < count; ++i) x(i) = first + static_cast<float>(i);
  return x;
}
bool counts(const Tensor<float, Cpu>& x, float first = 0, float factor = 1) {
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (x(i) != factor * (first + static_cast<float>(i))) return false;
  return true;
}

/// Makes the simulated GPU execute work late during the object's life.
struct Late {
#ifdef LOCUS_SIMULATED_CUDA
  Late() { simulated::late = true; }
  ~Late() { simulated::late = false; }
#endif
};
}  // namespace

TEST_CASE("a tensor that is ordered after its copy is read after it") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Stream<Cuda> copies;
  const auto x = counted(100000);
  auto arriving = copy_async(x, copies);
  CHECK(arriving.started());
  const Tensor<float, Cuda> y = std::move(arriving).ordered();
  CHECK_FALSE(arriving.started());
  CHECK(counts((y * 2.f).eval().to<Cpu>(), 0, 2));
  CHECK_THROWS_AS((void)std::move(arriving).ordered(), ArgumentError);
}

TEST_CASE("a copy in this thread's own stream, and one in a stream that another waits for") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const auto x = counted(1000);
  CHECK(counts((copy_async(x).ordered() + 0.f).eval().to<Cpu>()));
  const Stream<Cuda> copies, work;
  auto arriving = copy_async(x, copies);
  const auto y = with_stream(work, [&] { return (std::move(arriving).ordered() + 1.f).eval(); });
  Stream<Cuda>::current().wait(work.record());
  CHECK(counts(y.to<Cpu>(), 1));
}

TEST_CASE("waiting, and asking") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Stream<Cuda> copies;
  auto arriving = copy_async(counted(1000), copies);
#ifdef LOCUS_SIMULATED_CUDA
  CHECK_FALSE(arriving.done());
#endif
  copies.synchronize();
  CHECK(arriving.done());
  CHECK(counts(std::move(arriving).wait().to<Cpu>()));
  auto empty = copy_async(Tensor<float, Pinned>({0}), copies);
  CHECK(std::move(empty).wait().shape() == Shape{0});
}

TEST_CASE("page-locked memory that a copy reads is not reused before it is done") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Stream<Cuda> copies;
  auto x = counted(5000);
  const float* const place = x.data();
  auto arriving = copy_async(x, copies);
  x = {};
  auto other = std::move(arriving).ordered();  // the source has no handle any more
#ifdef LOCUS_SIMULATED_CUDA
  CHECK(counted(5000, 7).data() != place);
#else
  (void)counted(5000, 7);
#endif
  copies.synchronize();
  CHECK(counts(other.to<Cpu>()));
  CHECK(counted(5000, 7).data() == place);
}

TEST_CASE("a copy back comes after what was queued, and its source stays until it is done") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Stream<Cuda> copies;
  auto back = [&] {
    const Tensor<float, Cuda> y = copy_async(counted(3000)).ordered() * 3.f;
    return copy_async(y, Pinned{}, copies);
  }();
  const auto after = full<float, Cuda>({3000}, 9.f);  // must not reuse memory that is still read
  const Tensor<float, Pinned> z = std::move(back).wait();
  CHECK(counts(z.to<Cpu>(), 0, 3));

  const Tensor<float, Cuda> arrived_late = copy_async(counted(500)).ordered();
  CHECK(counts(copy_async(arrived_late, Pinned{}, copies).wait().to<Cpu>()));
  CHECK(counts(copy_async(arrived_late + 1.f, Pinned{}).wait().to<Cpu>(), 1));
  CHECK_CLOSE(after.slice(0, 0, 2), {9, 9});
}

TEST_CASE("a copy back that nobody waits for is done before its memory serves others") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Stream<Cuda> copies;
  auto back = copy_async(full<float, Cuda>({1000}, 1.f), Pinned{}, copies);
  const Event<Cuda> copied = copies.record();
  back = {};
  CHECK(copied.done());
}

TEST_CASE("pageable memory may change when its copy returns, and travels in more pieces than there are buffers") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  const Tensor<float, Cpu> x = counted(1'600'000).to<Cpu>();
  const auto y = x.to<Cuda>();
  x.fill_(-1);
  CHECK(counts(y.to<Cpu>()));
}

TEST_CASE("a copy that is moved from is none") {
  NEEDS_CUDA();
  const auto x = counted(10), y = counted(10, 5);
  auto first = copy_async(x), second = copy_async(y);
  first = std::move(second);
  CHECK_FALSE(second.started());
  CHECK(counts(std::move(first).wait().to<Cpu>(), 5));
}

TEST_CASE("a stream that is moved from says so") {
  NEEDS_CUDA();
  Stream<Cuda> moved;
  const Event<Cuda> event = moved.record();
  const Stream<Cuda> stream = std::move(moved);
  CHECK_THROWS_AS((void)moved.device(), ArgumentError);
  CHECK_THROWS_AS((void)moved.record(), ArgumentError);
  CHECK_THROWS_AS(moved.wait(stream.record()), ArgumentError);
  CHECK_THROWS_AS(moved.synchronize(), ArgumentError);
  CHECK_THROWS_AS(with_stream(moved, [] {}), ArgumentError);
  CHECK_THROWS_AS((void)copy_async(counted(10), moved), ArgumentError);
  stream.wait(event);
}

TEST_CASE("a copy is ordered in a stream of its own GPU alone") {
  NEEDS_CUDA();
  if (cuda::device_count() < 2) SKIP_TEST("needs two GPUs");
  const Stream<Cuda> other(Cuda{1});
  auto arriving = copy_async(counted(10));
  CHECK_THROWS_AS((void)std::move(arriving).ordered(other), DeviceError);
  const auto y = full<float, Cuda>({10}, 1.f);
  CHECK_THROWS_AS((void)copy_async(y, Pinned{}, other), DeviceError);
}

TEST_CASE("the next batch is on its way before this one is used, and no more than that") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  int taken = 0;
  const auto take = [&](data::detail::tensors_t<data::detail::prepared_t<data::LabelledImages, Cuda>, Pinned>& staged) {
    if (taken == 6) return false;
    ++taken;
    staged = {Tensor<std::uint8_t, Pinned>({4, 1, 1, 1}), Tensor<std::int64_t, Pinned>({4})};
    get<1>(staged).fill_(taken);
    return true;
  };
  data::detail::Delivery<data::LabelledImages, Cuda, Pinned> delivery(
      data::detail::hold(data::LabelledImages().compact()), Cuda{});
  data::Batch<float, Cuda> batch;
  bool ready = true;
  for (int i = 1; delivery.next(batch, take, [&] { return ready; }); ++i) {
    CHECK(taken == (ready && i < 6 ? i + 1 : i));
    CHECK_CLOSE(batch.labels.slice(0, 0, 1), {static_cast<double>(i)});
    ready = i != 3;  // the worker is late once
  }
  CHECK(taken == 6);
}

TEST_CASE("operations run in the stream that is current, also after an exception") {
  NEEDS_CUDA();
  const Stream<Cuda> side;
  const auto current = [] { return cuda::stream(); };
  const cudaStream_t before = current();
  CHECK(with_stream(side, current) != before);
  CHECK(current() == before);
  CHECK_THROWS_AS(with_stream(side, [] { fail<ArgumentError>({"as a test"}); }), ArgumentError);
  CHECK(current() == before);
  CHECK(side.device() == Cuda{});
  const auto y = with_stream(side, [] { return full<float, Cuda>({1000}, 2.f); });
  const Event<Cuda> filled = side.record();
  filled.wait();
  CHECK(filled.done());
  CHECK_CLOSE(y.slice(0, 998, 1000), {2, 2});
}

TEST_CASE("a stream that is gone serves the next one") {
  NEEDS_CUDA();
  cudaStream_t first = nullptr;
  {
    Stream<Cuda> stream;
    Stream<Cuda> moved = std::move(stream);
    first = with_stream(moved, [] { return cuda::stream(); });
  }
  const Stream<Cuda> next;
  CHECK(with_stream(next, [] { return cuda::stream(); }) == first);
}

TEST_CASE("a loader's batches are right, though the next one is copied meanwhile") {
  NEEDS_CUDA();
  [[maybe_unused]] const Late late;
  Tensor<std::uint8_t> images({57, 1, 1, 2});
  Tensor<std::int64_t> labels({57});
  for (std::int64_t i = 0; i < 57; ++i) {
    images.select(0, i).fill_(static_cast<std::uint8_t>(i));
    labels(i) = i;
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::int64_t seen = 0;
    for (const auto& batch : data::loader<Cuda>(data::LabelledImages{images, labels, 57}, {.batch_size = 5})) {
      const auto numbers = batch.labels.to<Cpu>();
      const auto pixels = (batch.images * 255.f).eval().to<Cpu>();
      for (std::int64_t i = 0; i < numbers.elements(); ++i, ++seen) {
        CHECK(numbers(i) == seen);
        CHECK(pixels(i, 0, 0, 1) == doctest::Approx(static_cast<double>(seen)));
      }
    }
    CHECK(seen == 57);
  }
}
